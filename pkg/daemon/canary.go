package daemon

import (
	"context"
	"sync"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/schedule"
)

// How often the canary is probed, from start to start: in quiet times, and at
// most, when target after target waits for it, since it is somebody else's
// server.
const (
	CanaryEvery = 5 * time.Second
	canaryGap   = 250 * time.Millisecond
)

// canaryWatch is what the loop and the part that probes the canary have in
// common.
type canaryWatch struct {
	wake chan struct{} // holds one token: a target waits

	mu    sync.Mutex
	spec  config.Canary
	count int // of the specs so far
}

func newCanaryWatch(spec config.Canary) *canaryWatch {
	return &canaryWatch{wake: make(chan struct{}, 1), spec: spec}
}

// set puts another canary in force. A round of the one before is forgotten.
func (w *canaryWatch) set(spec config.Canary) {
	w.mu.Lock()
	w.spec = spec
	w.count++
	w.mu.Unlock()
	w.ask()
}

func (w *canaryWatch) get() (spec config.Canary, count int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.spec, w.count
}

// ask wants a round that begins from now on. Any number of those who ask get one.
func (w *canaryWatch) ask() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// watchCanary probes the canary until ctx ends, one round after the other.
func (d *Daemon) watchCanary(ctx context.Context) error {
	for ctx.Err() == nil {
		began := d.clock.Boot()
		d.probeCanary(ctx)
		pause := time.NewTimer(CanaryEvery - (d.clock.Boot() - began))
		select {
		case <-ctx.Done():
		case <-pause.C:
		case <-d.canary.wake:
			wait(ctx, canaryGap-(d.clock.Boot()-began))
		}
		pause.Stop()
	}
	return nil
}

// probeCanary makes one round, where there is a canary, and tells the engine. A
// round during which this process stood still says nothing, and is made again.
func (d *Daemon) probeCanary(ctx context.Context) {
	spec, count := d.canary.get()
	if len(spec.Targets) == 0 {
		return
	}
	start := d.clock.Boot()
	results := d.schedule.Round(ctx, canaryJobs(spec))
	switch took := d.clock.Boot() - start; {
	case ctx.Err() != nil:
		return
	case took > longestRound(spec), d.schedule.StoodStill(start, start+took):
		d.canary.ask()
		return
	}
	d.ask(func(*engine.Engine) {
		if _, now := d.canary.get(); now == count {
			d.step(engine.Canary{Start: start, Results: results})
		}
	})
}

// longestRound is how long a round takes at most, unless this process does not
// run.
func longestRound(spec config.Canary) time.Duration {
	longest := time.Duration(0)
	for _, t := range spec.Targets {
		longest = max(longest, t.Spec.Timeout)
	}
	return longest + time.Second
}

func canaryJobs(spec config.Canary) []schedule.Job {
	var jobs []schedule.Job
	for _, t := range spec.Targets {
		jobs = append(jobs, schedule.Job{Spec: t.Spec, Target: check.Target{Check: t.Spec.Name, Address: t.Address}})
	}
	return jobs
}

func canarySpec(c config.Canary) engine.CanarySpec {
	spec := engine.CanarySpec{Need: c.Need}
	for _, t := range c.Targets {
		spec.Targets = append(spec.Targets, t.Spec.Name)
	}
	return spec
}

func describeCanary(v *engine.CanaryView) *control.Canary {
	if v == nil {
		return nil
	}
	out := &control.Canary{State: string(v.State), Answered: v.Answered, Need: v.Need, Targets: []control.CanaryTarget{}}
	if !v.Since.IsZero() {
		out.Since = &v.Since
	}
	for _, r := range v.Results {
		out.Targets = append(out.Targets, control.CanaryTarget{
			Target: r.Target.Check, Result: string(r.Outcome), Phase: string(r.Phase), Cause: string(r.Cause), Detail: r.Detail,
		})
	}
	return out
}
