package reconcile

import (
	"fmt"
	"slices"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// denied are the changes of TTLs and weights that a provider refused in a round, by
// record set. They are given up for the round and nothing else of the set: what it
// answers with must not hang on how. Where one was refused, those of its kind are
// not tried, so that a key which may write nothing costs no more calls.
type denied map[record.Key]map[record.Action]error

// attributes are the actions that change no value.
var attributes = []record.Action{record.SetTTL, record.SetWeight}

// open lists what is left to do of a record set: what no guard stops, without what
// was refused. A value is created without a weight where weights are refused.
func (d denied) open(s plan.Set) []plan.Change {
	refused := d[s.Key()]
	if len(refused) == 0 {
		return s.Open()
	}
	open := slices.DeleteFunc(s.Open(), func(c plan.Change) bool { return refused[c.Action] != nil })
	for i := range open {
		if refused[record.SetWeight] != nil && open[i].Action == record.Create {
			open[i].Weight = 0
		}
	}
	return open
}

// add takes what a refused call may have been refused for, and reports whether it
// had any: then the rest of it is tried again without.
func (d denied) add(key record.Key, changes []plan.Change, err error) bool {
	found := false
	for _, c := range changes {
		action := c.Action
		if action == record.Create && c.Weight > 0 {
			action = record.SetWeight
		}
		if !slices.Contains(attributes, action) {
			continue
		}
		if d[key] == nil {
			d[key] = map[record.Action]error{}
		}
		d[key][action] = err
		found = true
	}
	return found
}

// errs are the refusals of what is left to do of one record set, in words.
func (d denied) errs(s plan.Set) []error {
	key, left := s.Key(), s.Open()
	var errs []error
	for _, action := range attributes {
		if err := d[key][action]; err != nil && has(left, action) {
			errs = append(errs, fmt.Errorf("%s: the %s given up, and nothing else of the set: %w", key.Shown(), map[record.Action]string{record.SetTTL: "TTL is", record.SetWeight: "weights are"}[action], err))
		}
	}
	return errs
}
