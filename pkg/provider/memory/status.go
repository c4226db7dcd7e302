package memory

import (
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// statusClass is DNSPod's: each record has a flag, a weight and a line, each
// request changes one record, and none carries a condition. What an attribute is changed from is
// read just before.
type statusClass struct{}

func (statusClass) promises() provider.Promises {
	return provider.Promises{Pause: provider.PauseNative, OneByOne: true, Weights: true, Variants: true, Single: true}
}

func (c statusClass) add(w *work) ([]change, error) {
	var changes []change
	for _, add := range w.call.Add {
		one, err := c.addOne(w, add)
		if err != nil {
			return nil, err
		}
		if one != nil {
			changes = append(changes, one)
		}
	}
	return changes, nil
}

func (statusClass) addOne(w *work, c record.Change) (change, error) {
	if _, live := w.live(c.Value); live {
		return nil, nil
	}
	out, disabled := find(w.records(), c.Value, func(r Record) bool { return r.Disabled })
	parked, copied := w.newestCopy(c.Value)
	switch {
	case disabled && c.Action == record.Create:
		return nil, w.conflict("%s is there and out of the answer: resume it", c.Value)
	case disabled:
		return flagged(out.ID, false), nil
	case c.Action == record.Resume && !copied:
		return nil, w.conflict("%s is not there", c.Value)
	case c.Action == record.Resume && c.TTL == 0:
		c.TTL = parked.TTL
	}
	c.Weight = max(c.Weight, 1)
	return func(s *state) error { s.insert(answer(w.key, c)); return nil }, nil
}

// flagged sets the status of a record by id, whatever else it is by then.
func flagged(id int, disabled bool) change {
	return func(s *state) error {
		r, there := s.byID(id)
		if !there {
			return provider.Failf(provider.Conflict, "set the status", "missing", "record %d is gone", id)
		}
		r.Disabled, r.Marked = disabled, disabled
		s.update(r)
		return nil
	}
}

func (c statusClass) takeAway(w *work) ([]change, error) {
	away := w.call.Away[0]
	if away.Action == record.Swap {
		return c.swap(w, away)
	}
	r, live := w.live(away.Value)
	switch {
	case away.Action == record.Pause && live:
		return []change{flagged(r.ID, true)}, nil
	case away.Action == record.Pause:
		a, found := w.listedSet().Find(away.Value)
		if !found || !a.Paused {
			return nil, w.conflict("%s is not there", away.Value)
		}
		return nil, nil
	case !live:
		return nil, w.conflict("%s is not live", away.Value)
	}
	return modified(w, r.ID, func(now *Record) {
		if away.Action == record.SetTTL {
			now.TTL = away.TTL
		} else {
			now.Weight = away.Weight
		}
	})
}

// modified writes every attribute of a record as it was read just before, with
// one of them new: what changes in between is overwritten.
func modified(w *work, id int, do func(*Record)) ([]change, error) {
	r, there := w.current.byID(id)
	if !there {
		return nil, w.conflict("record %d is gone", id)
	}
	do(&r)
	return []change{func(s *state) error {
		if _, there := s.byID(id); !there {
			return provider.Failf(provider.Conflict, "modify a record", "missing", "record %d is gone", id)
		}
		s.update(r)
		return nil
	}}, nil
}

// swap makes the copy of the old value first, and changes the record once a
// list shows that copy.
func (statusClass) swap(w *work, c record.Change) ([]change, error) {
	if _, done := w.live(c.Value); done {
		return nil, nil
	}
	old, live := w.live(c.From)
	if !live {
		return nil, w.conflict("%s is not live", c.From)
	}
	if parked, copied := w.newestCopy(c.From); !copied || parked.TTL != old.TTL {
		return []change{func(s *state) error { s.insert(w.parkedText(old)); return nil }}, nil
	}
	return modified(w, old.ID, func(r *Record) {
		r.Value = c.Value
		if c.TTL != 0 {
			r.TTL = c.TTL
		}
	})
}
