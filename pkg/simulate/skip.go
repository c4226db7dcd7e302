package simulate

import (
	"time"

	"sidestep/pkg/daemon"
)

// enough is how many results of a target have to be alike until more of them tell
// the engine nothing new: counters are beyond their thresholds.
func (w *world) enough(t *target) int {
	return 2*max(t.spec.Fall, t.spec.Rise) + w.decides.Mass.Confirm + 3
}

// calm is how long nothing has to have happened until probes are left out, and how
// long before the next event they are taken up again, so that the event finds
// everything as if none had been: the canary has borne out what it can, and the
// guard against mass failures remembers nothing.
func (w *world) calm() time.Duration {
	longest := time.Duration(0)
	for _, n := range w.nodes() {
		for _, t := range n.probed {
			longest = max(longest, t.spec.Interval*time.Duration(w.enough(t)))
		}
	}
	return longest + 4*daemon.CanaryEvery + w.decides.Mass.Within
}

// leaveOut moves the rhythm of probes to shortly before the next event when they
// cannot change anything until then. The engine's own times stay, and so do the
// looks at the zones. What stirs before the event ends it.
func (w *world) leaveOut(event time.Duration) {
	if w.options.Whole {
		return
	}
	for _, z := range w.order {
		z.leaveOut(event, w.leads)
	}
	now, calm := w.clock.Boot(), w.calm()
	if w.stirred == now && w.asleep {
		w.wake(now)
	}
	until := never
	if event != never {
		until = event - calm
	}
	if now-w.stirred < calm || until <= now {
		return
	}
	w.asleep = true
	for _, n := range w.nodes() {
		for _, t := range n.probed {
			if !w.restless(t) {
				t.due = max(t.due, t.slotFrom(until))
			}
		}
		n.canary.due = max(n.canary.due, slotFrom(n.started, daemon.CanaryEvery, until))
		if len(w.others) > 0 {
			w.greet(n, min(until, begins+2*longest)) // nothing will keep it from being heard
		}
	}
}

// restless reports whether the results of a target may go on to change something:
// it is left alone for pauses that follow each other, or has not repeated itself
// often enough.
func (w *world) restless(t *target) bool { return t.held != 0 || t.times < w.enough(t) }

// wake goes on with all probes at their next time.
func (w *world) wake(now time.Duration) {
	w.asleep = false
	for _, n := range w.nodes() {
		for _, t := range n.probed {
			if t.held == 0 {
				t.due = t.slotAfter(now)
			}
		}
		n.canary.due = slotAfter(n.started, daemon.CanaryEvery, now)
	}
}

func (t *target) slotFrom(at time.Duration) time.Duration {
	return slotFrom(t.from, t.spec.Interval, at)
}

// slotFrom is the first time of a rhythm that is not before a boot time.
func slotFrom(from, interval, at time.Duration) time.Duration {
	if at == never {
		return never
	}
	return slotAfter(from, interval, at-1)
}
