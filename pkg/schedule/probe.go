package schedule

import (
	"context"
	"fmt"
	"time"

	"sidestep/pkg/check"
)

// flight is one probe on its way from its slot to its result.
type flight struct {
	entry      *entry
	generation int         // of the entry when the probe started
	spec       *check.Spec // of the entry when the probe started
	slot       time.Duration
	result     check.Result
}

// lag is how long after its slot the probe began.
func (f flight) lag() time.Duration { return f.result.Start - f.slot }

// late reports whether the probe began more than an interval after its slot.
// A failure then says as much of this machine as of the target.
func (f flight) late() bool { return f.lag() > f.spec.Interval }

// probe asks one target and says when. What was our own doing comes back as
// Unknown: a probe that was stopped, one that panicked, and a failure that
// came long after the deadline, because then it was this process that did not
// run in time.
func (s *Schedule) probe(ctx context.Context, spec *check.Spec, target check.Target) check.Result {
	start := s.opts.Clock.Boot()
	limited, cancel := context.WithTimeout(ctx, allowance(spec))
	r := s.ask(limited, spec, target.Address)
	cancel()
	r.Target, r.Start = target, start
	// A pass may have been known before the probe was over, as that of a name
	// of which one address hangs.
	if end := s.opts.Clock.Boot(); r.Outcome != check.Pass || r.End <= start || r.End > end {
		r.End = end
	}
	switch over := r.Latency() - spec.Timeout; {
	case ctx.Err() != nil:
		disown(&r, "stopped before the probe was over")
	case r.Outcome == check.Fail && over > standstill:
		disown(&r, fmt.Sprintf("the probe ended %v after its deadline: this machine is overloaded or stood still", over))
	}
	return r
}

// handOverTime is what it takes at most, on a machine that is not overloaded,
// until the result of a probe was taken and its target is free again.
const handOverTime = 2 * tick

// allowance is how long a probe may take: its timeout, or a little less than the
// interval, so that a target that hangs is free again at its next slot.
func allowance(spec *check.Spec) time.Duration {
	if room := spec.Interval - handOverTime; room > 0 {
		return min(spec.Timeout, room)
	}
	return spec.Timeout
}

// ask calls the probe function and survives its panic: one bad answer of one
// target must not stop the probing of all others.
func (s *Schedule) ask(ctx context.Context, spec *check.Spec, address string) (r check.Result) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a probe panicked", "check", spec.Name, "address", address, "panic", p)
			r = check.Result{}
			disown(&r, fmt.Sprintf("the probe panicked: %q", fmt.Sprint(p)))
		}
	}()
	return s.opts.Probe(ctx, spec, address)
}

// disown says that a result tells nothing about the target.
func disown(r *check.Result, why string) {
	r.Outcome, r.Cause = check.Unknown, check.CauseLocal
	r.Detail = why[:min(len(why), check.MaxDetail)]
}

// land notes that a probe is over, and reports whether its worker may wait for
// another one.
func (s *Schedule) land(f flight, next chan flight) (wanted bool) {
	s.mu.Lock()
	s.running--
	s.finished = append(s.finished, f)
	s.lag.add(f.result.End, f.lag())
	if f.late() {
		s.counts.late++
	}
	queued := len(s.waiting) > 0
	wanted = s.rest(next)
	s.mu.Unlock()
	signal(s.done)
	if queued {
		signal(s.wake)
	}
	return wanted
}

// handOver gives finished probes to the sink, at most once a tick and at the
// tick, at which the dispatcher wakes up as well: one wake-up of this process
// pays for both, and one of the receiver for all that have finished.
func (s *Schedule) handOver(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.done:
		}
		now := s.opts.Clock.Boot()
		pause.Reset(gridFloor(now) + tick - now)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		s.deliver(ctx)
	}
}

// deliver hands over what is finished. A target stays busy until its result
// was taken: a slow sink slows the probing down and never piles up results.
func (s *Schedule) deliver(ctx context.Context) {
	flights, results := s.collect()
	if ctx.Err() != nil {
		return
	}
	if len(results) > 0 {
		s.opts.Results(results)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range flights {
		s.release(f.entry)
	}
}

// collect takes the finished probes and picks the results that count. It
// looks at the clock first: after a standstill it may be the first to run.
func (s *Schedule) collect() ([]flight, []check.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(s.opts.Clock.Boot())
	flights := s.finished
	s.finished = nil
	results := make([]check.Result, 0, len(flights))
	for _, f := range flights {
		if f.generation != f.entry.generation {
			s.counts.dropped++
			continue
		}
		if s.awake.covers(f.result.Start, f.result.End) {
			disown(&f.result, "this process stood still while the probe was under way")
		}
		results = append(results, f.result)
	}
	return flights, results
}
