package schedule

import "time"

// Stats is how the schedule is doing. The counters only grow.
type Stats struct {
	Targets  int // targets that are probed
	InFlight int // probes under way
	Waiting  int // targets whose slot came while all workers were taken
	Limit    int // the most probes that may be in flight
	Needed   int // the limit that these jobs want; above Limit, hanging targets delay the others

	Started uint64 // probes started
	Skipped uint64 // slots left out because the last probe of the target was still under way
	Missed  uint64 // slots left out because this process did not run
	Delayed uint64 // probes that had to wait for a worker
	Late    uint64 // probes that began more than an interval after their slot; when they fail, they are unknown
	Dropped uint64 // results of removed or redefined targets
	Gaps    uint64 // times that this process stood still

	// Lag is the longest time from a slot to the start of its probe within
	// the last 10 to 20 seconds; up to 10 ms of it are the grid.
	Lag time.Duration
}

type counts struct {
	started, skipped, missed, delayed, late, dropped, gaps uint64
}

// Stats tells how the schedule is doing now.
func (s *Schedule) Stats() Stats {
	now := s.opts.Clock.Boot()
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Targets:  len(s.heap),
		InFlight: s.running,
		Waiting:  len(s.waiting),
		Limit:    s.limit,
		Needed:   s.needed,
		Started:  s.counts.started,
		Skipped:  s.counts.skipped,
		Missed:   s.counts.missed,
		Delayed:  s.counts.delayed,
		Late:     s.counts.late,
		Dropped:  s.counts.dropped,
		Gaps:     s.counts.gaps,
		Lag:      s.lag.max(now),
	}
}

// window keeps the largest of the values of the last one to two spans.
type window struct {
	span          time.Duration // number of the current span
	current, last time.Duration
}

const windowSpan = 10 * time.Second

func (w *window) add(now, value time.Duration) {
	w.turn(now)
	w.current = max(w.current, value)
}

func (w *window) max(now time.Duration) time.Duration {
	w.turn(now)
	return max(w.current, w.last)
}

func (w *window) turn(now time.Duration) {
	span := now / windowSpan
	if span <= w.span {
		return
	}
	if span == w.span+1 {
		w.last = w.current
	} else {
		w.last = 0
	}
	w.span, w.current = span, 0
}
