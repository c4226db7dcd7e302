package daemon

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sidestep/pkg/provider/memory"
)

// TestCase71ReadsThatLagCauseNoSecondWrite fails over at a provider whose lists
// show the zone as it was 20 seconds ago, or by turns as it is and as it was,
// while the zone is listed every 5 seconds. Each change is written once, none of
// what the lists show is called drift, and nothing flaps.
func TestCase71ReadsThatLagCauseNoSecondWrite(t *testing.T) {
	const lag = 20 * time.Second
	for _, class := range []memory.Class{memory.Status, memory.Exact, memory.Rename, memory.Whole} {
		for _, byTurns := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s by turns %v", class, byTurns), func(t *testing.T) {
				bubbled(t, func(t *testing.T) {
					options := memory.Options{Class: class, Lag: lag, Late: time.Second}
					if !byTurns {
						options.Behind = lag
					}
					w := newWorld(t, options)
					w.config.Reconcile.Every = 5 * time.Second
					zone := w.zones[home]
					if byTurns {
						zone.Faults(func(op memory.Op, n int) memory.Fault {
							if op == memory.OpList && n%2 == 0 {
								return memory.Fault{Kind: memory.Stale, Versions: w.since(zone, lag)}
							}
							return memory.Fault{}
						})
					}
					time.Sleep(2 * lag) // the zone was made long ago
					w.run()
					time.Sleep(2 * settled)
					before := len(w.writes(home))
					began := time.Now()
					w.site.fail(a)
					for over := false; time.Since(began) < 3*settled; time.Sleep(time.Second) {
						is := slices.Equal(zone.Live(www), []string{b})
						if over && !is {
							t.Fatalf("it flapped: www answers with %v", zone.Live(www))
						}
						over = over || is
					}
					w.mustLive(b)
					seen := map[string]int{}
					for _, v := range w.writes(home)[before:] {
						seen[v.Cause.String()]++
					}
					for what, times := range seen {
						if times > 1 {
							t.Errorf("written %d times: %s", times, what)
						}
					}
					if len(seen) == 0 || len(seen) > 2 {
						t.Errorf("%d different writes: %v", len(seen), seen)
					}
					for _, line := range w.journal("plan") {
						t.Errorf("called drift: %v", line)
					}
				})
			})
		}
	}
}

// since is how many versions of the zone are younger than an age.
func (w *world) since(zone *memory.Zone, age time.Duration) int {
	n := 0
	for _, v := range zone.History() {
		if v.At > w.clock.Boot()-age {
			n++
		}
	}
	return n
}
