package clock

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Clock tells boot time and wall time. Implementations are safe for use by
// many goroutines at once.
type Clock interface {
	// Boot is the time since some fixed moment before the process started,
	// suspended time included. It never goes back. Two readings can be
	// compared only within one boot of one machine.
	Boot() time.Duration
	// Wall is the date and time of day. It can be set back.
	Wall() time.Time
}

// System is the clock of the machine: CLOCK_BOOTTIME (clock_gettime(2)) and
// the real-time clock. Where a sandbox denies CLOCK_BOOTTIME, Go's monotonic
// clock takes its place for the life of the process, and suspended time is
// not counted.
func System() Clock {
	if _, err := bootTime(); err != nil {
		return Bubble()
	}
	return system{}
}

type system struct{}

// Boot cannot fail any more once System has read the clock: the call has no
// state that could run out.
func (system) Boot() time.Duration {
	now, _ := bootTime()
	return now
}

func (system) Wall() time.Time { return time.Now().Round(0) }

func bootTime() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, err
	}
	return time.Duration(now.Nano()), nil
}

// virtualBoot is where a Virtual clock begins: no real machine has a boot time
// of zero when a daemon starts on it, and zero often means "never".
const virtualBoot = time.Hour

// Virtual is a clock that goes along with package time. Inside a bubble of
// testing/synctest its boot time therefore stands still and jumps with the
// timers, which the kernel's boot clock does not.
type Virtual struct {
	base time.Time // with a monotonic reading

	mu        sync.Mutex
	percent   int64
	suspended time.Duration
	wallStep  time.Duration
}

// Bubble makes a Virtual clock that begins now. Call it inside the bubble.
func Bubble() *Virtual { return &Virtual{base: time.Now()} }

// Boot is an hour plus what package time counted since the clock was made, as far
// as the clock does not drift, plus the time spent in Suspend.
func (v *Virtual) Boot() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return virtualBoot + time.Duration(int64(time.Since(v.base))*(100+v.percent)/100) + v.suspended
}

// Drift makes boot time run fast by some percent, or slow, as if it always had.
func (v *Virtual) Drift(percent int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.percent = int64(percent)
}

// Wall is the date of package time, plus suspended time and steps.
func (v *Virtual) Wall() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return time.Now().Round(0).Add(v.suspended + v.wallStep)
}

// Suspend makes boot and wall time jump forward by d while the timers of
// package time notice nothing, as when the machine was suspended.
func (v *Virtual) Suspend(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.suspended += d
}

// StepWall sets the wall clock forward by d, or back if d is negative.
func (v *Virtual) StepWall(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wallStep += d
}

// Fake is a clock that stands still until it is told to move, for plain tests.
type Fake struct {
	mu   sync.Mutex
	boot time.Duration
	wall time.Time
}

// NewFake makes a clock that stands at the given boot and wall time.
func NewFake(boot time.Duration, wall time.Time) *Fake { return &Fake{boot: boot, wall: wall} }

// Boot is the boot time that the clock stands at.
func (f *Fake) Boot() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.boot
}

// Wall is the wall time that the clock stands at.
func (f *Fake) Wall() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wall
}

// Advance moves both times forward by d.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.boot += d
	f.wall = f.wall.Add(d)
}

// SetWall sets the wall clock and leaves boot time alone.
func (f *Fake) SetWall(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wall = t
}
