package schedule

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
)

// 300 targets, 60 of which accept and never answer: the other 240 keep their
// period, and the first interval has no burst.
func TestCase09HangingTargetsDelayNobody(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		s := spec(5*time.Second, 2*time.Second)
		list := jobs(s, 300)
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
		time.Sleep(time.Minute + 10*time.Millisecond)
		synctest.Wait()

		var first []time.Duration
		for _, j := range list {
			address := j.Target.Address
			starts := w.startsOf(address)
			if len(starts) != 12 {
				t.Fatalf("%s: %d probes in a minute, want 12", address, len(starts))
			}
			first = append(first, starts[0])
			for i := 1; i < len(starts); i++ {
				if gap := starts[i] - starts[i-1]; gap != 5*time.Second {
					t.Errorf("%s: %v from start to start, want 5s", address, gap)
				}
			}
			if n := w.outcomes(address); !dead[address] && n[check.Pass] < 11 || n[check.Unknown] > 0 {
				t.Errorf("%s: outcomes %v", address, n)
			} else if dead[address] && n[check.Fail] < 11 {
				t.Errorf("%s hangs, yet: %v", address, n)
			}
		}
		checkSpread(t, first, begin, s.Interval)
		if st := w.Stats(); st.Skipped+st.Missed+st.Delayed+st.Gaps != 0 || st.Lag > tick {
			t.Errorf("stats of a quiet minute: %+v", st)
		}
	})
}

// checkSpread: every first probe within one interval of the start, and no
// 100 ms window with more than 15 % of them.
func checkSpread(t *testing.T, first []time.Duration, begin, interval time.Duration) {
	t.Helper()
	slices.Sort(first)
	if last := first[len(first)-1] - begin; last > interval+tick {
		t.Errorf("the last target was first probed %v after the start, want within %v", last, interval)
	}
	for i := range first {
		n := i
		for ; n < len(first) && first[n] < first[i]+100*time.Millisecond; n++ {
		}
		if share := float64(n-i) / float64(len(first)); share > 0.15 {
			t.Errorf("%.0f %% of all probes within 100 ms at %v", 100*share, first[i]-begin)
		}
	}
}

func TestSlotsLieOnTheGridAndNeverDrift(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		s := spec(125*time.Millisecond, 50*time.Millisecond) // no multiple of the grid
		w.Set(jobs(s, 1))
		w.run()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		starts := w.startsOf("127.0.1.1")
		if len(starts) != 4800 {
			t.Fatalf("%d probes in ten minutes, want 4800", len(starts))
		}
		for i, at := range starts {
			if at%tick != 0 {
				t.Fatalf("probe %d started at %v, off the grid", i, at)
			}
			if late := at - starts[0] - time.Duration(i)*s.Interval; late < -tick || late > tick {
				t.Fatalf("probe %d is %v off its slot", i, late)
			}
		}
	})
}

func TestOneProbeInFlightPerTarget(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.probe = func(context.Context, *check.Spec, string) check.Result {
			time.Sleep(2500 * time.Millisecond) // deaf to its deadline
			return check.Result{Outcome: check.Pass}
		}
		w.Set(jobs(spec(time.Second, 500*time.Millisecond), 1))
		w.run()
		time.Sleep(30*time.Second + 10*time.Millisecond)
		synctest.Wait()
		if w.most["127.0.1.1"] != 1 {
			t.Errorf("%d probes of one target at once", w.most["127.0.1.1"])
		}
		starts := w.startsOf("127.0.1.1")
		for i := 1; i < len(starts); i++ {
			if gap := starts[i] - starts[i-1]; gap != 3*time.Second {
				t.Errorf("%v between starts, want the third slot: 3s", gap)
			}
		}
		if st := w.Stats(); st.Skipped != 20 || st.Started != 10 {
			t.Errorf("started %d, skipped %d, want 10 and 20", st.Started, st.Skipped)
		}
	})
}

