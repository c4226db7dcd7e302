package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
)

// worker writes one zone. Everything but the slot and the doubts belongs to
// the goroutine that calls run.
type worker struct {
	options *Options
	zone    Zone
	log     *slog.Logger
	doubt   *doubts
	mine    map[string]uint64 // nonces of stamps that this process wrote or tried to, with their seq
	seq     uint64
	proved  bool // the fence was put to the proof by this process

	mu    sync.Mutex
	notes Notes         // nil keeps none
	slot  *job          // what waits
	wake  chan struct{} // holds one token while slot is filled
}

// job is a piece of work for a zone; without work it is a look.
type job struct {
	work *engine.Work
	done []chan<- Report
}

func newWorker(r *Reconciler, zone Zone) *worker {
	return &worker{
		options: &r.options,
		zone:    zone,
		log:     r.options.Logger.With("zone", string(zone.Name)),
		doubt:   newDoubts(r.options.Clock.Boot(), zone.Adapter.Promises()),
		mine:    map[string]uint64{},
		wake:    make(chan struct{}, 1),
	}
}

// submit fills the slot. Those who wait for older work get the newer one's
// report, because that is what became of it.
func (w *worker) submit(j job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slot != nil {
		if j.work == nil {
			j.work = w.slot.work
		}
		j.done = append(slices.Clone(w.slot.done), j.done...)
	}
	w.slot = &j
	w.nudge()
}

func (w *worker) setNotes(notes Notes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = notes
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
	j := w.slot
	w.slot = nil
	return j
}

// run carries out what the slot holds, and again after a pause that grows
// while it fails.
func (w *worker) run(ctx context.Context) {
	pause := w.options.Retry.Base
	var again *job
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			w.abandon(again)
			return
		case <-w.wake:
		case <-retry:
			w.submitOld(*again)
		}
		j := w.take()
		if j == nil {
			continue
		}
		report := w.serve(ctx, *j)
		switch {
		case report.Err != nil:
			if j.work != nil || again == nil {
				again = &job{work: j.work}
			}
			retry = time.After(w.pauseAfter(report.Err, pause))
			pause = min(2*pause, w.options.Retry.Max)
		case j.work != nil || again != nil && again.work == nil:
			again, retry = nil, nil
			pause = w.options.Retry.Base
		}
	}
}

// submitOld puts work that failed back, unless newer work waits.
func (w *worker) submitOld(j job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slot == nil {
		w.slot = &j
	}
}

// pauseAfter is how long to wait before the next try: at once the longest
// pause where only a person can help, and never shorter than the provider
// asked for.
func (w *worker) pauseAfter(err error, pause time.Duration) time.Duration {
	if provider.ClassOf(err) == provider.Permanent {
		pause = w.options.Retry.Max
	}
	var e *provider.Error
	if errors.As(err, &e) {
		return max(w.options.Retry.Jitter(pause), e.After)
	}
	return w.options.Retry.Jitter(pause)
}

func (w *worker) abandon(j *job) {
	waiting := []*job{j, w.take()}
	for _, j := range waiting {
		if j == nil {
			continue
		}
		for _, done := range j.done {
			done <- Report{Zone: w.zone.Name, Err: context.Canceled}
		}
	}
}

// serve runs one round and tells everybody how it ended.
func (w *worker) serve(ctx context.Context, j job) Report {
	var report Report
	if j.work == nil {
		report = w.look(ctx)
	} else {
		report = w.round(ctx, *j.work)
	}
	if w.options.Report != nil {
		w.options.Report(report)
	}
	for _, done := range j.done {
		done <- report
	}
	return report
}

// look lists the zone and changes nothing.
func (w *worker) look(ctx context.Context) Report {
	report := Report{Zone: w.zone.Name, Look: true}
	snapshot, err := w.list(ctx)
	if err != nil {
		report.Err = err
		return report
	}
	seen := zoneOf(snapshot)
	report.Seen = &seen
	return report
}

// listAttempts is how often a list is tried before its error counts.
const listAttempts = 3

// list reads the zone, again while the error is one that may pass, all of it
// within the provider's deadline for a call: an error that takes long to come is
// not waited for three times.
func (w *worker) list(ctx context.Context) (*provider.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, w.zone.Adapter.Promises().Call)
	defer cancel()
	backoff := w.options.Retry
	backoff.Attempts = listAttempts
	var snapshot *provider.Snapshot
	err := backoff.Retry(ctx, func(ctx context.Context) (err error) {
		snapshot, err = w.zone.Adapter.List(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, line := range snapshot.Skipped {
		w.log.Debug("record skipped", "record", line)
	}
	return snapshot, nil
}
