package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// Departure is how sidestep leaves a zone, or would.
type Departure struct {
	Report // of bringing back what was paused

	LeftOut []engine.LeftOut // values that stay out of the answer, and why
	Remains []string         // what is left of sidestep beside those values, a line each
	Removed []string         // what was left and is gone
	Unread  []string         // parked copies that cannot be read, and stay
	Rival   string           // the other node that leads the zone by its stamp, where that is the lease; empty for none
}

// Leaving lists a zone and says what Leave would do, and writes nothing.
func (r *Reconciler) Leaving(ctx context.Context, zone record.Name, specs []*steer.Spec) Departure {
	d, _ := r.leaving(ctx, zone, specs)
	return d
}

// Leave takes sidestep out of a zone: every value comes back that it paused and that
// one of the specs names, which are those of the config, and once the zone shows that,
// the marks, the copies and the stamp go. It can be interrupted at any point and asked
// for again. It runs in the caller's goroutine and must not run beside Run.
func (r *Reconciler) Leave(ctx context.Context, zone record.Name, specs []*steer.Spec, orders Orders) Departure {
	d, work := r.leaving(ctx, zone, specs)
	if d.Err != nil {
		return d
	}
	w := r.workers[zone]
	if len(work.Inputs) > 0 {
		d.Report = w.round(ctx, work, orders)
	}
	if d.Err != nil || len(d.Final.Blocked) > 0 {
		return d
	}
	l := departing{round: w.newRound(work, orders), releaser: releaserOf(w)}
	if d.Err = l.run(ctx); l.snapshot == nil {
		return d
	}
	seen := zoneOf(l.snapshot)
	d.Seen = &seen
	if d.Look { // there was nothing to bring back, and the last list says so
		d.Verified = d.Err == nil
	}
	_, d.LeftOut = engine.ReleaseWork(seen, specs)
	d.Remains, d.Unread = l.releaser.Remains(l.snapshot), unread(l.snapshot)
	d.Removed = slices.DeleteFunc(l.found, func(line string) bool { return slices.Contains(d.Remains, line) })
	return d
}

// leaving lists the zone and plans its release.
func (r *Reconciler) leaving(ctx context.Context, zone record.Name, specs []*steer.Spec) (Departure, engine.Work) {
	w, found := r.workers[zone]
	if !found {
		return Departure{Report: Report{Zone: zone, Err: fmt.Errorf("release zone %s: no such zone", zone)}}, engine.Work{}
	}
	d := Departure{Report: Report{Zone: zone, Look: true}}
	releaser := releaserOf(w)
	if releaser == nil {
		d.Err = fmt.Errorf("release zone %s: the adapter of its provider cannot take sidestep out of a zone", zone)
		return d, engine.Work{}
	}
	snapshot, err := w.list(ctx)
	if err != nil {
		d.Err = err
		return d, engine.Work{}
	}
	seen := zoneOf(snapshot)
	if w.lease != nil {
		d.Rival = w.leadership().Holder
	}
	work, stays := engine.ReleaseWork(seen, specs)
	d.Seen, d.Plan, d.LeftOut, d.Remains, d.Unread = &seen, work.Plan(seen), stays, releaser.Remains(snapshot), unread(snapshot)
	d.Final = d.Plan
	return d, work
}

// unread are the records of a list that look like parked copies, and say nothing
// that anybody here understands.
func unread(s *provider.Snapshot) []string {
	return slices.DeleteFunc(slices.Clone(s.Skipped), func(line string) bool { return !strings.Contains(line, provider.ParkedLabel) })
}

func releaserOf(w *worker) provider.Releaser {
	releaser, _ := w.zone.Adapter.(provider.Releaser)
	return releaser
}

// departing removes what is left once every value is back.
type departing struct {
	*round

	releaser provider.Releaser
	found    []string // what there was to remove
}

// run lists and asks the adapter until nothing remains. Where the provider does
// not compare, a copy goes only when no call can be open any more that would
// take its value out.
func (l *departing) run(ctx context.Context) error {
	fruitless := 0
	for least := -1; ; {
		if err := l.plan(ctx); err != nil {
			return err
		}
		remains := l.releaser.Remains(l.snapshot)
		if len(remains) == 0 {
			return nil
		}
		if at, why := l.notBefore(); at > l.options.Clock.Boot() {
			if err := l.pause(ctx, at-l.options.Clock.Boot(), why); err != nil {
				return err
			}
			continue
		}
		if err := l.hold(ctx); err != nil { // which may list anew
			return err
		}
		if fruitless++; least < 0 || len(remains) < least {
			least, fruitless = len(remains), 0
		}
		if fruitless > acceptedAfter {
			return fmt.Errorf("release zone %s: %d calls, and the provider does not show that anything is gone", l.zone.Name, fruitless)
		}
		if err := l.once(ctx); err != nil {
			return err
		}
	}
}

// notBefore is the boot time from which a list shows everything, and from which,
// where the provider does not compare, no older call can take effect.
func (l *departing) notBefore() (at time.Duration, why string) {
	if listed := l.doubt.zoneListed(); listed > at {
		at, why = listed, "the last write may not be in the list yet"
	}
	if l.zone.Adapter.Promises().Fenced {
		return at, why
	}
	if quiet := l.doubt.quietAt(); quiet > at {
		at, why = quiet, "an earlier call may still take a value out, and its copy is what would bring it back"
	}
	return at, why
}

// once asks the adapter to remove something, and sorts the outcome.
func (l *departing) once(ctx context.Context) error {
	remains := l.releaser.Remains(l.snapshot)
	if len(l.found) < len(remains) {
		l.found = remains
	}
	call := l.deadline()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), call)
	defer cancel()
	err := l.safely(provider.Ambiguous, "release", func() error {
		_, err := l.releaser.Release(limited, l.snapshot, l.gate(call))
		return err
	})
	if gateClosed(err) {
		return err
	}
	now := l.options.Clock.Boot()
	class := provider.ClassOf(err)
	if err == nil || class == provider.Ambiguous {
		l.doubt.wrote(now, nil)
	}
	if l.options.Wrote != nil {
		l.options.Wrote(Write{Zone: l.zone.Name, Removed: remains, Err: err})
	}
	if err == nil {
		l.unclear = 0
		return nil
	}
	switch class {
	case provider.Ambiguous, provider.Conflict, provider.FencedOut:
		l.log.Debug("only the list can tell what became of a release", "class", class.String(), "error", err)
		if l.unclear++; l.unclear > unclearAfter {
			return err
		}
		return nil
	default:
		return err
	}
}
