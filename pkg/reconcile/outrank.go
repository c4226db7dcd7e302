package reconcile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sidestep/pkg/lease"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// sight is what the lists show of a zone's stamps, and under which leadership.
type sight struct {
	text  string
	since time.Duration // boot time since when they are known to stay as they are
	under lease.Term    // of this process, when they were first seen
	term  lease.Term    // of this process
	begun time.Duration // boot time at which it was first known of
	later error         // they are of a later leader than this process was then; nil when they are not
}

// within takes the leadership of this process, and returns since when the stamps
// stay as they are in its time.
func (s *sight) within(term lease.Term, now time.Duration) time.Duration {
	if term != s.term {
		s.term, s.begun = term, now
	}
	return max(s.since, s.begun)
}

// OutrankedError says that a leader which came after this one has written a zone:
// this one is a leader no more, though its lease does not say so yet.
type OutrankedError struct {
	Zone   record.Name
	Holder string // the later leader
	Epoch  uint64 // its own
	Own    uint64 // ours
}

// Error names the later leader.
func (e *OutrankedError) Error() string {
	return fmt.Sprintf("lead zone %s: expected to be its last leader, with epoch %d of this etcd, and its stamp is of %s with epoch %d, a later one; this node steps down and queues for the lease anew",
		e.Zone, e.Own, e.Holder, e.Epoch)
}

// see takes the stamps of a list, and ends a leadership that they prove to be over.
func (w *worker) see(ctx context.Context, stamps []provider.Stamp) {
	w.mu.Lock()
	w.unknown = w.strange(stamps)
	w.mu.Unlock()
	var texts []string
	for _, s := range stamps {
		texts = append(texts, s.String())
	}
	own, now := w.options.Leader.Term(), w.options.Clock.Boot()
	w.sight.within(own, now)
	if text := strings.Join(texts, "\n"); text != w.sight.text {
		w.sight.text, w.sight.since, w.sight.under = text, now, own
	}
	if w.sight.later = w.outranked(stamps, own); w.sight.later != nil && w.options.StepDown != nil {
		w.options.StepDown(ctx, own, w.sight.later)
	}
}

// outranked is the error of a leader in whose time a later one's stamp came into
// the zone. One that was there before this one won its lease is not a later one's,
// whatever its epoch: the etcd counts anew.
func (w *worker) outranked(stamps []provider.Stamp, own lease.Term) error {
	for _, s := range stamps {
		if w.another(s) && SharesLock(own, s) && s.Epoch > own.Epoch && w.sight.under == own {
			return &OutrankedError{Zone: w.zone.Name, Holder: s.Holder, Epoch: s.Epoch, Own: own.Epoch}
		}
	}
	return nil
}

// another reports whether a stamp is of another process that led by an etcd, where
// this one does, too.
func (w *worker) another(s provider.Stamp) bool {
	return w.options.Leader.Term().Cluster != 0 && s.Cluster != 0 && !s.Released && !w.past[s.Nonce]
}

// silence is the boot time from which another's stamp may be replaced whose epoch
// cannot be compared with ours, and why; 0 for at once.
func (w *worker) silence(stamps []provider.Stamp) (until time.Duration, why string) {
	own := w.options.Leader.Term()
	for _, s := range stamps {
		switch {
		case !w.another(s), SharesLock(own, s) && s.Epoch <= own.Epoch:
			continue
		case SharesLock(own, s):
			why = fmt.Sprintf("the stamp is of %s with epoch %d, and this etcd, of the same id, has only come to %d: it was built anew or restored", s.Holder, s.Epoch, own.Epoch)
		default:
			why = fmt.Sprintf("the stamp is of %s, which led %s", s.Holder, LedBy(own, s))
		}
		since := w.sight.within(own, w.options.Clock.Boot())
		return since + w.options.Belief, fmt.Sprintf("%s; it is taken over when it stays as it is for %s", why, lease.Short(w.options.Belief))
	}
	return 0, ""
}

// outsit waits until the listed stamps may be replaced as far as their epochs go,
// and reports whether it had to.
func (r *round) outsit(ctx context.Context) (waited bool, err error) {
	if r.sight.later != nil {
		return false, &closedError{r.sight.later}
	}
	until, why := r.silence(r.snapshot.Stamps)
	wait := until - r.options.Clock.Boot()
	switch {
	case wait <= 0, r.orders.TakeOver:
		return false, nil
	case r.orders.OnlyAdd:
		return false, fmt.Errorf("claim zone %s: %s", r.zone.Name, why)
	}
	return true, r.pause(ctx, wait, why)
}

// strange is the error of stamps of which one is of a version that is not known
// here; nil when none is.
func (w *worker) strange(stamps []provider.Stamp) error {
	for _, s := range stamps {
		if s.Nonce == "" {
			return strangeStamp(w.zone.Name, s.String())
		}
	}
	return nil
}

// Strange is the error of a zone that nobody writes to, since the last list of its
// worker shows a stamp of a version that is not known here; nil where it shows none.
func (r *Reconciler) Strange(zone record.Name) error {
	w, found := r.workers[zone]
	if !found {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unknown
}

// strangeStamp is the error of a zone with a stamp that this version does not know:
// nobody here knows what may be written beside it.
func strangeStamp(zone record.Name, text string) error {
	return fmt.Errorf("the stamp of zone %s is of a version that this sidestep does not know, %q; run the version that wrote it, or delete the TXT record %s by hand",
		zone, text, zone.Below(provider.StampLabel))
}
