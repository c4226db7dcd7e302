package schedule

import (
	"context"
	"sync"
	"time"

	"sidestep/pkg/check"
)

// roundPace is how many probes of a round start in one tick. All at once would
// fail good targets for want of our own processor time.
const roundPace = 50

// Round probes every job once, now, and returns one result for each target in
// the order of the jobs. At most Options.Workers probes are in flight. When
// ctx ends, the probes that are not over come back as Unknown. A round knows
// nothing of Set and Run and may run beside them; holds (Job.NotBefore) do not
// apply to it.
func (s *Schedule) Round(ctx context.Context, jobs []Job) []check.Result {
	jobs = unique(jobs)
	results := make([]check.Result, len(jobs))
	places := make(chan struct{}, s.opts.Workers)
	var work sync.WaitGroup
	for i, job := range jobs {
		if i > 0 && i%roundPace == 0 {
			pause(ctx, tick)
		}
		places <- struct{}{}
		work.Go(func() {
			results[i] = s.probe(ctx, job.Spec, job.Target)
			<-places
		})
	}
	work.Wait()
	return results
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func unique(jobs []Job) []Job {
	seen := make(map[check.Target]bool, len(jobs))
	kept := make([]Job, 0, len(jobs))
	for _, job := range jobs {
		if !seen[job.Target] {
			seen[job.Target] = true
			kept = append(kept, job)
		}
	}
	return kept
}
