package daemon

import (
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// waitOf is what the writer of a zone waits for; nil for nothing, and where this
// node writes nothing.
func (d *Daemon) waitOf(zone record.Name) *control.Wait {
	if d.writer == nil || !d.leader.leads() {
		return nil // as where nothing but a saved state is told
	}
	return d.wait(d.writer.Waiting(zone))
}

func (d *Daemon) wait(until time.Duration, why string) *control.Wait {
	left := until - d.clock.Boot()
	if left <= 0 {
		return nil
	}
	return &control.Wait{Until: d.clock.Wall().Add(left), Why: why}
}

// waitOfPlan is what the first writes of a plan let pass that take something away, or
// put in what could be doubled; nil for nothing, and where this node writes nothing.
func (d *Daemon) waitOfPlan(p plan.Plan) *control.Wait {
	if !d.leader.leads() {
		return nil
	}
	latest, reason := time.Duration(0), ""
	for _, s := range p.Sets {
		if until, why := d.writer.Delays(s); until > latest {
			latest, reason = until, why
		}
	}
	return d.wait(latest, reason)
}

// delay adds to what is foreseen what the writer will wait for. What comes in does
// not wait with what goes out, unless one call does both.
func (d *Daemon) delay(r *control.Foreseen, f engine.Foresight) {
	if !f.Known || d.options.Once || !d.leader.leads() {
		return
	}
	wait := d.wait(d.writer.Delays(f.After))
	if wait == nil || !wait.Until.After(*r.At) {
		return
	}
	r.Waits = wait
	for _, c := range f.After.Open() {
		if c.Action == record.Create || c.Action == record.Resume {
			return
		}
	}
	r.At = &wait.Until
}
