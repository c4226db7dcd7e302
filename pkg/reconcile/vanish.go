package reconcile

import (
	"slices"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// gap is a call whose outcome is open, at a provider that replaces a set by what
// the call carries and compares nothing: until it is over, a value that somebody
// put in since goes when the call is carried out.
type gap struct {
	spec   *steer.Spec
	values []string // what the call knew of the set, and what it put in
	until  time.Duration
}

// vanishing is what is known of such values, for one zone. It belongs to the
// worker's goroutine, and is forgotten in a crash.
type vanishing struct {
	gaps  map[record.Key][]gap
	shown map[record.Key][]record.Answer // live in the last list, of sets with a gap
	lost  map[record.Key][]record.Answer // gone since, and not to be seen again yet
}

func newVanishing() vanishing {
	return vanishing{map[record.Key][]gap{}, map[record.Key][]record.Answer{}, map[record.Key][]record.Answer{}}
}

// openGap keeps a call that may still be carried out.
func (r *round) openGap(s plan.Set, next step, err error) {
	promises := r.zone.Adapter.Promises()
	if err == nil || gateClosed(err) || provider.ClassOf(err) != provider.Ambiguous || !promises.Whole || promises.Fenced {
		return
	}
	g := gap{spec: s.Wanted.Spec, until: r.options.Clock.Boot() + promises.Quiet()}
	for _, a := range r.snapshot.Set(s.Key()).Answers {
		g.values = append(g.values, a.Value)
	}
	for _, c := range next.changes() {
		g.values = append(g.values, c.Value)
	}
	r.vanish.gaps[s.Key()] = append(r.vanish.gaps[s.Key()], g)
}

// watch looks in a list for values that an open call has taken with it: the list
// before had them, the call did not know them. The config's own are the plan's.
func (w *worker) watch(s *provider.Snapshot) {
	v, now := &w.vanish, w.options.Clock.Boot()
	for key, gaps := range v.gaps {
		set := s.Set(key)
		for _, a := range v.shown[key] {
			if _, there := set.Find(a.Value); there || !slices.ContainsFunc(gaps, func(g gap) bool { return g.takes(a.Value) }) {
				continue
			}
			v.lost[key] = append(v.lost[key], a)
			w.log.Warn("a value that the config does not name went under a call of ours that came late; it is to be put back", "set", key.String(), "value", a.Value)
		}
		v.shown[key] = slices.DeleteFunc(slices.Clone(set.Answers), func(a record.Answer) bool { return !a.Live })
		v.gaps[key] = slices.DeleteFunc(gaps, func(g gap) bool { return g.until <= now })
		if len(v.gaps[key]) == 0 {
			delete(v.gaps, key)
			delete(v.shown, key)
		}
	}
	for key, lost := range v.lost {
		set := s.Set(key)
		v.lost[key] = slices.DeleteFunc(lost, func(a record.Answer) bool { _, there := set.Find(a.Value); return there })
		if len(v.lost[key]) == 0 {
			delete(v.lost, key)
		}
	}
	w.publishLost()
}

// publishLost gives others a copy of what is lost, which nobody changes.
func (w *worker) publishLost() {
	var lost map[record.Key][]record.Answer
	if len(w.vanish.lost) > 0 {
		lost = make(map[record.Key][]record.Answer, len(w.vanish.lost))
	}
	for key, list := range w.vanish.lost {
		lost[key] = slices.Clone(list)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = lost
}

func (g gap) takes(value string) bool {
	return !slices.Contains(g.values, value) && !g.spec.Names(value)
}

// zoneOf is what a list shows of the zone, and what a late call of ours took from
// it, for any goroutine: so that all that plans with it, here and in the engine,
// plans to put that back, under the guards.
func (w *worker) zoneOf(s *provider.Snapshot) plan.Zone {
	zone := zoneOf(s)
	w.mu.Lock()
	defer w.mu.Unlock()
	zone.Lost = w.lost
	return zone
}
