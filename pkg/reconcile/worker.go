package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// worker writes one zone. Everything but what mu guards and the doubts belongs to
// the goroutine that calls run, which alone changes the adapter of the zone, under
// mu.
type worker struct {
	options *Options
	zone    Zone
	log     *slog.Logger
	doubt   *doubts
	breaker *breaker

	// Of the lists.
	unlisted bool          // the adapter has not listed the zone yet, which may be another one of its name
	listing  time.Duration // how long the last list took
	seen     *plan.Zone    // the zone as a round or a look saw it last
	vanish   vanishing

	// Of the stamp.
	lease  *stampLease       // nil where the stamp is not the lease
	tended time.Duration     // boot time of the last look at the stamp between rounds; 0 before the first
	barred bool              // the process might not write at all then
	told   Leadership        // that Options.Led was told last
	sight  sight             // the stamps of the last list
	mine   map[string]uint64 // nonces of stamps that this process wrote or tried to, with their seq
	past   map[string]bool   // the same, those too that can no longer be in force
	held   bool              // this process held the zone's stamp at some time since it leads
	seq    uint64
	proved bool // the fence was put to the proof by this process

	// Of the writes.
	noteless bool // the last note could not be stored
	waited   bool // a wait was told of, and nothing was written since

	// Of the name servers.
	runs       bool                             // in run, which asks them between rounds
	unverified map[record.Key]time.Duration     // written, at this boot time last, and they were not asked yet
	late       *late                            // those that have not said that they have the last write; nil for none
	behind     map[string]map[record.Key]behind // by address: what it was not seen to have
	found      []Server                         // those that were found last
	foundAt    time.Duration                    // boot time at which that was

	mu       sync.Mutex
	notes    Notes                          // nil keeps none
	slot     *job                           // what waits
	wake     chan struct{}                  // holds one token while slot is filled
	letGo    chan letGo                     // taken between two rounds
	sets     int                            // record sets in the last list
	stamped  bool                           // it had a stamp
	id       string                         // the zone's own at the provider, where lists tell it
	next     *Zone                          // what takes the place of zone between two rounds; nil for nothing
	urgent   bool                           // what failed is to be tried now
	until    time.Duration                  // boot time until which a round waits; 0 while none does
	why      string                         // it does
	ended    bool                           // nobody will take the slot any more
	lost     map[record.Key][]record.Answer // of vanish, for others; read-only once here
	unknown  error                          // the last list shows a stamp of a version that is not known here
	panicked bool                           // the adapter did, and its stack was logged
	anew     bool                           // it leads since, and another process may have led before
}

func newWorker(r *Reconciler, zone Zone) *worker {
	w := &worker{
		options:    &r.options,
		zone:       zone,
		log:        r.options.Logger.With("zone", string(zone.Name)),
		doubt:      newDoubts(r.options.Clock.Boot(), zone.Adapter.Promises()),
		breaker:    newBreaker(r.options.Retry),
		lease:      newStampLease(zone, r.options.Node),
		unlisted:   true,
		mine:       map[string]uint64{},
		past:       map[string]bool{},
		unverified: map[record.Key]time.Duration{},
		behind:     map[string]map[record.Key]behind{},
		vanish:     newVanishing(),
		wake:       make(chan struct{}, 1),
		letGo:      make(chan letGo),
	}
	w.doubt.retime(r.options.Clock.Boot(), zone.Adapter.Promises(), zone.Safety)
	return w
}

func (w *worker) setNotes(notes Notes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = notes
}

// leadAnew is the start of a leadership. A process of our own name that led meanwhile
// is no second one that lives.
func (w *worker) leadAnew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.anew = true
}

// heedTurn forgets of a leadership before what the next one must not go by.
func (w *worker) heedTurn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = w.held && !w.anew
	w.anew = false
}

func (w *worker) getNotes() Notes {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.notes
}

