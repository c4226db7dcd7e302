package drill

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/observe"
	"sidestep/pkg/override"
	"sidestep/pkg/record"
)

// Daemon is what a rehearsal asks of the daemon. A *control.Client is one.
type Daemon interface {
	Status(ctx context.Context, name string) (control.Status, error)
	Override(ctx context.Context, request control.OverrideRequest) (control.Overruled, error)
	ClearOverride(ctx context.Context, request control.ClearRequest) (control.Overruled, error)
}

// Options are what is rehearsed, and how it is watched.
type Options struct {
	Daemon Daemon
	Zone   record.Name
	Watch  observe.Options // its Name and Type are those of the record set; Keep is set by the rehearsal
	// For is the longest time that the drained site stays out, and the end of the
	// override; 0 works it out from the TTL.
	For time.Duration
	// Hold is how long a failback is held back, by the config, and ByHand whether a
	// person has to say yes to it.
	Hold   time.Duration
	ByHand bool

	DryRun bool // say what would be done, and do nothing
	// Progress is told how far it is; nil for nobody.
	Progress func(string)
	// Notice is told once of each thing that happens on a way: that a clock has moved,
	// and that the daemon does not answer any more; nil for nobody.
	Notice func(string)

	restoreWithin time.Duration // how long a daemon that does not answer is asked to take the drain back; 0 is 30 s
}

// Plan is what a rehearsal does, worked out before anything is touched.
type Plan struct {
	Zone   record.Name
	Name   record.Name
	Type   record.Type
	Policy string
	Target string        // what is drained: a site, or an answer
	Site   string        // empty when it is an answer alone
	Value  string        // the leading answer, which goes out
	Before []string      // the live answers, to which the name comes back
	During []string      // those that carry the name meanwhile
	Also   []Moved       // other record sets that the same drain moves
	TTL    time.Duration // as the name servers tell it
	For    time.Duration // after which the override ends by itself
	Hold   time.Duration // how long the failback is held back
	ByHand bool          // a person has to say yes to the failback
	Every  time.Duration // between two looks, which is how exact the times are
	Reason string        // of the override, by which it is known
}

// Moved is a record set that moves as well.
type Moved struct {
	Name record.Name
	Type record.Type
	Out  []string
	Live []string // meanwhile
}

// Report is what came of a rehearsal.
type Report struct {
	Plan

	DryRun    bool
	Until     time.Time // when the override would have ended by itself; zero when none was set
	Out, Back *Way      // nil when it did not come to that
	Restored  bool      // the drain is taken back; also when it had ended by itself
	Left      string    // what is left in force, and what to do; empty for nothing
	Still     string    // what the name still answers with at the end, and when it returns; empty once it is back
	Stopped   string    // why it ended before its time; empty when it did not
	Next      string    // the command that brings the answer back where a guard stops that at the end; empty where none does
	NotTested []string
}

// Held reports whether the name went and came back as it should, with no request
// lost. Of a dry run it says that nothing stands in the way.
func (r *Report) Held() bool {
	if r.DryRun {
		return true
	}
	return r.Restored && r.Stopped == "" && r.Out.held() && r.Back.held()
}

// ErrLeft says that a drain may be in force though the rehearsal did not begin.
var ErrLeft = errors.New("a drain may be left")

// rehearsal is one under way.
type rehearsal struct {
	o       Options
	plan    Plan
	waiting time.Duration     // how long the zone's writes wait, where the provider cannot compare
	backend map[string]string // who answers at an address; empty without an identity
	blocked []control.Blocked // what a guard kept out before; it stops nothing else
	report  *Report
}

const (
	shortestEvery = 100 * time.Millisecond
	longestEvery  = time.Second
	margin        = time.Minute // over the TTLs that a way needs
	restoreWithin = 30 * time.Second
)

// Run rehearses a failover of one record set through the daemon: it drains what
// leads, watches until every clock shows the others, takes the drain back, and
// watches the way back.
//
// It refuses, with a *control.Error, where that would hurt: what is left is not
// healthy or serves nothing, the zone is frozen, this node may not write, the name is
// not settled, guard max_writes would not let everything come back. Once the drain is
// set it is always taken back: when all have moved, when the time is over, when the
// rest fails, when the context ends. A process that dies before that leaves an
// override that ends by itself.
//
// What it finds is in the report; an error says that there is none.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &rehearsal{o: o, backend: map[string]string{}}
	if err := r.choose(ctx); err != nil {
		return nil, err
	}
	r.o.Watch.Keep = addressOf(r.plan.Value)
	err := observe.Watch(r.o.Watch, func(w *observe.Watcher) error { return r.play(ctx, w) })
	return r.report, err
}

func (r *rehearsal) play(ctx context.Context, w *observe.Watcher) error {
	r.progress("looking at the name as it is")
	first, err := r.prove(ctx, w)
	if err != nil {
		return err
	}
	r.report = &Report{Plan: r.plan, DryRun: r.o.DryRun, NotTested: r.notTested()}
	if r.o.DryRun {
		return nil
	}
	if err := r.drain(ctx); err != nil {
		if r.report.Left != "" {
			err = fmt.Errorf("%w: %w; %s", ErrLeft, err, r.report.Left)
		}
		r.report = nil
		return err
	}
	r.report.Out = newWay(Out, &r.plan, first)
	r.report.Stopped = r.watchOut(ctx, w)
	r.restore(ctx)
	if ctx.Err() == nil && r.report.Left == "" { // else it does not come back, or nobody waits for it
		r.report.Back = newBack(r.report.Out, &r.plan, first)
		stopped := r.watchBack(ctx, w)
		r.report.Stopped = cmp.Or(r.report.Stopped, stopped)
	}
	r.report.Still = r.stillOut()
	return nil
}

