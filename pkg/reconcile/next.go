package reconcile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// step is the next call of one record set, derived from a list alone.
type step struct {
	add, away []plan.Change
	survivors []string
	wait      time.Duration // nothing may be sent before this boot time; 0 sends now
	why       string        // why it waits
}

// empty reports that the record set needs no call, or none that may be sent.
func (s step) empty() bool { return len(s.add) == 0 && len(s.away) == 0 }

// changes is everything that the call asks for.
func (s step) changes() []plan.Change { return slices.Concat(s.add, s.away) }

// onlyAdds leaves the take-aways out, and what would have to wait. Adds that
// would have gone in one call with take-aways go alone.
func (s step) onlyAdds() step { return step{add: s.add} }

// cut leaves as many changes as one call may have, adds before take-aways; what
// is left out is the next call's. The survivors stay all of them: each part of a
// take-away takes away less than the whole.
func (s step) cut(limit int) step {
	if limit > 0 {
		s.add = s.add[:min(limit, len(s.add))]
		s.away = s.away[:min(limit-len(s.add), len(s.away))]
	}
	return s
}

// footing is what the next call of a zone stands on.
type footing struct {
	promises provider.Promises
	doubt    *doubts
	now      time.Duration        // boot time
	follows  bool                 // the zone was not listed but worked out: it lacks no write of ours
	full     map[record.Key]error // sets that take no more live values
	denied   denied
}

// next is as much of what a record set is due as fits in one call.
func (f footing) next(s plan.Set) step { return f.due(s).cut(f.promises.MaxChanges) }

// due derives what is to be sent next of a record set. Adds go first and wait for no
// doubt; a take-away goes only when every wanted value is live in the list, or
// becomes so in the same call, the list is not inside the provider's lag, and
// enough of the wanted values survive that are not in doubt. In a set that takes
// no more live values it makes room for the wanted ones, see room.
func (f footing) due(s plan.Set) step {
	if at := f.doubt.zoneListed(); f.promises.Fenced && !f.follows && f.now < at {
		return step{wait: at, why: "the stamp of the last write may not be in the list yet"}
	}
	add, away := split(f.denied.open(s))
	away = stuckLast(s, away)
	if f.full[s.Key()] != nil {
		return f.room(s, away)
	}
	adds := f.adds(s, add)
	together := f.promises.Together && len(adds.add) == len(add)
	if len(away) == 0 || len(add) > 0 && !together {
		return adds
	}
	next := f.aways(s, add, away)
	if next.wait > 0 && len(add) > 0 {
		return adds // which wait for no take-away
	}
	return next
}

// adds sends the adds that need not wait.
func (f footing) adds(s plan.Set, add []plan.Change) step {
	if f.promises.Fenced {
		return step{add: add}
	}
	var ready []plan.Change
	first := step{}
	for _, c := range add {
		at, why := f.addFrom(s, c)
		switch {
		case at <= f.now:
			ready = append(ready, c)
		case first.wait == 0 || at < first.wait:
			first.wait, first.why = at, why
		}
	}
	if len(ready) == 0 {
		return first
	}
	if f.promises.OneByOne {
		ready = ready[:1]
	}
	return step{add: ready}
}

// addFrom is the boot time from which an add may be sent. One that was sent is
// not sent again before a list can show it. A create waits while an older one
// of the same value may still take effect, since two of them would leave it in
// the zone twice; of a process before this one that may be any call, and what it
// did last may not be in the list yet. Only where no wanted value is live a
// create does not wait for what is not known to be open: two of one value answer
// as one, and none answers nobody. Where a write carries the whole set, an add
// waits until the list shows all of it, and a create until no older call is open,
// because one that knew the set without the new value would lose it.
func (f footing) addFrom(s plan.Set, c plan.Change) (at time.Duration, why string) {
	key, why := s.Key(), "what was just written may not be in the list yet"
	if c.Action != record.Create {
		if f.promises.Whole {
			return f.doubt.setListed(key), why
		}
		return f.doubt.valueListed(key, c.Value), why
	}
	at, open := f.doubt.valueListed(key, c.Value), f.doubt.valueOpen(key, c.Value)
	switch {
	case f.promises.Whole:
		at, open = f.doubt.setListed(key), f.doubt.until(key)
	case f.wantedLive(s):
		at, open = max(at, f.doubt.beginListed()), max(open, f.doubt.allOpen())
	}
	if open > at {
		return open, "an older call may still take effect, and a create beside it could lose or double a value"
	}
	return at, why
}

