package schedule

import (
	"context"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
)

// fixed is a clock that stands still.
type fixed time.Duration

func (f fixed) Boot() time.Duration { return time.Duration(f) }
func (f fixed) Wall() time.Time     { return time.Unix(0, int64(f)) }

// A reload makes new specs of the same content, at any moment: no slot is lost,
// none comes twice, and the probe in flight counts.
func TestSetKeepsSlotsAndProbesInFlight(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.probe = answer(check.Pass, 300*time.Millisecond)
		fresh := func() []Job { return jobs(spec(time.Second, time.Second/2), 40) }
		w.Set(fresh())
		w.run()
		for range 1000 { // lands in every part of the grid, and before, in and after probes
			time.Sleep(10003 * time.Microsecond)
			w.Set(fresh())
		}
		synctest.Wait()
		for _, j := range fresh() {
			starts := w.startsOf(j.Target.Address)
			if len(starts) != 10 {
				t.Errorf("%s: %d probes in ten seconds of reloads, want 10", j.Target.ID(), len(starts))
			}
			for i := 1; i < len(starts); i++ {
				if gap := starts[i] - starts[i-1]; gap != time.Second {
					t.Errorf("%s: %v between starts", j.Target.ID(), gap)
				}
			}
		}
		if st := w.Stats(); st.Dropped+st.Skipped+st.Missed != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestSetProbesOneTargetOnceForManyRecordSets(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		one := jobs(spec(time.Second, time.Second/2), 1)
		w.Set(append(one, append(one, one...)...))
		w.run()
		time.Sleep(10100 * time.Millisecond)
		synctest.Wait()
		if n := len(w.startsOf("127.0.1.1")); n != 10 || w.Stats().Targets != 1 {
			t.Errorf("%d probes of %d targets, want 10 of 1", n, w.Stats().Targets)
		}
	})
}

func TestLateResultsOfRemovedAndRedefinedTargetsAreDropped(t *testing.T) {
	redefined := spec(10*time.Second, 3*time.Second)
	redefined.TCP = &check.TCP{Port: 81}
	counted := spec(10*time.Second, 3*time.Second)
	counted.Fall = 5
	for _, tc := range []struct {
		name  string
		next  []Job
		again bool // and then the first jobs once more
		want  int
	}{
		{"removed", nil, false, 0},
		{"removed and added again", nil, true, 0},
		{"redefined", jobs(redefined, 1), false, 0},
		{"other thresholds only", jobs(counted, 1), false, 1},
	} {
		inWorld(t, Options{}, func(w *world) {
			w.probe = answer(check.Pass, 2*time.Second)
			list := jobs(spec(10*time.Second, 3*time.Second), 1)
			w.Set(list)
			w.run()
			untilStarted(w)
			w.Set(tc.next)
			if tc.again {
				w.Set(list)
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if len(w.results) != tc.want || w.Stats().Dropped != uint64(1-tc.want) {
				t.Errorf("%s: %d results, %d dropped, want %d results", tc.name, len(w.results), w.Stats().Dropped, tc.want)
			}
		})
	}
}

// A target that is taken out and put back while its probe hangs must not get a
// second probe beside the first.
func TestRemovedAndAddedAgainHasOneProbeInFlight(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.probe = func(context.Context, *check.Spec, string) check.Result {
			time.Sleep(5 * time.Second)
			return check.Result{Outcome: check.Pass}
		}
		list := jobs(spec(time.Second, time.Second/2), 1)
		w.Set(list)
		w.run()
		for range 40 {
			time.Sleep(250 * time.Millisecond)
			w.Set(nil)
			w.Set(list)
		}
		w.Set(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if w.most["127.0.1.1"] != 1 {
			t.Errorf("%d probes of one target at once", w.most["127.0.1.1"])
		}
		if len(w.targets) != 0 {
			t.Errorf("removed targets stay known: %v", w.targets)
		}
	})
}

