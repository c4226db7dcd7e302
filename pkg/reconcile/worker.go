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

	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// worker writes one zone. Everything but what mu guards and the doubts belongs to
// the goroutine that calls run, which alone changes the adapter of the zone, under
// mu.
type worker struct {
	options    *Options
	zone       Zone
	log        *slog.Logger
	doubt      *doubts
	breaker    *breaker
	lease      *stampLease       // nil where the stamp is not the lease
	tended     time.Duration     // boot time of the last look at the stamp between rounds; 0 before the first
	unlisted   bool              // the adapter has not listed the zone yet, which may be another one of its name
	listing    time.Duration     // how long the last list took
	barred     bool              // the process might not write at all then
	told       Leadership        // that Options.Led was told last
	sight      sight             // the stamps of the last list
	mine       map[string]uint64 // nonces of stamps that this process wrote or tried to, with their seq
	past       map[string]bool   // the same, those too that can no longer be in force
	held       bool              // this process held the zone's stamp at some time since it leads
	seq        uint64
	proved     bool                             // the fence was put to the proof by this process
	noteless   bool                             // the last note could not be stored
	waited     bool                             // a wait was told of, and nothing was written since
	unverified map[record.Key]time.Duration     // written, at this boot time last, and the name servers were not asked yet
	late       *late                            // name servers that have not said that they have the last write; nil for none
	behind     map[string]map[record.Key]behind // by address of a name server: what it was not seen to have
	runs       bool                             // in run, which asks the name servers between rounds
	found      []Server                         // the name servers that were found last
	foundAt    time.Duration                    // boot time at which that was
	vanish     vanishing
	seen       *plan.Zone // the zone as a round or a look saw it last

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

// job is a piece of work for a zone; without work it is a look.
type job struct {
	work   *engine.Work // nil for a look alone
	look   bool         // a list was asked for as well
	orders Orders       // TakeOver in it says nothing: that is of those who wait
	done   []waiter
}

// waiter is somebody who waits for what becomes of a job.
type waiter struct {
	done     chan<- Report
	gone     <-chan struct{} // closed when nobody waits there any more
	takeOver bool
}

func (w waiter) waits() bool {
	select {
	case <-w.gone:
		return false
	default:
		return true
	}
}

// attended is a job without those who wait no more. What a person allowed is for
// the round that was waited for: it is never carried out later, when nobody looks.
func (j job) attended() job {
	j.done = slices.DeleteFunc(slices.Clone(j.done), func(w waiter) bool { return !w.waits() })
	if len(j.done) == 0 {
		return j.alone()
	}
	return j
}

// alone is a job for which nobody waits.
func (j job) alone() job {
	if j.orders.Again != nil {
		j.work = j.orders.Again
	}
	return job{work: j.work, look: j.look, orders: Orders{OnlyAdd: j.orders.OnlyAdd}}
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

// submit fills the slot.
func (w *worker) submit(j job) {
	w.mu.Lock()
	ended := w.ended
	if !ended {
		w.slot = merge(w.slot, j)
		w.nudge()
	}
	w.mu.Unlock()
	if ended {
		w.cancel(&j)
	}
}

// putBack returns a job whose work is not done, behind whatever came
// meanwhile.
func (w *worker) putBack(j job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	newer := w.slot
	w.slot = &j
	if newer != nil {
		w.slot = merge(&j, *newer)
	}
	w.nudge()
}

// merge is what is left to do of two jobs: the newer work, because the older
// is out of date, and for those who wait for either its report, because that
// is what became of it.
func merge(older *job, newer job) *job {
	if older == nil {
		return &newer
	}
	merged := job{
		work:   newer.work,
		look:   older.look || newer.look || older.work == nil || newer.work == nil,
		orders: newer.orders,
		done:   slices.Concat(older.done, newer.done),
	}
	if newer.work == nil {
		merged.work, merged.orders = older.work, older.orders
	}
	return &merged
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

// nudge wakes the worker for what its slot holds.
func (w *worker) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *worker) take() *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slot == nil {
		return nil
	}
	j := w.slot.attended()
	w.slot = nil
	return &j
}

// run carries out what the slot holds. What fails is put back after the pause of
// the breaker; newer work does not wait for it. What failed because this node may
// not write is put back when it may: until then a list would tell nobody anything.
func (w *worker) run(ctx context.Context) {
	w.runs = true
	var failed *job // what to do again when retry comes
	var retry <-chan time.Time
	var why error // it failed
	for {
		select {
		case <-w.tending():
			if w.tend(ctx) {
				w.submit(job{}) // the zone may not be what it was
				if failed != nil {
					w.putBack(*failed)
					failed, retry = nil, nil
				}
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
			w.putBack(*failed)
			failed, retry = nil, nil
			continue
		case <-w.wake:
		}
		if w.heed() && failed != nil {
			w.putBack(*failed)
			failed, retry = nil, nil
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
			again := merge(failed, j.alone())
			why = report.Err
			failed, retry = again, time.After(w.breaker.failed(w.options.Clock.Boot(), report.Err, report.Seen != nil))
		case j.work != nil || failed != nil && failed.work == nil:
			failed, retry = nil, nil
			w.breaker.answered()
		}
	}
}

// end tells those who wait that nothing will come of it.
func (w *worker) end() {
	w.mu.Lock()
	left := w.slot
	w.slot, w.ended = nil, true
	w.mu.Unlock()
	if left != nil {
		w.cancel(left)
	}
}

func (w *worker) cancel(j *job) {
	for _, waiter := range j.done {
		waiter.done <- Report{Zone: w.zone.Name, Err: fmt.Errorf("reconcile zone %s: stopped: %w", w.zone.Name, context.Canceled)}
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

func (w *worker) tell(report Report) {
	if w.options.Report != nil {
		w.options.Report(report)
	}
}

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

// deadline is how long a call may take that changes something: what the adapter
// asks for, and never longer than the lease lets a call be sure of.
func (w *worker) deadline() time.Duration {
	call := w.zone.Adapter.Promises().Call
	if w.options.Call > 0 {
		call = min(call, w.options.Call)
	}
	return call
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
