package memory

import (
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// appendClass is what any libdns provider can do: append a record, delete every
// record that matches in full. A pause makes a copy, and deletes once a list
// shows that copy; copies stay for ever and mean nothing while their value is
// live.
type appendClass struct{}

func (appendClass) promises() provider.Promises {
	return provider.Promises{Pause: provider.PauseParked, OneByOne: true}
}

func (appendClass) add(w *work) ([]change, error) {
	var changes []change
	for _, c := range w.call.Add {
		if _, live := w.live(c.Value); live {
			continue
		}
		parked, copied := w.newestCopy(c.Value)
		switch {
		case c.Action == record.Resume && !copied:
			return nil, w.conflict("there is no copy of %s", c.Value)
		case c.Action == record.Resume && c.TTL == 0:
			c.TTL = parked.TTL
		}
		changes = append(changes, func(s *state) error { s.insert(answer(w.key, c)); return nil })
	}
	return changes, nil
}

func (appendClass) takeAway(w *work) ([]change, error) {
	c := w.call.Away[0]
	if c.Action != record.Pause {
		return nil, provider.Failf(provider.Permanent, "take away from "+w.key.String(), "", "nothing can be changed in place here, %s included", c.Action)
	}
	r, live := w.live(c.Value)
	parked, copied := w.newestCopy(c.Value)
	switch {
	case !live && copied:
		return nil, nil
	case !live:
		return nil, w.conflict("%s is not there", c.Value)
	case !copied || parked.TTL != r.TTL:
		return []change{func(s *state) error { s.insert(w.parkedText(r)); return nil }}, nil
	}
	return []change{func(s *state) error {
		s.remove(func(o Record) bool {
			return o.in(w.key) && o.value == r.value && o.TTL == r.TTL
		})
		return nil
	}}, nil
}
