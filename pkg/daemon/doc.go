// Package daemon puts the product together: the probes and their schedule, the
// engine, the store, the leader's lease, the reconciler, the adapters' own
// name servers and the control socket. It is the only package that knows all
// the others, and the only one that starts long-lived goroutines.
//
// Everything that happens goes through one channel, the inbox, to one loop,
// which alone calls the engine. For each event the loop does the engine's
// duties in their order: the journal, the state, and only then the work for
// the reconciler. A store that fails is loud and stops no failover; a person's
// yes, and an operator's override, that cannot be stored are refused.
//
// What comes of an override is foreseen by the engine before it is said, and is
// its answer. Without a daemon that is an engine that knows what was saved.
//
// Where the config has a canary, a part of its own probes that every few seconds,
// and at once when the engine asks; a round during which this process stood still
// is not told to the engine. One-shot commands probe it after each of their rounds.
//
// The state directory is one process's at a time: it is looked into at the
// start, and opened to be written to, and read again, when its lock is won. That
// lock is also the lease of the leader, unless the nodes have a directory each
// and a lease between them; then a standby saves and keeps a journal as well.
// Where the stamp of each zone is the lease, who holds the directory may lead any of
// them, and pkg/reconcile knows which.
// Who waits for the directory, and a shadow, leave no trace in it.
//
// Every node but a shadow keeps since when it has known of no leader. When that is
// longer than the lock takes to replace one, it is an alarm (vacancy.go).
//
// Under a lock in etcd a node that is blind leaves the lead, and its place in the queue,
// to one that sees (sight.go). Under a lock in the zone it cannot: nodes that share
// nothing but the zone do not hear of each other's canary.
//
// Where nodes share an etcd, a leader that does not hear what persons say is kept from
// writing against a freeze. Under a lock in etcd the gate is shut until a node that has
// won the lease has read all words, and again when it was out of touch for a quarter of
// a minute. Under another lock a dead etcd must not stop a failover: a node that never
// reached it since its start writes nothing for half a minute, goes on, and says so; and
// a word at another node tells which leader may not have heard it (untold.go).
//
// What a node shows of zones that it does not write rests on lists of its own. It lists
// again after a reload, after a person's word, when it hears that another node wrote,
// and before it foresees, each zone no more often than every five seconds (fresh.go).
//
// People are told by package notify of what the journal has, by the node that leads
// (announce.go): a standby remembers what it leaves to the leader, and says it when it
// takes over, if it is so new that the one before may not have come to it. The loop
// hands events over and waits for nobody. The dead man's switch is called only after the
// loop has answered (ping.go), as the service manager's watchdog is.
//
// Run is the daemon; Once is the same machine for one-shot commands, probing
// by rounds instead of by schedule.
package daemon
