package schedule

import (
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
)

// A target that is held is left alone until then, probed at that moment, and at
// the interval from there on. Others keep their slots.
func TestHoldSendsNothingBefore(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		list := jobs(spec(2*time.Second, time.Second), 3)
		held, other := list[1].Target, list[0].Target
		w.Set(list)
		w.run()
		time.Sleep(4 * time.Second)
		synctest.Wait()
		until := w.clock.Boot() + 7*time.Second + 3*time.Millisecond
		w.forget()
		w.Hold(held, until)
		w.Hasten(held, w.clock.Boot()+time.Second) // what is held is not hastened
		w.Hold(check.Target{Check: "web", Address: "192.0.2.1"}, until)
		time.Sleep(12 * time.Second)
		synctest.Wait()
		got := w.startsOf(held.Address)
		want := []time.Duration{gridCeil(until), gridCeil(until + 2*time.Second), gridCeil(until + 4*time.Second)}
		if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("probed at %v, want %v", got, want)
		}
		if n := len(w.startsOf(other.Address)); n != 6 {
			t.Errorf("another target was probed %d times in 12s, want 6", n)
		}
		if st := w.Stats(); st.Skipped+st.Missed != 0 {
			t.Errorf("slots count as left out: %+v", st)
		}
	})
}

// A hold that is taken back lets the target go within an interval, one that is
// prolonged goes on, and one without an end ends with the next Set.
func TestHoldIsReplaced(t *testing.T) {
	const interval = 2 * time.Second
	inWorld(t, Options{}, func(w *world) {
		list := jobs(spec(interval, time.Second), 3)
		w.Set(list)
		w.run()
		time.Sleep(interval)
		synctest.Wait()
		w.forget()
		begin := w.clock.Boot()
		for _, j := range list {
			w.Hold(j.Target, begin+time.Minute)
		}
		w.Hold(list[2].Target, 1<<62)
		time.Sleep(20 * time.Second)
		w.Hold(list[0].Target, 0)
		w.Hold(list[1].Target, begin+2*time.Minute)
		time.Sleep(interval + tick)
		synctest.Wait()
		if n := len(w.startsOf(list[0].Target.Address)); n != 1 {
			t.Errorf("let go, it was probed %d times within an interval, want once", n)
		}
		time.Sleep(80 * time.Second)
		synctest.Wait()
		for _, j := range list[1:] {
			if got := w.startsOf(j.Target.Address); len(got) != 0 {
				t.Errorf("%s is held and was probed at %v", j.Target.ID(), got)
			}
		}
		w.Set(list)
		time.Sleep(interval + tick)
		synctest.Wait()
		for _, j := range list[1:] {
			if n := len(w.startsOf(j.Target.Address)); n != 1 {
				t.Errorf("%s: probed %d times within an interval of the next Set, want once", j.Target.ID(), n)
			}
		}
	})
}

// When every target is held for good, the dispatcher sleeps and wakes as ever.
func TestHoldOfAllForGood(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		list := jobs(spec(time.Second, time.Second/2), 20)
		w.Set(list)
		w.run()
		time.Sleep(2 * time.Second)
		for _, j := range list {
			w.Hold(j.Target, 1<<62)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		w.forget()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(w.starts) != 0 || w.nextWake(w.clock.Boot()) > w.clock.Boot()+heartbeat {
			t.Errorf("%d targets were probed, next wake-up in %v", len(w.starts), w.nextWake(w.clock.Boot())-w.clock.Boot())
		}
	})
}
