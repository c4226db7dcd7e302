package memory

import (
	"fmt"
	"strings"
	"time"

	"sidestep/pkg/record"
)

// Edit is one thing that an operator does in the provider's console.
type Edit func(z *Zone, s *state) error

// EditByHand makes edits as an operator does: past every stamp and lease, one
// after the other, all in one version of the history.
func (z *Zone) EditByHand(edits ...Edit) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.apply(Cause{}, func(s *state) error {
		for _, edit := range edits {
			if err := edit(z, s); err != nil {
				return fmt.Errorf("edit %s by hand: %w", z.name, err)
			}
		}
		return nil
	})
}

// Detail is an attribute of a record beside those that all records have. Only
// the class Status has any.
type Detail func(*Record)

// Weighted gives a record a weight; without it it is 1.
func Weighted(weight int) Detail { return func(r *Record) { r.Weight = weight } }

// OnLine puts a record on a line; without it that is the default one.
func OnLine(variant string) Detail { return func(r *Record) { r.Variant = variant } }

// Put adds a record. TXT values are the joined bytes. In a class that keeps
// sets the whole set takes the TTL.
func Put(name, kind string, ttl time.Duration, value string, details ...Detail) Edit {
	return insert(Record{Name: name, Type: kind, TTL: ttl, Value: value, Weight: 1}, details)
}

func insert(r Record, details []Detail) Edit {
	return func(z *Zone, s *state) error {
		if len(details) > 0 && z.options.Class != Status {
			return fmt.Errorf("class %s has neither weights nor lines", z.options.Class)
		}
		for _, detail := range details {
			detail(&r)
		}
		s.insert(r)
		return nil
	}
}

// Park adds a record that sidestep took out of the answer, in a class that has a
// status flag for that.
func Park(name, kind string, ttl time.Duration, value string, details ...Detail) Edit {
	return func(z *Zone, s *state) error {
		if z.options.Class != Status && z.options.Class != Whole {
			return fmt.Errorf("class %s has no status flag", z.options.Class)
		}
		r := Record{Name: name, Type: kind, TTL: ttl, Value: value, Weight: 1, Disabled: true, Marked: true}
		return insert(r, details)(z, s)
	}
}

// Delete removes what has this name, type and value, live or not.
func Delete(name, kind, value string) Edit {
	return each(name, kind, value, func(_ *Zone, s *state, r Record) error {
		s.remove(func(o Record) bool { return o.ID == r.ID })
		return nil
	})
}

// Move gives what has this name, type and value another name.
func Move(name, kind, value, to string) Edit {
	return each(name, kind, value, func(_ *Zone, s *state, r Record) error {
		r.Name = to
		s.update(r)
		return nil
	})
}

// Retime gives what has this name, type and value another TTL.
func Retime(name, kind, value string, ttl time.Duration) Edit {
	return each(name, kind, value, func(z *Zone, s *state, r Record) error {
		r.TTL = ttl
		s.update(r)
		if !z.options.Class.setwise() {
			return nil
		}
		for _, sibling := range s.set(record.Key{Name: r.name, Type: record.Type(r.Type), Variant: r.Variant}) {
			sibling.TTL = ttl
			s.update(sibling)
		}
		return nil
	})
}

// Disable takes a record out of the answer by its status flag, without
// sidestep's mark. Only classes with such a flag have it.
func Disable(name, kind, value string) Edit { return flag(name, kind, value, true) }

// Enable puts it back.
func Enable(name, kind, value string) Edit { return flag(name, kind, value, false) }

func flag(name, kind, value string, disabled bool) Edit {
	return each(name, kind, value, func(z *Zone, s *state, r Record) error {
		if z.options.Class != Status && z.options.Class != Whole {
			return fmt.Errorf("class %s has no status flag", z.options.Class)
		}
		r.Disabled, r.Marked = disabled, false
		s.update(r)
		return nil
	})
}

// each does one thing to every record of a name, type and value; none is an
// error, because the test then tries something else than it says.
func each(name, kind, value string, do func(*Zone, *state, Record) error) Edit {
	wanted := Record{Name: name, Type: kind, Value: value}.canonical()
	return func(z *Zone, s *state) error {
		found := false
		for _, r := range s.records {
			same := r.name == wanted.name && r.value == wanted.value || strings.EqualFold(r.Name, name) && r.Value == value
			if r.Type != kind || !same {
				continue
			}
			found = true
			if err := do(z, s, r); err != nil {
				return err
			}
		}
		if !found {
			return fmt.Errorf("expected a record %s %s %q, found none", name, kind, value)
		}
		return nil
	}
}
