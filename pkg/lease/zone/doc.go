// Package zone is the lease of nodes that share nothing but a zone: the stamp in
// it, which every write compares and replaces, is the lease.
//
// The holder replaces its stamp in time: a write does it, and where nothing is
// written, a heartbeat. A standby looks at the stamp again and again. One that
// stayed the same for the time to take over, by the standby's own clock and
// counted from the look that first showed it, and that a look just made still
// shows, may be replaced.
//
// Safety rests on no clock. The provider refuses a write whose stamp is not the
// one in the zone, whoever believes what, so that a wrong time costs a needless
// change of leader and never a wrong write. That is why only a provider that
// compares and swaps can hold this lease.
//
// A zone is led for itself: a node may lead one and stand by in another.
//
// The package holds no clock and sends nothing: a Watch is told what was seen
// and when, by boot time, and says whose the zone is. pkg/reconcile reads the
// stamps and writes them, since it is the only one who writes to a zone.
package zone
