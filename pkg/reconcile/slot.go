package reconcile

import (
	"context"
	"fmt"
	"slices"

	"sidestep/pkg/engine"
)

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

// newer reports whether newer work waits in the slot.
func (w *worker) newer() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slot != nil
}
