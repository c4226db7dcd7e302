package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// Change is one change of a plan with its reason.
type Change struct {
	record.Change
	Reason string
	Usable bool   // a usable live value is taken out
	Guard  string // the guard that stops the change; empty when it may go
}

// Blocked is one refusal of a guard, with its numbers.
type Blocked struct {
	Guard  string
	Key    record.Key // the record set; only Zone is set when the whole plan is refused
	Detail string
}

// Zone is what one zone shows, as far as a plan rests on it.
type Zone struct {
	Name        record.Name
	Sets        []record.Set // sorted, see record.SortSets
	Owners      map[record.Name]string
	Delegations []record.Name
}

// Plan is the sorted list of changes that bring a zone to the wanted state.
type Plan struct {
	Zone    record.Name
	Sets    []Set // in the order of their keys, those without a change too
	Blocked []Blocked
}

// Set is the part of a plan that concerns one record set.
type Set struct {
	Wanted  steer.Wanted
	Seen    record.Set
	Changes []Change
	Foreign []string // live values that the config does not name
	Held    []string // configured values that somebody else paused
}

// Key is the record set's key.
func (s Set) Key() record.Key { return s.Wanted.Spec.Key }

// Open lists the changes that no guard stops.
func (s Set) Open() []Change {
	return slices.DeleteFunc(slices.Clone(s.Changes), func(c Change) bool { return c.Guard != "" })
}

// Diff compares the wanted record sets of one zone with the zone.
func Diff(wanted []steer.Wanted, zone Zone) Plan {
	p := Plan{Zone: zone.Name}
	for _, w := range wanted {
		p.Sets = append(p.Sets, diffSet(w, record.FindSet(zone.Sets, w.Spec.Key)))
	}
	slices.SortFunc(p.Sets, func(a, b Set) int { return a.Key().Compare(b.Key()) })
	return p
}

func diffSet(w steer.Wanted, seen record.Set) Set {
	s := Set{Wanted: w, Seen: seen}
	for _, a := range seen.Answers {
		switch {
		case !w.Spec.Names(a.Value) && a.Live:
			s.Foreign = append(s.Foreign, a.Value)
		case w.Spec.Names(a.Value) && a.Held && !a.Live:
			s.Held = append(s.Held, a.Value)
		}
	}
	if len(w.Live) == 0 && !w.Empty {
		return s // nothing is known that could be answered with: the zone stays as it is
	}
	if w.Spec.Key.Type.Single() {
		s.swap()
	} else {
		s.addAndPause()
	}
	slices.SortFunc(s.Changes, compareChanges)
	return s
}

func (s *Set) addAndPause() {
	for _, value := range s.Wanted.Live {
		a, found := s.Seen.Find(value)
		switch {
		case !found:
			s.change(record.Create, value)
		case !a.Live:
			s.change(record.Resume, value)
		case s.Wanted.Spec.TTL > 0 && a.TTL != s.Wanted.Spec.TTL:
			s.change(record.SetTTL, value)
		}
	}
	for _, value := range s.Wanted.Paused {
		if a, found := s.Seen.Find(value); found && a.Live {
			s.change(record.Pause, value)
		}
	}
}

// swap brings a set that can have one value to the first wanted one.
func (s *Set) swap() {
	live := s.Seen.Live()
	if s.Wanted.Empty {
		if len(live) > 0 && s.Wanted.Spec.Names(live[0]) {
			s.change(record.Pause, live[0])
		}
		return
	}
	value := s.Wanted.Live[0]
	if len(live) == 0 || slices.Contains(live, value) { // a late call can leave two where nothing refuses that
		s.addAndPause()
		return
	}
	s.change(record.Swap, value)
	last := &s.Changes[len(s.Changes)-1]
	last.From = live[0]
	last.Usable = s.Wanted.Usable[live[0]]
	last.Reason = fmt.Sprintf("in place of %s: %s", live[0], s.Wanted.Why[live[0]])
}

func (s *Set) change(action record.Action, value string) {
	c := Change{
		Change: record.Change{Action: action, Key: s.Key(), Value: value, TTL: s.Wanted.Spec.TTL},
		Reason: s.Wanted.Why[value],
		Usable: action == record.Pause && s.Wanted.Usable[value],
	}
	if action == record.SetTTL {
		a, _ := s.Seen.Find(value)
		c.Reason = fmt.Sprintf("the TTL is %s, the config says %s", seconds(a.TTL), seconds(c.TTL))
	}
	if c.Reason == "" {
		c.Reason = s.Wanted.Reason
	}
	s.Changes = append(s.Changes, c)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d/time.Second)) }

// rank orders the changes of one set as they are carried out: adds first.
func rank(a record.Action) int {
	if a.Add() {
		return 0
	}
	return 1
}

func compareChanges(a, b Change) int {
	if by := rank(a.Action) - rank(b.Action); by != 0 {
		return by
	}
	if by := strings.Compare(string(a.Action), string(b.Action)); by != 0 {
		return by
	}
	return strings.Compare(a.Value, b.Value)
}

// Changes lists every change of the plan in order, stopped ones too.
func (p Plan) Changes() []Change {
	var all []Change
	for _, s := range p.Sets {
		all = append(all, s.Changes...)
	}
	return all
}

// InSync reports whether the zone is as wanted: a change that a guard stops is
// pending, and a held value that is wanted is too.
func (p Plan) InSync() bool {
	return len(p.Blocked) == 0 && !slices.ContainsFunc(p.Sets, func(s Set) bool { return len(s.Changes) > 0 })
}

// Pending reports whether a change is left that no guard stops.
func (p Plan) Pending() bool {
	return slices.ContainsFunc(p.Sets, func(s Set) bool { return len(s.Open()) > 0 })
}

// Checksum names the plan by its changes: two plans with one checksum change
// the same values in the same way. It is 12 hexadecimal digits; a plan without
// changes has one too.
func (p Plan) Checksum() string {
	sum := sha256.New()
	fmt.Fprintln(sum, p.Zone)
	for _, c := range p.Changes() {
		fmt.Fprintln(sum, c.Action, c.Key, c.Value, c.From, int(c.TTL/time.Second), c.Weight)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// String renders the plan for people.
func (p Plan) String() string { return strings.Join(p.Lines(), "\n") + "\n" }

// Lines is the plan for people: a heading, a line for each change and one for
// each refusal of a guard.
func (p Plan) Lines() []string {
	if p.InSync() {
		return []string{fmt.Sprintf("zone %s: in sync, nothing to change", p.Zone)}
	}
	lines := []string{fmt.Sprintf("zone %s: %d to change, plan %s", p.Zone, len(p.Changes()), p.Checksum())}
	for _, c := range p.Changes() {
		lines = append(lines, "  "+c.String())
	}
	for _, x := range p.Blocked {
		lines = append(lines, fmt.Sprintf("  blocked by guard %s: %s", x.Guard, x.Detail))
	}
	return lines
}

// String is one line: sign, name, type, action, value, reason.
func (c Change) String() string {
	sign := map[record.Action]string{record.Create: "+", record.Resume: "+", record.Pause: "-"}[c.Action]
	if sign == "" {
		sign = "~"
	}
	text := fmt.Sprintf("%s %s %s %s", sign, c.Key, c.Action, c.Value)
	if c.Guard != "" {
		text += " [stopped by guard " + c.Guard + "]"
	}
	if c.Reason != "" {
		text += "  (" + c.Reason + ")"
	}
	return text
}
