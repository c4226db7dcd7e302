package schedule

import (
	"cmp"
	"strings"
	"time"

	"sidestep/pkg/check"
)

// entry is what the schedule knows of one target. It is guarded by the lock
// of its Schedule.
type entry struct {
	spec       *check.Spec
	target     check.Target
	phase      time.Duration
	due        time.Duration // the next slot
	notBefore  time.Duration // no probe before that boot time; zero holds nothing back
	generation int           // goes up when results that are under way no longer count
	hasten     time.Duration // an earlier due time, which waits until the entry is not busy; 0 for none
	place      int           // in the heap
	busy       bool          // waiting for a worker, running, or not handed over yet
	removed    bool          // no longer a job, kept until its last probe is over
}

// dueHeap has the entry with the earliest slot first; equal slots go by target,
// so that a run can be repeated.
type dueHeap []*entry

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	a, b := h[i].target, h[j].target
	return cmp.Or(strings.Compare(a.Check, b.Check), strings.Compare(a.Address, b.Address)) < 0
}
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push is for container/heap, which nothing here uses to add one entry: Set
// builds the whole heap.
func (h *dueHeap) Push(x any) {
	if e, ok := x.(*entry); ok {
		e.place = len(*h)
		*h = append(*h, e)
	}
}

// Pop is for container/heap.
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
