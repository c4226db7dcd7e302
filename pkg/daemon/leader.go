package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/file"
	"sidestep/pkg/lease/none"
	"sidestep/pkg/store"
)

// leader is this node's hold on the lease, as the reconciler's gate sees it.
type leader struct {
	lease lease.Lease
	node  string

	mu   sync.Mutex
	held lease.Held // nil while this node is not the leader
	why  error      // why it is not
}

// errReadOnly is why a shadow does not write.
var errReadOnly = errors.New("started with --read-only")

func newLeader(c *config.Config, readOnly bool, clk clock.Clock, log *slog.Logger) *leader {
	l := &leader{node: c.Node.Name, why: errors.New("the lease was not won yet")}
	if c.Leader.Lock == config.LockNone {
		l.lease = none.New()
	} else {
		l.lease = file.New(file.Options{Dir: c.State.Dir, Node: c.Node.Name, Clock: clk, Logger: log})
	}
	if readOnly {
		l.why = errReadOnly
	}
	return l
}

// Gate is the last question before each call: may this node write for so long?
func (l *leader) Gate(call time.Duration) error {
	held, why := l.get()
	if held == nil {
		return why
	}
	return held.Gate(call)
}

// Epoch counts leaderships where the lock counts them.
func (l *leader) Epoch() uint64 {
	held, _ := l.get()
	if held == nil {
		return 0
	}
	return held.Epoch()
}

func (l *leader) leads() bool {
	held, _ := l.get()
	return held != nil
}

func (l *leader) get() (lease.Held, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held, l.why
}

func (l *leader) set(held lease.Held, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.why = held, why
}

// lead tries to win the lease, holds it, and tries again when it was lost.
func (d *Daemon) lead(ctx context.Context) error {
	if d.options.ReadOnly {
		<-ctx.Done()
		return nil
	}
	for ctx.Err() == nil {
		held := d.win(ctx)
		if held == nil || !d.reign(ctx, held) {
			return nil // stopped
		}
		d.log.Error("no longer the leader: the lease was lost")
		d.journalLeader("lost")
		d.disk.close()
		d.leader.set(nil, errors.New("the lease was lost"))
	}
	return nil
}

// confirmLease is how often a leader that writes nothing asks for its lease. A
// lock file that was replaced is noticed by nobody else, and until it is, two
// processes save into one directory.
const confirmLease = 10 * time.Second

// reign lasts until the lease is lost; false when ctx ended first. Once no call
// of an earlier process can be open any more, the notes are believed again.
func (d *Daemon) reign(ctx context.Context, held lease.Held) bool {
	notes, quiet := d.becomeLeader(held)
	for _, zone := range zonesOf(d.options.Config) {
		d.writer.Look(zone)
	}
	var trust <-chan time.Time
	if notes != nil && !quiet {
		trust = time.After(d.writer.Quiet())
	}
	again := time.NewTicker(confirmLease)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-held.Lost():
			return true
		case <-again.C:
			if err := held.Gate(0); !errors.Is(err, lease.ErrLost) { // else Lost is closed
				d.errors.note("confirm the lease", err)
			}
		case <-trust:
			d.errors.note("trust the notes", notes.Trust())
		}
	}
}

// retryLease is how often a standby asks again, beside what the lock itself
// waits.
const retryLease = time.Second

// win waits until the lease is won; it is nil when ctx ended first.
func (d *Daemon) win(ctx context.Context) lease.Held {
	holder := ""
	for {
		attempt, cancel := context.WithTimeout(ctx, retryLease)
		held, err := d.leader.lease.Acquire(attempt)
		cancel()
		if err == nil {
			d.errors.note("win the lease", nil)
			return held
		}
		if ctx.Err() != nil {
			return nil
		}
		d.leader.set(nil, err)
		other, standby := errors.AsType[*lease.HeldError](err)
		switch {
		case !standby:
			d.errors.note("win the lease", err)
		case other.Holder != holder:
			holder = other.Holder
			d.log.Info("standby", "holder", holder)
		}
		if !wait(ctx, retryLease) {
			return nil
		}
	}
}

// becomeLeader opens the state directory and then the gate. Whether anything is
// in doubt is known from the notes, which are read now, because until now
// another process may have written them; they are nil when nothing can be
// written.
func (d *Daemon) becomeLeader(held lease.Held) (notes *store.Notes, quiet bool) {
	open := 0
	if notes = d.openState(); notes != nil {
		pending, trusted := notes.Pending()
		open, quiet = len(pending), trusted && len(pending) == 0
		d.writer.Lead(notes, quiet)
	} else {
		d.writer.Lead(nil, false)
	}
	d.leader.set(held, nil)
	first := ""
	if wait := d.writer.Doubt(); !quiet && wait > 0 {
		first = fmt.Sprintf("nothing is taken away for %s, until what another process may have sent is beyond doubt", wait)
	}
	d.log.Info("leader", "node", d.leader.node, "open_calls", open, "first", first)
	d.journalLeader("won")
	return notes, quiet
}

func (d *Daemon) journalLeader(what string) {
	d.journal("leader", struct {
		Node string `json:"node"`
		What string `json:"what"`
	}{d.leader.node, what})
}

// release shuts the gate and lets go of the lease.
func (l *leader) release(ctx context.Context) error {
	held, _ := l.get()
	if held == nil {
		return nil
	}
	l.set(nil, errors.New("stopped"))
	return held.Release(ctx)
}

// status is what people are told of the leader.
func (l *leader) status(now engine.Now) control.Leader {
	held, why := l.get()
	other, standby := errors.AsType[*lease.HeldError](why)
	switch {
	case held != nil:
		out := control.Leader{State: "leader", Holder: l.node}
		if until, ends := held.Until(); ends {
			at := now.Wall.Add(until - now.Boot)
			out.Until = &at
		}
		return out
	case standby:
		return control.Leader{State: "standby", Holder: other.Holder, Detail: why.Error()}
	}
	return control.Leader{State: "none", Detail: fmt.Sprint(why)}
}

// wait sleeps; false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
