package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/zone"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Leader says whether this node may write. Gate is asked last before each
// call, with the longest that the call may take; its error stops the call. Term
// goes into the stamps; its zero value is that of no leader.
// Both are safe for concurrent use.
type Leader interface {
	Gate(call time.Duration) error
	Term() lease.Term
}

// Notes are kept by the store: one is written durably before each call to a
// provider without compare-and-swap, and cleared after its definite answer.
type Notes interface {
	Open(id string, data json.RawMessage) error
	Close(id string) error
}

// Ask asks one authoritative server over the DNS and returns the values that
// it answers with, sorted. Several servers are asked side by side.
type Ask func(ctx context.Context, server string, key record.Key) ([]string, error)

// Find finds the authoritative name servers of a zone, by its NS records.
type Find func(ctx context.Context, zone record.Name) ([]Server, error)

// Zone is one zone to be written.
type Zone struct {
	Name    record.Name
	Adapter provider.Adapter
	Servers []string   // who is asked after a write, ADDR:PORT; empty asks those that the adapter knows
	NoDNS   bool       // verify by listing only
	Find    bool       // the NS records lead to name servers that are to be asked, where Servers is empty
	Lease   zone.Times // the zone's stamp is the lease, by these times; the zero value leaves that to Options.Leader

	// Safety is how long after Lead a call of a leader before may still take effect,
	// where the lock lets a process write that does not know of its end; 0 for not
	// at all.
	Safety time.Duration

	Dead string // one of Servers that only the daemon of this config serves, which does not run; empty for none
}

// Options is what a Reconciler needs.
type Options struct {
	Zones    []Zone
	Node     string
	Clock    clock.Clock
	Leader   Leader
	Call     time.Duration // no call is given longer, whatever the adapter asks for; 0 is no limit
	Handover bool          // nodes of several hosts share the lock: the stamp of one of them is that of a leader before

	// Belief is how long a leader may go on believing in a lease that our lock does not
	// know of: its stamp, whose epoch cannot be compared with ours, is taken over when it
	// stayed as it is for so long, and where our lock itself is new, doubts last so much
	// longer.
	Belief time.Duration

	// Known reports whether a node of that name was heard among those that share the
	// lock; safe for concurrent use. nil knows of none.
	Known    func(node string) bool
	Ask      Ask  // nil verifies by listing only
	Find     Find // nil asks only servers that are known
	Retry    provider.Backoff
	Report   func(Report)       // called from the zones' workers, by each after the other
	Verified func(Verification) // called from the zones' workers, after the Report of a round that nobody waited for or whose name servers lagged
	Called   func(Call)         // called after each call to an adapter that was not stopped by the gate, from many goroutines
	Wrote    func(Write)        // called after each call to a provider that may have changed something
	Led      func(Lead)         // called from the zones' workers when a zone whose stamp is the lease was won or lost, or another holds it
	Brief    bool               // the process does not live long enough to see another's stamp stand still
	Waits    func(Wait)         // called before a worker waits for what only time can tell
	Logger   *slog.Logger

	// StepDown ends a leadership whose zone a later leader wrote, before it returns;
	// what has ended already is left alone. nil leaves it to the gate.
	StepDown func(ctx context.Context, term lease.Term, why error)
}

// Orders are what a person may add to work that is asked for by Do.
type Orders struct {
	TakeOver bool // take the stamp over although another node's is fresh
	OnlyAdd  bool // take nothing away and wait for nothing

	// Again is what is tried again when the work failed, or nobody waits for it any
	// more: the same without what a person allowed for once. nil is the work itself.
	Again *engine.Work

	asked bool // somebody waits for the answer, and is told of the zone as it is now
	look  bool // the zone is to be listed, also where nothing may be written
}

// Reconciler writes zones. Its methods are safe for concurrent use.
type Reconciler struct {
	options Options
	workers map[record.Name]*worker
}

// New makes a reconciler. It opens nothing and writes nothing.
func New(options Options) *Reconciler {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Reconciler{options: options, workers: map[record.Name]*worker{}}
	for _, zone := range options.Zones {
		r.workers[zone.Name] = newWorker(r, zone)
	}
	return r
}

// Lead says that this node became the leader. quiet says that no call of a
// process before can still be open: the notes are to be believed and there
// is none. Otherwise every value is in doubt until the provider is quiet.
// notes may be nil; then the next process will know nothing.
func (r *Reconciler) Lead(notes Notes, quiet bool) {
	now, fresh := r.options.Clock.Boot(), time.Duration(0)
	if r.options.Leader.Term().Fresh {
		fresh = r.options.Belief
	}
	for _, w := range r.workers {
		w.setNotes(notes)
		w.leadAnew()
		w.doubt.begin(now, quiet, fresh)
	}
}

// Quiet is when the last zone is beyond the doubt that a start begins with: so
// long after Lead the notes may be believed again.
func (r *Reconciler) Quiet() time.Duration {
	quiet := time.Duration(0)
	for _, w := range r.workers {
		quiet = max(quiet, w.doubt.lead())
	}
	return quiet
}