// wantedLive reports whether the list shows a wanted value live.
func (footing) wantedLive(s plan.Set) bool {
	return slices.ContainsFunc(s.Wanted.Live, func(value string) bool {
		a, found := s.Seen.Find(value)
		return found && a.Live
	})
}

// aways sends the take-aways, and with them the adds, when nothing speaks
// against it. After a start adds in the same call are no survivors: a call of a process
// before may undo them. A swap has no survivor, so it waits until no older call is open:
// one that came later would write over the new value, of which there is no copy.
// TTLs and weights go in a call of their own where the set is not written whole: one
// that the provider refuses must not keep a value that is down in the answer.
func (f footing) aways(s plan.Set, add, away []plan.Change) step {
	if !f.promises.Whole && (pauses(away) || swaps(away)) {
		away = onlyValues(away)
	}
	next := step{add: add, away: away, survivors: f.survivors(s)}
	if f.promises.OneByOne {
		next.away = away[:1]
	}
	need, stay := needs(s), len(next.survivors)
	if f.promises.Fenced || f.now >= f.doubt.allOpen() {
		stay += len(add)
	}
	open, listed := f.doubt.until(s.Key()), f.doubt.setListed(s.Key())
	switch {
	case open > f.now && swaps(next.away) && !f.promises.Fenced:
		return step{wait: open, why: swapWords}
	case stay < need && pauses(next.away): // an empty set that is meant needs none
		return step{wait: open, why: f.doubtWords(s)}
	case listed > f.now && !f.follows:
		return step{wait: listed, why: "the last write may not be in the list yet"}
	}
	return next
}

func split(changes []plan.Change) (add, away []plan.Change) {
	for _, c := range changes {
		if c.Action.Add() {
			add = append(add, c)
		} else {
			away = append(away, c)
		}
	}
	return add, away
}

// stuckLast puts what the provider is known to refuse behind all else, which would
// wait for it in vain where changes go one by one.
func stuckLast(s plan.Set, away []plan.Change) []plan.Change {
	slices.SortStableFunc(away, func(a, b plan.Change) int { return cmp.Compare(stuck(s, a), stuck(s, b)) })
	return away
}

// stuck is 1 of a pause that the list says cannot be made, else 0.
func stuck(s plan.Set, c plan.Change) int {
	if a, found := s.Seen.Find(c.Value); found && a.Stuck != "" && c.Action == record.Pause {
		return 1
	}
	return 0
}

// survivors are the wanted values that are live in the list and not in doubt.
func (f footing) survivors(s plan.Set) []string { return f.certain(s, s.Wanted.Live) }

// certain are those of some values that are live in the list and not in doubt,
// sorted.
func (f footing) certain(s plan.Set, values []string) []string {
	var certain []string
	for _, value := range values {
		a, found := s.Seen.Find(value)
		if found && a.Live && !f.doubt.doubtful(s.Key(), value, f.now) {
			certain = append(certain, value)
		}
	}
	slices.Sort(certain)
	return certain
}

// pauses reports whether a value is left without a successor: a swap and a
// change of TTL leave as many live values as there were.
func pauses(away []plan.Change) bool { return has(away, record.Pause) }

func swaps(away []plan.Change) bool { return has(away, record.Swap) }

// onlyValues leaves out the changes of TTLs and weights.
func onlyValues(changes []plan.Change) []plan.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c plan.Change) bool { return slices.Contains(attributes, c.Action) })
}

func has(changes []plan.Change, action record.Action) bool {
	return slices.ContainsFunc(changes, func(c plan.Change) bool { return c.Action == action })
}

// changesOf are the changes as an adapter gets them: sorted by value.
func changesOf(list []plan.Change) []record.Change {
	changes := make([]record.Change, len(list))
	for i, c := range list {
		changes[i] = c.Change
	}
	slices.SortFunc(changes, func(a, b record.Change) int { return strings.Compare(a.Value, b.Value) })
	return changes
}
