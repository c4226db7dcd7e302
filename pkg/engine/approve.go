package engine

import (
	"fmt"
	"slices"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// approve is a person's yes. What it matches is decided by what its target
// names; one that matches nothing is an error, because a yes that goes nowhere
// is worse than none.
func (e *Engine) approve(ev Approve) {
	var err error
	switch {
	case ev.Plan != "":
		err = e.approvePlan(ev)
	case ev.Target == "all":
		e.approveAll()
	case e.approveName(ev.Target), e.approveAddress(ev.Target), e.approveSite(ev.Target):
	default:
		err = e.unapproved(ev.Target)
	}
	if err != nil {
		e.effects.Err = err
		return
	}
	for _, z := range e.zones {
		z.dirty = true
	}
	e.effects.Save = true
	detail := "approved"
	switch {
	case e.effects.Idle != "" && !e.effects.Kept:
		return // nothing waited, and nothing is kept: there is nothing to bear witness to
	case e.effects.Kept:
		detail += "; " + e.effects.Idle
	}
	e.tell(Entry{Kind: "guard", Target: ev.Target, By: ev.By, Detail: detail})
}

// unapproved is the error of a yes to what does not wait: it points at what does
// where the target is an address of it.
func (e *Engine) unapproved(target string) error {
	th, found := e.findAddress(target)
	if !found {
		return fmt.Errorf("approve %q: it is no record set, no site, no value that somebody else paused, and no address with a disabled target", target)
	}
	for _, s := range e.scenes.sites {
		reaches := func(set *set) bool { return s.holds(set, th) }
		if s.wait != nil && slices.ContainsFunc(s.sets, reaches) {
			return fmt.Errorf("approve %q: nothing waits at this address itself, but it is of site %s, which %s", target, s.spec.Name, s.waitWords())
		}
	}
	return fmt.Errorf("approve %q: nothing waits for approval at this address: nobody else paused it, and no target of it is disabled", target)
}

// holds reports whether an answer of the record set is of the site and is what a
// thing is.
func (s *site) holds(set *set, th thing) bool {
	for i := range set.spec.Len() {
		if set.spec.At(i).Site == s.spec.Name && set.reached(th, i) {
			return true
		}
	}
	return false
}

// approveAll says that overrides which may have been lost are not missed.
func (e *Engine) approveAll() {
	if !e.lost {
		e.effects.Idle = "nothing waits for approve all: no saved state was lost"
	}
	e.lost = false
}

// approvePlan lets a plan that max_changes stopped through once.
func (e *Engine) approvePlan(ev Approve) error {
	name, err := record.ParseName(ev.Target)
	z, found := e.zones[name]
	if err != nil || !found {
		return fmt.Errorf("approve %q: a plan is approved for a zone, and the config has none of that name", ev.Target)
	}
	e.refresh(z)
	if sum := z.plan.Checksum(); sum != ev.Plan {
		return fmt.Errorf("approve zone %s: the plan is %s now, not %s; look at it again: sidestep plan", name, sum, ev.Plan)
	}
	if !z.plan.Stopped(plan.GuardMaxChanges, record.Key{Zone: name}) {
		e.effects.Idle = fmt.Sprintf("max_changes does not stop plan %s of %s; your yes to it is kept", ev.Plan, name)
		e.effects.Kept = true
	}
	z.approved = ev.Plan
	return nil
}

// approveName says yes to the first plan of the record sets at a name, and to
// what else waits for a person there now.
func (e *Engine) approveName(target string) bool {
	name, err := record.ParseName(target)
	if err != nil {
		return false
	}
	var matched []*set
	for _, s := range e.sets {
		if s.spec.Key.Name == name {
			e.refresh(s.zone)
			matched = append(matched, s)
		}
	}
	if len(matched) > 0 {
		e.effects.Idle, e.effects.Kept = e.idle(name, matched)
	}
	for _, s := range matched {
		s.adopted = true
		if _, claimed := s.zone.seen.Owners[name]; claimed {
			s.owned = true
		}
		if p, planned := s.zone.plan.Find(s.spec.Key); planned && p.Wanted.Waiting != "" {
			s.failback = true
		}
	}
	return len(matched) > 0
}

// idle says that nothing at a name waits for a yes, and what becomes of it; it
// is empty where something waits, or may wait because not all is judged yet.
// Kept says that the yes is remembered all the same.
func (e *Engine) idle(name record.Name, sets []*set) (words string, kept bool) {
	for _, s := range sets {
		if e.waits(s) {
			return "", false
		}
		kept = kept || s.spec.AskFirst && !s.adopted
	}
	if kept {
		return fmt.Sprintf("nothing waits for approval at %s; your yes to its first plan is kept", name) + e.waitsBehind(sets), true
	}
	return fmt.Sprintf("nothing waits for approval at %s, and nothing has changed", name) + e.waitsBehind(sets), false
}

// waitsBehind names the sites that wait and have an answer in one of the record
// sets.
func (e *Engine) waitsBehind(sets []*set) string {
	words := ""
	for _, s := range e.scenes.sites {
		if s.wait != nil && slices.ContainsFunc(s.sets, func(set *set) bool { return slices.Contains(sets, set) }) {
			words += "; site " + s.spec.Name + " of it " + s.waitWords()
		}
	}
	return words
}

// waits reports whether anything of the record set waits for a person, as far
// as that is known.
func (e *Engine) waits(s *set) bool {
	_, claimed := s.zone.seen.Owners[s.spec.Key.Name]
	p, planned := s.zone.plan.Find(s.spec.Key)
	switch {
	case claimed && !s.owned:
		return true
	case !planned || !e.judgedAll(s):
		return s.spec.AskFirst && !s.adopted || s.spec.Failback.Manual
	}
	return p.Wanted.Waiting != "" && !s.failback || s.zone.plan.Stopped(plan.GuardAdopt, s.spec.Key)
}

// approveAddress says yes to everything that waits for one at a value or an
// address.
func (e *Engine) approveAddress(target string) bool {
	resumed, enabled := e.approveValue(target), e.enable(target)
	return resumed || enabled
}

// approveValue says yes to resuming a value that somebody else paused.
func (e *Engine) approveValue(target string) bool {
	matched := false
	for _, s := range e.sets {
		value, err := record.ParseValue(s.spec.Key.Type, target)
		if err != nil || !s.spec.Names(value) {
			continue
		}
		a, found := record.FindSet(s.zone.seen.Sets, s.spec.Key).Find(value)
		if !found || !a.Held || a.Live {
			continue
		}
		matched = true
		if !slices.Contains(s.resume, value) {
			s.resume = append(slices.Clone(s.resume), value)
			slices.Sort(s.resume)
		}
	}
	return matched
}
