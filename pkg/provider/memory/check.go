package memory

import (
	"errors"
	"fmt"
	"slices"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Tolerance names a harm that a class cannot rule out, so that a test which
// provokes it on purpose can look for every other one.
type Tolerance string

// The harms. Without a fence, a second writer or an operator in the gap between
// a list and its write can bring each of them about.
const (
	Emptied     Tolerance = "emptied"     // Status and Append: two writers, or a survivor deleted in the gap
	Overwritten Tolerance = "overwritten" // Whole, and attributes at Status: what changed in the gap is written over
	Doubled     Tolerance = "doubled"     // Status and Append: a create that is repeated, or late
)

// Check holds every effect that adapters had in a history to three rules: a
// set with a live answer is not left without one unless the call says so;
// no value that a set had, live or out of the answer, is lost, nor its TTL
// or weight changed by a call that does not say so; and nothing but the call's
// own set, its copies and the stamp is touched. What was done by hand is where
// the next effect is measured from. All violations are returned, joined; nil
// means none.
func Check(history []Version, tolerate ...Tolerance) error {
	var violations []error
	for i := 1; i < len(history); i++ {
		if history[i].Cause.Op == "" {
			continue
		}
		c := checker{before: history[i-1], after: history[i], tolerate: tolerate}
		c.run()
		for _, text := range c.found {
			violations = append(violations, fmt.Errorf("version %d at %v (%s): %s", i, history[i].At, history[i].Cause, text))
		}
	}
	return errors.Join(violations...)
}

// checker measures one effect.
type checker struct {
	before, after Version
	tolerate      []Tolerance
	found         []string
}

func (c *checker) fail(harm Tolerance, format string, args ...any) {
	if harm == "" || !slices.Contains(c.tolerate, harm) {
		c.found = append(c.found, fmt.Sprintf(format, args...))
	}
}

func (c *checker) run() {
	zone := c.after.zone
	before, after := zone.snapshot(c.before.state), zone.snapshot(c.after.state)
	key := record.Key{}
	if call := c.after.Cause.Call; call != nil {
		key = call.Key
		c.ownSet(*call, before.Set(key), after.Set(key))
	}
	for _, set := range before.Sets {
		if set.Key != key {
			c.sameSet(set, after.Set(set.Key))
		}
	}
	for _, set := range after.Sets {
		if set.Key != key && len(before.Set(set.Key).Answers) == 0 {
			c.fail("", "%s appeared", set.Key)
		}
	}
	c.otherRecords(key)
}

// sameSet is for sets that the call has no business with.
func (c *checker) sameSet(before, after record.Set) {
	for _, a := range before.Answers {
		b, found := after.Find(a.Value)
		if found && b.Live && c.after.Cause.Op == OpRelease {
			a.Paused = b.Paused // the copy of a live value may go
		}
		if !found || b != a {
			c.fail("", "%s: %s was touched: %s became %s", before.Key, a.Value, describe(a, true), describe(b, found))
		}
	}
	if len(after.Answers) > len(before.Answers) {
		c.fail("", "%s: values appeared", before.Key)
	}
}

func describe(a record.Answer, found bool) string {
	if !found {
		return "nothing"
	}
	return fmt.Sprintf("{live=%v paused=%v held=%v ttl=%v weight=%d}", a.Live, a.Paused, a.Held, a.TTL, a.Weight)
}

// ownSet is for the set that the call writes to.
func (c *checker) ownSet(call provider.Call, before, after record.Set) {
	if len(before.Live()) > 0 && len(after.Live()) == 0 && !call.Empty {
		c.fail(Emptied, "%s was emptied", call.Key)
	}
	for _, a := range before.Answers {
		b, found := after.Find(a.Value)
		named := names(call, a.Value)
		switch {
		case !found && named:
			c.fail("", "%s: %s is lost", call.Key, a.Value)
		case !found:
			c.fail(Overwritten, "%s: %s is lost, which the call does not name", call.Key, a.Value)
		case !named && (a.Live != b.Live || a.Paused != b.Paused || a.Held != b.Held):
			c.fail(Overwritten, "%s: %s, which the call does not name, went from %s to %s", call.Key, a.Value, describe(a, true), describe(b, true))
		case a.TTL != b.TTL && !c.setsTTL(call, before, b):
			c.fail(Overwritten, "%s: the TTL of %s went from %v to %v", call.Key, a.Value, a.TTL, b.TTL)
		case a.Weight != b.Weight && !setsWeight(call, a.Value):
			c.fail(Overwritten, "%s: the weight of %s went from %d to %d", call.Key, a.Value, a.Weight, b.Weight)
		}
	}
	c.once(call.Key)
}

// names reports whether a call may change the state of a value. It may bring a
// survivor back.
func names(call provider.Call, value string) bool {
	return slices.Contains(call.Survivors, value) ||
		slices.ContainsFunc(slices.Concat(call.Add, call.Away), func(c record.Change) bool { return c.Value == value || c.From == value })
}

// setsTTL reports whether a call may give a value the TTL that it has after it.
func (c *checker) setsTTL(call provider.Call, before record.Set, after record.Answer) bool {
	whole := c.after.zone.options.Class.setwise()
	for _, change := range slices.Concat(call.Add, call.Away) {
		switch {
		case change.TTL == after.TTL && (whole || change.Value == after.Value):
			return true
		case change.Action != record.Resume || !whole:
			continue
		}
		// A value that comes back into a set takes the TTL of its siblings.
		if slices.ContainsFunc(before.Answers, func(s record.Answer) bool { return s.Live && s.TTL == after.TTL }) {
			return true
		}
	}
	return false
}

func setsWeight(call provider.Call, value string) bool {
	return slices.ContainsFunc(call.Away, func(c record.Change) bool { return c.Action == record.SetWeight && c.Value == value })
}

// once looks for values that an effect made a second live record of.
func (c *checker) once(key record.Key) {
	count := func(s state) map[string]int {
		n := map[string]int{}
		for _, r := range s.set(key) {
			if !r.Disabled {
				n[r.value]++
			}
		}
		return n
	}
	before, after := count(c.before.state), count(c.after.state)
	for value, n := range after {
		if n > 1 && n > before[value] {
			c.fail(Doubled, "%s: %s has %d records", key, value, n)
		}
	}
}

// otherRecords compares everything that is neither the set, nor a copy below
// its name, nor the stamp.
func (c *checker) otherRecords(key record.Key) {
	others := func(s state) map[string]int {
		n := map[string]int{}
		for _, r := range s.records {
			stamp := r.at(c.after.zone.stampName(), record.TXT)
			own := key.Name != "" && (r.in(key) || r.name == provider.ParkedName(key.Name) && r.Variant == key.Variant)
			if _, parked := provider.ParkedOwner(r.name); parked && c.after.Cause.Op == OpRelease {
				own = true // sameSet looks after the values that are copied
			}
			if !stamp && !own {
				n[r.String()]++
			}
		}
		return n
	}
	before, after := others(c.before.state), others(c.after.state)
	for line, n := range before {
		if after[line] < n {
			c.fail("", "a foreign record is gone: %s", line)
		}
	}
	for line, n := range after {
		if before[line] < n {
			c.fail("", "a foreign record appeared: %s", line)
		}
	}
}
