package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/record"
)

// The guards of this package by their names in plans, logs and approvals.
const (
	GuardAdopt      = "adopt"
	GuardHeld       = "held"
	GuardForeign    = "foreign"
	GuardOwned      = "owned"
	GuardDelegation = "delegation"
	GuardState      = "state"
	GuardMaxWrites  = "max_writes"
	GuardMaxChanges = "max_changes"
)

// Writes is a sliding window: at most Count writes to one record set within
// Window. A Count of 0 switches the guard off.
type Writes struct {
	Count  int
	Window time.Duration
}

// Limits is what a plan is held against: the numbers of the config, and what
// persons have approved.
type Limits struct {
	MaxChanges int // record sets in one plan of a zone; 0 switches the guard off
	MaxWrites  Writes
	Now        time.Duration                  // boot time
	Written    map[record.Key][]time.Duration // boot times of the latest writes, oldest first
	Adopted    map[record.Key]bool            // record sets whose first take-away was approved or done
	Owned      map[record.Key]bool            // record sets that may be steered although another tool claims the name
	Held       map[string]bool                // values that may be resumed although somebody else paused them
	Plan       string                         // checksum of a plan that may pass MaxChanges once
	Lost       bool                           // overrides may have been lost with the state: nothing is resumed
	Override   map[string]bool                // guards that the operator switched off for this plan
}

// Check holds the plan against the limits: it marks the changes that a guard
// stops and appends the refusals, each with its numbers and the way on.
func (p *Plan) Check(l Limits, zone Zone) {
	for i := range p.Sets {
		p.checkSet(&p.Sets[i], l, zone)
	}
	p.checkMaxChanges(l)
}

// checkSet asks the guards of one record set, the gravest first; the first
// refusal stops every change of the set, since half a plan could leave it
// worse than none.
func (p *Plan) checkSet(s *Set, l Limits, zone Zone) {
	guards := []struct {
		name string
		ask  func(*Set, Limits, Zone) string
	}{
		{GuardDelegation, checkDelegation},
		{GuardOwned, checkOwned},
		{GuardForeign, checkForeign},
		{GuardHeld, checkHeld},
		{GuardState, checkState},
		{GuardAdopt, checkAdopt},
		{GuardMaxWrites, checkMaxWrites},
	}
	for _, g := range guards {
		if l.Override[g.name] || len(s.Changes) == 0 {
			continue
		}
		if detail := g.ask(s, l, zone); detail != "" {
			p.block(s, g.name, detail)
			return
		}
	}
}

func (p *Plan) block(s *Set, guard, detail string) {
	p.Blocked = append(p.Blocked, Blocked{Guard: guard, Key: s.Key(), Detail: detail})
	for i := range s.Changes {
		s.Changes[i].Guard = guard
	}
}

func checkDelegation(s *Set, _ Limits, zone Zone) string {
	for _, cut := range zone.Delegations {
		if cut != zone.Name && s.Key().Name.In(cut) {
			return fmt.Sprintf("%s lies below the delegation of %s, so its answers come from other servers; steer it in that zone", s.Key(), cut)
		}
	}
	return ""
}

func checkOwned(s *Set, l Limits, zone Zone) string {
	owner, found := zone.Owners[s.Key().Name]
	if !found || l.Owned[s.Key()] {
		return ""
	}
	return fmt.Sprintf("%s is claimed by %s; make that tool let go of it, or: sidestep approve %s", s.Key(), owner, s.Key().Name.Unrooted())
}

// checkForeign refuses a set that can have one value while somebody else's is
// in it, and any set at a name that answers with a CNAME of somebody else.
func checkForeign(s *Set, _ Limits, zone Zone) string {
	key := s.Key()
	if key.Type.Single() && len(s.Foreign) > 0 {
		return fmt.Sprintf("%s has the value %s, which the config does not name; name it or remove it", key, s.Foreign[0])
	}
	other := record.Key{Zone: key.Zone, Name: key.Name, Type: record.CNAME}
	if alias := record.FindSet(zone.Sets, other).Live(); !key.Type.Single() && len(alias) > 0 {
		return fmt.Sprintf("%s is an alias of %s, and a CNAME stands alone (RFC 1034 section 3.6.2); remove it first", key.Name, alias[0])
	}
	return ""
}

