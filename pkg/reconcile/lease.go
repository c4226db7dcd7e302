package reconcile

import (
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
