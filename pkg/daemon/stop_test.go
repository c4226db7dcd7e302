package daemon

import (
	"context"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/provider/memory"
)

// Stopped in the middle of any duty, the daemon warns of nothing: what fails by
// its own end is no trouble of anybody.
func TestStopInTheMiddleOfADutySaysNothing(t *testing.T) {
	for op, kinds := range map[memory.Op][]memory.Kind{
		memory.OpList:     {memory.None, memory.Refused, memory.Throttled, memory.Hang},
		memory.OpClaim:    {memory.None, memory.Refused, memory.Throttled},
		memory.OpTakeAway: {memory.None}, // a call in hand is finished, and its failure is one
	} {
		for _, kind := range kinds {
			t.Run(string(op)+" "+string(kind), func(t *testing.T) {
				stopInThe(t, func(w *world, stop func()) {
					w.zones[home].Faults(func(o memory.Op, _ int) memory.Fault {
						if o != op {
							return memory.Fault{}
						}
						stop()
						return memory.Fault{Kind: kind}
					})
				}, nil)
			})
		}
	}
	t.Run("probe", func(t *testing.T) {
		stopInThe(t, func(*world, func()) {}, func(ctx context.Context, stop func()) check.Result {
			stop()
			<-ctx.Done()
			return check.Result{Outcome: check.Unknown, Cause: check.CauseLocal, Detail: "stopped"}
		})
	})
}

// stopInThe lets a daemon fail over, with something prepared that stops it, and
// reads its log.
func stopInThe(t *testing.T, prepare func(w *world, stop func()), probe func(ctx context.Context, stop func()) check.Result) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		var d *running
		stop := func() { d.stop() }
		d = w.run(func(o *Options) {
			if probe == nil {
				return
			}
			site := o.Probe
			o.Probe = func(ctx context.Context, spec *check.Spec, address string) check.Result {
				if len(w.site.failures(a)) > 0 {
					return probe(ctx, stop)
				}
				return site(ctx, spec, address)
			}
		})
		time.Sleep(settled)
		prepare(w, stop)
		w.site.fail(a)
		time.Sleep(10 * time.Minute)
		select {
		case <-d.done:
		default:
			t.Error("nothing stopped it")
		}
		if d.err != nil {
			t.Errorf("it ended with %v", d.err)
		}
		for _, level := range []string{"WARN ", "ERROR "} {
			if lines := w.log.with(level); len(lines) > 0 {
				t.Errorf("it said %q", lines)
			}
		}
	})
}
