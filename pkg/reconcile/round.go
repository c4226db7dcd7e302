package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// How many calls a round may make: more than its plan can need, so that only a
// provider which never shows what it accepted comes so far.
const (
	callsPerChange = 4
	spareCalls     = 100
)

// round brings the zone to the wanted state: list, plan, one call, list again.
type round struct {
	*worker
	work     engine.Work
	orders   Orders
	began    time.Duration // boot time at which the work was taken up
	report   Report
	snapshot *provider.Snapshot
	follows  bool                  // snapshot was not listed: it is the list before, plus what was written
	ahead    *provider.Snapshot    // what the next step goes by instead of a list; nil lists
	current  plan.Plan             // against snapshot
	calls    int                   // sent in this round
	refused  map[record.Key]int    // by record set: refusals in a row
	accepted map[record.Change]int // how often each change was sent and accepted
	unclear  int                   // calls in a row whose outcome only the list could tell
	aside    map[record.Key]error  // record sets that this round gave up
	full     map[record.Key]error  // record sets whose last add was refused because nothing more fits in
	denied   denied
}

func (w *worker) newRound(work engine.Work, orders Orders) *round {
	return &round{
		worker: w, work: work, orders: orders, began: w.options.Clock.Boot(), report: Report{Zone: w.zone.Name},
		refused: map[record.Key]int{}, accepted: map[record.Change]int{}, aside: map[record.Key]error{}, full: map[record.Key]error{}, denied: denied{},
	}
}

func (w *worker) round(ctx context.Context, work engine.Work, orders Orders) Report {
	r := w.newRound(work, orders)
	r.report.Err = r.run(ctx)
	if r.report.Final = r.current; r.snapshot != nil {
		r.report.Rival = r.rival(r.snapshot.Stamps, r.heldNow())
	}
	return r.report
}

func (r *round) run(ctx context.Context) error {
	if err := r.shut(ctx); err != nil {
		return err
	}
	if err := r.plan(ctx); err != nil {
		return err
	}
	r.report.Plan = r.current
	r.work.Limits = passed(r.work.Limits, r.current)
	for {
		more, err := r.advance(ctx)
		if err != nil {
			return err
		}
		if !more && !r.follows {
			break // else it ends by a list, never by what was only worked out
		}
		if err := r.settle(ctx); err != nil {
			return err
		}
		if err := r.plan(ctx); err != nil {
			return err
		}
	}
	r.verify(ctx)
	return r.givenUp()
}

// shut is the error of a node that may not write, whose plan the last list is good
// enough for: nothing will rest on it, and a new one is made only where that was asked
// for. Without a list yet there is no plan to tell of, and the round goes on to list.
func (r *round) shut(ctx context.Context) error {
	err := r.gate(r.deadline())()
	if err == nil {
		return nil
	}
	if r.orders.look {
		r.tell(r.look(ctx))
	}
	if r.seen == nil || r.orders.asked || r.lease != nil && r.lease.claimable() {
		return nil
	}
	r.report.Seen, r.current = r.seen, r.work.Plan(*r.seen)
	r.report.Plan = r.current
	if !r.pending() {
		return nil // in sync: that is to be said of a list made now
	}
	return err
}

// passed keeps a plan that was approved by its checksum approved while it is
// carried out, although what is left of it has another checksum.
func passed(l plan.Limits, p plan.Plan) plan.Limits {
	if l.Plan == "" || l.Plan != p.Checksum() {
		return l
	}
	override := map[string]bool{plan.GuardMaxChanges: true}
	maps.Copy(override, l.Override)
	l.Override = override
	return l
}

// settle waits before a list that could be a ground for nothing: one inside the
// lag of a provider that compares, where the next call has to carry the stamp of
// the last.
func (r *round) settle(ctx context.Context) error {
	wait := r.doubt.zoneListed() - r.options.Clock.Boot()
	if wait <= 0 || r.ahead != nil || r.orders.OnlyAdd || !r.zone.Adapter.Promises().Fenced {
		return nil
	}
	return r.pause(ctx, wait, "the last write may not be in the list yet")
}

// plan lists the zone and plans the work against the list, or against what the
// adapter knows of it after a write that was accepted.
func (r *round) plan(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("reconcile zone %s: %w", r.zone.Name, err)
	}
	snapshot := r.ahead
	r.ahead, r.follows = nil, snapshot != nil
	if snapshot == nil {
		var err error
		if snapshot, err = r.relist(ctx); err != nil {
			return err
		}
		r.watch(snapshot)
	}
	seen := r.zoneOf(snapshot)
	r.snapshot, r.seen, r.report.Seen = snapshot, &seen, &seen
	r.current = r.work.Plan(seen)
	return nil
}

