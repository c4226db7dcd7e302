package simulate

import (
	"context"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
)

// zone is one zone, and what waits to be done there.
type zone struct {
	name   record.Name
	memory *memory.Zone
	first  time.Duration // the first pause after a failure
	most   time.Duration // the longest
	fails  bool

	work  *engine.Work // the newest, to be carried out; nil for none
	works tries
	look  bool // to be listed
	looks tries
}

// tries is when something that failed is tried again.
type tries struct {
	at    time.Duration // boot time of the next try; 0 for at once
	pause time.Duration // after it, until the next; 0 when nothing failed
	from  time.Duration // boot time before which tries are left out; 0 for none
}

// due is the boot time of the next try that is not left out.
func (t *tries) due() time.Duration {
	if t.from <= t.at {
		return t.at
	}
	return slotFrom(t.at, t.pause, t.from)
}

func newZone(name record.Name, rhythm config.Reconcile, clock clock.Clock) *zone {
	return &zone{
		name: name, first: rhythm.RetryBase, most: rhythm.RetryMax,
		memory: memory.NewZone(name, memory.Options{Class: memory.Status, Now: clock.Boot}),
	}
}

// setFailing makes every call fail from now on, or none.
func (z *zone) setFailing(fails bool) {
	z.fails = fails
	if !fails {
		z.memory.Faults(nil)
		return
	}
	z.memory.Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Throttled} })
}

// submit replaces what waits; newer work does not wait for the pause of older. A list
// waits behind it, and from now on none of its tries is left out.
func (z *zone) submit(work engine.Work, now time.Duration) {
	z.work, z.works.at, z.works.from = &work, 0, 0
	z.looks.from = min(z.looks.from, now)
}

// forget is the end of the process that had the work.
func (z *zone) forget() { z.work, z.look, z.works, z.looks = nil, false, tries{}, tries{} }

// next is what waits and is tried next, nil for nothing. A list is part of any
// work.
func (z *zone) next(leads bool) *tries {
	switch {
	case z.work != nil && leads:
		return &z.works
	case z.look:
		return &z.looks
	}
	return nil
}

// serve does what waits for a zone, if its time has come, and tells the engine.
func (w *world) serve(ctx context.Context, z *zone) (did bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err // and no word about the zone
	}
	switch next := z.next(w.leads); {
	case next == nil || next.due() > w.clock.Boot():
		return false, nil
	case next == &z.works:
		return true, w.write(ctx, z, *z.work)
	default:
		return true, w.list(ctx, z)
	}
}

func (w *world) list(ctx context.Context, z *zone) error {
	report := w.writer.Plan(ctx, engine.Work{Zone: z.name})
	if report.Err != nil {
		return w.fail(z, &z.looks, report)
	}
	z.look, z.looks = false, tries{}
	return w.step(engine.Seen{Zone: *report.Seen})
}

func (w *world) write(ctx context.Context, z *zone, work engine.Work) error {
	report := w.writer.Once(ctx, work, reconcile.Orders{})
	w.decide(report)
	if report.Err != nil {
		return w.fail(z, &z.works, report)
	}
	z.forget()
	return w.step(engine.Done{Zone: *report.Seen, Applied: report.Applied})
}

// fail tells the engine of a round that did not come to its end, and puts the
// next try off.
func (w *world) fail(z *zone, tries *tries, report reconcile.Report) error {
	if len(report.Applied) > 0 {
		if err := w.step(engine.Wrote{Zone: z.name, Applied: report.Applied}); err != nil {
			return err
		}
	}
	if tries.pause == 0 {
		tries.pause = z.first
		w.tell("zone %s: %v; it is tried again", z.name, report.Err)
	}
	tries.at = w.clock.Boot() + tries.pause
	tries.pause = min(2*tries.pause, z.most)
	return w.step(engine.Failed{Zone: z.name, Err: report.Err.Error()})
}

// leaveOut leaves tries out that fail because the provider does, until the next
// event may mend it. Only those in the steady rhythm of the longest pause are, and
// none of what waits behind other work: its time comes with the end of that.
func (z *zone) leaveOut(event time.Duration, leads bool) {
	if t := z.next(leads); t != nil && z.fails && t.at != 0 && t.pause >= z.most {
		t.from = event
	}
}
