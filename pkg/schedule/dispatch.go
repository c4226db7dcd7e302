package schedule

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

const (
	// heartbeat is the longest sleep of the dispatcher. It bounds how long a
	// standstill can go unnoticed.
	heartbeat = 250 * time.Millisecond
	// standstill is how late the dispatcher must wake up for the process, and
	// not a target, to count as having been away.
	standstill = 500 * time.Millisecond
)

// awake is the proof that the process was running: each look at the clock
// should come no later than the dispatcher meant to wake up.
type awake struct {
	last   time.Duration // the last look
	wakeAt time.Duration // when the dispatcher means to look next
	from   time.Duration // the latest standstill began after this look
	to     time.Duration // and was over at this one
}

// covers reports whether a probe from start to end may have been under way
// during the latest standstill.
func (a awake) covers(start, end time.Duration) bool {
	return start < a.to && end > a.from
}

// Run probes until ctx ends, then stops the probes in flight, waits for them
// and returns. Results of stopped probes are dropped. Run it once.
func (s *Schedule) Run(ctx context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	defer s.dismiss()
	s.begin()
	work.Go(func() { s.handOver(ctx) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.wake:
		}
		timer.Reset(s.dispatch(ctx, &work))
	}
}

// begin forgets the slots that passed between Set and Run.
func (s *Schedule) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Clock.Boot()
	s.passOver(now)
	s.awake = awake{last: now, wakeAt: now}
}

// dispatch starts what is due and returns how long to sleep.
func (s *Schedule) dispatch(ctx context.Context, work *sync.WaitGroup) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Clock.Boot()
	s.look(now)
	s.startWaiting(ctx, work, now)
	for len(s.heap) > 0 && s.heap[0].due <= gridFloor(now) {
		f := flight{entry: s.heap[0], slot: s.heap[0].due}
		s.counts.missed += s.reschedule(now)
		switch {
		case f.entry.busy:
			s.counts.skipped++
		case s.running < s.limit:
			s.start(ctx, work, f)
		default:
			s.counts.delayed++
			f.entry.busy = true
			s.waiting = append(s.waiting, f)
		}
	}
	s.awake.wakeAt = s.nextWake(now)
	return s.awake.wakeAt - now
}

// look notices that the process stood still. The slots that passed meanwhile
// are gone: making up for them would be a burst at the worst moment.
func (s *Schedule) look(now time.Duration) {
	if late := now - s.awake.wakeAt; late > standstill {
		s.awake.from, s.awake.to = s.awake.last, now
		s.awake.wakeAt = now
		s.counts.gaps++
		s.counts.missed += s.passOver(now)
		s.log.Warn("the process stood still: probes under way do not count, slots that passed are left out",
			"late", late.Round(time.Millisecond).String(), "in_flight", s.running)
	}
	s.awake.last = now
}

// StoodStill reports whether Run has noticed that this process stood still at
// some time from one boot time to another, so that what was under way then tells
// nothing. It is for those who probe by Round beside Run.
func (s *Schedule) StoodStill(from, to time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.awake.wakeAt > 0 { // Run has begun
		s.look(s.opts.Clock.Boot())
	}
	return s.awake.covers(from, to)
}

// passOver moves every entry to a slot after now and returns how many slots
// that leaves out.
func (s *Schedule) passOver(now time.Duration) uint64 {
	var left uint64
	for len(s.heap) > 0 && s.heap[0].due <= now {
		left += 1 + s.reschedule(now)
	}
	return left
}

// reschedule moves the first entry to its next slot after now and returns how
// many slots lie between the two.
func (s *Schedule) reschedule(now time.Duration) uint64 {
	e := s.heap[0]
	slot := e.due
	e.due = slotAfter(now, e.spec.Interval, e.phase)
	heap.Fix(&s.heap, 0)
	return uint64((e.due - slot - 1) / e.spec.Interval) // one that was brought forward lies between two slots
}

// startWaiting gives free workers to the targets that wait for one.
func (s *Schedule) startWaiting(ctx context.Context, work *sync.WaitGroup, now time.Duration) {
	for len(s.waiting) > 0 {
		f := s.waiting[0]
		given := f.entry.removed || f.entry.notBefore > now
		if !given && s.running >= s.limit {
			return
		}
		s.waiting = s.waiting[1:]
		if given {
			s.release(f.entry)
			continue
		}
		s.start(ctx, work, f)
	}
}

// start lets a worker probe one target: the one that became idle last, whose
// stack is still in the processor's caches, or else a new one.
func (s *Schedule) start(ctx context.Context, work *sync.WaitGroup, f flight) {
	f.entry.busy = true
	f.generation, f.spec = f.entry.generation, f.entry.spec
	s.running++
	s.counts.started++
	if last := len(s.idle) - 1; last >= 0 {
		s.idle[last] <- f
		s.idle = s.idle[:last]
		return
	}
	work.Go(func() { s.work(ctx, f) })
}

// release makes a target free for its next probe.
func (s *Schedule) release(e *entry) {
	e.busy = false
	switch {
	case e.removed:
		delete(s.targets, e.target)
	case e.hasten > 0:
		s.bringForward(e)
	}
}

// nextWake is the tick at which the next slot has come, or the next heartbeat.
func (s *Schedule) nextWake(now time.Duration) time.Duration {
	next := now + heartbeat
	if len(s.heap) > 0 {
		next = min(next, gridCeil(s.heap[0].due))
	}
	return next
}
