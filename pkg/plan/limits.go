package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// The guards by their names in plans, logs and approvals.
const (
	GuardAdopt      = "adopt"
	GuardHeld       = "held"
	GuardForeign    = "foreign"
	GuardOwned      = "owned"
	GuardDelegation = "delegation"
	GuardState      = "state"
	GuardMaxWrites  = "max_writes"
	GuardMaxChanges = "max_changes"
	GuardCanary     = "canary"
	GuardFreeze     = "freeze"
	GuardMass       = "mass"  // stops no change: it keeps what it was of many targets that fail together
	GuardClock      = "clock" // stops no change: it makes results unknown
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
	Plan       string                         // checksum of a plan that may pass MaxChanges once
	Blind      string                         // why this node does not see the world, so that nothing may be written; empty when it does
	Frozen     map[record.Key]string          // why nothing may be written: to a record set, or under a key with only Zone, to all of the zone
	Mass       string                         // why targets of the zone are suspected and not down; empty when none is
	Override   map[string]bool                // guards that the operator switched off for this plan
}

// Check holds the plan against the limits: it marks the changes that a guard
// stops and appends the refusals, each with its numbers and the way on.
func (p *Plan) Check(l Limits, zone Zone) {
	p.checkFreeze(l)
	rest := zone.Sets // sorted by key, as the plan's are: what is at a name is found by walking both
	for i := range p.Sets {
		s := &p.Sets[i]
		rest = beforeName(rest, s.Key())
		for _, stopped := range s.Wanted.Stopped {
			p.Blocked = append(p.Blocked, refuseResume(s.Key(), stopped))
		}
		if s.IsOpen() {
			zone.Sets = rest
			p.checkSet(s, l, zone)
		}
	}
	p.checkMaxChanges(l)
	if l.Mass != "" && !l.Override[GuardMass] {
		p.Blocked = append(p.Blocked, Blocked{Guard: GuardMass, Key: record.Key{Zone: p.Zone}, Detail: l.Mass})
	}
	p.checkBlind(l)
}

// checkFreeze refuses what an operator said not to write, before any other guard
// is asked: those speak of writes. A plan without a change is none.
func (p *Plan) checkFreeze(l Limits) {
	if len(l.Frozen) == 0 {
		return
	}
	zone := record.Key{Zone: p.Zone}
	for i := range p.Sets {
		s := &p.Sets[i]
		if len(s.Changes) == 0 {
			continue
		}
		key := zone
		if _, all := l.Frozen[zone]; !all {
			key = s.Key()
		}
		detail, frozen := l.Frozen[key]
		if !frozen {
			continue
		}
		if !p.Stopped(GuardFreeze, key) {
			p.Blocked = append(p.Blocked, Blocked{Guard: GuardFreeze, Key: key, Detail: detail})
		}
		s.stop(GuardFreeze)
	}
}

// checkBlind refuses everything while the node is blind, a plan without a change
// too: that there is none rests on what was seen. It comes last, so that other
// refusals are told as they would be without it, and stands first, being the
// gravest.
func (p *Plan) checkBlind(l Limits) {
	if l.Blind == "" {
		return
	}
	p.Blocked = slices.Insert(p.Blocked, 0, Blocked{Guard: GuardCanary, Key: record.Key{Zone: p.Zone}, Detail: l.Blind})
	for i := range p.Sets {
		p.Sets[i].stop(GuardCanary)
	}
}

// refuseResume tells of a value that is wanted and stays paused. The plan does
// without it, so it stops no other change.
func refuseResume(key record.Key, s steer.Stopped) Blocked {
	if s.Held {
		return Blocked{Guard: GuardHeld, Key: key, Detail: fmt.Sprintf(
			"%s at %s was paused by somebody else; to resume it: sidestep approve %s", s.Value, key, strings.TrimSuffix(s.Value, "."))}
	}
	return Blocked{Guard: GuardState, Key: key, Detail: fmt.Sprintf(
		"the state was corrupt and overrides may be lost with it, so %s at %s is not resumed; look, then: sidestep approve all", s.Value, key)}
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
		{GuardAdopt, checkAdopt},
		{GuardMaxWrites, checkMaxWrites},
	}
	for _, g := range guards {
		if l.Override[g.name] {
			continue
		}
		if detail := g.ask(s, l, zone); detail != "" {
			p.Blocked = append(p.Blocked, Blocked{Guard: g.name, Key: s.Key(), Detail: detail})
			s.stop(g.name)
			return
		}
	}
}

