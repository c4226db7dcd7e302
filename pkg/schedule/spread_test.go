package schedule

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
)

func TestSlotAfterIsTheNextOfItsRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(int64(check.MinInterval), int64(time.Hour)).Draw(t, "interval"))
		phase := time.Duration(rapid.Int64Range(0, int64(interval)-1).Draw(t, "phase"))
		now := time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "now"))
		slot := slotAfter(now, interval, phase)
		if slot <= now || slot > now+interval || slot%interval != phase {
			t.Fatalf("slotAfter(%v, %v, %v) = %v", now, interval, phase, slot)
		}
		if up := gridCeil(slot); up < slot || up >= slot+tick || up%tick != 0 {
			t.Fatalf("gridCeil(%v) = %v", slot, up)
		}
	})
}

// Networks of neighbouring addresses at the usual intervals: no tenth of the
// interval gets more than twice its share.
func TestPhasesAreSpreadEvenly(t *testing.T) {
	for _, interval := range []time.Duration{100 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, time.Minute} {
		var tenth [10]int
		const targets = 1000
		for i := range targets {
			phase := phaseOf(fmt.Sprintf("web@192.0.%d.%d", i/250, i%250), interval)
			if phase < 0 || phase >= interval {
				t.Fatalf("phase %v is outside of %v", phase, interval)
			}
			tenth[int(10*phase/interval)]++
		}
		for i, n := range tenth {
			if n < targets/20 || n > targets/5 {
				t.Errorf("interval %v: %d of %d targets in tenth %d", interval, n, targets, i)
			}
		}
	}
}

func TestWindowForgets(t *testing.T) {
	var w window
	w.add(time.Second, 5)
	w.add(2*time.Second, 3)
	for _, step := range []struct {
		at, want time.Duration
	}{{3 * time.Second, 5}, {15 * time.Second, 5}, {25 * time.Second, 0}} {
		if got := w.max(step.at); got != step.want {
			t.Errorf("at %v: %d, want %d", step.at, got, step.want)
		}
	}
	w.add(26*time.Second, 7)
	if got := w.max(70 * time.Second); got != 0 {
		t.Errorf("after a long quiet: %d, want 0", got)
	}
}

// BenchmarkDispatch measures what a probe costs besides the probe: due heap,
// goroutine, deadline, hand-over. 10,000 targets each 2 s.
func BenchmarkDispatch(b *testing.B) {
	clk := clock.NewFake(time.Hour, time.Unix(0, 0))
	taken := 0
	s := New(Options{
		Clock:   clk,
		Probe:   func(context.Context, *check.Spec, string) check.Result { return check.Result{Outcome: check.Pass} },
		Results: func(results []check.Result) { taken += len(results) },
	})
	s.Set(jobs(spec(2*time.Second, time.Second), 10000))
	s.begin()
	ctx := context.Background()
	var work sync.WaitGroup
	b.ReportAllocs()
	ticks := 0
	for b.Loop() {
		clk.Advance(tick)
		s.dispatch(ctx, &work)
		work.Wait()
		s.deliver(ctx)
		ticks++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(taken, 1)), "ns/probe")
	b.ReportMetric(float64(taken)/float64(ticks), "probes/tick")
	if st := s.Stats(); st.Skipped+st.Missed > 0 {
		b.Errorf("the benchmark did not keep up with its own clock: %+v", st)
	}
}

func BenchmarkSet(b *testing.B) {
	s := New(Options{Clock: fixed(time.Hour)})
	list := jobs(spec(2*time.Second, time.Second), 10000)
	b.ReportAllocs()
	for b.Loop() {
		s.Set(list)
	}
}
