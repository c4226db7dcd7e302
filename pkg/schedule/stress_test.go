package schedule

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
)

// TestCase09TenThousandTargetsOneFifthOfWhichHang gives targets that never
// answer all the time there is: one millisecond less than the interval. The
// others keep their slots to the grid, none fails, and the hanging ones are
// probed as often as anybody.
func TestCase09TenThousandTargetsOneFifthOfWhichHang(t *testing.T) {
	for _, tc := range []struct {
		targets  int
		interval time.Duration
	}{{300, 5 * time.Second}, {2000, time.Second}, {10000, 10 * time.Second}} {
		inWorld(t, Options{Workers: tc.targets}, func(w *world) {
			s := spec(tc.interval, tc.interval-time.Millisecond)
			list := jobs(s, tc.targets)
			dead := map[string]bool{}
			for i := 0; i < len(list); i += 5 {
				dead[list[i].Target.Address] = true
			}
			w.probe = func(ctx context.Context, spec *check.Spec, address string) check.Result {
				if dead[address] {
					return hang(ctx, spec, address)
				}
				return answer(check.Pass, 3*time.Millisecond)(ctx, spec, address)
			}
			begin := w.clock.Boot()
			w.Set(list)
			w.run()
			const rounds = 3
			time.Sleep(rounds*tc.interval + tick)
			synctest.Wait()
			first := checkSlots(t, w, list, rounds)
			checkSpread(t, first, begin, tc.interval)
			for _, r := range w.results {
				if want := dead[r.Target.Address]; (r.Outcome == check.Fail) != want || r.Outcome == check.Unknown {
					t.Fatalf("%s, hangs %v: %+v", r.Target.Address, want, r)
				}
			}
			if st := w.Stats(); st.Skipped+st.Missed+st.Delayed+st.Gaps+st.Late != 0 || st.Lag > tick {
				t.Errorf("%d targets each %v: stats %+v", tc.targets, tc.interval, st)
			}
		})
	}
}

// checkSlots: every target was probed that often, one interval after the other
// to the grid. It returns the first starts.
func checkSlots(t *testing.T, w *world, list []Job, rounds int) []time.Duration {
	t.Helper()
	var first []time.Duration
	for _, j := range list {
		starts := w.startsOf(j.Target.Address)
		if len(starts) < rounds || len(starts) > rounds+1 {
			t.Fatalf("%s: %d probes in %d intervals", j.Target.ID(), len(starts), rounds)
		}
		first = append(first, starts[0])
		for i := 1; i < len(starts); i++ {
			if off := starts[i] - starts[i-1] - j.Spec.Interval; off < -tick || off > tick {
				t.Errorf("%s: %v from start to start", j.Target.ID(), starts[i]-starts[i-1])
			}
		}
	}
	return first
}

// TestCase09LateProbesDoNotFail lets far too few workers probe targets that
// hang. What was probed more than an interval after its turn is unknown, and
// what was probed in time and passes late counts.
func TestCase09LateProbesDoNotFail(t *testing.T) {
	inWorld(t, Options{Workers: 2}, func(w *world) {
		w.probe = hang
		w.Set(jobs(spec(time.Second, 900*time.Millisecond), 10))
		w.run()
		time.Sleep(20 * time.Second)
		w.mu.Lock()
		w.probe = answer(check.Pass, 0)
		w.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		var failed, late, passed int
		for _, r := range w.results {
			switch {
			case r.Outcome == check.Fail:
				failed++
			case r.Outcome == check.Unknown && strings.Contains(r.Detail, "late"):
				late++
			case r.Outcome == check.Pass:
				passed++
			}
		}
		st := w.Stats()
		if failed == 0 || failed > 10 || late < 20 || passed < 10 || st.Late < uint64(late) {
			t.Errorf("%d failed, %d late, %d passed, stats %+v; want no failure after the first turns", failed, late, passed, st)
		}
	})
}
