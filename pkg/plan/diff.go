package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// Diff compares the wanted record sets of one zone with the zone. It walks
// both lists once, side by side.
func Diff(wanted []steer.Wanted, zone Zone) Plan {
	if !slices.IsSortedFunc(wanted, byKey) {
		wanted = slices.Clone(wanted)
		slices.SortFunc(wanted, byKey)
	}
	p := Plan{Zone: zone.Name, Sets: make([]Set, 0, len(wanted))}
	rest := zone.Sets
	for i := range wanted {
		key := wanted[i].Spec.Key
		for len(rest) > 0 && rest[0].Key != key && rest[0].Key.Compare(key) < 0 {
			rest = rest[1:]
		}
		s := Set{Wanted: &wanted[i]}
		if len(rest) > 0 && rest[0].Key == key {
			s.Seen = &rest[0]
		} else {
			s.Seen = &record.Set{Key: key}
		}
		s.diff()
		s.putBack(zone.Lost[key])
		p.Sets = append(p.Sets, s)
	}
	return p
}

// Leave notes what sidestep paused in the zone and none of the specs names. They
// are all record sets of the zone in the config, sorted by key, those too that
// are not planned yet.
func (p *Plan) Leave(specs []*steer.Spec, zone Zone) {
	for i := range zone.Sets {
		set := &zone.Sets[i]
		for len(specs) > 0 && specs[0].Key != set.Key && specs[0].Key.Compare(set.Key) < 0 {
			specs = specs[1:]
		}
		for _, a := range set.Answers {
			named := len(specs) > 0 && specs[0].Key == set.Key && specs[0].Names(a.Value)
			if a.Paused && !a.Live && !named {
				p.Left = append(p.Left, Left{set.Key, a.Value})
			}
		}
	}
}

func byKey(a, b steer.Wanted) int { return a.Spec.Key.Compare(b.Spec.Key) }

func (s *Set) diff() {
	s.sort()
	if len(s.Wanted.Live) == 0 && !s.Wanted.Empty {
		return // nothing is known that could be answered with: the zone stays as it is
	}
	if s.Key().Type.Single() {
		s.single()
	} else {
		s.several()
	}
	slices.SortFunc(s.Changes, compareChanges)
}

// putBack creates anew what a late call of ours took with it, in sets from which
// nothing is to be taken away: no take-away waits for that.
func (s *Set) putBack(lost []record.Answer) {
	if s.Key().Type.Single() || slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Action == record.Pause }) {
		return
	}
	for _, a := range lost {
		if _, there := s.Seen.Find(a.Value); there || s.Wanted.Spec.Names(a.Value) {
			continue
		}
		c := s.change(record.Create, a.Value)
		c.TTL, c.Reason = a.TTL, "it was there, and went under a call of ours that came late"
	}
	slices.SortFunc(s.Changes, compareChanges)
}

// sort finds the values that are not the config's to steer, or were not before
// a person said so.
func (s *Set) sort() {
	for _, a := range s.Seen.Answers {
		switch named := s.Wanted.Spec.Names(a.Value); {
		case !named && a.Live:
			s.Foreign = append(s.Foreign, a.Value)
		case named && a.Held && !a.Live:
			s.Held = append(s.Held, a.Value)
		}
	}
}

func (s *Set) several() {
	for _, value := range s.Wanted.Live {
		s.put(value)
	}
	for _, value := range s.Wanted.Paused {
		if a, found := s.Seen.Find(value); found && a.Live {
			s.change(record.Pause, value)
		}
	}
}

// single brings a set that can have one value to the wanted one. A late call can
// leave two where nothing refuses that: then the other is paused.
func (s *Set) single() {
	live := s.Seen.Live()
	if s.Wanted.Empty || len(live) == 0 || slices.Contains(live, s.Wanted.Live[0]) {
		s.several()
		return
	}
	s.swap(live[0], s.Wanted.Live[0])
}

// put makes a value live, and its TTL and weight the config's. One that is
// resumed comes back with the weight that it had.
func (s *Set) put(value string) {
	a, found := s.Seen.Find(value)
	weight, weighted := s.Wanted.Weight(value)
	switch {
	case !found:
		s.change(record.Create, value).Weight = weight
		return
	case !a.Live:
		s.change(record.Resume, value)
		return
	}
	if ttl := s.Wanted.Spec.TTL; ttl > 0 && a.TTL != a.Kept(ttl) && !a.OwnTTL {
		s.change(record.SetTTL, value).Reason = fmt.Sprintf("the TTL is %s, the config says %s", seconds(a.TTL), seconds(ttl))
	}
	if weighted && a.Weight != weight {
		c := s.change(record.SetWeight, value)
		c.TTL, c.Weight = 0, weight
		c.Reason = fmt.Sprintf("the weight is %d, the config says %d", a.Weight, weight)
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d/time.Second)) }

func (s *Set) swap(from, to string) {
	c := s.change(record.Swap, to)
	c.From = from
	c.Usable = s.Wanted.Usable(from)
	c.Reason = fmt.Sprintf("in place of %s: %s", from, s.Wanted.Why(from))
}

// change appends a change, to be completed by the caller.
func (s *Set) change(action record.Action, value string) *Change {
	if s.Changes == nil {
		s.Changes = make([]Change, 0, 2) // mostly one in and one out
	}
	s.Changes = append(s.Changes, Change{
		Change: record.Change{Action: action, Key: s.Key(), Value: value, TTL: s.Wanted.Spec.TTL},
		Reason: s.Wanted.Why(value),
		Usable: action == record.Pause && s.Wanted.Usable(value),
	})
	return &s.Changes[len(s.Changes)-1]
}

// compareChanges puts the changes of one set in the order in which they are
// carried out: adds first.
func compareChanges(a, b Change) int {
	if a.Action.Add() != b.Action.Add() {
		if a.Action.Add() {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Action, b.Action), cmp.Compare(a.Value, b.Value))
}
