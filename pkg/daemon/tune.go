package daemon

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"sidestep/pkg/record"
	"sidestep/pkg/schedule"
)

const (
	// startGrowth is by how many percent the heap may grow before the garbage is
	// collected, while everything is built and listed for the first time: the
	// peak of a daemon that has much to read.
	startGrowth = 10

	// leastGrowth and mostGrowth bound the same later on. Of 10,000 targets some
	// 10 MiB are kept and little is thrown away.
	leastGrowth = 25
	mostGrowth  = 400

	// heapBudget is how large the heap may grow when less is kept: collecting
	// more often than that would be a sixth of the cost of a probe.
	heapBudget = 10 << 20

	// probesOfOne is how many probes a second one processor is enough for. With
	// more of them than that wants, Go wakes threads up to look for work that
	// is not there: a quarter of the cost of a probe.
	probesOfOne = 2500
)

// SaveMemory is for a process that is to be the daemon's alone, before it reads
// the config: the peak comes while everything is built. The environment has the
// last word (GOGC).
func SaveMemory() {
	forgetStart()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(startGrowth)
	}
}

// useProcessors fits the processors of a process that is the daemon's alone to
// what it has to do, once that is known and after a reload. The environment has
// the last word (GOMAXPROCS).
func useProcessors(jobs []schedule.Job) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(processors(jobs, runtime.NumCPU()))
	}
}

// useMemory fits the garbage collection likewise, once all that stays is there,
// and again after a reload. What is kept is measured by collecting the garbage,
// which the loop has to wait for, so only when there are more targets than ever
// before.
func (d *Daemon) useMemory(targets int) {
	if targets > d.tuned && os.Getenv("GOGC") == "" {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		debug.SetGCPercent(growth(stats.HeapAlloc))
	}
	d.tuned = max(d.tuned, targets)
}

// firstReport belongs to the loop. With that of the last zone everything
// is built and listed.
func (d *Daemon) firstReport(zone record.Name) {
	if d.unreported == nil {
		return
	}
	delete(d.unreported, zone)
	if len(d.unreported) == 0 {
		d.unreported = nil
		d.useMemory(len(d.engine.Targets()))
		forgetStart() // and the way here
	}
}

// growth is by how many percent a heap may grow of which so many bytes are kept.
func growth(kept uint64) int {
	room := (heapBudget - float64(kept)) / float64(max(kept, 1)) * 100
	return int(min(max(room, leastGrowth), mostGrowth))
}

// processors is how many processors the jobs want, of those there are.
func processors(jobs []schedule.Job, there int) int {
	rate := 0.0
	for _, job := range jobs {
		rate += 1 / job.Spec.Interval.Seconds()
	}
	return max(1, min(there, int(math.Ceil(rate/probesOfOne))))
}