// checkHeld refuses a plan that would resume what somebody else paused.
func checkHeld(s *Set, l Limits, _ Zone) string {
	for _, c := range s.Changes {
		if c.Action == record.Resume && slices.Contains(s.Held, c.Value) && !l.Held[c.Value] {
			return fmt.Sprintf("%s at %s was paused by somebody else; to resume it: sidestep approve %s", c.Value, s.Key(), c.Value)
		}
	}
	return ""
}

func checkState(s *Set, l Limits, _ Zone) string {
	if !l.Lost || !slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Action == record.Resume }) {
		return ""
	}
	return fmt.Sprintf("the state was corrupt and overrides may be lost with it, so nothing at %s is resumed; look, then: sidestep approve all", s.Key())
}

// checkAdopt refuses the first plan that takes a usable live value out. A
// paused value with our mark proves that a person said yes before.
func checkAdopt(s *Set, l Limits, _ Zone) string {
	if !s.Wanted.Spec.AskFirst || l.Adopted[s.Key()] || s.marked() {
		return ""
	}
	var out []string
	for _, c := range s.Changes {
		if c.Usable {
			out = append(out, takenOut(c))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf("the first plan for %s takes out %s, which is usable; if that is meant: sidestep approve %s",
		s.Key(), strings.Join(out, ", "), s.Key().Name.Unrooted())
}

func (s *Set) marked() bool {
	return slices.ContainsFunc(s.Seen.Answers, func(a record.Answer) bool {
		return a.Paused && s.Wanted.Spec.Names(a.Value)
	})
}

func takenOut(c Change) string {
	if c.Action == record.Swap {
		return c.From
	}
	return c.Value
}

// checkMaxWrites refuses a write beyond the window's count, unless it takes an
// unusable answer out: an outage never waits.
func checkMaxWrites(s *Set, l Limits, _ Zone) string {
	if l.MaxWrites.Count <= 0 || s.mends() {
		return ""
	}
	if n := l.recent(s.Key()); n >= l.MaxWrites.Count {
		return fmt.Sprintf("%s was written %d times in the last %s, and max_writes is %d", s.Key(), n, l.MaxWrites.Window, l.MaxWrites.Count)
	}
	return ""
}

// mends reports whether the plan takes an unusable answer out.
func (s *Set) mends() bool {
	return slices.ContainsFunc(s.Changes, func(c Change) bool {
		return (c.Action == record.Pause || c.Action == record.Swap) && !c.Usable
	})
}

func (l Limits) recent(key record.Key) int {
	n := 0
	for _, at := range l.Written[key] {
		if l.Now-at < l.MaxWrites.Window {
			n++
		}
	}
	return n
}

// checkMaxChanges counts the record sets that the plan would change.
func (p *Plan) checkMaxChanges(l Limits) {
	if l.MaxChanges <= 0 || l.Override[GuardMaxChanges] || l.Plan == p.Checksum() {
		return
	}
	n := 0
	for _, s := range p.Sets {
		if len(s.Open()) > 0 {
			n++
		}
	}
	if n <= l.MaxChanges {
		return
	}
	detail := fmt.Sprintf("the plan changes %d record sets, and max_changes is %d; to let it through once: sidestep approve %s --plan %s",
		n, l.MaxChanges, p.Zone.Unrooted(), p.Checksum())
	p.Blocked = append(p.Blocked, Blocked{Guard: GuardMaxChanges, Key: record.Key{Zone: p.Zone}, Detail: detail})
	for i := range p.Sets {
		for j := range p.Sets[i].Changes {
			if p.Sets[i].Changes[j].Guard == "" {
				p.Sets[i].Changes[j].Guard = GuardMaxChanges
			}
		}
	}
}
