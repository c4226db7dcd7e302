package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sidestep/pkg/lease"
	"sidestep/pkg/lease/zone"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// stampLease is the lease of a zone whose stamp is that lease: what the zone's
// worker knows of it. The worker alone looks and writes; others ask.
type stampLease struct {
	zone record.Name
	node string // who we are

	mu     sync.Mutex
	watch  *zone.Watch
	broken error         // the provider was found not to compare: nothing can be a lease there
	unseen error         // the last look at the stamp failed
	untook error         // the provider did not take the last stamp of this process, although the zone was nobody else's
	latest string        // nonce of the last stamp that was accepted
	shown  time.Duration // boot time from which every list shows it
}

func newStampLease(of Zone, node string) *stampLease {
	if of.Lease == (zone.Times{}) {
		return nil
	}
	return &stampLease{zone: of.Name, node: node, watch: zone.NewWatch(of.Lease)}
}

func (l *stampLease) times() zone.Times {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watch.Times()
}

// retime goes by other times from now on, if any are said. What a list shows by those
// before may not be shown by these.
func (l *stampLease) retime(now time.Duration, times zone.Times) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if times == (zone.Times{}) || times == l.watch.Times() {
		return
	}
	l.watch.Retime(times)
	l.shown = max(l.shown, now+times.Lag)
}

func (l *stampLease) view() zone.View {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watch.View()
}

// leads reports whether the zone may be believed to be this process's.
func (l *stampLease) leads(now time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken == nil && l.watch.Leads(now)
}

// claimable reports whether the stamps of the last look may be replaced.
func (l *stampLease) claimable() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken == nil && l.watch.View().Claimable()
}

// look takes the stamps of a list or of a look. One that may show what was before
// the last write tells nothing.
func (l *stampLease) look(began, ended time.Duration, stamps []provider.Stamp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if began < l.shown && !l.isLatest(stamps) {
		return
	}
	seen := make([]zone.Stamp, 0, len(stamps))
	for _, s := range stamps {
		seen = append(seen, zone.Stamp{Text: s.String(), Nonce: s.Nonce, Holder: s.Holder, At: s.At, Released: s.Released})
	}
	l.watch.Look(began, ended, seen)
}

func (l *stampLease) isLatest(stamps []provider.Stamp) bool {
	return l.latest != "" && slices.ContainsFunc(stamps, func(s provider.Stamp) bool { return s.Nonce == l.latest })
}

// behind is the boot time until which a list with these stamps may lack the last
// write; 0 when it shows it.
func (l *stampLease) behind(stamps []provider.Stamp) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isLatest(stamps) {
		return 0
	}
	return l.shown
}

func (l *stampLease) tried(nonce string, now time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch.Tried(nonce, now)
}

// outcome takes what became of a write that carried a stamp. Of one whose outcome
// is not known the next look tells.
func (l *stampLease) outcome(nonce string, now time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.watch.Accepted(nonce)
		l.latest, l.shown, l.untook = nonce, now+l.watch.Times().Lag, nil
	case !gateClosed(err) && provider.ClassOf(err) == provider.FencedOut:
		l.void()
	}
}

// drop ends what is believed: the stamp is let go of.
func (l *stampLease) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.void()
}

func (l *stampLease) void() {
	l.watch.Refused()
	l.latest = "" // and no list tells anything before the last write must be in it
}

// fail says that the provider does not compare; nil, that it is not known not to.
func (l *stampLease) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = err
}

// unsaid takes how a look at the stamp ended, and reports whether that is news.
func (l *stampLease) unsaid(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := (err == nil) != (l.unseen == nil)
	l.unseen = err
	return news
}

// refused takes why the provider did not take a stamp: nobody was faster.
func (l *stampLease) refused(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.untook = err
}

// gate is the error of a zone that is not this process's, as far as it knows.
func (l *stampLease) gate(now time.Duration, wall time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	if l.watch.Leads(now) {
		return nil
	}
	err := l.judge(now, wall)
	if l.unseen != nil {
		return fmt.Errorf("%w; the last look at the stamp failed: %s", err, l.unseen.Error())
	}
	return err
}

// judge says in an error whose the zone is.
func (l *stampLease) judge(now time.Duration, wall time.Time) error {
	switch v := l.watch.View(); v.Whose {
	case zone.Others, zone.Stale:
		return &lease.HeldError{Holder: l.holder(v, wall), Hint: l.hint(v, now, wall)}
	case zone.Foreign:
		return strangeStamp(l.zone, v.Text)
	case zone.Mine, zone.Free:
		return fmt.Errorf("%w: the stamp of zone %s is not known to be this node's, and is looked at before the next write", lease.ErrLost, l.zone)
	default:
		return fmt.Errorf("the stamp of zone %s was not read yet", l.zone)
	}
}

// holder names a holder and how old its stamp is, by both nodes' wall clocks.
func (l *stampLease) holder(v zone.View, wall time.Time) string {
	text := v.Holder
	if text == l.node {
		text = "another process of this node's own name, " + text
	}
	if age := wall.Sub(v.At); !v.At.IsZero() && age >= 0 {
		text += fmt.Sprintf(" (its stamp is %s old)", age.Round(time.Second))
	}
	return text
}

// hint says where to go on. That the zone can be taken by force is no advice while its
// holder renews the stamp: only a holder that missed that may be gone. How old a stamp
// is counts as well as how long this process has seen it, since a command has just come;
// by that it is only said, not done.
func (l *stampLease) hint(v zone.View, now time.Duration, wall time.Time) string {
	times := l.watch.Times()
	silent := now - v.Since
	if !v.At.IsZero() {
		silent = max(silent, wall.Sub(v.At))
	}
	if silent <= times.Heartbeat+times.Deadline() {
		return fmt.Sprintf("it leads, and renews its stamp every %s: say it there, or end sidestep there, which releases the zone at once", times.Heartbeat)
	}
	left := max(0, v.Since+times.Takeover-now).Round(time.Second)
	return fmt.Sprintf("a daemon that stands by takes over when the stamp stays as it is for another %s; at once: sidestep reconcile --take-over", left)
}

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

// claimLease replaces the stamps that were seen by one of this process.
func (w *worker) claimLease(ctx context.Context, fencer provider.Fencer, seen *provider.Snapshot) error {
	next := w.stamp()
	err := w.sendClaim(ctx, fencer, seen, next)
	if err == nil {
		w.wroteStamp(next)
	}
	w.lease.outcome(next.Nonce, w.options.Clock.Boot(), err)
	if err != nil && !gateClosed(err) && provider.ClassOf(err) != provider.FencedOut {
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