// run carries out what the slot holds. What fails is put back after the pause of
// the breaker; newer work does not wait for it. What failed because this node may
// not write is put back when it may: until then a list would tell nobody anything.
func (w *worker) run(ctx context.Context) {
	w.runs = true
	var failed *job // what to do again when retry comes
	var retry <-chan time.Time
	var why error // it failed
	again := func() {
		if failed != nil {
			w.putBack(*failed)
		}
		failed, retry = nil, nil
	}
	for {
		select {
		case <-w.tending():
			if w.tend(ctx) {
				w.submit(job{}) // the zone may not be what it was
				again()
			}
			continue
		case l := <-w.letGo:
			l.done <- w.release(l.ctx)
			continue
		case <-w.lateDue():
			w.chase(ctx)
			continue
		case <-ctx.Done():
			w.end()
			return
		case <-retry:
			if gateClosed(why) && w.gate(w.deadline())() != nil {
				retry = time.After(w.breaker.failed(w.options.Clock.Boot(), why, false))
				continue
			}
			again()
			continue
		case <-w.wake:
		}
		if w.heed() {
			again()
		}
		j := w.take()
		if j == nil {
			continue
		}
		report := w.serve(ctx, *j)
		switch {
		case errors.Is(report.Err, ErrGaveWay):
			w.putBack(*j)
		case report.Err != nil:
			failed, why = merge(failed, j.alone()), report.Err
			retry = time.After(w.breaker.failed(w.options.Clock.Boot(), why, report.Seen != nil))
		case j.work != nil || failed != nil && failed.work == nil:
			failed, retry = nil, nil
			w.breaker.answered()
		}
	}
}

// serve runs one round and tells everybody how it ended, except those who wait
// for work that gave way to newer. What fails once this process is to end may
// have failed by that, whatever its error says: it is no word about the zone.
func (w *worker) serve(ctx context.Context, j job) Report {
	var report Report
	if j.work == nil {
		report = w.look(ctx)
	} else {
		orders := j.orders
		orders.asked, orders.look = len(j.done) > 0, j.look
		orders.TakeOver = slices.ContainsFunc(j.done, func(w waiter) bool { return w.takeOver })
		report = w.round(ctx, *j.work, orders)
	}
	if report.Err != nil && ctx.Err() != nil && !errors.Is(report.Err, context.Canceled) {
		report.Err = fmt.Errorf("reconcile zone %s: stopped: %w: %w", w.zone.Name, context.Canceled, report.Err)
	}
	if w.lease != nil {
		w.tellLead()
	}
	w.tell(report)
	if !errors.Is(report.Err, ErrGaveWay) {
		for _, waiter := range j.done {
			waiter.done <- report
		}
	}
	return report
}

// tell hands a report to who wants each of them.
func (w *worker) tell(report Report) {
	if w.options.Report != nil {
		w.options.Report(report)
	}
}

// deadline is how long a call may take that changes something: what the adapter
// asks for, and never longer than the lease lets a call be sure of.
func (w *worker) deadline() time.Duration {
	call := w.zone.Adapter.Promises().Call
	if w.options.Call > 0 {
		call = min(call, w.options.Call)
	}
	return call
}

// safely calls the adapter and survives its panic: the adapter of one zone must
// not end the probing and the writing of all others. class is what can be said
// of a call that was cut off in this way.
func (w *worker) safely(class provider.Class, op string, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.logPanic(op, p)
			err = provider.Failf(class, fmt.Sprintf("%s zone %s", op, w.zone.Name), "panic", "the adapter panicked, which is a bug: %v", p)
		}
		if what, _, _ := strings.Cut(op, " "); w.options.Called != nil && !gateClosed(err) {
			w.options.Called(Call{Zone: w.zone.Name, What: what, Err: err})
		}
	}()
	return call()
}

// logPanic logs the stack of the first panic; the others are in the errors.
func (w *worker) logPanic(op string, p any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.panicked {
		w.log.Error("the adapter panicked, please report this", "during", op, "panic", p, "stack", string(debug.Stack()))
	}
	w.panicked = true
}
