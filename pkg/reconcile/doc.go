// Package reconcile is the only writer of the product: it brings a zone to the
// wanted state through the provider's adapter, and never in any other way than
// this:
//
//  1. list the zone, whole or not at all;
//  2. plan against that list, and hold the plan against the guards;
//  3. be the leader, and where the provider compares and swaps, the holder of
//     the stamp;
//  4. derive the next call of one record set from the list alone, send it,
//     and forget it: nothing that recovery needs is kept in a variable;
//  5. list again, until nothing is left to do; then ask the name servers:
//     those of the config, or the adapter's own and those that the zone's NS
//     records lead to, each until it answers as the list says.
//
// Where the provider compares and swaps and its adapter follows its own writes,
// "list again" after an accepted write is the list before, plus the change: had
// anybody written in between, the provider would have refused. A refused or
// unclear write is followed by a real list, and so is the last: no round ends by
// what was only worked out.
//
// Adds come before take-aways, and a value is taken away only when the list
// shows every wanted value live, of which enough survive that are not in
// doubt. One exception: where the provider refused an add because the set takes
// no more live values, what has to go anyway goes first. That is beside as many
// survivors; and where the wanted values are all outside still, one that is down
// goes beside others that stay live for certain, min_live of them and one at
// least, until the wanted ones are in. The last live value never makes room.
// What is more than one call may have goes in several. A call whose outcome is not
// known is never sent again from memory: it may still happen, so its values are in
// doubt until the provider's lateness and lag have passed, and the zone is listed.
// At a provider without compare-and-swap everything is in doubt after a start, unless the notes of
// the process before say that no call was open. Adds wait for no doubt; a
// create and a swap, which put in what has no copy yet, wait until no call is
// open that could double it or write over it. What a list may not show yet is
// neither sent again nor a ground to take away or to end by. A change that was
// accepted three times in one round and is still not shown is given up for it:
// the lists lag by more than the provider promises.
//
// Where a write carries the whole set and nothing is compared, a late call takes
// with it what somebody put in since. Such a value, which a list had shown and the
// call did not know, is told of, and stands in the plans from then on as a create
// under the guards of its set; what was put in and gone before any list is not
// known of.
//
// Zones are worked side by side, each by one worker, so that one in trouble
// never stops another; the record sets of a zone go one after the other, and
// one that its provider refuses is given up for the round and stops no other. Of a
// set whose TTL or weights are refused only those are given up: they are tried again
// in each round and told until they are taken.
// Each worker has a slot for one piece of work, in which the newest replaces
// what still waits. A round gives way to it after each call and whenever it
// waits; work that failed is tried again until newer work takes its place.
//
// An API that is out of order is asked by one call after each pause, which grows
// to the longest of the config, and is about a minute where only a person can
// help: the worker's pause is the circuit breaker of its zone, and the type of
// that name says why there is no other. A new credential (Swap) ends it.
//
// Where the zone's stamp is the lease between nodes (pkg/lease/zone), the worker
// of a zone looks at it and renews it between rounds; a round with writes renews it
// by each of them. Only what the lease knows decides whether a stamp may be
// replaced: a list or a refusal that shows another's ends the leadership of the zone
// at once, and the round that was under way.
//
// Where an etcd holds the lease, a stamp has its epoch and the id of that etcd beside
// it. A leader steps down with the first list that shows the stamp of one that came
// after it, whatever its own clock gives it yet. A stamp that cannot be compared,
// since another etcd counted its epoch or the same one was built anew from nothing,
// is taken over once it stood still for Options.Belief: or the leaders of an etcd
// that counts from 1 again could never write. But a stamp that is neither of this etcd
// and this group nor of a node that was heard here is of somebody whom the lock does
// not reach, and a leader that has nothing to write lets its stamp stand still, too:
// while it is younger than FreshStamp it is a second writer's (TwoWritersError). So is
// each such stamp that comes while this process holds the zone. Beside a stamp of a
// version that is not known here nothing is written.
//
// The name servers are asked after the round (late.go), unless somebody waits for its
// answer: that the zone is written does not wait for them. One that has not come round
// in ten seconds is told of and asked on for ten minutes, so that its delay is known.
// Neither holds up a write: they give way, and the next one asks for what is still open
// with its own. What is proxied, weighted or answered by who asks is verified by the
// list alone, and that is said.
//
// Whether the provider really compares is put to the proof by a call that it must
// refuse: before the first write to the zone, and where the stamp is the lease no later
// than before the first heartbeat, with which a node begins to rely on it. The claim
// before that changes nothing but the stamp. Where the call is accepted nobody leads.
//
// Leave is the way out of a zone: by the same road it brings back what sidestep
// paused, and then has the adapter remove the marks, the copies and the stamp.
//
// The package judges nothing and steers nothing: Work.Plan of pkg/engine
// decides, and what was done goes back there as a Report.
package reconcile
