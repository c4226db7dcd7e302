package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Server is a name server of a zone.
type Server struct {
	Name string // as the zone's NS records have it; empty where only the address is known
	Addr string // ADDR:PORT, which Ask is given
}

// String is the server for people: its name, and where it is asked.
func (s Server) String() string {
	if s.Name == "" {
		return s.Addr
	}
	return s.Name + " " + strings.TrimSuffix(s.Addr, ":53")
}

// Heard is what one name server said after a write.
type Heard struct {
	Server Server
	Agrees bool // it answers as wanted for everything that was written
	// Took is how long after the provider had accepted the last write it did so:
	// by the first asking that found it, no finer than that.
	// What was there when it was first asked took no longer than that asking: the
	// time before it went by in the round.
	Took time.Duration
	// Unmoved is that it agrees with what it had all along: it was never seen to have
	// what was written in between, so that Took says nothing.
	Unmoved bool
	// AtLeast is for how long it was seen not to have this write; 0 when it agrees.
	AtLeast time.Duration
	// Superseded is for how long it was seen not to have an earlier write, until this
	// one took its place; 0 for none.
	Superseded time.Duration
	NoWay      bool   // this machine has no way to it at all, such as to an IPv6 address without IPv6
	Why        string // why it does not agree, in words; empty when it does
}

// ErrNoWay is in the error of an Ask that says of this machine, and not of the
// server, that nothing can be sent there.
var ErrNoWay = errors.New("this machine has no way there")

// inquiry is what is asked after a write, and what came of it so far.
type inquiry struct {
	keys    []record.Key
	since   map[record.Key]time.Duration // boot time at which the last write of it was accepted
	wanted  func(record.Key) []string    // what has to be live
	servers []*hearing
}

// hearing is one server in it. Only one goroutine at a time has it.
type hearing struct {
	server Server
	open   []record.Key // not answered as wanted yet
	took   time.Duration
	err    error // of the last asking; nil once nothing is open

	before  map[record.Key]behind // what it had not shown before this inquiry; only read
	missed  *behind               // of the first that is open: what it said instead; nil before it was asked
	unmoved bool
	given   bool // up: to ask again would tell nothing else
}

// heard is what all servers have said so far.
func (q *inquiry) heard() []Heard {
	var list []Heard
	for _, h := range q.servers {
		one := Heard{Server: h.server, Agrees: len(h.open) == 0, Took: h.took, Unmoved: h.unmoved, NoWay: errors.Is(h.err, ErrNoWay)}
		for _, key := range q.keys {
			if b := h.before[key]; b.since != q.since[key] {
				one.Superseded = max(one.Superseded, b.lag)
			}
		}
		if h.missed != nil {
			one.AtLeast = h.missed.lag
		}
		if h.err != nil {
			one.Why = h.err.Error()
		}
		list = append(list, one)
	}
	return list
}

// open lists what some server has not answered as wanted yet; all of it before any
// was asked. A key may be there more than once.
func (q *inquiry) open() []record.Key {
	if q.servers == nil {
		return q.keys
	}
	var keys []record.Key
	for _, h := range q.servers {
		keys = append(keys, h.open...)
	}
	return keys
}

// excused reports whether a server need not have answered: this machine has no way
// to one of its addresses, and another of its addresses agrees.
func excused(h Heard, list []Heard) bool {
	return h.NoWay && h.Server.Name != "" && slices.ContainsFunc(list, func(o Heard) bool {
		return o.Agrees && o.Server.Name == h.Server.Name
	})
}

// verdict is nil when every server has answered as wanted; else it says which has
// not, and why.
func verdict(list []Heard) error {
	var lines []string
	for _, h := range list {
		if !h.Agrees && !excused(h, list) {
			lines = append(lines, h.Why)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "; "))
}

// together is one error of two that may be nil, on one line.
func together(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// lags reports whether asking again may change the verdict.
func (q *inquiry) lags() bool {
	return slices.ContainsFunc(q.servers, func(h *hearing) bool { return len(h.open) > 0 && !h.given })
}

// askEach asks every server side by side, each by ask, until all of them have
// ended or newer work for the zone comes: then the error is ErrGaveWay.
func (w *worker) askEach(ctx context.Context, q *inquiry, ask func(context.Context, *hearing)) error {
	return w.yielding(ctx, func(ctx context.Context) {
		var group sync.WaitGroup
		for _, h := range q.servers {
			if len(h.open) > 0 && !h.given {
				group.Go(func() { ask(ctx, h) })
			}
		}
		group.Wait()
	})
}

// yielding does something that newer work for the zone cuts short: then its error
// is ErrGaveWay.
func (w *worker) yielding(ctx context.Context, do func(context.Context)) error {
	asking, end := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { w.awaitNewer(asking, end) })
	do(asking)
	gaveWay := errors.Is(context.Cause(asking), ErrGaveWay)
	end(nil)
	watch.Wait()
	if gaveWay {
		return ErrGaveWay
	}
	return nil
}

// awaitNewer ends the asking as soon as newer work waits in the slot. What else the
// worker is woken for, such as another adapter, waits until then.
func (w *worker) awaitNewer(asking context.Context, end context.CancelCauseFunc) {
	woken := false
	for {
		select {
		case <-asking.Done():
			if woken {
				w.nudge()
			}
			return
		case <-w.wake:
			woken = true
			if w.newer() {
				w.nudge()
				end(ErrGaveWay)
				return
			}
		}
	}
}

// askAgain asks one server for all that is open there, again and again, until it
// has answered as wanted or the context ends. Where there is no way it asks once.
func (w *worker) askAgain(ctx context.Context, q *inquiry, h *hearing) {
	for wait := verifyWait; ; wait = min(2*wait, verifyMax) {
		w.askOnce(ctx, q, h)
		if len(h.open) == 0 || h.given || provider.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// askOnce asks one server for the record sets that are open there, one after the
// other, until one is not as wanted.
func (w *worker) askOnce(ctx context.Context, q *inquiry, h *hearing) {
	if h.server.Addr == w.zone.Dead {
		h.err, h.given = fmt.Errorf("not asked: %s is served by the daemon of this config, which does not run", h.server), true
		return
	}
	for len(h.open) > 0 {
		key := h.open[0]
		began := w.options.Clock.Boot()
		got, err := w.options.Ask(ctx, h.server.Addr, key)
		wanted := q.wanted(key)
		if err != nil && !errors.Is(err, ErrNoWay) && w.silent(ctx, began) {
			h.miss(q.since[key], began)
		}
		switch {
		case err != nil && ctx.Err() != nil && h.err != nil:
			return // what it said before says more
		case err != nil:
			h.err, h.given = fmt.Errorf("ask %s for %s: %w", h.server, key, err), errors.Is(err, ErrNoWay)
			return
		case !slices.Equal(got, wanted):
			h.miss(q.since[key], began)
			h.missed.got, h.missed.answered = got, true
			h.err = fmt.Errorf("ask %s for %s: expected %s, got %s", h.server, key, words(wanted), words(got))
			return
		}
		h.open = h.open[1:]
		h.found(key, wanted, q.since[key], began, w.options.Clock.Boot())
	}
	h.err = nil
}

// silentFor is how long a server has to be silent when time is up before that says
// something of it.
const silentFor = 500 * time.Millisecond

// silent reports whether a question without an answer says that the server gave none,
// and not that we did not wait for it.
func (w *worker) silent(ctx context.Context, began time.Duration) bool {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return true
	case errors.Is(cause, context.DeadlineExceeded):
		return w.options.Clock.Boot()-began >= silentFor
	}
	return false
}

func words(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	return strings.Join(values, ", ")
}
