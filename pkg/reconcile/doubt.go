package reconcile

import (
	"maps"
	"sync"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// doubts remembers, for one zone, what a list cannot show: which values a call
// whose outcome is open may still change, and which writes the list may miss
// because the provider shows the past. It is memory that safety rests on only
// in one direction: what it forgets in a crash comes back as doubt about
// everything.
type doubts struct {
	quiet  time.Duration // lateness and lag together
	lag    time.Duration
	safety time.Duration // how long after the start of a leadership a call of the leader before may take effect
	fresh  time.Duration // so much longer, where that may have started later than the lock tells

	mu     sync.Mutex
	all    time.Duration              // boot time until which every value is in doubt
	begun  time.Duration              // boot time before which a list may miss the last write of a process before
	calls  map[valueKey]time.Duration // by value: boot time until which an open call may still change it
	writes map[valueKey]time.Duration // by value: boot time before which a list may miss its last write
	listed time.Duration              // boot time before which a list may miss the last write to the zone
}

type valueKey struct {
	key   record.Key
	value string
}

// newDoubts begins with everything in doubt.
func newDoubts(now time.Duration, p provider.Promises) *doubts {
	d := &doubts{
		quiet: p.Quiet(), lag: p.Lag,
		calls: map[valueKey]time.Duration{}, writes: map[valueKey]time.Duration{},
	}
	d.begin(now, false, 0)
	return d
}

// begin is the start of a leadership: with everything in doubt, unless no
// call of a process before can be open; even then a list may not show yet
// what that process did last. Open calls of this process stay in doubt whatever
// is known of others. fresh lengthens the doubt.
func (d *doubts) begin(now time.Duration, quiet bool, fresh time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fresh = fresh
	d.begun = now + d.lag
	d.listed = max(d.listed, d.begun)
	if d.all = now + d.start(); quiet {
		d.all = 0
	}
}

// start is how long the doubt lasts that a leadership begins with: until what the
// leader before may have sent took effect, and a list shows it.
func (d *doubts) start() time.Duration { return max(d.quiet, d.safety+d.fresh+d.lag) }

// retime goes by other bounds from now on. What was beyond doubt by those before may
// not be by these, so that everything is in doubt once more.
func (d *doubts) retime(now time.Duration, p provider.Promises, safety time.Duration) {
	d.mu.Lock()
	same, fresh := d.quiet == p.Quiet() && d.lag == p.Lag && d.safety == safety, d.fresh
	d.quiet, d.lag, d.safety = p.Quiet(), p.Lag, safety
	d.mu.Unlock()
	if !same {
		d.begin(now, false, fresh)
	}
}

// lead is how long a leadership begins with doubts.
func (d *doubts) lead() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.start()
}

// clear ends every doubt about open calls: in a zone that compares and swaps
// the stamp is ours, and the next call makes the provider refuse every older
// one.
func (d *doubts) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = 0
	clear(d.calls)
}

// doubtAll puts everything in doubt, because a call that may have changed
// anything is open.
func (d *doubts) doubtAll(now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = now + d.quiet
}

// ambiguous puts the values of a call in doubt that may still take effect.
func (d *doubts) ambiguous(now time.Duration, changes []plan.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	mark(d.calls, now, now+d.quiet, changes)
}

// wrote notes that a call was accepted: for the length of the lag a list may
// not show it.
func (d *doubts) wrote(now time.Duration, changes []plan.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed = now + d.lag
	mark(d.writes, now, now+d.lag, changes)
}

// mark sets the end of every value that the changes touch, and forgets what is
// over.
func mark(ends map[valueKey]time.Duration, now, end time.Duration, changes []plan.Change) {
	maps.DeleteFunc(ends, func(_ valueKey, at time.Duration) bool { return at <= now })
	for _, c := range changes {
		ends[valueKey{c.Key, c.Value}] = end
		if c.From != "" {
			ends[valueKey{c.Key, c.From}] = end
		}
	}
}

// zoneListed is the boot time from which a list shows every write to the zone.
func (d *doubts) zoneListed() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.listed
}

// setListed is the boot time from which a list shows every write to a record
// set.
func (d *doubts) setListed(key record.Key) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(d.begun, latest(d.writes, key))
}

// valueListed is the boot time from which a list shows the last write of a
// value.
func (d *doubts) valueListed(key record.Key, value string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes[valueKey{key, value}]
}

// beginListed is the boot time from which a list shows every write of a process
// before this one.
func (d *doubts) beginListed() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun
}

// allOpen is the boot time until which a call of a process before this one may
// still change anything.
func (d *doubts) allOpen() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all
}

// valueOpen is the boot time until which an open call of this process may still
// change a value.
func (d *doubts) valueOpen(key record.Key, value string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[valueKey{key, value}]
}

// doubtful reports whether a value may still be taken out by an open call.
func (d *doubts) doubtful(key record.Key, value string, now time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return now < d.all || now < d.calls[valueKey{key, value}]
}

// until is the boot time at which the last doubt about a record set ends.
func (d *doubts) until(key record.Key) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(d.all, latest(d.calls, key))
}

// quietAt is the boot time from which no older call can take effect.
func (d *doubts) quietAt() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := d.all
	for _, at := range d.calls {
		end = max(end, at)
	}
	return end
}

func latest(ends map[valueKey]time.Duration, key record.Key) time.Duration {
	end := time.Duration(0)
	for v, at := range ends {
		if v.key == key {
			end = max(end, at)
		}
	}
	return end
}

// open counts the values that an open call of this process may still change.
func (d *doubts) open(now time.Duration) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, at := range d.calls {
		if now < at {
			n++
		}
	}
	return n
}
