package daemon

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/steer"
)

func (m *mailbag) mustHold(t *testing.T, what string, times int) {
	t.Helper()
	if n := strings.Count(m.text(), what); n != times {
		t.Errorf("%q %d times, want %d:\n%s", what, n, times, m.text())
	}
}

// A site that waits for a person is told of once, with what to type, also over a
// restart; and so is the end, with who said yes and for how long it waited.
func TestASiteThatWaitsIsTold(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, bag := newWorld(t, class), &mailbag{}
		w.atSites()
		d := w.run(w.telling(bag))
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(45 * time.Minute)
		bag.mustHold(t, "waits for approval", 0)
		w.site.heal(a)
		time.Sleep(10 * time.Minute)
		bag.mustHold(t, "site dc1 waits for approval after an outage of 45m", 1)
		bag.mustHold(t, ": sidestep approve dc1", 1)
		d.end()
		bag.clear()
		d = w.run(w.telling(bag))
		time.Sleep(10 * time.Minute)
		bag.mustHold(t, "dc1", 0)
		if _, err := d.Approve(t.Context(), control.ApproveRequest{Target: "dc1"}, "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		bag.mustHold(t, "waits no more: site dc1", 1)
		bag.mustHold(t, "site dc1 was approved by ann, after 19m", 1)
		w.mustLive(a)
	})
}

// A record set whose failback waits is told of, and that it needs none any more.
func TestAFailbackThatWaitsIsTold(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, bag := newWorld(t, class), &mailbag{}
		w.config.Records[0].Policy, w.config.Records[0].Failback = steer.Priority, steer.Failback{Manual: true}
		w.run(w.telling(bag))
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)
		w.site.heal(a)
		time.Sleep(10 * time.Minute)
		bag.mustHold(t, "www.example.com. A waits for approval of its failback to 192.0.2.10: sidestep approve www.example.com", 1)
		w.site.fail(b)
		time.Sleep(10 * time.Minute)
		w.mustLive(a)
		bag.mustHold(t, "www.example.com. A needs no approval any more, after ", 1)
		bag.mustHold(t, "waits for approval of its failback", 1)
	})
}