// stop marks the changes that no other guard stops.
func (s *Set) stop(guard string) {
	for i := range s.Changes {
		if s.Changes[i].Guard == "" {
			s.Changes[i].Guard = guard
		}
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

// checkForeign refuses a set in whose place is something that has no values to
// switch, a set that can have one value while somebody else's is
// in it, a set beside another at a name where one of them is a CNAME, and a new
// set beside variants of it: where they have weights or places of their own, one
// without would answer for all of them, or is refused.
func checkForeign(s *Set, _ Limits, zone Zone) string {
	key := s.Key()
	if what, fixed := zone.Fixed[key]; fixed {
		return fmt.Sprintf("%s is %s, which has no values that could be switched; steer another name, or replace it by hand", key, what)
	}
	if key.Type.Single() && len(s.Foreign) > 0 {
		return fmt.Sprintf("%s has the value %s, which the config does not name; name it or remove it", key, s.Foreign[0])
	}
	for _, other := range setsAt(zone.Sets, key) {
		if other.Key.Type == key.Type && key.Variant == "" && len(s.Seen.Answers) == 0 && len(other.Live()) > 0 {
			return fmt.Sprintf("%s is kept in variants, %q is one of them, and the config names none; name the one that is meant: variant: %s", key, other.Key.Variant, other.Key.Variant)
		}
		if key.Type.Single() == other.Key.Type.Single() {
			continue
		}
		if live := other.Live(); len(live) > 0 {
			return fmt.Sprintf("%s has the %s value %s as well, and a CNAME stands alone (RFC 1034 section 3.6.2); remove one of them",
				key.Name, other.Key.Type, live[0])
		}
	}
	return ""
}

// beforeName drops the sets of names before a key's.
func beforeName(sets []record.Set, key record.Key) []record.Set {
	first := record.Key{Zone: key.Zone, Name: key.Name}
	for len(sets) > 0 && sets[0].Key.Name != key.Name && sets[0].Key.Compare(first) < 0 {
		sets = sets[1:]
	}
	return sets
}

// setsAt gives the sets of all types and variants at a key's name, where the list
// begins with those.
func setsAt(sets []record.Set, key record.Key) []record.Set {
	for n := range sets {
		if sets[n].Key.Zone != key.Zone || sets[n].Key.Name != key.Name {
			return sets[:n]
		}
	}
	return sets
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
// answer out that is not usable, or the set has no answer at all: an outage
// never waits.
func checkMaxWrites(s *Set, l Limits, _ Zone) string {
	if l.MaxWrites.Count <= 0 || s.mends() || len(s.Seen.Live()) == 0 {
		return ""
	}
	if n := l.recent(s.Key()); n >= l.MaxWrites.Count {
		return fmt.Sprintf("%s was written %d times in the last %s, and max_writes is %d; it goes on when the first of them is older than that, or: sidestep reconcile --override-guard %s",
			s.Key(), n, l.MaxWrites.Window, l.MaxWrites.Count, GuardMaxWrites)
	}
	return ""
}

// mends reports whether the plan takes a value out that is not usable. The
// fallback list is among those, since it gives way at once.
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
	if l.MaxChanges <= 0 || l.Override[GuardMaxChanges] {
		return
	}
	n := 0
	for _, s := range p.Sets {
		if s.IsOpen() {
			n++
		}
	}
	if n <= l.MaxChanges || l.Plan == p.Checksum() {
		return
	}
	detail := fmt.Sprintf("the plan changes %d record sets, and max_changes is %d; to let it through once: sidestep approve %s --plan %s",
		n, l.MaxChanges, p.Zone.Unrooted(), p.Checksum())
	p.Blocked = append(p.Blocked, Blocked{Guard: GuardMaxChanges, Key: record.Key{Zone: p.Zone}, Detail: detail})
	for i := range p.Sets {
		p.Sets[i].stop(GuardMaxChanges)
	}
}