// advance does the one thing that is next, and reports whether there may be
// another after a new list. Newer work is let in after each call, not before the
// first: however fast it comes, something is written.
func (r *round) advance(ctx context.Context) (more bool, err error) {
	if r.calls > 0 && r.newer() {
		return false, fmt.Errorf("reconcile zone %s: %w", r.zone.Name, ErrGaveWay)
	}
	if r.pending() || r.takesOver() {
		if err := r.hold(ctx); err != nil {
			return false, err
		}
	}
	if r.pending() { // hold may have listed anew
		return r.call(ctx)
	}
	return r.awaitList(ctx)
}

// takesOver reports whether the stamp is to be taken over, although there may be no
// other reason to write. In a zone that is frozen it stays, and that is what stops the
// round, unless the stamp is the lease, which no freeze is about.
func (r *round) takesOver() bool {
	switch rival := r.rival(r.snapshot.Stamps, r.heldNow()); {
	case !r.orders.TakeOver:
		return false
	case r.lease != nil:
		return true
	case rival == nil:
		return false
	default:
		key := record.Key{Zone: r.zone.Name}
		detail, frozen := r.work.Limits.Frozen[key]
		if frozen {
			r.current.Blocked = append(r.current.Blocked, plan.Blocked{
				Guard: plan.GuardFreeze, Key: key, Detail: fmt.Sprintf("the zone is not taken over from %s: %s", rival.Holder, detail),
			})
		}
		return !frozen
	}
}

// pending reports whether a change is left that neither a guard stops nor this
// round gave up.
func (r *round) pending() bool {
	return slices.ContainsFunc(r.current.Sets, func(s plan.Set) bool {
		return r.aside[s.Key()] == nil && len(r.denied.open(s)) > 0
	})
}

// call sends the next call of the first record set that has one, or else waits
// for the first that may have one.
func (r *round) call(ctx context.Context) (more bool, err error) {
	now := r.options.Clock.Boot()
	on := footing{promises: r.zone.Adapter.Promises(), doubt: r.doubt, now: now, follows: r.follows, full: r.full, denied: r.denied}
	var wait step
	for _, s := range r.current.Sets {
		if r.aside[s.Key()] != nil {
			continue
		}
		next := on.next(s)
		if r.orders.OnlyAdd {
			next = next.onlyAdds()
		}
		if !next.empty() {
			return true, r.send(ctx, s, next)
		}
		if full := r.full[s.Key()]; full != nil && next.wait == 0 {
			r.aside[s.Key()] = r.noRoom(s, full)
		}
		if next.wait > 0 && (wait.wait == 0 || next.wait < wait.wait) {
			wait = next
		}
	}
	if wait.wait == 0 && !r.pending() {
		return true, nil
	}
	if wait.wait == 0 {
		r.report.Detail = "what is left takes something away or has to wait, and only adds were asked for"
		return false, nil
	}
	return true, r.pause(ctx, wait.wait-now, wait.why)
}

// awaitList waits until the list shows every write, because a round must not
// end by a list that may show what was before them.
func (r *round) awaitList(ctx context.Context) (more bool, err error) {
	wait := r.doubt.zoneListed() - r.options.Clock.Boot()
	if wait <= 0 || r.orders.OnlyAdd {
		return false, nil
	}
	return true, r.pause(ctx, wait, "the last write may not be in the list yet")
}

// pause waits until a call may be sent. Newer work for the zone does not wait
// with it: the round ends, and the worker takes the newer work up.
func (r *round) pause(ctx context.Context, wait time.Duration, why string) error {
	r.tellWait(wait, why)
	r.setPause(r.options.Clock.Boot()+wait, why)
	defer r.setPause(0, "")
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("reconcile zone %s: stopped while waiting (%s): %w", r.zone.Name, why, ctx.Err())
		case <-r.wake:
			if r.newer() {
				return fmt.Errorf("reconcile zone %s: %w while waiting: %s", r.zone.Name, ErrGaveWay, why)
			}
		}
	}
}

// tellWait says once between two writes that time has to pass.
func (r *round) tellWait(wait time.Duration, why string) {
	if r.waited {
		return
	}
	r.waited = true
	r.log.Info("waiting before the next write", "for", wait.Round(time.Millisecond).String(), "because", why)
	if r.options.Waits != nil {
		r.options.Waits(Wait{Zone: r.zone.Name, For: wait, Why: why})
	}
}

// setsError holds the errors of the record sets that a round gave up.
type setsError struct{ errs []error }

func (e *setsError) Error() string {
	var lines []string
	for _, err := range e.errs {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "; ")
}

func (e *setsError) Unwrap() []error { return e.errs }

// givenUp is the error of a round that gave record sets up, nil when it did
// not.
func (r *round) givenUp() error {
	var errs []error
	for _, s := range r.current.Sets {
		if err := r.aside[s.Key()]; err != nil {
			errs = append(errs, err)
		}
		errs = append(errs, r.denied.errs(s)...)
	}
	if len(errs) == 0 {
		return nil
	}
	return &setsError{errs}
}

// gateClosed reports whether the gate let a call not through.
func gateClosed(err error) bool { return errors.Is(err, ErrNotLeader) }
