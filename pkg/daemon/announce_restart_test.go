package daemon

import (
	"testing"
	"time"

	"sidestep/pkg/control"
)

// What reminds of a freeze and of old overrides is forgotten by no restart.
func TestReminderOutlivesARestart(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, bag := newWorld(t, class), &mailbag{}
		w.config.Checks["web"].Interval = 2 * time.Minute
		d := w.run(w.telling(bag))
		time.Sleep(10 * time.Minute)
		d.overrule(control.OverrideRequest{Kind: "drain", Target: b, For: "forever", Reason: "old"})
		w.site.fail(a)
		time.Sleep(10 * time.Minute)
		d.overrule(control.OverrideRequest{Kind: "freeze", Target: "all", For: "forever", Reason: "outage"})
		time.Sleep(time.Hour)
		w.site.heal(a)
		time.Sleep(30 * time.Minute)
		d.end()
		d = w.run(w.telling(bag))
		time.Sleep(3 * time.Hour)
		bag.mustHold(t, "what was down under it is up again", 1)
		time.Sleep(18 * time.Hour)
		d.end()
		time.Sleep(3 * time.Hour) // past the daily reminder of both
		bag.clear()
		w.run(w.telling(bag))
		time.Sleep(time.Hour)
		bag.mustHold(t, "drain is still there", 1)
		bag.mustHold(t, "freeze is still there", 1)
	})
}
