package engine

import (
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// Drift begins what is told of a change that no sidestep made.
const Drift = "drift: "

// seen takes a fresh list of a zone, and says when the zone answers otherwise
// than it did when it was listed last: somebody else changed it, unless another
// sidestep may have.
func (e *Engine) seen(ev Seen) {
	list := ev.Zone
	z, found := e.zones[list.Name]
	if !found {
		return
	}
	for _, s := range z.sets {
		live := record.FindSet(list.Sets, s.spec.Key).Live()
		if s.published == nil || slices.Equal(s.published, live) {
			continue
		}
		detail := fmt.Sprintf("live is %s, was %s when the zone was listed last", words(live), words(s.published))
		if ev.Others {
			detail += "; the node that leads, or led until now, may have written that"
		} else {
			detail = Drift + detail
		}
		e.tell(Entry{Kind: "plan", Target: s.spec.Key.String(), Detail: detail})
	}
	e.take(z, list)
}

// take makes a list what is known of a zone.
func (e *Engine) take(z *zone, list plan.Zone) {
	z.seen, z.listed, z.err, z.dirty = list, true, "", true
	for _, s := range z.sets {
		seen := record.FindSet(list.Sets, s.spec.Key)
		live := append([]string{}, seen.Live()...)
		if s.published == nil || !slices.Equal(s.published, live) {
			e.effects.Save = true
		}
		s.published = live
		s.forgetResumed(seen)
	}
}

// forgetResumed drops the approval to resume a value once it is live: when
// somebody pauses it again, that takes another.
func (s *set) forgetResumed(seen record.Set) {
	isLive := func(value string) bool { a, found := seen.Find(value); return found && a.Live }
	if slices.ContainsFunc(s.resume, isLive) {
		s.resume = slices.DeleteFunc(slices.Clone(s.resume), isLive)
	}
}

func words(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	return strings.Join(values, ", ")
}

// failed notes that a zone could not be listed or written. What was listed
// before stays what is known.
func (e *Engine) failed(ev Failed) {
	if z, found := e.zones[ev.Zone]; found {
		z.err = ev.Err
	}
}

// wrote counts what was written by Work that did not come to its end. What is
// live now the next list will show, and it is not somebody else's doing.
func (e *Engine) wrote(ev Wrote) {
	for s := range e.applied(ev.Applied) {
		s.published = nil
	}
}

// done takes the end of a piece of Work: the zone as it is now, and which
// record sets were written.
func (e *Engine) done(ev Done) {
	z, found := e.zones[ev.Zone.Name]
	if !found {
		return
	}
	z.asked = false
	e.take(z, ev.Zone)
	for s := range e.applied(ev.Applied) {
		s.failback = false
	}
	if len(ev.Applied) > 0 {
		z.approved = ""
	}
}

// applied counts one write of each record set that has a change, however many
// it has, and gives those sets.
func (e *Engine) applied(changes []plan.Change) map[*set]bool {
	written := map[*set]bool{}
	for _, c := range changes {
		s := e.set(c.Key)
		if s == nil {
			continue
		}
		if !written[s] {
			s.written = append(s.written, e.now.Boot)
		}
		written[s] = true
		s.adopted = s.adopted || c.Action == record.Pause || c.Action == record.Swap
	}
	e.effects.Save = e.effects.Save || len(written) > 0
	return written
}

// Work is what the zone has to be brought to by what is known now, for a
// command that plans or writes without waiting for a change. The guards in
// override are switched off for it; to switch adopt off is a person's yes to the
// first plan of the zone's record sets. Work for a zone that the config does not
// have is false. It is out until Done comes, like any other.
func (e *Engine) Work(now Now, name record.Name, override map[string]bool) (Work, bool) {
	z, found := e.zones[name]
	if !found {
		return Work{}, false
	}
	e.now, z.asked = now, true
	for _, s := range z.sets {
		s.adopted = s.adopted || override[plan.GuardAdopt]
	}
	return e.work(z, override), true
}
