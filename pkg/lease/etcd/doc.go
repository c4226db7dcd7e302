// Package etcd is the lease between nodes that share an etcd.
//
// # The queue
//
// Each node that wants to lead grants itself an etcd lease and puts one key that
// hangs on it, PREFIX/leader/LEASE-ID. Whoever has the key with the lowest create
// revision leads; the others wait in the order in which they came. That revision
// is the epoch: it never comes again, and every later leader has a higher one.
// The key's value, JSON, tells people and other nodes who put it.
//
// # How long the leader believes
//
// etcd drops the lease its time to live (TTL) after it got the last renewal. The
// leader counts from before that renewal was sent, and a little less: V = TTL
// (1-r)/(1+r), r being how much two clocks may differ in speed, 1 %. So it stops
// before anybody else can have started, however long the renewal was under way.
// That is why the renewals are sent from here, one at a time, and not by the
// client's own session, which tells nobody when it sent them.
//
// The gate lets a call out only when it ends within V. It measures by boot time,
// which counts suspended time, and by the date: a guest whose machine was paused
// may see it in the date alone. A date that was set forward shuts the gate until
// the next renewal and costs nothing more; one that was set back costs nothing.
//
// A renewal counts only when a read that went through the members' majority,
// sent after it, still found the key with our create revision. A key that was
// deleted by hand therefore ends the leadership at the latest with V; the watch
// beside it tells at once.
//
// # An etcd that is new
//
// That nobody is first in the queue says that every leader before has stopped, as
// long as it was this etcd that they queued at. One that was built anew, or brought
// back from a copy, has forgotten a leader who cannot reach it and believes on for
// V. So a leadership is fresh while PREFIX/led is not there, which the first one puts
// when it is older than any such belief, or when this process saw the revisions go
// back; and a fresh one is given longer before it takes anything away where the
// provider cannot refuse the other's calls. A process that starts beside an etcd
// which was brought back from a copy cannot know.
//
// # When etcd is away
//
// The gate shuts by the clock, in time, whoever is cut off from what. Past V the
// lease is lost for good: another may lead by then. What is left in etcd of a
// lost lease is revoked with the next Acquire, so that a node does not wait for
// itself.
//
// # Goroutines
//
// Acquire and Release end what they began. Renewals are sent by Keep, which
// blocks and is run by whoever acquired. The connection is the Way's, which the
// lease shares with others, with the goroutines of the gRPC library: they end with
// its Close.
//
// # What it does not do
//
// It is no fence. A call of a leader that stood still between the gate and the
// send can come late; where the provider cannot refuse it, the next leader waits
// before it takes anything away: see lease.Wait.
//
// etcd before 3.4 is refused. Members before 3.4.30 and 3.5.13 have a fault by
// which one that stood still can end other nodes' leases early.
package etcd
