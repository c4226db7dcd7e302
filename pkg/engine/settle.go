package engine

import (
	"fmt"
	"strings"
	"time"

	"sidestep/pkg/health"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// settle works out what follows from everything that has changed, zone by
// zone, and when time alone will change something next.
func (e *Engine) settle() {
	for _, s := range e.sets {
		e.judge(s)
	}
	for _, name := range e.config.Zones {
		z := e.zones[name]
		e.settleWindow(z)
		e.settleLook(z)
	}
	e.effects.Next = e.next()
}

// judge brings the answers of a record set up to date with their targets.
func (e *Engine) judge(s *set) {
	unjudged := false
	for i, needs := range s.targets {
		usable, why := usable(needs)
		unjudged = unjudged || usable == steer.NotKnown
		if j := &s.judged[i]; j.Usable != usable {
			j.Usable, j.Since = usable, s.since(i, usable, e.now.Boot)
			s.zone.dirty = true
		}
		s.judged[i].Why = why
	}
	if !s.ready && (!unjudged || e.now.Boot >= s.deadline) {
		s.ready, s.zone.dirty = true, true
	}
}

// since is when an answer became what it is. One that is judged for the first
// time since a start goes on from where an earlier process left it: the hold of
// its failback was not broken by a restart.
func (s *set) since(i int, usable steer.Usable, now time.Duration) time.Duration {
	value := s.spec.Answers[i].Value
	earlier, found := s.resumed[value]
	delete(s.resumed, value)
	if found && usable == steer.Yes {
		return earlier
	}
	return now
}

// usable adds the verdicts of an answer's targets up: one that is down makes
// it unusable, one that is not judged leaves it not known.
func usable(needs []*target) (steer.Usable, string) {
	known := steer.Yes
	for _, t := range needs {
		switch t.health.Is() {
		case health.Down:
			return steer.No, fmt.Sprintf("%s down: %s/%s", t.id.ID(), t.health.Phase, t.health.Cause)
		case health.Unknown:
			known = steer.NotKnown
		}
	}
	if known == steer.NotKnown {
		return known, ids(needs) + " not judged yet"
	}
	return known, ids(needs) + " up"
}

func ids(needs []*target) string {
	var list []string
	for _, t := range needs {
		list = append(list, t.id.ID())
	}
	return strings.Join(list, ", ")
}

// settleWindow plans a zone that something changed for, opens its debounce
// window when there is something to write, and at the end of the window lets
// Work out, if there still is. While older Work is out there always is: what it
// says is tried again until it is done, and must not be when it is no longer
// wanted.
func (e *Engine) settleWindow(z *zone) {
	if !z.listed {
		return
	}
	if z.dirty || reached(z.due, e.now.Boot) {
		e.replan(z)
		if z.window == 0 && (z.plan.Pending() || z.asked) {
			z.window = e.now.Boot + e.config.Debounce
		}
	}
	if !reached(z.window, e.now.Boot) {
		return
	}
	z.window = 0
	e.replan(z)
	if z.plan.Pending() || z.asked {
		z.asked = true
		e.effects.Work = append(e.effects.Work, e.work(z, nil))
	}
}

func (e *Engine) replan(z *zone) {
	work := e.work(z, nil)
	z.plan = work.Plan(z.seen)
	z.dirty = false
	z.due = e.due(z, work.Limits)
}

// due is when time alone changes the zone's plan: a failback becomes due, or
// the window of max_writes slides.
func (e *Engine) due(z *zone, limits plan.Limits) time.Duration {
	due := time.Duration(0)
	for _, s := range z.plan.Sets {
		due = sooner(due, s.Wanted.Due)
		if len(s.Changes) > 0 && s.Changes[0].Guard == plan.GuardMaxWrites {
			oldest := limits.Written[s.Key()][0]
			due = sooner(due, oldest+limits.MaxWrites.Window)
		}
	}
	return due
}

// work gathers what a plan for the zone rests on: the record sets that may be
// planned already, and the limits.
func (e *Engine) work(z *zone, override map[string]bool) Work {
	w := Work{Zone: z.name, Limits: plan.Limits{
		MaxChanges: e.config.MaxChanges, MaxWrites: e.config.MaxWrites,
		Now: e.now.Boot, Plan: z.approved, Lost: e.lost, Override: override,
		Written: map[record.Key][]time.Duration{}, Adopted: map[record.Key]bool{},
		Owned: map[record.Key]bool{}, Held: map[string]bool{},
	}}
	for _, s := range z.sets {
		if !s.ready {
			continue
		}
		s.forgetWrites(e.now.Boot, e.config.MaxWrites.Window)
		w.Inputs = append(w.Inputs, s.input(e.now.Boot))
		w.Limits.Adopted[s.spec.Key] = s.adopted
		w.Limits.Owned[s.spec.Key] = s.owned
		w.Limits.Written[s.spec.Key] = append([]time.Duration(nil), s.written...)
		for value := range s.held {
			w.Limits.Held[value] = true
		}
	}
	return w
}

// input is a copy, so that the reconciler can plan with it while the engine
// goes on.
func (s *set) input(now time.Duration) steer.Input {
	return steer.Input{
		Spec:     s.spec,
		Judged:   append([]steer.Judged(nil), s.judged...),
		Now:      now,
		Failback: s.failback,
	}
}

func (s *set) forgetWrites(now, window time.Duration) {
	for len(s.written) > 0 && now-s.written[0] >= window {
		s.written = s.written[1:]
	}
}

// settleLook asks for a zone's list when its time has come.
func (e *Engine) settleLook(z *zone) {
	if e.now.Boot < z.look || z.look == never {
		return
	}
	e.effects.Look = append(e.effects.Look, z.name)
	z.look = never
	if e.config.Every > 0 {
		z.look = e.now.Boot + e.config.Every
	}
}

// never is a boot time that does not come.
const never = time.Duration(1<<63 - 1)

// next is the earliest boot time at which time alone changes anything.
func (e *Engine) next() time.Duration {
	next := time.Duration(0)
	for _, s := range e.sets {
		if !s.ready {
			next = sooner(next, s.deadline)
		}
	}
	for _, z := range e.zones {
		next = sooner(sooner(next, z.window), z.due)
		if z.look != never {
			next = sooner(next, z.look)
		}
	}
	return next
}

// sooner is the earlier of two boot times, of which 0 stands for none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// reached reports whether a boot time, 0 for none, has come.
func reached(at, now time.Duration) bool { return at != 0 && now >= at }