// A failure that comes long after the deadline says that we were not running.
func TestOverdueFailureIsUnknownAndOverduePassIsNot(t *testing.T) {
	for _, tc := range []struct {
		took          time.Duration
		outcome, want check.Outcome
	}{
		{520 * time.Millisecond, check.Fail, check.Fail},
		{1100 * time.Millisecond, check.Fail, check.Unknown},
		{1100 * time.Millisecond, check.Pass, check.Pass},
	} {
		inWorld(t, Options{}, func(w *world) {
			w.probe = func(context.Context, *check.Spec, string) check.Result {
				time.Sleep(tc.took)
				return check.Result{Outcome: tc.outcome}
			}
			s := spec(time.Second, 500*time.Millisecond)
			got := w.Round(w.t.Context(), jobs(s, 1))
			if got[0].Outcome != tc.want || got[0].Latency() != tc.took {
				t.Errorf("%s after %v: got %s after %v, want %s", tc.outcome, tc.took, got[0].Outcome, got[0].Latency(), tc.want)
			}
		})
	}
}

func TestTheLimitDelaysInTurnAndSaysSo(t *testing.T) {
	inWorld(t, Options{Workers: 2}, func(w *world) {
		w.probe = hang
		list := jobs(spec(time.Second, 900*time.Millisecond), 10)
		w.Set(list)
		w.run()
		time.Sleep(time.Minute)
		synctest.Wait()
		st := w.Stats()
		if st.Limit != 2 || st.Needed != 10 || st.Delayed == 0 || st.InFlight != 2 || st.Lag < 2*time.Second {
			t.Errorf("stats %+v: want limit 2, needed 10, delays, two in flight and a lag", st)
		}
		for _, j := range list { // 2 workers x 60 s / 0.9 s / 10 targets = 13 each
			if n := len(w.startsOf(j.Target.Address)); n < 12 || n > 14 {
				t.Errorf("%s: %d probes; the turns are not fair", j.Target.ID(), n)
			}
		}
	})
}

func TestLimitFollowsFromTheJobs(t *testing.T) {
	for _, tc := range []struct {
		targets           int
		interval, timeout time.Duration
		least, most       int
	}{
		{0, time.Second, time.Second / 2, 0, 0},
		{3, time.Second, time.Second / 2, 3, 3},
		{1000, 10 * time.Second, time.Second, 100, 200},
		{10000, 2 * time.Second, time.Second, 5000, 6000},
	} {
		s := New(Options{Clock: fixed(time.Hour)})
		s.Set(jobs(spec(tc.interval, tc.timeout), tc.targets))
		if st := s.Stats(); st.Limit < tc.least || st.Limit > tc.most || st.Limit != st.Needed {
			t.Errorf("%d targets, timeout %v of %v: limit %d, want %d to %d", tc.targets, tc.timeout, tc.interval, st.Limit, tc.least, tc.most)
		}
	}
}

func TestAPanicIsUnknownAndStopsNobody(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.probe = func(ctx context.Context, spec *check.Spec, address string) check.Result {
			if address == "127.0.1.1" {
				panic("boom")
			}
			return answer(check.Pass, 0)(ctx, spec, address)
		}
		w.Set(jobs(spec(time.Second, time.Second/2), 2))
		w.run()
		time.Sleep(3100 * time.Millisecond)
		synctest.Wait()
		if n := w.outcomes("127.0.1.1"); n[check.Unknown] != 3 {
			t.Errorf("the target whose probe panics: %v", n)
		}
		if n := w.outcomes("127.0.1.2"); n[check.Pass] != 3 {
			t.Errorf("the other target: %v", n)
		}
		if r := w.results[0]; r.Cause != check.CauseLocal && w.results[1].Cause != check.CauseLocal {
			t.Errorf("a panic is our own fault: %+v", r)
		}
	})
}

func TestASlowSinkSlowsDownAndPilesUpNothing(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		gate := make(chan struct{})
		w.sink = func() { <-gate }
		w.Set(jobs(spec(time.Second, time.Second/2), 20))
		w.run()
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := w.Stats(); st.Started != 20 || st.Skipped < 20*57 {
			t.Errorf("with a blocked sink %d probes started and %d were skipped", st.Started, st.Skipped)
		}
		close(gate)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(w.results) < 40 {
			t.Errorf("%d results after the sink came back", len(w.results))
		}
	})
}

