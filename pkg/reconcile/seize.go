package reconcile

import (
	"context"
	"errors"
	"fmt"

	"sidestep/pkg/lease/zone"
	"sidestep/pkg/provider"
)

// claimLease replaces the stamps that were seen by one of this process.
func (w *worker) claimLease(ctx context.Context, fencer provider.Fencer, seen *provider.Snapshot) error {
	next := w.stamp()
	err := w.sendClaim(ctx, fencer, seen, next)
	w.lease.outcome(next.Nonce, w.options.Clock.Boot(), err)
	switch {
	case err == nil:
		w.wroteStamp(next)
	case !gateClosed(err) && provider.ClassOf(err) != provider.FencedOut:
		w.lease.refused(err)
	}
	return err
}

// holdLease makes sure that the zone is this process's. Only the lease decides
// whether the stamp that a list shows may be replaced.
func (r *round) holdLease(ctx context.Context, fencer provider.Fencer) error {
	for attempt := 0; !r.leadsNow(); attempt++ {
		if attempt > claimAttempts {
			return fmt.Errorf("claim zone %s: the stamp changes under every claim; another sidestep is writing", r.zone.Name)
		}
		if err := r.seize(ctx, fencer); err != nil {
			return err
		}
		if err := provider.Sleep(ctx, r.lease.behind(r.snapshot.Stamps)-r.options.Clock.Boot()); err != nil {
			return fmt.Errorf("claim zone %s: stopped: %w", r.zone.Name, err)
		}
		if err := r.plan(ctx); err != nil {
			return err
		}
	}
	r.doubt.clear()
	return r.prove(ctx, fencer)
}

// leadsNow reports whether the zone is this process's, and the list shows its last
// write.
func (r *round) leadsNow() bool {
	now := r.options.Clock.Boot()
	return r.lease.leads(now) && r.holds() && r.lease.behind(r.snapshot.Stamps) <= now
}

// seize replaces the listed stamps, if they may be. A list that lags behind a
// write of this process is no ground for anything.
func (r *round) seize(ctx context.Context, fencer provider.Fencer) error {
	if r.lease.behind(r.snapshot.Stamps) > r.options.Clock.Boot() {
		return nil
	}
	takeOver := r.orders.TakeOver && r.lease.view().Whose == zone.Others
	if !takeOver && !r.lease.claimable() {
		silent, err := r.outwait(ctx)
		if err != nil || !silent {
			return errors.Join(err, r.gate(0)())
		}
	}
	from := r.lease.view().Holder
	err := r.claimLease(context.WithoutCancel(ctx), fencer, r.snapshot)
	if err == nil {
		r.orders.TakeOver = false // once
	}
	if err == nil && takeOver {
		r.report.TookOver = from
	}
	return r.claimed(err)
}

// outwait reports that another's stamp is that of a node which is gone, to a
// process that does not live long enough to see it stand still for the time to
// take over: it is older than that by its own date, and stays as it is for longer
// than a heartbeat takes. The date alone would take over from a node whose clock is
// late.
func (r *round) outwait(ctx context.Context) (silent bool, err error) {
	v, times := r.lease.view(), r.lease.times()
	if !r.options.Brief || v.Whose != zone.Others || r.options.Clock.Wall().Sub(v.At) < times.Takeover {
		return false, nil
	}
	why := fmt.Sprintf("the stamp of %s is old, and a node that lives renews it within this time", v.Holder)
	if err := r.pause(ctx, times.Heartbeat+times.Deadline()+times.Lag, why); err != nil {
		return false, err
	}
	if err := r.plan(ctx); err != nil {
		return false, err
	}
	return r.lease.view().Since == v.Since, nil
}
