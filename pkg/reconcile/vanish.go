package reconcile

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/engine"
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
			w.log.Warn("a value that the config does not name went under a call of ours that came late; it is put back", "set", key.String(), "value", a.Value)
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
}

func (g gap) takes(value string) bool {
	return !slices.Contains(g.values, value) && !g.spec.Names(value)
}

// returning are the creates that put lost values of a set back.
func (w *worker) returning(key record.Key, spec *steer.Spec) []plan.Change {
	var changes []plan.Change
	for _, a := range w.vanish.lost[key] {
		if !spec.Names(a.Value) {
			changes = append(changes, plan.Change{
				Change: record.Change{Action: record.Create, Key: key, Value: a.Value, TTL: a.TTL},
				Reason: "it was there, and went under a call of ours that came late",
			})
		}
	}
	slices.SortFunc(changes, func(a, b plan.Change) int { return strings.Compare(a.Value, b.Value) })
	return changes
}

// withReturning adds them to the sets of a plan that have nothing else to do: no
// take-away waits for them.
func (r *round) withReturning() {
	for i := range r.current.Sets {
		if s := &r.current.Sets[i]; len(r.vanish.lost[s.Key()]) > 0 && !s.IsOpen() {
			s.Changes = append(s.Changes, r.returning(s.Key(), s.Wanted.Spec)...)
		}
	}
}

// bringBack puts lost values back after a look, since no work may come for a
// set that is as the config wants it. Newer work does not wait for it. When
// something was written or waited for, the zone is looked at again.
func (w *worker) bringBack(ctx context.Context, snapshot *provider.Snapshot) {
	r := w.newRound(engine.Work{Zone: w.zone.Name}, Orders{})
	r.snapshot = snapshot
	if r.hold(ctx) != nil { // not the leader: the one that is will see it
		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.vanish.lost), record.Key.Compare) {
		set, now := snapshot.Set(key), r.options.Clock.Boot()
		s := plan.Set{Wanted: &steer.Wanted{Spec: &steer.Spec{Key: key}}, Seen: &set}
		s.Changes = w.returning(key, s.Wanted.Spec)
		next := footing{promises: r.zone.Adapter.Promises(), doubt: r.doubt, now: now}.next(s)
		var err error
		switch {
		case next.wait > now:
			err = r.pause(ctx, next.wait-now, next.why)
		case next.empty():
			continue
		default:
			err = r.send(ctx, s, next)
		}
		if err == nil && r.aside[key] == nil {
			w.submit(job{})
		}
		return
	}
}
