package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// room takes out what has to go anyway, where the provider takes no more live
// values of the set until one is out of it: as always beside enough wanted values
// that are live and beyond doubt; or else, where the wanted ones are still outside
// for want of that room, one value beside others that stay.
func (f footing) room(s plan.Set, away []plan.Change) step {
	out := slices.DeleteFunc(slices.Clone(away), func(c plan.Change) bool { return c.Action != record.Pause })
	if len(out) == 0 {
		return step{}
	}
	next := f.aways(s, nil, out)
	if next.empty() {
		next = f.oneOut(s, out)
	}
	if next.wait <= f.now {
		next.wait = 0 // time alone does not make it possible
	}
	return next
}

// oneOut takes one value out to make room. A working one goes only when no dead
// one is left, and one that an open call may take out as well goes before others,
// since it counts for nothing. As many values as min_live says, and one at least,
// have to stay of which it is certain that they are live, wanted or not.
func (f footing) oneOut(s plan.Set, out []plan.Change) step {
	if dead := slices.DeleteFunc(slices.Clone(out), func(c plan.Change) bool { return c.Usable }); len(dead) > 0 {
		out = dead
	}
	first := max(0, slices.IndexFunc(out, func(c plan.Change) bool { return f.doubt.doubtful(s.Key(), c.Value, f.now) }))
	leaving := out[first]
	stay := f.certain(s, slices.Concat(s.Wanted.Live, s.Wanted.Paused))
	stay = slices.DeleteFunc(stay, func(value string) bool { return value == leaving.Value })
	open, listed := f.doubt.until(s.Key()), f.doubt.setListed(s.Key())
	switch need := leastLive(s); {
	case len(stay) < need:
		return step{
			wait: open,
			why:  fmt.Sprintf("%d live values beside the one that has to make room are beyond doubt, and %d have to be: an earlier call may still take effect", len(stay), need),
		}
	case listed > f.now && !f.follows:
		return step{wait: listed, why: "the last write may not be in the list yet"}
	}
	return step{away: []plan.Change{leaving}, survivors: stay}
}

// leastLive is how many values of a set stay live through the making of room.
func leastLive(s plan.Set) int { return max(1, s.Wanted.Spec.MinLive) }

// noRoom is the error of a record set that takes no more live values and in which
// no room can be made: the provider's, with the numbers and the ways on.
func (r *round) noRoom(s plan.Set, full error) error {
	refused, ok := errors.AsType[*provider.Error](full)
	if !ok {
		return full
	}
	add, away := split(r.denied.open(s))
	live := s.Seen.Live()
	hint := fmt.Sprintf("live: %s, and the provider takes no more than %d", words(live), len(live))
	switch {
	case !pauses(away):
		hint += "; all of them are wanted"
	case r.orders.OnlyAdd:
		hint += "; one has to go first, and only adds were asked for"
	case len(live) > 1 && leastLive(s) > 1:
		hint += fmt.Sprintf("; none makes room, because min_live keeps %d of them: lower min_live below the provider's limit", leastLive(s))
	case len(live) > 1:
		hint += "; none makes room, because it is not certain that another stays"
	case len(live) == 1 && len(add) > 0:
		hint += fmt.Sprintf("; %s does not make room, because the name would have no answer until %s is in, and none if that failed: raise the limit, or %s",
			live[0], add[0].Value, byHand(live[0], add[0]))
	}
	told := *refused
	told.Hint = strings.TrimSuffix(hint+"; "+refused.Hint, "; ")
	return &told
}

// byHand is how a person switches the one live value that there may be.
func byHand(live string, add plan.Change) string {
	if add.Action == record.Resume {
		return fmt.Sprintf("enable %s by hand right after you paused %s", add.Value, live)
	}
	return fmt.Sprintf("change %s to %s by hand, in its record", live, add.Value)
}
