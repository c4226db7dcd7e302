// Package clock is the one clock of the program: boot time, which counts the
// time that the machine was suspended, and wall time.
//
// Boot time orders results, measures waits and bounds leases: it never goes
// back and never jumps with the date. Wall time is for people, for files and
// for other machines; no decision inside one process rests on it alone.
//
// Two clocks because Go's own monotonic clock stands still while a Linux
// machine is suspended (it reads CLOCK_MONOTONIC): a lease measured with it
// would seem good for hours after it ended elsewhere.
//
// The package never starts timers: those stay the ones of package time. Code
// that waits compares boot times when it wakes up and does not believe that it
// woke up in time.
//
// The clock is read by pkg/daemon, pkg/schedule and pkg/lease, and handed to
// everything else inside events and results.
package clock
