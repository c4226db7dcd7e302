// Package cluster shares between the nodes of one deployment, over an etcd, what
// each of them sees and what persons said.
//
// Every node writes these kinds of keys below PREFIX/shared:
//
//	nodes/NAME            who it is, whether it leads, sees, and would lead, and a beat
//	                      every few seconds; hangs on a lease
//	verdicts/NAME/SHARD   its verdicts of targets that vantages judge; same lease
//	overrides/KIND/TARGET what a person said last at any node, or that it was taken back
//	forgotten/ends        up to when ends of words are gone from here
//	approvals/ID          a person's yes to what waits; it hangs on a lease of YesFor
//	answers/ID/NAME       what became of that at a node; same lease
//
// A beat says up to which revision the node has taken persons' words; one that leads
// beats at once when it took one, since the person waits for that.
//
// A node that is silent is told by the beats that do not come, by the clock of who
// listens: no time of another machine is believed. What stands in etcd when a node
// begins to listen proves nothing of those who wrote it; only what comes afterwards
// does. A node whose process stood still begins to listen anew, since what it finds
// in its sockets then is old.
//
// A word of a person ends by its time or by another word, never because it is not
// there: an etcd that is new, or was restored, learns it from the nodes. Of two words
// about one thing the later one holds, and an end ends what was said until then. Since
// clocks differ, a node gives what is said at it a time after all that it knows of the
// same thing, words and ends. A freeze that cannot be read is obeyed.
//
// An end is kept as well as a word: by every node that heard of it, with its state,
// for as long as etcd keeps it. So a word that ended comes back neither from an etcd
// that was restored from before its end, nor to one that is new from a node that was
// away: the nodes that know of the end obey no such word, and bring the end.
//
// What is over leaves etcd, and the nodes: a word a day after its time, an end of one
// without a time after 30 days, and of more than 1000 ends the oldest. A node that was
// away may have kept a word of which the end is gone. It knows up to when it had
// shared all its words, and etcd up to when ends are gone: a word from before both
// that etcd does not have has ended. An etcd that is new, or restored from before,
// knows of no ends that are gone, so that no word is lost with it; one whose end is
// gone from every node may come back to it.
//
// A yes is taken by every node that is there, once, and by those that come while no
// leader has answered it: what waits for a person afterwards may be something else. A
// node that joins anew after a few seconds was there all the time.
//
// A node that ends in order says so with its last beat. One that is gone without a word
// stays among the nodes for a day, as silent, or until it comes again.
//
// One node speaks for a vantage: the first that came. A second one is told, as is a
// process whose name another one has: it hears what is said, and has no keys. Of two
// processes with one name the one that holds the lease has it, and the other gives way;
// where none does, the first that came.
//
// Whether a node hears what persons say is known by its own beats, which etcd answers:
// a leader that has gone without for too long does not write, and one that has just won
// the lease reads all words first, since they may be later than its last beat.
//
// What it costs: a beat has some 250 bytes. Verdicts are kept in shards of some 16
// targets; a change writes its shard at once, and what comes more often than
// BytesPerSecond lets waits and is merged. So a node with 1,000 targets stays below
// 20 kB/s whatever happens to them.
//
// This package decides nothing: which vantages count, and how, is pkg/engine's; who
// may write is pkg/lease's. It starts no goroutine of its own: Run belongs to
// pkg/daemon, which hands what is heard to the engine as events.
package cluster
