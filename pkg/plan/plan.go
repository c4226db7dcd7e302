package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
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

// Zone is what one zone shows, as far as a plan rests on it. It is read-only
// once made.
type Zone struct {
	Name        record.Name
	Sets        []record.Set           // sorted, see record.SortSets
	Owners      map[record.Name]string // names that another tool claims, and that tool
	Delegations []record.Name          // names below the apex that have name servers of their own
	Fixed       map[record.Key]string  // sets that have no values to switch, and what they are

	// Lost are live values that the config does not name and that a call of ours took
	// with it, because it came late and knew the set without them; they are put back.
	Lost map[record.Key][]record.Answer
}

// Plan is the sorted list of changes that bring a zone to the wanted state.
type Plan struct {
	Zone    record.Name
	Sets    []Set // in the order of their keys, those without a change too
	Blocked []Blocked
	Left    []Left // no longer steered, in the order of their keys
}

// Left is a value that sidestep paused and that the config names no longer. It
// stays as it is; a plan only shows it.
type Left struct {
	Key   record.Key
	Value string
}

// Set is the part of a plan that concerns one record set. It points into what
// the plan was made from.
type Set struct {
	Wanted  *steer.Wanted
	Seen    *record.Set
	Changes []Change // adds first
	Foreign []string // live values that the config does not name
	Held    []string // configured values that somebody else paused
}

// Key is the record set's key.
func (s Set) Key() record.Key { return s.Wanted.Spec.Key }

// Plain reports whether name servers answer everybody with every live value. They
// do not where values have weights, or where a variant answers some and not
// others: asking them proves nothing then.
func (s Set) Plain() bool {
	return s.Key().Variant == "" && s.Wanted.Spec.Policy != steer.Weighted
}

// IsOpen reports whether there is a change that no guard stops.
func (s Set) IsOpen() bool {
	return slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Guard == "" })
}

// Open lists the changes that no guard stops.
func (s Set) Open() []Change {
	var open []Change
	for _, c := range s.Changes {
		if c.Guard == "" {
			open = append(open, c)
		}
	}
	return open
}

// Find gives the part of the plan that concerns one record set; false when the
// plan has none.
func (p Plan) Find(key record.Key) (Set, bool) {
	i, found := slices.BinarySearchFunc(p.Sets, key, func(s Set, k record.Key) int { return s.Key().Compare(k) })
	if !found {
		return Set{}, false
	}
	return p.Sets[i], true
}

// Changes lists every change of the plan in order, stopped ones too.
func (p Plan) Changes() []Change {
	var all []Change
	for _, s := range p.Sets {
		all = append(all, s.Changes...)
	}
	return all
}

// InSync reports whether the zone is as wanted. What a guard stops is pending.
func (p Plan) InSync() bool {
	return len(p.Blocked) == 0 && !slices.ContainsFunc(p.Sets, func(s Set) bool { return len(s.Changes) > 0 })
}

// Pending reports whether a change is left that no guard stops.
func (p Plan) Pending() bool {
	return slices.ContainsFunc(p.Sets, Set.IsOpen)
}

// Stopped reports whether a guard refuses something under a key.
func (p Plan) Stopped(guard string, key record.Key) bool {
	return slices.ContainsFunc(p.Blocked, func(b Blocked) bool { return b.Guard == guard && b.Key == key })
}

// Checksum names the plan by its changes: two plans with one checksum change
// the same values in the same way. It is 12 hexadecimal digits; a plan without
// changes has one too. Reasons and guards leave no trace in it.
func (p Plan) Checksum() string {
	sum := sha256.New()
	fmt.Fprintln(sum, p.Zone)
	for _, c := range p.Changes() {
		fmt.Fprintln(sum, c.Action, c.Key, c.Value, c.From, int(c.TTL/time.Second), c.Weight)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}
