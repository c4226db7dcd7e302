package reconcile

import (
	"context"
	"time"

	"sidestep/pkg/provider"
)

// barredPause is how often a process that may not write at all asks whether it may.
const barredPause = time.Second

// untilTend is how long to wait before the stamp needs this node again: until the
// next heartbeat of a holder, and the next look of who stands by. What failed is
// tried again at the pace of a look.
func (w *worker) untilTend() time.Duration {
	times, now := w.lease.times(), w.options.Clock.Boot()
	if w.tended == 0 {
		return 0
	}
	next := w.tended + times.Poll
	switch { // always from the last look on: what wakes the worker more often must not put it off
	case w.barred:
		next = w.tended + min(times.Poll, barredPause)
	case w.lease.leads(now):
		next = max(w.tended+min(times.Poll, times.Heartbeat), w.lease.view().Since+times.Heartbeat)
	}
	return max(0, next-now)
}

// tending is when the stamp needs this node again; never where it is not the lease.
func (w *worker) tending() <-chan time.Time {
	if w.lease == nil || w.options.Brief && !w.lease.leads(w.options.Clock.Boot()) {
		return nil // a command claims what it has to write to, and only that
	}
	return time.After(w.untilTend())
}

// tend looks at the stamp and replaces it when it is this process's, or may become
// so; it reports whether the zone was won. A write that was just made needs no
// heartbeat after it.
func (w *worker) tend(ctx context.Context) (won bool) {
	fencer, ok := w.zone.Adapter.(provider.Fencer)
	led := w.lease.leads(w.options.Clock.Boot())
	defer w.tellLead()
	if !ok || led && w.untilTend() > 0 {
		return false
	}
	return w.attend(ctx, fencer)
}

// attend is tend, whether or not it is time.
func (w *worker) attend(ctx context.Context, fencer provider.Fencer) (won bool) {
	led := w.lease.leads(w.options.Clock.Boot())
	w.tended = w.options.Clock.Boot()
	if w.barred = w.mayWrite(w.lease.times().Deadline())() != nil; w.barred {
		return false
	}
	began := time.Now()
	seen, listed, err := w.readStamps(ctx)
	w.tellLook(ctx, err)
	if err == nil && !w.proved && w.lease.leads(w.options.Clock.Boot()) && len(seen.Stamps) == 1 && w.wroteStamp(seen.Stamps[0]) {
		if err := w.putToProof(ctx, fencer, seen); err != nil { // of which tellLead tells, if it matters
			w.log.Debug("the fence could not be put to the proof, or does not hold", "error", err)
		}
		began = time.Now() // of the heartbeat
	}
	// Stamps that may be those from before the last write are no ground for another:
	// one that came since may be there already.
	if err == nil && w.lease.claimable() && w.lease.behind(seen.Stamps) <= w.options.Clock.Boot() {
		if listed {
			began = time.Now()
		}
		finish, cancel := context.WithDeadline(context.WithoutCancel(ctx), began.Add(w.lease.times().Deadline()))
		defer cancel()
		if err := w.claimLease(finish, fencer, seen); err != nil && !gateClosed(err) && ctx.Err() == nil {
			w.log.Debug("the stamp could not be renewed; trying again", "error", err)
		}
	}
	return !led && w.lease.leads(w.options.Clock.Boot())
}

// renew sends a heartbeat before a list that may take longer than until the next: no
// other is sent beside it, because the write after it needs the stamp that it shows.
// It reports whether it did.
func (w *worker) renew(ctx context.Context, expected time.Duration) bool {
	fencer, ok := w.zone.Adapter.(provider.Fencer)
	now := w.options.Clock.Boot()
	if !ok || w.lease == nil || w.unlisted || !w.lease.leads(now) {
		return false
	}
	times, age := w.lease.times(), now-w.lease.view().Since
	if expected < times.Heartbeat/2 || age <= times.Deadline() {
		return false // it is late by little, or was just sent
	}
	w.attend(ctx, fencer)
	return true
}

// tellSlow warns of a zone whose list takes longer than a leader may be busy.
func (w *worker) tellSlow(took time.Duration) {
	was := w.listing
	w.listing = took
	if w.lease == nil {
		return
	}
	if room := w.lease.times().Room(); took > room && was <= room {
		w.log.Warn("listing the zone takes longer than a leader may be busy, and a standby takes over meanwhile; make leader.takeover longer by the difference",
			"took", took.Round(time.Second).String(), "most", room.Round(time.Second).String())
	}
}

// tellLook tells once of a stamp that cannot be looked at, and once that it can
// again.
func (w *worker) tellLook(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil || !w.lease.unsaid(err):
	case err != nil:
		w.log.Warn("the stamp, which says who leads, cannot be looked at; trying again", "error", err)
	default:
		w.log.Info("the stamp can be looked at again")
	}
}

// readStamps looks at the stamps within the deadline of a heartbeat, in the cheapest
// way that the adapter has. The first look is a list, within the deadline of one: it
// tells whether the zone is the one that is meant.
func (w *worker) readStamps(ctx context.Context) (seen *provider.Snapshot, listed bool, err error) {
	reader, ok := w.zone.Adapter.(provider.StampReader)
	if !ok || w.unlisted {
		seen, err = w.relist(ctx)
		return seen, true, err
	}
	limited, cancel := context.WithTimeout(ctx, w.lease.times().Deadline())
	defer cancel()
	began := w.options.Clock.Boot()
	err = w.safely(provider.Retryable, "read the stamps of", func() (err error) {
		seen, err = reader.Stamps(limited)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	w.lease.look(began, w.options.Clock.Boot(), seen.Stamps)
	return seen, false, nil
}

// readLatest is readStamps, once these show the last write of this process.
func (w *worker) readLatest(ctx context.Context) (*provider.Snapshot, error) {
	seen, _, err := w.readStamps(ctx)
	if err != nil {
		return nil, err
	}
	wait := w.lease.behind(seen.Stamps) - w.options.Clock.Boot()
	if wait <= 0 {
		return seen, nil
	}
	if err := provider.Sleep(ctx, wait); err != nil {
		return nil, err
	}
	seen, _, err = w.readStamps(ctx)
	return seen, err
}
