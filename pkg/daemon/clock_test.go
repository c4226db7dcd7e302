package daemon

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/file"
)

// TestCase19WallClockStepsChangeNothing sets the date an hour forward and back
// while a hold runs: no verdict turns, the hold lasts as long as it should, and
// the state goes on to be saved.
func TestCase19WallClockStepsChangeNothing(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		virtual := clock.Bubble()
		w.clock = virtual
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled)
		w.site.heal(a)
		time.Sleep(settled)
		w.mustLive(b)
		verdicts, writes := len(w.journal("verdict")), len(w.writes(home))
		for _, step := range []time.Duration{time.Hour, -2 * time.Hour, time.Hour} {
			virtual.StepWall(step)
			time.Sleep(w.config.Checks["web"].Interval)
			if n := len(w.journal("verdict")) - verdicts; n != 0 || len(w.writes(home)) != writes {
				t.Fatalf("after a step of %s: %d verdicts turned, %d writes", step, n, len(w.writes(home))-writes)
			}
			before := w.files(w.config.State.Dir)
			time.Sleep(saveEvery + time.Second)
			if after := w.files(w.config.State.Dir); after[stateOf(w)] == before[stateOf(w)] {
				t.Errorf("after a step of %s nothing was saved for a minute", step)
			}
		}
		for _, target := range d.status().Targets {
			if target.Verdict != "up" || target.Fails > 0 {
				t.Errorf("after the steps: %+v", target)
			}
		}
		w.mustLive(b) // the hold of five minutes is not over
		time.Sleep(2 * settled)
		w.mustLive(a)
	})
}

func stateOf(w *world) string { return w.config.State.Dir + "/state.json" }

// TestCase19SuspendWritesNothing suspends the machine for ten minutes, at
// moments all over an interval: no failure is booked, nothing is written.
func TestCase19SuspendWritesNothing(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		virtual := clock.Bubble()
		w.clock = virtual
		w.config.Checks["web"].Fall = 1
		d := w.run()
		time.Sleep(settled)
		writes := len(w.writes(home))
		for range 20 {
			virtual.Suspend(10 * time.Minute)
			time.Sleep(10*time.Second + 503*time.Millisecond)
		}
		if n := len(w.writes(home)) - writes; n > 0 {
			t.Errorf("%d writes after a suspend", n)
		}
		s := d.status()
		for _, target := range s.Targets {
			if target.Verdict != "up" || target.Fails > 0 {
				t.Errorf("after the suspends: %+v", target)
			}
		}
		if s.Schedule.Gaps != 20 {
			t.Errorf("%d of 20 suspends were noticed", s.Schedule.Gaps)
		}
	})
}

// A leader whose lock was replaced, and that has nothing to write, stands by all
// the same, and leaves the directory to the new leader.
func TestReplacedLockIsNoticedWithoutAWrite(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		dir := w.config.State.Dir
		var held lease.Held
		for other := file.New(file.Options{Dir: dir, Node: "mon-2", Clock: w.clock}); held == nil; {
			if err := os.Remove(filepath.Join(dir, file.Name)); err != nil {
				t.Fatal(err)
			}
			once, cancel := context.WithCancel(t.Context())
			cancel()
			held, _ = other.Acquire(once) // fails where the daemon was faster, and made the file anew
		}
		time.Sleep(confirmLease + 2*retryLease + time.Second)
		if s := d.status(); s.Leader.State != "standby" {
			t.Errorf("it says it is %+v", s.Leader)
		}
		before := w.files(dir)
		w.site.fail(a)
		time.Sleep(2 * saveEvery)
		if !maps.Equal(w.files(dir), before) {
			t.Error("it went on to write into the directory of the new leader")
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settled)
		w.mustLive(b)
	})
}
