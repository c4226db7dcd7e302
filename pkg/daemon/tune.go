package daemon

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"sidestep/pkg/schedule"
)

const (
	// heapGrowth is by how many percent the heap may grow before the garbage
	// is collected. Of 10,000 targets some 10 MiB are kept and little is thrown
	// away, so collecting more often than Go would costs next to nothing, and
	// half of what the process would take is saved.
	heapGrowth = 25

	// probesOfOne is how many probes a second one processor is enough for. With
	// more of them than that wants, Go wakes threads up to look for work that
	// is not there: a quarter of the cost of a probe.
	probesOfOne = 2500
)

// SaveMemory is for a process that is to be the daemon's alone, before it reads
// the config: the peak comes while everything is built. The environment has the
// last word (GOGC).
func SaveMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}

// tune fits the Go runtime of a process that is the daemon's alone to what it
// has to do. The environment has the last word (GOMAXPROCS).
func tune(jobs []schedule.Job) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(processors(jobs, runtime.NumCPU()))
	}
}

// processors is how many processors the jobs want, of those there are.
func processors(jobs []schedule.Job, there int) int {
	rate := 0.0
	for _, job := range jobs {
		rate += 1 / job.Spec.Interval.Seconds()
	}
	return max(1, min(there, int(math.Ceil(rate/probesOfOne))))
}
