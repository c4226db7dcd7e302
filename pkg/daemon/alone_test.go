package daemon

import (
	"testing"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/provider/memory"
)

// What the leader writes is nobody's interference: not to who stands by, and not to
// who leads next. What a person changes by hand at a leader is.
func TestALeadersWritesAreNotCalledDrift(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, v, first, second := leading(t)
		w.site.fail(a)
		time.Sleep(10 * time.Minute) // in which the second lists
		w.mustLive(b)
		w.site.heal(a)
		time.Sleep(time.Minute)
		first.end()
		time.Sleep(10 * time.Minute)
		w.mustLive(a)
		if s := second.status().Leader; s.State != "leader" {
			t.Fatalf("the second says %+v", s)
		}
		for _, book := range []*logBook{w.log, v.log} {
			for _, line := range book.with(engine.Drift) {
				t.Errorf("called drift: %s", line)
			}
		}
		if len(v.log.with("INFO the zone has changed")) == 0 {
			t.Error("the second never told of the first one's writes: the test shows nothing")
		}
		if err := w.zones[home].EditByHand(memory.Put(string(www.Name), "A", time.Minute, "203.0.113.7")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if lines := v.log.with("changed by somebody else"); len(lines) != 1 {
			t.Errorf("a change by hand is told %d times: %q", len(lines), lines)
		}
	})
}
