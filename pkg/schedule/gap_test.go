package schedule

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
)

// The machine sleeps for ten minutes with probes under way: no failure is
// booked, nothing is made up for, and every target goes on at its own slot.
func TestCase19SuspendBooksNothingAndBurstsNothing(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		s := spec(10*time.Second, 4*time.Second)
		list := jobs(s, 200)
		w.probe = answer(check.Pass, time.Second) // 20 of 200 are under way at any time
		w.Set(list)
		w.run()
		time.Sleep(30*time.Second + 5*time.Millisecond)
		before := map[string]time.Duration{}
		for _, j := range list {
			starts := w.startsOf(j.Target.Address)
			before[j.Target.Address] = starts[len(starts)-1]
		}
		w.forget()
		// Connections that were open broke meanwhile.
		w.mu.Lock()
		w.probe = answer(check.Pass, time.Second)
		w.mu.Unlock()
		w.clock.Suspend(10*time.Minute + 3*time.Second)
		resumed := w.clock.Boot()
		time.Sleep(s.Interval)
		synctest.Wait()

		unknown := 0
		for _, j := range list {
			address := j.Target.Address
			starts := w.startsOf(address)
			if len(starts) > 1 {
				t.Errorf("%s: %d probes in the first interval", address, len(starts))
			}
			for _, at := range starts {
				if (at-before[address])%s.Interval != 0 {
					t.Errorf("%s: resumed at %v, off its slots", address, at)
				}
			}
			n := w.outcomes(address)
			unknown += n[check.Unknown]
			if n[check.Fail] > 0 {
				t.Errorf("%s: %v after a suspend", address, n)
			}
		}
		if unknown < 10 || unknown > 30 {
			t.Errorf("%d results are unknown, want the about 20 that were under way", unknown)
		}
		var first []time.Duration
		for _, starts := range w.starts {
			first = append(first, starts[0])
		}
		checkSpread(t, first, resumed, s.Interval)
		if st := w.Stats(); st.Gaps != 1 || st.Missed < 200*60 || st.Skipped != 0 {
			t.Errorf("stats %+v, want one gap and 60 missed slots a target", st)
		}
	})
}

// The probe that was under way ends before the dispatcher wakes up again: its
// failure is no failure, and a result from before the gap keeps its outcome.
func TestGapIsNoticedByTheHandOver(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		broken := make(chan struct{})
		w.probe = func(context.Context, *check.Spec, string) check.Result {
			<-broken
			return check.Result{Outcome: check.Fail, Phase: check.PhaseHeaders, Cause: check.CauseReset}
		}
		w.Set(jobs(spec(10*time.Second, 4*time.Second), 1))
		w.run()
		untilStarted(w)
		w.clock.Suspend(3 * time.Second) // shorter than the timeout
		close(broken)
		time.Sleep(tick) // the dispatcher sleeps longer
		synctest.Wait()
		if n := w.outcomes("127.0.1.1"); n[check.Unknown] != 1 {
			t.Errorf("outcomes %v, want one unknown", n)
		}
		if st := w.Stats(); st.Gaps != 1 {
			t.Errorf("%d gaps, want 1", st.Gaps)
		}
	})
}

func TestResultFromBeforeTheGapCounts(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		gate := make(chan struct{})
		w.sink = func() { <-gate }
		w.probe = answer(check.Fail, 0)
		w.Set(jobs(spec(10*time.Second, 4*time.Second), 2))
		w.run()
		time.Sleep(9900 * time.Millisecond) // both are done, the sink holds the first
		w.clock.Suspend(time.Hour)
		close(gate)
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		for _, r := range w.results {
			if r.Outcome != check.Fail {
				t.Errorf("a result from before the gap became %+v", r)
			}
		}
		if len(w.results) != 2 {
			t.Errorf("%d results, want 2", len(w.results))
		}
	})
}

func TestCase19WallClockStepsChangeNothing(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.Set(jobs(spec(time.Second, time.Second/2), 10))
		w.run()
		for _, step := range []time.Duration{time.Hour, -2 * time.Hour} {
			time.Sleep(5 * time.Second)
			w.clock.StepWall(step)
		}
		time.Sleep(5*time.Second + tick)
		synctest.Wait()
		for _, r := range w.results {
			if r.Outcome != check.Pass || r.Latency() < 0 {
				t.Errorf("after a step of the date: %+v", r)
			}
		}
		if st := w.Stats(); st.Gaps+st.Missed+st.Skipped != 0 || st.Started != 150 {
			t.Errorf("stats %+v, want 150 probes and no gap", st)
		}
	})
}

// Jobs that were set long before Run do not start all at once.
func TestRunAfterALongWaitDoesNotBurst(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		s := spec(10*time.Second, time.Second)
		w.Set(jobs(s, 100))
		time.Sleep(time.Hour)
		begin := w.clock.Boot()
		w.run()
		time.Sleep(s.Interval + tick)
		synctest.Wait()
		var first []time.Duration
		for _, starts := range w.starts {
			first = append(first, starts[0])
		}
		if len(first) != 100 {
			t.Fatalf("%d of 100 targets were probed", len(first))
		}
		checkSpread(t, first, begin, s.Interval)
		if st := w.Stats(); st.Gaps+st.Missed != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}