func TestChangedIntervalSpreadsAnew(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.Set(jobs(spec(10*time.Second, time.Second), 100))
		w.run()
		time.Sleep(25 * time.Second)
		w.forget()
		begin := w.clock.Boot()
		w.Set(jobs(spec(2*time.Second, time.Second), 100))
		time.Sleep(2*time.Second + tick)
		synctest.Wait()
		var first []time.Duration
		for address, starts := range w.starts {
			if len(starts) > 2 {
				t.Errorf("%s: %d probes in one interval", address, len(starts))
			}
			first = append(first, starts[0])
		}
		if len(first) != 100 {
			t.Errorf("%d of 100 targets were probed within the new interval", len(first))
		}
		checkSpread(t, first, begin, 2*time.Second)
	})
}

func TestHoldKeepsQuietThenProbesAtItsEnd(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		list := jobs(spec(time.Second, time.Second/2), 1)
		w.Set(list)
		w.run()
		time.Sleep(3 * time.Second)
		w.forget()
		until := w.clock.Boot() + 30*time.Second + 330*time.Millisecond
		list[0].NotBefore = until
		w.Set(list)
		time.Sleep(10 * time.Second)
		w.Set(list) // a reload meanwhile changes nothing
		time.Sleep(22*time.Second + 400*time.Millisecond)
		w.Set(list)
		synctest.Wait()
		starts := w.startsOf("127.0.1.1")
		if len(starts) != 3 || starts[0] != until || starts[1] != until+time.Second {
			t.Errorf("starts %v, want at the end of the hold (%v) and each second after", starts, until)
		}
	})
}

func TestHoldLiftedEarlyProbesWithinAnInterval(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		list := jobs(spec(time.Second, time.Second/2), 1)
		list[0].NotBefore = w.clock.Boot() + time.Hour
		w.Set(list)
		w.run()
		time.Sleep(time.Minute)
		if n := len(w.startsOf("127.0.1.1")); n != 0 {
			t.Fatalf("%d probes of a target on hold", n)
		}
		list[0].NotBefore = 0
		w.Set(list)
		time.Sleep(time.Second + tick)
		synctest.Wait()
		if n := len(w.startsOf("127.0.1.1")); n != 1 {
			t.Errorf("%d probes in the interval after the hold was lifted, want 1", n)
		}
	})
}

func TestHoldReachesATargetThatWaitsForAWorker(t *testing.T) {
	inWorld(t, Options{Workers: 1}, func(w *world) {
		w.probe = hang
		list := jobs(spec(10*time.Second, 9*time.Second), 2)
		w.Set(list)
		w.run()
		for w.Stats().Waiting == 0 {
			time.Sleep(tick)
		}
		waits := w.waiting[0].entry
		for i := range list {
			if list[i].Target == waits.target {
				list[i].NotBefore = w.clock.Boot() + time.Hour
			}
		}
		w.Set(list)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(w.startsOf(waits.target.Address)); n != 0 {
			t.Errorf("%d probes of a target that was put on hold while it waited", n)
		}
	})
}

func TestSameQuestion(t *testing.T) {
	base := func() *check.Spec {
		s := spec(time.Second, time.Second/2)
		s.HTTP = &check.HTTP{Host: "a", Body: regexp.MustCompile("ok+"), JSON: map[string]string{"a": "b"}}
		return s
	}
	for _, tc := range []struct {
		name   string
		change func(*check.Spec)
		want   bool
	}{
		{"nothing", func(*check.Spec) {}, true},
		{"thresholds and interval", func(s *check.Spec) { s.Fall, s.Rise, s.Interval = 9, 9, time.Hour }, true},
		{"timeout", func(s *check.Spec) { s.Timeout++ }, false},
		{"host", func(s *check.Spec) { s.HTTP.Host = "b" }, false},
		{"pattern", func(s *check.Spec) { s.HTTP.Body = regexp.MustCompile("ok") }, false},
		{"json", func(s *check.Spec) { s.HTTP.JSON["a"] = "c" }, false},
	} {
		other := base()
		tc.change(other)
		if got := sameQuestion(base(), other); got != tc.want {
			t.Errorf("%s changed: same question %v, want %v", tc.name, got, tc.want)
		}
	}
}

// untilStarted waits until the first probe of the world is under way.
func untilStarted(w *world) {
	for w.Stats().Started == 0 {
		time.Sleep(tick)
	}
	synctest.Wait()
}
