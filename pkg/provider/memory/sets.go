package memory

import (
	"sidestep/pkg/provider"
)

// exactClass is Route 53's: one batch deletes the stamp, the set and the copies
// exactly as they were listed, TTLs included, and creates them anew.
type exactClass struct{}

func (exactClass) promises() provider.Promises {
	return provider.Promises{Pause: provider.PauseParked, Atomic: true, Together: true, Whole: true, Single: true}
}

func (c exactClass) add(w *work) ([]change, error)      { return c.write(w) }
func (c exactClass) takeAway(w *work) ([]change, error) { return c.write(w) }

func (exactClass) write(w *work) ([]change, error) {
	im, err := w.image(false)
	if err != nil {
		return nil, err
	}
	return w.fence(func(s *state) error {
		if err := w.unchanged(s, true); err != nil {
			return err
		}
		im.write(s)
		return nil
	}), nil
}

// unchanged compares the set and its copies with what was listed.
func (w *work) unchanged(s *state, ttls bool) error {
	same := sameSet(s.set(w.key), w.records(), ttls)
	if err := s.need(same, provider.Conflict, "set", "the set is no longer what was listed"); err != nil {
		return err
	}
	same = sameSet(s.set(copiesOf(w.key)), w.copies(), ttls)
	return s.need(same, provider.Conflict, "copies", "the parked copies are no longer what was listed")
}

// prerequisitesClass is RFC 2136's: values are compared, TTLs are not, which is
// why the zone's serial is compared as well unless the call is loose.
type prerequisitesClass struct{}

func (prerequisitesClass) promises() provider.Promises {
	return provider.Promises{Pause: provider.PauseParked, Atomic: true, Together: true, Whole: true, Single: true}
}

func (c prerequisitesClass) add(w *work) ([]change, error)      { return c.write(w) }
func (c prerequisitesClass) takeAway(w *work) ([]change, error) { return c.write(w) }

func (prerequisitesClass) write(w *work) ([]change, error) {
	im, err := w.image(false)
	if err != nil {
		return nil, err
	}
	return w.fence(func(s *state) error {
		if err := w.unchanged(s, false); err != nil {
			return err
		}
		same := w.call.Loose || s.serial == w.seen.serial
		if err := s.need(same, provider.Conflict, "serial", "expected serial %d, the zone has %d", w.seen.serial, s.serial); err != nil {
			return err
		}
		im.write(s)
		return nil
	}), nil
}

// wholeClass is PowerDNS' over HTTP: the set is replaced by what was listed and
// changed, whatever is there by then. Paused addresses keep their place in the
// set with a flag; a single-valued type has copies instead.
type wholeClass struct{}

func (wholeClass) promises() provider.Promises {
	return provider.Promises{Pause: provider.PauseNative, Atomic: true, Together: true, Whole: true, Single: true}
}

func (c wholeClass) add(w *work) ([]change, error)      { return c.write(w) }
func (c wholeClass) takeAway(w *work) ([]change, error) { return c.write(w) }

func (wholeClass) write(w *work) ([]change, error) {
	im, err := w.image(!w.key.Type.Single())
	if err != nil {
		return nil, err
	}
	return []change{func(s *state) error {
		s.replace(w.key, im.set)
		if w.key.Type.Single() {
			s.replace(copiesOf(w.key), im.copies)
		}
		return nil
	}}, nil
}
