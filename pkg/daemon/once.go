package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/etcd"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
	"sidestep/pkg/schedule"
)

// pace is the longest time between two rounds of a one-shot command.
const pace = 2 * time.Second

// lockWithin is how long a one-shot command waits for the lock, and silently for
// tellAfter.
const (
	lockWithin = 30 * time.Second
	tellAfter  = time.Second
)

// Progress is told of long work, a line at a time, for a person's terminal.
type Progress func(format string, args ...any)

// Once probes enough rounds to judge, plans, and, when Options.Write says so,
// takes the lock, writes and verifies: the same road as the daemon's, without
// its schedule. It must not be used beside Run.
func (d *Daemon) Once(ctx context.Context, request control.PlanRequest, progress Progress) (control.Plan, error) {
	zones, err := d.zoneNames(request.Zones)
	if err != nil {
		return control.Plan{}, &control.Error{Message: err.Error(), Hint: "the zones of the config: sidestep config show", Exit: control.ExitUsage}
	}
	var answer control.Plan
	err = d.session(ctx, progress, d.options.Write, func(ctx context.Context) error {
		if why := d.notJoined(); why != nil {
			d.log.Warn("planned without what the other nodes see and what persons said there", "error", why)
		}
		d.rounds(ctx, zones)
		progress("listing and comparing %d zones", len(zones))
		var err error
		if d.options.Write {
			answer, err = d.Reconcile(ctx, request)
		} else {
			answer, err = d.Plan(ctx, request)
		}
		return err
	})
	return answer, err
}

// ApproveOnce takes a person's yes where no daemon runs, and writes it into the
// state directory under the lock.
func (d *Daemon) ApproveOnce(ctx context.Context, request control.ApproveRequest, by string, progress Progress) (control.Approval, error) {
	var answer control.Approval
	err := d.session(ctx, progress, false, func(ctx context.Context) error {
		if request.Plan != "" {
			d.rounds(ctx, nil)
		}
		if err := d.lookAll(ctx); err != nil {
			return err
		}
		var err error
		answer, err = d.Approve(ctx, request, by)
		return err
	})
	return answer, err
}

// OverrideOnce takes an operator's word where no daemon runs, and writes it into
// the state directory under the lock. Nobody is asked and nothing is probed.
func (d *Daemon) OverrideOnce(ctx context.Context, request control.OverrideRequest, by string, progress Progress) (control.Overruled, error) {
	var answer control.Overruled
	err := d.session(ctx, progress, false, func(ctx context.Context) error {
		var err error
		answer, err = d.Override(ctx, request, by)
		return err
	})
	return answer, err
}

// ClearOverrideOnce takes words back in the same way.
func (d *Daemon) ClearOverrideOnce(ctx context.Context, request control.ClearRequest, by string, progress Progress) (control.Overruled, error) {
	var answer control.Overruled
	err := d.session(ctx, progress, false, func(ctx context.Context) error {
		var err error
		answer, err = d.ClearOverride(ctx, request, by)
		return err
	})
	return answer, err
}

// OverridesOnce lists operators' words where no daemon runs: those of all nodes that
// share an etcd, and what is saved here.
func (d *Daemon) OverridesOnce(ctx context.Context, progress Progress) (control.Overrides, error) {
	var answer control.Overrides
	err := d.locked(ctx, progress, false, func(ctx context.Context) error {
		why := d.notJoined()
		var err error
		answer, err = d.Overrides(ctx)
		answer.Daemon, answer.Shared = false, why == nil
		if why != nil {
			answer.Unshared = why.Error()
		}
		return err
	})
	if !d.takenUp.IsZero() {
		answer.SavedAt = &d.takenUp
	}
	return answer, err
}

// lookAll lists every zone and shows the engine what is there.
func (d *Daemon) lookAll(ctx context.Context) error {
	for _, z := range d.options.Config.Zones {
		report := d.writer.Plan(ctx, engine.Work{Zone: z.Name})
		if report.Err != nil {
			return &control.Error{Message: report.Err.Error(), Exit: exitOf(report, false)}
		}
		d.ask(func(*engine.Engine) { d.step(engine.Seen{Zone: *report.Seen, Others: d.othersWrote(z.Name)}) })
	}
	return nil
}

// session runs the loop and the writer around one command, as locked does.
func (d *Daemon) session(ctx context.Context, progress Progress, leads bool, do func(context.Context) error) error {
	return d.locked(ctx, progress, leads, func(ctx context.Context) error {
		writing := newParts(ctx)
		writing.start("writer", func(ctx context.Context) error { d.writer.Run(ctx); return nil })
		err := do(ctx)
		writing.end()
		return err
	})
}

