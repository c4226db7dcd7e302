package reconcile

import (
	"context"
	"fmt"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// look lists the zone, and changes nothing.
func (w *worker) look(ctx context.Context) Report {
	report := Report{Zone: w.zone.Name, Look: true}
	if promises := w.zone.Adapter.Promises(); promises.Listing() > promises.Call {
		w.renew(ctx, promises.Listing()) // nothing is urgent
	}
	snapshot, err := w.relist(ctx)
	if err != nil {
		report.Err = err
		return report
	}
	w.watch(snapshot)
	seen := w.zoneOf(snapshot)
	w.seen, report.Seen = &seen, &seen
	report.Rival = w.rival(snapshot.Stamps, w.heldNow())
	return report
}

// relist is list by the worker itself: the adapter in use has found the zone.
func (w *worker) relist(ctx context.Context) (*provider.Snapshot, error) {
	if w.renew(ctx, w.listing) { // lest the list shows the stamp before
		_ = provider.Sleep(ctx, w.lease.behind(nil)-w.options.Clock.Boot())
	}
	began := w.options.Clock.Boot()
	snapshot, err := w.list(ctx)
	w.unlisted = w.unlisted && err != nil
	w.tellSlow(w.options.Clock.Boot() - began)
	if err == nil {
		w.see(ctx, snapshot.Stamps)
	}
	return snapshot, err
}

// listAttempts is how often a list is tried before a round gives up.
const listAttempts = 3

// list reads the zone, again while the error is one that may pass, all of it
// within the provider's deadline for a list, and beginning within that for a
// call: an error that takes long to come is not waited for three times. An API
// that is out of order is asked once.
func (w *worker) list(ctx context.Context) (*provider.Snapshot, error) {
	adapter := w.adapter()
	promises := adapter.Promises()
	within, cancel := context.WithTimeout(ctx, promises.Listing())
	defer cancel()
	begin, end := context.WithTimeout(ctx, promises.Call)
	defer end()
	var snapshot *provider.Snapshot
	backoff := w.options.Retry
	backoff.Attempts = listAttempts
	if failures, _ := w.breaker.tripped(); failures > 0 {
		backoff.Attempts = 1
	}
	began := time.Duration(0)
	err := backoff.Retry(begin, func(context.Context) error {
		began = w.options.Clock.Boot()
		return w.safely(provider.Retryable, "list", func() (err error) {
			snapshot, err = adapter.List(within)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	for _, line := range snapshot.Skipped {
		w.log.Debug("record skipped", "record", line)
	}
	if err := w.sameZone(snapshot); err != nil {
		return nil, err
	}
	if err := w.notEmptied(snapshot); err != nil {
		return nil, err
	}
	if w.lease != nil {
		w.lease.look(began, w.options.Clock.Boot(), snapshot.Stamps)
	}
	return snapshot, nil
}

// notEmptied refuses a list that came back empty, stamp and all, where there
// were record sets: the wrong file, the wrong view or the wrong account, but
// not the zone. A single record set may well be gone by somebody's hand, but not
// with the stamp beside it.
func (w *worker) notEmptied(s *provider.Snapshot) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if gone := w.sets > 1 || w.sets == 1 && w.stamped; gone && len(s.Sets) == 0 && len(s.Stamps) == 0 {
		what := fmt.Sprintf("were %d record sets", w.sets)
		if w.sets == 1 {
			what = "was a record set, and a stamp"
		}
		e := provider.Failf(provider.Retryable, "list zone "+string(w.zone.Name), "", "the list is empty where there %s", what)
		e.Hint = "if that is meant, restart sidestep"
		return e
	}
	w.sets, w.stamped = len(s.Sets), len(s.Stamps) > 0
	return nil
}

func zoneOf(s *provider.Snapshot) plan.Zone {
	zone := plan.Zone{Name: s.Zone, Sets: s.Sets, Delegations: s.Delegations, Owners: map[record.Name]string{}}
	for _, o := range s.Owners {
		zone.Owners[o.Name] = o.Owner
	}
	if len(s.Fixed) > 0 {
		zone.Fixed = make(map[record.Key]string, len(s.Fixed))
	}
	for _, f := range s.Fixed {
		zone.Fixed[f.Key] = f.What
	}
	return zone
}
