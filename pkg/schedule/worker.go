package schedule

import (
	"context"
	"fmt"

	"sidestep/pkg/check"
)

// maxIdle is how many workers wait for another probe. They are there because a
// new goroutine begins with a small stack, and to grow it to what a probe takes
// is a tenth of the work of a probe; there are not more because a stack of some
// 8 KiB is held by each.
const maxIdle = 64

// work probes one target, and then more of them for as long as it is wanted.
func (s *Schedule) work(ctx context.Context, f flight) {
	next := make(chan flight, 1) // one slot: who gives work never waits
	for more := true; more; {
		f.result = s.probe(ctx, f.spec, f.entry.target)
		if f.late() && f.result.Outcome == check.Fail {
			disown(&f.result, fmt.Sprintf("the probe began %v late: this machine is overloaded", f.lag()))
		}
		if !s.land(f, next) {
			return
		}
		f, more = <-next
	}
}

// rest makes a worker an idle one; false when it is not wanted any more. The
// lock is held.
func (s *Schedule) rest(next chan flight) bool {
	if s.ended || len(s.idle) >= maxIdle {
		return false
	}
	s.idle = append(s.idle, next)
	return true
}

// dismiss ends the idle workers, and all others after their probe.
func (s *Schedule) dismiss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, next := range s.idle {
		close(next)
	}
	s.idle = nil
}
