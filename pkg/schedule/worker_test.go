package schedule

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
)

// A worker probes again and again; after a burst, no more of them wait than are
// wanted; and the end of Run ends them all, or the bubble would not.
func TestWorkersProbeAgain(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		one := spec(time.Second, time.Second/2)
		w.Set(jobs(one, 1))
		w.run()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if idle := len(w.idle); idle != 1 {
			t.Errorf("one target, probed ten times: got %d idle workers, want 1", idle)
		}

		release := make(chan struct{})
		w.mu.Lock()
		w.probe = func(context.Context, *check.Spec, string) check.Result {
			<-release
			return check.Result{Outcome: check.Pass}
		}
		w.mu.Unlock()
		many := jobs(one, 3*maxIdle)
		w.Set(many)
		time.Sleep(time.Second)
		synctest.Wait()
		if idle := len(w.idle); idle != 0 {
			t.Errorf("all at work: got %d idle workers, want 0", idle)
		}
		close(release)
		synctest.Wait()
		if idle := len(w.idle); idle != maxIdle {
			t.Errorf("after a burst of %d: got %d idle workers, want %d", len(many), idle, maxIdle)
		}
		w.forget()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, job := range many {
			if starts := w.startsOf(job.Target.Address); len(starts) == 0 || len(starts) > 2 {
				t.Errorf("%s: probed at %v within two intervals, want once in each", job.Target.Address, starts)
			}
		}
	})
}