func TestResultsOfABusyTickComeTogether(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.Set(jobs(spec(time.Second, time.Second/2), 2000))
		w.run()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if w.batches > 1000+100 { // one each tick
			t.Errorf("%d hand-overs for %d results in 1000 ticks", w.batches, len(w.results))
		}
		if len(w.results) < 19900 {
			t.Errorf("%d results, want 20000", len(w.results))
		}
	})
}

func TestRunStopsProbesAndDropsTheirResults(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.probe = hang
		w.Set(jobs(spec(10*time.Second, 9*time.Second), 50))
		w.run()
		time.Sleep(8 * time.Second)
		synctest.Wait()
		before := w.clock.Boot()
		w.stop()
		if w.clock.Boot() != before {
			t.Errorf("stopping took %v", w.clock.Boot()-before)
		}
		if len(w.results) != 0 {
			t.Errorf("stopped probes gave results: %v", w.results)
		}
	})
}

func TestRoundProbesEachTargetOnceInOrder(t *testing.T) {
	inWorld(t, Options{Workers: 40}, func(w *world) {
		w.probe = func(ctx context.Context, spec *check.Spec, address string) check.Result {
			if address == "127.0.1.7" {
				return hang(ctx, spec, address)
			}
			return answer(check.Pass, time.Millisecond)(ctx, spec, address)
		}
		list := jobs(spec(10*time.Second, 2*time.Second), 200)
		begin := w.clock.Boot()
		results := w.Round(w.t.Context(), append(list, list...))
		if took := w.clock.Boot() - begin; took != 2*time.Second {
			t.Errorf("the round took %v; one hanging target costs one timeout: 2s", took)
		}
		if len(results) != len(list) {
			t.Fatalf("%d results for %d targets", len(results), len(list))
		}
		for i, r := range results {
			want := check.Pass
			if i == 6 {
				want = check.Fail
			}
			if r.Target != list[i].Target || r.Outcome != want || r.Start < begin || r.End < r.Start {
				t.Errorf("result %d: %+v", i, r)
			}
		}
	})
}

func TestRoundThatIsStoppedSaysUnknown(t *testing.T) {
	inWorld(t, Options{Workers: 2}, func(w *world) {
		w.probe = hang
		ctx, cancel := context.WithTimeout(w.t.Context(), 100*time.Millisecond)
		defer cancel()
		begin := w.clock.Boot()
		results := w.Round(ctx, jobs(spec(10*time.Second, 2*time.Second), 10))
		if took := w.clock.Boot() - begin; took != 100*time.Millisecond {
			t.Errorf("a stopped round took %v", took)
		}
		for _, r := range results {
			if r.Outcome != check.Unknown || r.Cause != check.CauseLocal {
				t.Errorf("a stopped probe is no failure of the target: %+v", r)
			}
		}
	})
}

// Whichever of the two comes first when Run ends, the end or the results that
// it causes: nothing is handed over any more.
func TestNothingIsHandedOverAfterTheEnd(t *testing.T) {
	s := New(Options{Clock: fixed(time.Hour), Results: func(results []check.Result) {
		t.Errorf("handed over after the end: %v", results)
	}})
	s.Set(jobs(spec(time.Second, time.Second/2), 1))
	s.begin()
	s.land(flight{entry: s.heap[0], spec: s.heap[0].spec, generation: s.heap[0].generation}, nil)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	s.deliver(ended)
}

// A pass keeps the time at which it was known, when that lies inside the probe.
func TestAPassKnownEarlyKeepsItsTime(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		for _, c := range []struct {
			outcome     check.Outcome
			known, want time.Duration // after the start
		}{
			{check.Pass, 3 * time.Millisecond, 3 * time.Millisecond},
			{check.Fail, 3 * time.Millisecond, 9 * time.Millisecond},
			{check.Pass, time.Hour, 9 * time.Millisecond},
			{check.Pass, -time.Hour, 9 * time.Millisecond},
		} {
			w.probe = func(context.Context, *check.Spec, string) check.Result {
				began := w.clock.Boot()
				time.Sleep(9 * time.Millisecond)
				return check.Result{Outcome: c.outcome, End: began + c.known}
			}
			if got := w.Round(w.t.Context(), jobs(spec(time.Second, 500*time.Millisecond), 1))[0].Latency(); got != c.want {
				t.Errorf("%s known after %s: got %s, want %s", c.outcome, c.known, got, c.want)
			}
		}
	})
}
