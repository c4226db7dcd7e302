package reconcile

import (
	"time"

	"sidestep/pkg/lease/zone"
	"sidestep/pkg/record"
)

// Leadership is how a node stands to a zone whose stamp is the lease.
type Leadership struct {
	Leads  bool
	Holder string        // the other node; empty when there is none
	Until  time.Duration // boot time until which Leads may be believed; else from which another's stamp may be taken over; 0 for neither
	Seen   time.Duration // boot time of the last sign that somebody leads; 0 for none
	Why    error         // it does not lead
	Unseen error         // the last look at the stamp failed
	Untook error         // the zone is nobody else's, and the provider did not take this process's stamp
}

// Leadership tells how this node stands to a zone; false where its stamp is not the
// lease.
func (r *Reconciler) Leadership(name record.Name) (Leadership, bool) {
	if w, found := r.workers[name]; found && w.lease != nil {
		return w.leadership(), true
	}
	return Leadership{}, false
}

func (w *worker) leadership() Leadership {
	now, wall := w.options.Clock.Boot(), w.options.Clock.Wall()
	v := w.lease.view()
	out := Leadership{Holder: v.Holder, Until: v.Until, Why: w.lease.gate(now, wall)}
	out.Leads = out.Why == nil
	if out.Leads || v.Whose == zone.Others {
		out.Seen = v.Since
	}
	w.lease.mu.Lock()
	defer w.lease.mu.Unlock()
	if out.Unseen = w.lease.unseen; v.Claimable() {
		out.Untook = w.lease.untook
	}
	return out
}

// Lead says how a node stood to a zone whose stamp is the lease, and how it stands
// now.
type Lead struct {
	Zone    record.Name
	Was, Is Leadership
}

// tellLead tells of a zone that was won or lost, and of another holder.
func (w *worker) tellLead() {
	now := w.leadership()
	if w.options.Led == nil || now.Leads == w.told.Leads && now.Holder == w.told.Holder {
		w.told = now
		return
	}
	was := w.told
	w.told = now
	w.options.Led(Lead{Zone: w.zone.Name, Was: was, Is: now})
}