func (r *rehearsal) progress(format string, args ...any) {
	if r.o.Progress != nil {
		r.o.Progress(fmt.Sprintf(format, args...))
	}
}

// newReason is a reason that no other override has, so that a rehearsal knows its
// own.
func newReason(name record.Name) (string, error) {
	id := make([]byte, 4)
	if _, err := rand.Read(id); err != nil {
		return "", fmt.Errorf("drill %s: %w", name.Unrooted(), err)
	}
	return fmt.Sprintf("drill %s (%s)", name.Unrooted(), hex.EncodeToString(id)), nil
}

// drain sets the override. One that is kept though it cannot do its work is taken
// back.
func (r *rehearsal) drain(ctx context.Context) error {
	r.progress("draining %s", r.plan.Target)
	answer, err := r.o.Daemon.Override(ctx, r.request(false))
	if err != nil {
		r.restore(ctx) // that it may have been kept cannot be told from here
		return err
	}
	if answer.Override != nil && answer.Override.Until != nil {
		r.report.Until = *answer.Override.Until
	}
	if answer.Exit != control.ExitDone {
		r.restore(ctx)
		return r.refuse(answer.Exit, "see what changed: sidestep plan", "since it was looked at, something came in the way; the drain was taken back")
	}
	return nil
}

func (r *rehearsal) request(dryRun bool) control.OverrideRequest {
	return control.OverrideRequest{
		Kind: string(override.Drain), Target: r.plan.Target, For: r.plan.For.String(), Reason: r.plan.Reason, DryRun: dryRun,
	}
}

// restore takes the drain back, and no other: also when the context has ended, and
// for a while when the daemon does not answer.
func (r *rehearsal) restore(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(r.o.restoreWithin, restoreWithin))
	defer cancel()
	r.progress("taking the drain of %s back", r.plan.Target)
	for {
		err := r.clear(ctx)
		if err == nil {
			r.report.Restored = true
			return
		}
		select {
		case <-time.After(r.plan.Every):
		case <-ctx.Done():
			r.report.Left = fmt.Sprintf("the drain of %s could not be taken back (%v); it ends by itself %s; to end it now: sidestep undrain %s",
				r.plan.Target, err, endWords(r.report.Until), r.plan.Target)
			return
		}
	}
}

func endWords(until time.Time) string {
	if until.IsZero() {
		return "in time"
	}
	return "at " + until.UTC().Format(time.RFC3339)
}

// clear takes the own drain back if it is there still. That of somebody else, who
// drained the same target meanwhile, stays.
func (r *rehearsal) clear(ctx context.Context) error {
	status, err := r.o.Daemon.Status(ctx, string(r.plan.Name))
	if err != nil {
		return err
	}
	if r.own(status) == nil {
		if other := r.otherDrain(status); other != nil {
			r.report.Left = fmt.Sprintf("%s was drained by %s meanwhile (%s), which stays", r.plan.Target, other.By, other.Reason)
		}
		return nil
	}
	_, err = r.o.Daemon.ClearOverride(ctx, control.ClearRequest{Target: r.plan.Target, Kind: string(override.Drain)})
	return err
}

// own is the rehearsal's own override; nil when it is gone.
func (r *rehearsal) own(status control.Status) *control.Override {
	for _, o := range status.Overrides {
		if o.Kind == string(override.Drain) && o.Reason == r.plan.Reason {
			return &o
		}
	}
	return nil
}

func (r *rehearsal) otherDrain(status control.Status) *control.Override {
	for _, o := range status.Overrides {
		if o.Kind == string(override.Drain) && o.Target == r.plan.Target && o.Reason != r.plan.Reason {
			return &o
		}
	}
	return nil
}

// ofDrill is the reason of a rehearsal's override.
var ofDrill = regexp.MustCompile(`^drill \S+ \([0-9a-f]{8}\)$`)

// leftDrain is the drain of another rehearsal that bears on the name; nil for none.
func (r *rehearsal) leftDrain(status control.Status) *control.Override {
	set := r.set(status)
	for _, o := range status.Overrides {
		bears := set != nil && slices.ContainsFunc(set.Answers, func(a control.Answer) bool { return o.Target == a.Value || a.Site != "" && o.Target == a.Site })
		if bears && o.Kind == string(override.Drain) && o.State == "in force" && ofDrill.MatchString(o.Reason) {
			return &o
		}
	}
	return nil
}

// notTested is what a rehearsal of this kind says nothing about.
func (r *rehearsal) notTested() []string {
	var list []string
	if r.o.Watch.Request == nil {
		list = append(list, "requests and connections: none were made, as no URL is known; give --url")
	} else {
		list = append(list, "the connections that your users keep: they stay where they are until their client or server lets go of them")
		if r.o.Watch.Request.Identity.IsZero() {
			list = append(list, "which backend answered behind an address: no --identity was given")
		}
	}
	if r.o.Watch.Request != nil && r.o.Watch.Request.Via == nil {
		list = append(list, "gateways and proxies between your users and the servers (--via)")
	}
	if len(r.plan.Also) > 0 {
		list = append(list, "the other names that moved with it: they were not watched")
	}
	return append(list,
		"other resolvers than the one that was asked: some stretch a TTL",
		"whether the rest carries the load of all: a drain moves it, so watch the rest yourself",
		"the time until a failure is noticed: a drain needs no probe (sidestep explain NAME has the thresholds)",
		"an outage of the provider, of the name servers or of sidestep meanwhile",
		"that a name which does not exist is kept by caches as well (sidestep drill --local)",
	)
}