// locked runs the loop around one command and leaves the writer to it: with the
// state directory held when the command may write to it, and with the lease when
// it is to write to a zone.
func (d *Daemon) locked(ctx context.Context, progress Progress, leads bool, do func(context.Context) error) error {
	d.progress = progress
	endLoop := d.startLoop()
	defer endLoop()
	if d.options.Write {
		if err := d.lockOnce(ctx, leads); err != nil {
			return err
		}
	}
	leave, err := d.joinOnce(ctx, leads && d.options.Write)
	if err != nil {
		return errors.Join(err, d.letGo())
	}
	renewing, stop := context.WithCancel(ctx)
	var renewals sync.WaitGroup
	if held, _ := d.leader.get(); held != nil {
		renewals.Go(func() { renew(renewing, held) })
	}
	err = do(ctx)
	stop()
	renewals.Wait()
	leave()
	switch {
	case d.options.Write:
		err = errors.Join(err, d.letGo())
	case d.way != nil:
		err = errors.Join(err, d.way.Close())
	}
	return err
}

// lockOnce takes the state directory for the length of one command, and wins the
// lease.
func (d *Daemon) lockOnce(ctx context.Context, leads bool) error {
	d.progress("waiting for the lock, %s at most", lockWithin)
	ctx, cancel := context.WithTimeout(ctx, lockWithin)
	defer cancel()
	hold, err := d.awaitLock(ctx, d.leader.dir)
	if err != nil {
		return notWon(err)
	}
	notes, quiet := d.keep(hold)
	held := hold
	if d.leader.lease != nil {
		if !leads {
			return nil
		}
		if held, err = d.awaitLock(ctx, d.leader.lease); err != nil {
			return errors.Join(notWon(err), d.letGo())
		}
	}
	d.becomeLeader(held, notes, quiet && held == hold)
	return nil
}

// awaitLock waits for a lock until ctx ends, which has a deadline. Whom it waits for,
// and for how long, is said: a command that stands still for no reason is one that
// people kill.
func (d *Daemon) awaitLock(ctx context.Context, wanted lease.Lease) (lease.Held, error) {
	soon, cancel := context.WithTimeout(ctx, tellAfter)
	held, err := wanted.Acquire(soon)
	cancel()
	other, waits := errors.AsType[*lease.HeldError](err)
	if !waits || ctx.Err() != nil {
		return held, err
	}
	end, _ := ctx.Deadline()
	d.log.Warn("waiting for the lock", "held_by", other.Holder, "at_most", time.Until(end).Round(time.Second).String())
	return wanted.Acquire(ctx)
}

func notWon(err error) error {
	if shared, is := errors.AsType[*etcd.Error](err); is {
		return &control.Error{Message: fmt.Sprintf("nothing was written, since it is not known who leads: %v", shared), Exit: control.ExitProvider}
	}
	return &control.Error{Message: err.Error(), Exit: exitOf(reconcile.Report{Err: err}, true)}
}

// rounds probes every target of the zones until they are judged. Own faults
// and flapping targets end it too, after twice the rounds that a verdict takes;
// what is not judged by then stays as it is in the zone. So does a canary that
// fails: what is seen then does not count. One round of it is not enough to say
// so, so that another follows one that did not pass, whatever is judged.
func (d *Daemon) rounds(ctx context.Context, zones []record.Name) {
	jobs, gap, rounds := d.roundPlan(zones)
	for round := 1; round <= rounds && ctx.Err() == nil; round++ {
		d.progress("probing %d targets, round %d of %d at most", len(jobs), round, rounds)
		results := d.schedule.Round(ctx, jobs)
		d.tell(engine.Results{Results: results})
		d.probeCanary(ctx) // after them, so that it bears them out
		decided := false
		d.ask(func(e *engine.Engine) { decided = e.Sighted() && len(e.Undecided(zones)) == 0 })
		if decided || round == rounds || !wait(ctx, gap) {
			return
		}
	}
}

// roundPlan lists the jobs of the zones, the time between two rounds, never
// shorter than min(interval, 2 s) of any check, and the most rounds.
func (d *Daemon) roundPlan(zones []record.Name) (jobs []schedule.Job, gap time.Duration, rounds int) {
	d.ask(func(e *engine.Engine) {
		disabled := e.Holds() // pauses do not hold a command back
		for _, t := range e.TargetsIn(zones) {
			if disabled[t] > 0 {
				continue
			}
			spec := d.config.Checks[t.Check]
			jobs = append(jobs, schedule.Job{Spec: spec, Target: t})
			gap = max(gap, min(spec.Interval, pace))
			rounds = max(rounds, 2*max(spec.Fall, spec.Rise))
		}
		rounds += d.config.Guard.Mass.Confirm // for what fails together
	})
	return jobs, gap, rounds
}
