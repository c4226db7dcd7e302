package schedule

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
)

// A target that is hastened is probed then, and at its slots as before.
func TestHastenKeepsTheSlots(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		list := jobs(spec(2*time.Second, time.Second), 3)
		target := list[1].Target
		w.Set(list)
		w.run()
		time.Sleep(4 * time.Second)
		synctest.Wait()
		last := w.startsOf(target.Address)
		slot := last[len(last)-1] + 2*time.Second
		w.forget()
		w.Hasten(target, slot-300*time.Millisecond)
		w.Hasten(target, slot+time.Millisecond) // later than its next slot: says nothing
		w.Hasten(check.Target{Check: "web", Address: "192.0.2.1"}, slot-time.Second)
		time.Sleep(slot + 2*time.Second - w.clock.Boot() + tick)
		synctest.Wait()
		got := w.startsOf(target.Address)
		want := []time.Duration{gridCeil(slot - 300*time.Millisecond), slot, slot + 2*time.Second}
		if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("probed at %v, want %v", got, want)
		}
		if n := len(w.startsOf(list[0].Target.Address)); n > 2 {
			t.Errorf("another target was probed %d times, too", n)
		}
		if st := w.Stats(); st.Skipped+st.Missed != 0 {
			t.Errorf("slots were left out: %+v", st)
		}
	})
}

// One that was asked for while the last probe runs comes right after it.
func TestHastenWaitsForTheProbeUnderWay(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		list := jobs(spec(10*time.Second, 3*time.Second), 1)
		target := list[0].Target
		w.probe = hang
		w.Set(list)
		w.run()
		for len(w.startsOf(target.Address)) == 0 {
			time.Sleep(tick)
		}
		first := w.startsOf(target.Address)[0]
		w.Hasten(target, first+250*time.Millisecond)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		got := w.startsOf(target.Address)
		if len(got) != 2 || got[1]-got[0] < 3*time.Second || got[1]-got[0] > 3*time.Second+2*tick {
			t.Errorf("probed at %v, want the second right after the first, which takes 3s", got)
		}
		if w.most[target.Address] != 1 {
			t.Errorf("%d probes at once", w.most[target.Address])
		}
	})
}

// A check with a fast re-check wants room for targets that hang at its pace.
func TestFastInterCountsInTheLimit(t *testing.T) {
	s := New(Options{Clock: fixed(time.Hour), Probe: func(context.Context, *check.Spec, string) check.Result { return check.Result{} }})
	for _, c := range []struct {
		fast, timeout time.Duration
		least, most   int
	}{{0, time.Second, 500, 620}, {1500 * time.Millisecond, time.Second, 660, 800}, {250 * time.Millisecond, time.Second, 1000, 1000}} {
		one := spec(2*time.Second, c.timeout)
		one.FastInter = c.fast
		s.Set(jobs(one, 1000))
		if n := s.Stats().Needed; n < c.least || n > c.most {
			t.Errorf("fastinter %v: needed %d, want %d to %d", c.fast, n, c.least, c.most)
		}
	}
}
