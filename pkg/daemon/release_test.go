package daemon

import (
	"testing"

	"sidestep/pkg/control"
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
