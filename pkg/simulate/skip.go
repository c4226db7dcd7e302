package simulate

import (
	"time"

	"sidestep/pkg/daemon"
)

// calm is how long nothing has to have happened until the results of probes only
// repeat what the engine knows: counters are beyond their thresholds, the canary
// has borne everything out. It is also how long before the next event they are
// taken up again, so that the event finds everything as if none was left out.
func (w *world) calm() time.Duration {
	longest := time.Duration(0)
	for _, t := range w.probed {
		longest = max(longest, t.spec.Interval*time.Duration(2*max(t.spec.Fall, t.spec.Rise)+3))
	}
	return longest + 4*daemon.CanaryEvery
}

// leaveOut moves the rhythm of all probes to shortly before the next event when
// they cannot change anything until then. The engine's own times stay, and so do
// the looks at the zones. What stirs before the event ends it.
func (w *world) leaveOut(event time.Duration) {
	now, calm := w.clock.Boot(), w.calm()
	if w.options.Whole {
		return
	}
	for _, z := range w.order {
		z.putOff(event)
	}
	switch {
	case w.stirred == now && w.asleep:
		w.wake(now)
		return
	case w.asleep || now-w.stirred < calm:
		return
	}
	until := never
	if event != never {
		until = event - calm
	}
	if until <= now {
		return
	}
	w.asleep = true
	for _, t := range w.probed {
		t.due = w.slotFrom(until, t.spec.Interval)
	}
	w.canary.due = w.slotFrom(until, daemon.CanaryEvery)
}

// wake goes on with all probes at their next time.
func (w *world) wake(now time.Duration) {
	w.asleep = false
	for _, t := range w.probed {
		t.due = w.slotAfter(now, t.spec.Interval)
	}
	w.canary.due = w.slotAfter(now, daemon.CanaryEvery)
}

// slotFrom is the first time of a rhythm that is not before a boot time.
func (w *world) slotFrom(at, interval time.Duration) time.Duration {
	if at == never {
		return never
	}
	return w.slotAfter(at-1, interval)
}
