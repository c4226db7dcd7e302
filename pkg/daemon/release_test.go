package daemon

import (
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
)

// TestAReleaseThatFailedSaysWhatIsStillPaused: what was to come back and did not.
func TestAReleaseThatFailedSaysWhatIsStillPaused(t *testing.T) {
	change := func(value string) control.Change {
		return control.Change{Action: "resume", Name: "www.example.com.", Type: "A", Value: value}
	}
	r := Release{
		Resume:  []control.Change{change("192.0.2.1"), change("192.0.2.2")},
		Applied: []control.Change{change("192.0.2.1")},
	}
	if waiting := r.Waiting(); len(waiting) != 1 || waiting[0].Value != "192.0.2.2" || len(r.Resume) != 2 {
		t.Errorf("still paused: %v of %v, want 192.0.2.2", waiting, r.Resume)
	}
}

// What a release brings back is sidestep's own doing, also to the daemon that runs next.
func TestAReleaseIsNotCalledDrift(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)
		d.end()
		one, progress, _ := w.once(true)
		if answer, err := one.ReleaseOnce(t.Context(), string(home), nil, false, progress); err != nil || !answer.Released {
			t.Fatalf("%+v (%v)", answer, err)
		}
		w.mustLive(a, b)
		w.site.heal(a)
		w.run()
		time.Sleep(settled)
		for _, line := range w.log.with(engine.Drift) {
			t.Errorf("called drift: %s", line)
		}
	})
}
