package engine

import (
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// seen takes a fresh list of a zone, and says when the zone answers otherwise
// than it did when it was listed last: somebody else changed it.
func (e *Engine) seen(list plan.Zone) {
	z, found := e.zones[list.Name]
	if !found {
		return
	}
	z.take(list)
	for _, s := range z.sets {
		live := s.liveIn(list)
		if s.published != nil && !slices.Equal(s.published, live) {
			e.effects.Journal = append(e.effects.Journal, Entry{
				Kind: "plan", Target: s.spec.Key.String(),
				Detail: fmt.Sprintf("drift: live is %s, was %s when the zone was listed last", words(live), words(s.published)),
			})
		}
		e.publish(s, live)
	}
}

func (z *zone) take(list plan.Zone) {
	z.seen, z.listed, z.err, z.dirty = list, true, "", true
}

// liveIn lists the live values of a record set, foreign ones too; never nil.
func (s *set) liveIn(list plan.Zone) []string {
	return append([]string{}, record.FindSet(list.Sets, s.spec.Key).Live()...)
}

func (e *Engine) publish(s *set, live []string) {
	if !slices.Equal(s.published, live) {
		e.effects.Save = true
	}
	s.published = live
}

func words(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	return strings.Join(values, ", ")
}

// failed notes that a zone could not be listed or written. What was listed
// before stays what is known.
func (e *Engine) failed(ev Failed) {
	if z, found := e.zones[ev.Zone]; found {
		z.err = ev.Err
	}
}

// done takes the end of a piece of Work: the zone as it is now, and which
// record sets were written.
func (e *Engine) done(ev Done) {
	z, found := e.zones[ev.Zone.Name]
	if !found {
		return
	}
	z.asked = false
	z.take(ev.Zone)
	for _, s := range z.sets {
		e.publish(s, s.liveIn(ev.Zone))
	}
	e.applied(z, ev.Applied)
	if len(ev.Applied) > 0 {
		z.approved = ""
	}
}

// wrote counts what was written by Work that did not come to its end.
func (e *Engine) wrote(ev Wrote) {
	if z, found := e.zones[ev.Zone]; found {
		e.applied(z, ev.Applied)
	}
}

// applied counts the writes of a zone's record sets.
func (e *Engine) applied(z *zone, changes []plan.Change) {
	for _, s := range z.sets {
		s.applied(changes, e.now)
	}
	if len(changes) > 0 {
		e.effects.Save = true
	}
}

// applied counts one write of a record set, however many changes it had.
func (s *set) applied(changes []plan.Change, now Now) {
	mine := slices.DeleteFunc(slices.Clone(changes), func(c plan.Change) bool { return c.Key != s.spec.Key })
	if len(mine) == 0 {
		return
	}
	s.written = append(s.written, now.Boot)
	s.failback = false
	if slices.ContainsFunc(mine, func(c plan.Change) bool { return !c.Action.Add() }) {
		s.adopted = true
	}
}

// Work is what the zone has to be brought to by what is known now, for a
// command that plans or writes without waiting for a change. The guards in
// override are switched off for it. Work for a zone that the config does not
// have is false. It is out until Done comes, like any other.
func (e *Engine) Work(now Now, name record.Name, override map[string]bool) (Work, bool) {
	z, found := e.zones[name]
	if !found {
		return Work{}, false
	}
	e.now, z.asked = now, true
	return e.work(z, override), true
}

// approve is a person's yes. What it matches is decided by what its target
// names; one that matches nothing is an error, because a yes that goes nowhere
// is worse than none.
func (e *Engine) approve(ev Approve) {
	switch {
	case ev.Target == "all":
		e.lost = false
	case e.approvePlan(ev), e.approveName(ev.Target), e.approveValue(ev.Target):
	default:
		if e.effects.Err == nil {
			e.effects.Err = fmt.Errorf("approve %q: no record set, address or zone of that name waits for approval", ev.Target)
		}
		return
	}
	for _, z := range e.zones {
		z.dirty = true
	}
	e.effects.Save = true
	e.effects.Journal = append(e.effects.Journal, Entry{Kind: "guard", Target: ev.Target, By: ev.By, Detail: "approved"})
}

// approvePlan lets a plan that max_changes stopped through once.
func (e *Engine) approvePlan(ev Approve) bool {
	name, err := record.ParseName(ev.Target)
	z, found := e.zones[name]
	if err != nil || !found || ev.Plan == "" {
		return false
	}
	if sum := z.plan.Checksum(); sum != ev.Plan {
		e.effects.Err = fmt.Errorf("approve zone %s: the plan is %s now, not %s; look at it again: sidestep plan", name, sum, ev.Plan)
		return false
	}
	z.approved = ev.Plan
	return true
}

// approveName says yes to everything that waits for a person at a name.
func (e *Engine) approveName(target string) bool {
	name, err := record.ParseName(target)
	if err != nil {
		return false
	}
	matched := false
	for _, s := range e.sets {
		if s.spec.Key.Name == name {
			s.adopted, s.owned, s.failback = true, true, s.waitsForFailback()
			matched = true
		}
	}
	return matched
}

func (s *set) waitsForFailback() bool {
	return slices.ContainsFunc(s.zone.plan.Sets, func(p plan.Set) bool {
		return p.Key() == s.spec.Key && p.Wanted.Waiting != ""
	})
}

// approveValue says yes to resuming a value that somebody else paused.
func (e *Engine) approveValue(target string) bool {
	matched := false
	for _, s := range e.sets {
		value, err := record.ParseValue(s.spec.Key.Type, target)
		if err != nil || !s.spec.Names(value) {
			continue
		}
		if a, found := record.FindSet(s.zone.seen.Sets, s.spec.Key).Find(value); found && a.Held {
			s.held[value] = true
			matched = true
		}
	}
	return matched
}
