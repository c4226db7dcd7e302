package reconcile

import (
	"sync"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// doubts remembers, for one zone, which values an open call may still take
// out of the answer. It is memory that safety rests on only in one direction:
// what it forgets in a crash comes back as doubt about everything.
type doubts struct {
	mu     sync.Mutex
	quiet  time.Duration // lateness and lag together
	lag    time.Duration
	all    time.Duration // boot time until which every value is in doubt
	values map[valueKey]time.Duration
	listed time.Duration // boot time before which a list may miss the last write
}

type valueKey struct {
	key   record.Key
	value string
}

// newDoubts begins with everything in doubt.
func newDoubts(now time.Duration, p provider.Promises) *doubts {
	return &doubts{quiet: p.Quiet(), lag: p.Lag, all: now + p.Quiet(), values: map[valueKey]time.Duration{}}
}

// begin is the start of a leadership: with everything in doubt, unless no call
// of a process before can be open.
func (d *doubts) begin(now time.Duration, quiet bool) {
	if quiet {
		d.clear()
		return
	}
	d.doubtAll(now)
}

// clear ends every doubt: a provider that compares and swaps has accepted a
// claim, which makes it refuse every older call.
func (d *doubts) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all, d.listed = 0, 0
	clear(d.values)
}

// doubtAll puts everything in doubt, because a call that may have changed
// anything is open.
func (d *doubts) doubtAll(now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = now + d.quiet
}

// ambiguous puts the values of a call in doubt that may still take effect.
func (d *doubts) ambiguous(now time.Duration, key record.Key, changes []record.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range changes {
		d.values[valueKey{key, c.Value}] = now + d.quiet
		if c.From != "" {
			d.values[valueKey{key, c.From}] = now + d.quiet
		}
	}
}

// wrote notes that a call ended: for the length of the lag a list may not show
// it.
func (d *doubts) wrote(now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed = now + d.lag
}

func (d *doubts) listedUntil() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.listed
}

// doubtful reports whether a value may still be taken out by an open call.
func (d *doubts) doubtful(key record.Key, value string, now time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return now < d.all || now < d.values[valueKey{key, value}]
}

// pending is the boot time until which an open call may still change a value.
func (d *doubts) pending(key record.Key, value string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.values[valueKey{key, value}]
}

// until is when the last doubt ends; now when there is none.
func (d *doubts) until(now time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := max(now, d.all)
	for key, at := range d.values {
		if at <= now {
			delete(d.values, key)
		}
		end = max(end, at)
	}
	return end
}

// open counts the values that an open call may still change; all of them count
// as one.
func (d *doubts) open(now time.Duration) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	if now < d.all {
		n++
	}
	for _, at := range d.values {
		if now < at {
			n++
		}
	}
	return n
}
