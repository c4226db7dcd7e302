package memory

import (
	"context"
	"fmt"
	"slices"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// leftover is one record that sidestep can do without: a copy of a value that is
// live, or a stamp.
type leftover struct {
	Record

	of    record.Key // the set that a copy belongs to; of a stamp no key
	value string     // and the value in it
}

// leftovers lists what Release takes out of the zone, the stamps last.
func (z *Zone) leftovers(s state) []leftover {
	var copies, stamps []leftover
	for _, r := range s.records {
		if r.at(z.stampName(), record.TXT) {
			stamps = append(stamps, leftover{Record: r})
		}
		if l, parked := z.copied(r); parked && slices.Contains(s.live(l.of), l.value) {
			copies = append(copies, l)
		}
	}
	return append(copies, stamps...)
}

// copied reads a record as a parked copy; false when it is none, or says
// something that nobody here understands.
func (z *Zone) copied(r Record) (leftover, bool) {
	owner, parked := provider.ParkedOwner(r.name)
	if !parked {
		return leftover{}, false
	}
	l := leftover{Record: r, of: record.Key{Zone: z.name, Name: owner, Type: record.Type(r.Type), Variant: r.Variant}, value: r.value}
	if r.Type != string(record.TXT) {
		return l, z.options.Class == Rename && r.steered()
	}
	p, err := provider.ParseParked(r.Value)
	l.of.Type, l.value = p.Type, p.Value
	return l, err == nil
}

// Remains lists the copies of live values, and the stamps.
func (a *adapter) Remains(seen *provider.Snapshot) []string {
	s, ok := seen.Native.(state)
	if !ok {
		return nil
	}
	var lines []string
	for _, l := range a.zone.leftovers(s) {
		what := "stamp"
		if l.of.Name != "" {
			what = "parked copy of " + l.of.String() + " " + l.value
		}
		lines = append(lines, fmt.Sprintf("%s: %s", what, l.Record))
	}
	return lines
}

// Release takes everything out in one request where the class is fenced, else
// one record.
func (a *adapter) Release(ctx context.Context, seen *provider.Snapshot, gate provider.Gate) (done bool, err error) {
	w, err := a.prepareRelease(seen)
	if err != nil {
		return false, err
	}
	left := a.zone.leftovers(w.seen)
	if len(left) == 0 {
		return true, nil
	}
	change := w.removeAll(left)
	if !a.zone.options.Class.Fenced() {
		if err := a.stillLive(ctx, left[0]); err != nil {
			return false, err
		}
		change = w.removeOne(left[0])
		left = left[1:]
	} else {
		left = nil
	}
	if err := a.transmit(ctx, Cause{Op: OpRelease, Node: a.node}, gate, change); err != nil {
		return false, err
	}
	return len(left) == 0, nil
}

func (a *adapter) prepareRelease(seen *provider.Snapshot) (*work, error) {
	if seen != nil {
		if s, ok := seen.Native.(state); ok && seen.Zone == a.zone.name {
			return &work{zone: a.zone, call: provider.Call{Seen: seen}, seen: s}, nil
		}
	}
	return nil, provider.Failf(provider.Permanent, fmt.Sprintf("%s zone %s", OpRelease, a.zone.name), "", "expected a list of this zone")
}

// stillLive looks once more before a copy is removed where nothing can be
// compared: it may be all that there is by now.
func (a *adapter) stillLive(ctx context.Context, l leftover) error {
	now, err := a.read(ctx, OpLook)
	if err != nil {
		return err
	}
	if l.of.Name != "" && !slices.Contains(now.live(l.of), l.value) {
		return provider.Failf(provider.Conflict, "remove the copy of "+l.of.String(), "survivor", "%s is no longer live", l.value)
	}
	return nil
}

// removeAll is refused unless the stamps are those that were listed, and each
// copy and the live record that it is of are still there.
func (w *work) removeAll(left []leftover) change {
	same := w.sameStamp()
	return func(s *state) error {
		if err := same(s); err != nil {
			return err
		}
		for _, l := range left {
			there := slices.ContainsFunc(s.records, l.same) && (l.of.Name == "" || slices.Contains(s.live(l.of), l.value))
			if err := s.need(there, provider.Conflict, "copy", "%s is no longer what was listed", l.Record); err != nil {
				return err
			}
		}
		s.remove(func(r Record) bool {
			return slices.ContainsFunc(left, func(l leftover) bool { return l.same(r) })
		})
		return nil
	}
}

// removeOne removes one record by what the class knows it by. A set that is only
// ever written whole is, without it.
func (w *work) removeOne(l leftover) change {
	if w.zone.options.Class != Whole {
		return func(s *state) error {
			s.remove(l.same)
			return nil
		}
	}
	key := record.Key{Name: l.name, Type: record.Type(l.Type), Variant: l.Variant}
	rest := slices.DeleteFunc(w.seen.set(key), l.same)
	return func(s *state) error {
		s.replace(key, rest)
		return nil
	}
}

// same reports whether a record is the one that was listed.
func (l leftover) same(r Record) bool {
	return r.name == l.name && r.Type == l.Type && r.value == l.Record.value && r.Variant == l.Variant
}
