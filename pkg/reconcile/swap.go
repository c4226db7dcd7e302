package reconcile

import (
	"fmt"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Swap gives a zone another adapter, and other servers to ask: a credential was
// replaced, or another of its settings, by which its bounds and the times of its lease
// may be others. It has to edit the same zone. Its worker
// takes it up between two rounds, at once when it waits, and asks it at once,
// whatever pause the one before had earned. Doubts, stamps and notes are about the
// zone and stay; whether the fence holds is proved anew.
func (r *Reconciler) Swap(zone Zone) {
	if w, found := r.workers[zone.Name]; found {
		w.urge(&zone)
	}
}

// Hasten lets a zone whose last round failed be tried now. Of any other it asks
// nothing.
func (r *Reconciler) Hasten(zone record.Name) {
	if w, found := r.workers[zone]; found && w.breaker.failing() {
		w.urge(nil)
	}
}

// urge leaves word for the worker, and a look, for which a round that waits gives
// way.
func (w *worker) urge(next *Zone) {
	w.mu.Lock()
	w.urgent = true
	if next != nil {
		w.next = next
	}
	w.mu.Unlock()
	w.submit(job{})
}

// heed does what urge left word of, and reports whether what failed is to be tried
// now.
func (w *worker) heed() bool {
	w.mu.Lock()
	next, urgent := w.next, w.urgent
	w.next, w.urgent = nil, false
	if next != nil {
		w.zone.Adapter, w.zone.Servers, w.zone.NoDNS, w.zone.Find = next.Adapter, next.Servers, next.NoDNS, next.Find
	}
	w.mu.Unlock()
	if next != nil {
		w.proved, w.unlisted = false, true
		w.late, w.found = nil, nil
		clear(w.behind)
		if w.lease != nil {
			w.lease.fail(nil)
			w.lease.retime(w.options.Clock.Boot(), next.Lease)
		}
		w.doubt.retime(w.options.Clock.Boot(), next.Adapter.Promises(), next.Safety)
	}
	if urgent {
		w.breaker.answered()
	}
	return urgent
}

// adapter is the zone's as it is now, for those who are not the worker.
func (w *worker) adapter() provider.Adapter {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.zone.Adapter
}

// sameZone refuses the list of a zone that has the name and is another one, or may
// be, which a credential of another account may find.
func (w *worker) sameZone(s *provider.Snapshot) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.id != "" && s.ID != w.id {
		e := provider.Failf(provider.Permanent, "list zone "+string(w.zone.Name), "", "the credential finds another zone of this name: expected %s, got %s", w.id, s.ID)
		e.Hint = fmt.Sprintf("give it the right to the zone %s; if the other one is meant, restart sidestep", w.id)
		if s.ID == "" {
			e = provider.Failf(provider.Retryable, "list zone "+string(w.zone.Name), "", "it cannot be told whether the new credential finds the zone that the one before did, %s", w.id)
			e.Hint = "give it the right to describe the zone too; if it is the one that is meant, restart sidestep"
		}
		return e
	}
	if s.ID != "" {
		w.id = s.ID
	}
	return nil
}
