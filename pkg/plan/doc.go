// Package plan compares what record sets should answer with and what the zone
// has, and says in order and with reasons what would have to change.
//
// Diff is the only place of the product that compares. Its table, for one
// value that the config names:
//
//	wanted | in the zone        | change
//	live   | missing            | create
//	live   | paused             | resume
//	live   | live               | none, or ttl, or weight, or both
//	paused | live               | pause
//	paused | paused or missing  | none
//
// A value that must not be resumed is not wanted live in the first place:
// pkg/steer steps over it and says so, and Check makes a refusal of that. A
// value that the config does not name is foreign: it is left as it is, and shown
// as no longer steered when it is sidestep that paused it. One that went under a
// late call of ours (Zone.Lost) is created anew, under the guards of its set. A
// single-valued set is swapped in place. Check holds the plan against the
// guards, whose refusals stand in the plan beside the changes they stop.
//
// The package never writes, never lists and never sees health. pkg/reconcile
// carries a plan out.
package plan