// Doubt is how long after Lead the last zone may wait before it takes anything
// away. Zones whose provider compares and swaps do not wait: the first claim makes
// it refuse every older call.
func (r *Reconciler) Doubt() time.Duration {
	doubt := time.Duration(0)
	for _, w := range r.workers {
		if p := w.adapter().Promises(); !p.Fenced {
			doubt = max(doubt, w.doubt.lead())
		}
	}
	return doubt
}

// Adapters lists the adapters of all zones, in no order.
func (r *Reconciler) Adapters() []provider.Adapter {
	var list []provider.Adapter
	for _, w := range r.workers {
		list = append(list, w.adapter())
	}
	return list
}

// Run works the zones side by side until ctx ends. A call in hand is finished
// first, within its own deadline.
func (r *Reconciler) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, w := range r.workers {
		group.Go(func() { w.run(ctx) })
	}
	group.Wait()
}

// Submit hands over work, which replaces what waits for the same zone.
func (r *Reconciler) Submit(work engine.Work) {
	if w, found := r.workers[work.Zone]; found {
		w.submit(job{work: &work})
	}
}

// Look asks for a zone to be listed. It never replaces work that waits.
func (r *Reconciler) Look(zone record.Name) {
	if w, found := r.workers[zone]; found {
		w.submit(job{})
	}
}

// Do hands over work and waits for the end of the round that carried it, or newer work
// for the same zone, out. When the work fails, the worker tries it again without the
// orders: what a person allowed is for this call. It needs Run, and after the end of
// Run its error is context.Canceled.
func (r *Reconciler) Do(ctx context.Context, work engine.Work, orders Orders) Report {
	w, found := r.workers[work.Zone]
	if !found {
		return Report{Zone: work.Zone, Err: fmt.Errorf("reconcile zone %s: no such zone", work.Zone)}
	}
	done := make(chan Report, 1)
	w.submit(job{work: &work, orders: orders, done: []waiter{{done, ctx.Done(), orders.TakeOver}}})
	select {
	case report := <-done:
		return report
	case <-ctx.Done():
		return Report{Zone: work.Zone, Err: fmt.Errorf("reconcile zone %s: %w", work.Zone, ctx.Err())}
	}
}

// Once carries work out in the caller's goroutine: one round, of which nothing is
// tried again later. It must not run beside Run.
func (r *Reconciler) Once(ctx context.Context, work engine.Work, orders Orders) Report {
	w, found := r.workers[work.Zone]
	if !found {
		return Report{Zone: work.Zone, Err: fmt.Errorf("reconcile zone %s: no such zone", work.Zone)}
	}
	orders.asked = true
	return w.round(ctx, work, orders)
}

// Plan lists a zone and plans the work, and writes nothing.
func (r *Reconciler) Plan(ctx context.Context, work engine.Work) Report {
	w, found := r.workers[work.Zone]
	if !found {
		return Report{Zone: work.Zone, Err: fmt.Errorf("plan zone %s: no such zone", work.Zone)}
	}
	report := Report{Zone: work.Zone, Look: true}
	snapshot, err := w.list(ctx)
	if err != nil {
		report.Err = err
		return report
	}
	seen := w.zoneOf(snapshot)
	report.Seen, report.Plan = &seen, work.Plan(seen)
	report.Final = report.Plan
	report.Claim, report.Rival = w.claims(snapshot.Stamps, report.Plan), w.rival(snapshot.Stamps, false)
	return report
}

// Release lets go of the stamp of every zone that this process holds, at an
// orderly end, of all zones side by side. It must not run beside Run.
func (r *Reconciler) Release(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(r.workers))
	errs := make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() { errs[i] = r.workers[name].release(ctx) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// LetGo does what Release does while Run goes on: each worker lets go of its stamp
// between two rounds, when the call in hand is finished. Work that comes afterwards
// claims the zone anew. It lasts until ctx ends where that does not come.
func (r *Reconciler) LetGo(ctx context.Context) error {
	errs := make(chan error, len(r.workers))
	for _, w := range r.workers {
		go func() { errs <- w.letGoBetweenRounds(ctx) }()
	}
	var all []error
	for range r.workers {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// Promises says what a zone's provider can do; false when there is no such
// zone.
func (r *Reconciler) Promises(zone record.Name) (provider.Promises, bool) {
	w, found := r.workers[zone]
	if !found {
		return provider.Promises{}, false
	}
	return w.adapter().Promises(), true
}

// OpenCalls counts the values that a call of this process may still change, since
// its outcome is not known yet; none where the provider compares and swaps, since
// there the next call makes it refuse those before. What an earlier process may have
// sent is in Waiting.
func (r *Reconciler) OpenCalls(zone record.Name) int {
	w, found := r.workers[zone]
	if !found || w.adapter().Promises().Fenced {
		return 0
	}
	return w.doubt.open(r.options.Clock.Boot())
}

// Trouble tells of a zone whose API is out of order: how many rounds in a row it
// let fail, and the boot time at which it is asked next; 0 of any other.
func (r *Reconciler) Trouble(zone record.Name) (failures int, next time.Duration) {
	w, found := r.workers[zone]
	if !found {
		return 0, 0
	}
	return w.breaker.tripped()
}
