package reconcile

import (
	"fmt"
	"slices"
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

// onlyAdds leaves the take-aways out. Adds that would have gone in one call with
// them go alone.
func (s step) onlyAdds() step {
	s.away, s.wait = nil, 0
	return s
}

// nextStep derives the next call of a record set. Adds go first and never wait
// for doubts; a take-away goes only when every wanted value is live in the
// list, the list is not inside the provider's lag, and enough of the wanted
// values survive that are not in doubt.
func nextStep(s plan.Set, promises provider.Promises, doubt *doubts, now time.Duration) step {
	add, away := split(s.Open())
	if len(add) > 0 && !promises.Together {
		return addStep(s, add, promises, doubt, now)
	}
	if len(away) == 0 && len(add) == 0 {
		return step{}
	}
	if len(away) == 0 {
		return addStep(s, add, promises, doubt, now)
	}
	if at := doubt.listedUntil(); !promises.Fenced && now < at {
		return step{wait: at, why: "the last write may not be in the list yet"}
	}
	if len(add) > 0 {
		if first := addStep(s, add, promises, doubt, now); len(first.add) < len(add) {
			return first
		}
	}
	next := step{add: add, away: away, survivors: survivors(s, doubt, now)}
	if promises.OneByOne {
		next.away = away[:1]
	}
	if need := max(1, s.Wanted.Spec.MinLive); !s.Wanted.Empty && len(next.survivors)+len(add) < min(need, len(s.Wanted.Live)) && !replaces(away) {
		return step{
			wait: doubt.until(now),
			why:  fmt.Sprintf("%d of the values that stay are beyond doubt, and %d have to be: an earlier call may still take effect", len(next.survivors), need),
		}
	}
	return next
}

// addStep sends the adds. A create waits while an older one of the same value
// may still take effect, since two of them would leave it in the zone twice;
// where a write carries the whole set it waits until no older call is open at
// all, because one that knew the set without the new value would lose it.
func addStep(s plan.Set, add []plan.Change, promises provider.Promises, doubt *doubts, now time.Duration) step {
	if promises.Fenced {
		return step{add: add}
	}
	var ready []plan.Change
	wait := time.Duration(0)
	for _, c := range add {
		at := doubt.pending(s.Key(), c.Value)
		if promises.Whole {
			at = doubt.until(now)
		}
		if c.Action == record.Create && at > now {
			wait = max(wait, at)
			continue
		}
		ready = append(ready, c)
	}
	if len(ready) == 0 {
		return step{wait: wait, why: "an older call may still take effect, and a create beside it could lose or double a value"}
	}
	if promises.OneByOne {
		ready = ready[:1]
	}
	return step{add: ready}
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

// survivors are the wanted values that are live in the list and not in doubt.
func survivors(s plan.Set, doubt *doubts, now time.Duration) []string {
	var values []string
	for _, value := range s.Wanted.Live {
		a, found := s.Seen.Find(value)
		if found && a.Live && !doubt.doubtful(s.Key(), value, now) {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return values
}

// replaces reports whether no value is left without a successor: a swap and a
// change of TTL leave as many live values as there were.
func replaces(away []plan.Change) bool {
	return !slices.ContainsFunc(away, func(c plan.Change) bool { return c.Action == record.Pause })
}

func changesOf(list []plan.Change) []record.Change {
	changes := make([]record.Change, len(list))
	for i, c := range list {
		changes[i] = c.Change
	}
	return changes
}
