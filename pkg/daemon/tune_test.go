package daemon

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/record"
	"sidestep/pkg/schedule"
)

func TestProcessorsFollowTheRate(t *testing.T) {
	for _, c := range []struct {
		jobs     int
		interval time.Duration
		there    int
		want     int
	}{
		{0, time.Second, 8, 1},
		{1000, 10 * time.Second, 8, 1},
		{5000, 2 * time.Second, 8, 1},
		{5001, 2 * time.Second, 8, 2},
		{10_000, 2 * time.Second, 2, 2},
		{100_000, time.Second, 8, 8},
	} {
		spec := &check.Spec{Interval: c.interval}
		jobs := make([]schedule.Job, c.jobs)
		for i := range jobs {
			jobs[i].Spec = spec
		}
		if got := processors(jobs, c.there); got != c.want {
			t.Errorf("%d targets each %s on %d: got %d, want %d", c.jobs, c.interval, c.there, got, c.want)
		}
	}
}

func TestHeapGrowsIntoItsBudget(t *testing.T) {
	for kept, want := range map[uint64]int{0: 400, 2 << 20: 400, 5 << 20: 100, 8 << 20: 25, 9 << 20: 25, 1 << 30: 25} {
		if got := growth(kept); got != want {
			t.Errorf("%d bytes kept: %d percent, want %d", kept, got, want)
		}
	}
}

// A small limit on open files is shared, so that probes go on side by side.
func TestWorkersLeaveFilesForTheRest(t *testing.T) {
	for files, want := range map[uint64]int{
		0: 1, 1: 1, 64: 32, 256: 128, 512: 256, 1024: 768, schedule.DefaultWorkers + 256: schedule.DefaultWorkers, 1 << 20: 0, math.MaxUint64: 0,
	} {
		if got := workersOf(files); got != want {
			t.Errorf("limit %d: got %d, want %d", files, got, want)
		}
	}
}

// A reload that brings no more targets does not wait for the garbage to be
// collected.
func TestTuneCollectsWhenTargetsAreMore(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	collected := func() int {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.NumForcedGC)
	}
	d := &Daemon{}
	for _, c := range []struct{ jobs, want int }{{10, 1}, {10, 0}, {3, 0}, {10, 0}, {11, 1}} {
		before := collected()
		d.useMemory(c.jobs)
		if got := collected() - before; got != c.want {
			t.Errorf("%d targets: collected %d times, want %d", c.jobs, got, c.want)
		}
	}
}

// The garbage is collected often until the last zone has told its first word.
func TestMemoryIsFittedWithTheLastZone(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(startGrowth))
	d := &Daemon{engine: engine.New(engine.Config{}, engine.Now{}), unreported: map[record.Name]bool{"a.example.": true, "b.example.": true}}
	d.tuned = -1
	percent := func() int {
		now := debug.SetGCPercent(startGrowth)
		debug.SetGCPercent(now)
		return now
	}
	for _, zone := range []record.Name{"a.example.", "a.example."} {
		d.firstReport(zone)
		if got := percent(); got != startGrowth {
			t.Fatalf("after %s: %d percent, want %d", zone, got, startGrowth)
		}
	}
	d.firstReport("b.example.")
	if got := percent(); got == startGrowth {
		t.Error("after the last zone: not fitted")
	}
}
