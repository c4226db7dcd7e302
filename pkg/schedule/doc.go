// Package schedule says when each target is probed, and sees to it that the
// probes start then.
//
// Every target owns a row of slots on the boot clock: phase + k × interval,
// where the phase is a hash of the target's id. Slots are worked out, never
// added up, so nothing drifts, a restart keeps the spread, and after a pause a
// target goes on at its own next slot. The dispatcher wakes up once a tick of
// 10 ms, starts everything that is due, and pays for one wake-up however many
// targets that are. Results are handed on at a tick, too.
//
// What holds at any time:
//
//   - one probe in flight per target; a slot that comes while the last probe
//     still runs is skipped and counted;
//   - a period runs from the start of a probe to the start of the next, so a
//     target that times out is probed as often as one that answers; a timeout
//     that ends less than 20 ms before the interval is cut to that;
//   - each probe has a goroutine of its own while it runs, up to a limit that
//     covers rate × timeout of all jobs: dead targets hold their own places;
//   - a target may be held until a boot time: nothing is sent to it before, it is
//     probed then, and its slots go on from there;
//   - a target may be hastened, once, to a time before its next slot; its slots
//     stay where they are;
//   - no burst: slots that passed while the process stood still (suspend,
//     SIGSTOP, starvation) are gone, and a probe that was under way meanwhile
//     is Unknown, for it was not the target that was away;
//   - a probe that began more than an interval after its slot, for want of a
//     worker or of processor time, is Unknown when it fails;
//   - results come in the order of their starts per target, and those of a
//     removed or redefined target are dropped.
//
// Why not a timer per target: ten thousand timers wake the process up ten
// thousand times a period, which costs about as much as the probes. Why not a
// fixed pool of workers: either it is too small for the day on which all
// targets hang, or it sits there idle the rest of the year. A few workers wait
// for their next probe all the same, see maxIdle.
//
// The package reports facts. It never judges a target, and never imports
// pkg/health; it opens no socket, that is what the probe function is for. Its
// results go on to the inbox of pkg/daemon.
package schedule
