// Package simulate rehearses: it plays a timeline of events against a config in
// virtual time and tells every decision that sidestep would write.
//
// It decides nothing itself. The engine is the daemon's, built from the config in
// the daemon's way; what leaves it as Work is planned by Work.Plan and written by
// pkg/reconcile, to zones of pkg/provider/memory. Only the world around them is
// made up (world.go): the results of probes, which are there at once, the clock,
// which jumps from one moment at which something happens to the next, the lease,
// and providers that fail when the timeline says so.
//
// At one moment things happen in this order: the events of the timeline as they stand
// in the file, the ends of what was set for a time, the probes and after them the
// canary (before them where it ends its failing), and then what has to be written. The
// engine decides once, when it knows all of it (engine.Note). Time is exact: there is
// no jitter, spread or latency. Targets are probed at 0 and at every multiple of their
// interval, counted anew after a restart; the canary every daemon.CanaryEvery and at
// once where a target waits for it. What a provider that fails did not take is tried
// again after the pauses of reconcile.retry.
//
// Where vantages judge, their nodes are played as well (node.go, vantages.go): each is
// an engine of the same config with a canary that passes, and probes by itself, in the same rhythm.
// What one says the others hear at once, until the timeline has it silent. Persons'
// words reach them all. A restart, the lease and the canary of the timeline are this node's.
//
// A run begins settled (begin.go): every target has been up for longer than any
// hold, the zones are as reconcile would leave them, every other value that the
// config names is parked, and nothing waits for a first yes.
//
// Beside the decisions a run tells what explains them (aside.go): what the names
// answer with at the start, what waits for a person, and what the run ends before.
//
// Where nothing has happened for a while the results of probes only repeat
// themselves and change nothing. Those are left out (skip.go), and taken up again
// a while before the next event; a test compares with runs that leave nothing out.
//
// The package opens no file and no socket, reads no secret, starts no goroutine
// and knows no other time than the timeline's. The timeline is parsed by
// timeline.go, which knows the names of the config and refuses everything else.
package simulate
