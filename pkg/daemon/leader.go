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
	"sidestep/pkg/lease/etcd"
	"sidestep/pkg/lease/file"
	"sidestep/pkg/lease/none"
	"sidestep/pkg/record"
	"sidestep/pkg/store"
)

// leader is what this process holds, as the reconciler's gate sees it: the state
// directory, which is one process's of this host, and the lease, which says who
// may write to the zones. Who holds the directory saves and keeps the journal,
// whether it leads or not.
type leader struct {
	dir   lease.Lease  // the hold on the state directory
	lease lease.Lease  // between nodes with a directory each; nil where the hold on the directory is the lease
	zoned bool         // each zone's stamp is the lease of that zone: who holds the directory may lead any of them
	end   func() error // ends what the lease has open; nil for nothing
	node  string

	mu   sync.Mutex
	hold lease.Held    // on the directory; nil while another process has it
	held lease.Held    // the lease; nil while this node is not the leader
	told chan struct{} // closed once it is known what persons said at other nodes; nil where nobody waits for that
	deaf func() error  // why what they say is not known now; nil where nobody asks
	why  error         // why it is not
}

// errReadOnly is why a shadow does not write.
var errReadOnly = errors.New("started with --read-only")

func newLeader(c *config.Config, way *etcd.Way, readOnly bool, clk clock.Clock, log *slog.Logger) *leader {
	l := &leader{node: c.Node.Name, why: errors.New("the lease was not won yet")}
	if c.Leader.Lock == config.LockNone {
		l.dir = none.New()
	} else {
		l.dir = file.New(file.Options{Dir: c.State.Dir, Node: c.Node.Name, Clock: clk, Logger: log})
	}
	l.zoned = c.Leader.Lock == config.LockZone
	if readOnly {
		l.why = errReadOnly
	}
	if c.Leader.Lock == config.LockEtcd { // beside the hold on the directory
		shared := etcdLease(c, way, clk, log)
		l.lease, l.end = shared, shared.Close
	}
	return l
}

// Gate is the last question before each call: may this node write for so long?
// Who lost its directory to another process may not, whatever its lease says.
func (l *leader) Gate(call time.Duration) error {
	l.mu.Lock()
	hold, held, why := l.hold, l.held, l.why
	l.mu.Unlock()
	switch {
	case held == nil:
		return why
	case !isClosed(l.told):
		return errUntold
	}
	if l.deaf != nil {
		if err := l.deaf(); err != nil {
			return err
		}
	}
	if hold != nil && hold != held {
		if err := hold.Gate(call); err != nil {
			return err
		}
	}
	return held.Gate(call)
}

// errUntold keeps a new leader from writing against a freeze that it has not heard
// of.
var errUntold = errors.New("what persons said at the other nodes is not known yet")

// isClosed reports whether a channel is closed, or none.
func isClosed(c <-chan struct{}) bool {
	if c == nil {
		return true
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Term tells this leadership from every other; the zero value without one.
func (l *leader) Term() lease.Term {
	held, _ := l.get()
	if held == nil {
		return lease.Term{}
	}
	return held.Term()
}

// stepDown ends a leadership at once, for a reason that the lock does not know of.
func (l *leader) stepDown(ctx context.Context, term lease.Term, why error) error {
	l.mu.Lock()
	held := l.held
	if held == nil || held == l.hold || held.Term() != term {
		l.mu.Unlock()
		return nil // it has ended already
	}
	l.held, l.why = nil, why
	l.mu.Unlock()
	return held.Release(ctx)
}

func (l *leader) leads() bool {
	held, _ := l.get()
	return held != nil
}

// keeps reports whether this process holds the state directory, and so stores what
// it is told.
func (l *leader) keeps() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hold != nil
}

func (l *leader) setHold(hold lease.Held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = hold
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

// lead holds the state directory, leads whenever it has the lease besides, and
// tries again when either was lost.
func (d *Daemon) lead(ctx context.Context) error {
	if d.options.ReadOnly {
		<-ctx.Done()
		return nil
	}
	for {
		hold := d.win(ctx, d.leader.dir)
		if hold == nil {
			return nil // stopped
		}
		notes, quiet := d.keep(hold)
		if !d.leadWith(ctx, hold, notes, quiet) {
			return nil // what is held is let go of in order
		}
		d.disk.close()
		d.leader.setHold(nil)
		d.leader.set(nil, errors.New("the lease was lost"))
	}
}

// leadWith leads whenever this node has the lease, until it loses the directory;
// false when ctx ended first.
func (d *Daemon) leadWith(ctx context.Context, hold lease.Held, notes *store.Notes, quiet bool) bool {
	within, end := context.WithCancel(ctx)
	var side sync.WaitGroup
	defer side.Wait()
	defer end()
	side.Go(func() {
		d.confirm(within, hold)
		end()
	})
	if notes != nil && !quiet {
		side.Go(func() { d.trust(within, notes) })
	}
	for within.Err() == nil {
		held := hold
		if d.leader.lease != nil {
			if held = d.win(within, d.leader.lease); held == nil {
				break
			}
		}
		side.Go(func() { renew(within, held) })
		if held != hold && d.nodes != nil && !d.hearFirst(within, held) {
			d.errors.note("release the lease", held.Release(context.WithoutCancel(ctx)))
			continue
		}
		if held != hold {
			side.Go(func() { d.watchSight(within, held) })
		}
		d.becomeLeader(held, notes, quiet && held == hold)
		for _, zone := range zonesOf(d.options.Config) {
			d.writer.Look(zone)
		}
		d.confirm(within, held)
		if ctx.Err() != nil {
			return false
		}
		_, why := d.leader.get() // it stepped down
		if why == nil {
			why = held.Gate(0)
		}
		d.log.Error("no longer the leader", "reason", why)
		d.journalLeader("lost", "", why)
		d.leader.set(nil, why)
		if held == hold {
			break
		}
		d.errors.note("release the lease", held.Release(ctx))
	}
	return ctx.Err() == nil
}

// renew keeps what would run out, until it is lost or let go of, or ctx ends.
func renew(ctx context.Context, held lease.Held) {
	if k, ok := held.(lease.Keeper); ok {
		k.Keep(ctx)
	}
}

// trust believes the notes again, once no call of an earlier process can be open
// any more.
func (d *Daemon) trust(ctx context.Context, notes *store.Notes) {
	if wait(ctx, d.writer.Quiet()) {
		d.errors.note("trust the notes", notes.Trust())
	}
}

// confirmLease is how often a leader that writes nothing asks for its lease. A
// lock file that was replaced is noticed by nobody else, and until it is, two
// processes save into one directory.
const confirmLease = 10 * time.Second

// confirm lasts until what is held is lost, or ctx ends.
func (d *Daemon) confirm(ctx context.Context, held lease.Held) {
	whileHeld(ctx, held, confirmLease, func() bool {
		if err := held.Gate(0); !errors.Is(err, lease.ErrLost) { // else Lost is closed
			d.errors.note("confirm the lease", err)
		}
		return true
	})
}

// whileHeld does something every so often until it wants no more, what is held is
// lost, or ctx ends.
func whileHeld(ctx context.Context, held lease.Held, every time.Duration, do func() (more bool)) {
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-held.Lost():
			return
		case <-again.C:
			if !do() {
				return
			}
		}
	}
}

// retryLease is how often a standby asks again, beside what the lock itself
// waits.
const retryLease = time.Second

// win waits until a lease is won; it is nil when ctx ended first.
func (d *Daemon) win(ctx context.Context, wanted lease.Lease) lease.Held {
	holder := ""
	for {
		if d.standAside(ctx, wanted) {
			if !wait(ctx, retryLease) {
				return nil
			}
			continue
		}
		attempt, cancel := context.WithTimeout(ctx, retryLease)
		held, err := wanted.Acquire(attempt)
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

// keep opens the state directory, now that it is this process's. Whether anything
// is in doubt is known from the notes, which are read now, because until now
// another process may have written them; they are nil when nothing can be
// written.
func (d *Daemon) keep(hold lease.Held) (notes *store.Notes, quiet bool) {
	if notes = d.openState(); notes != nil {
		pending, trusted := notes.Pending()
		quiet = trusted && len(pending) == 0
	}
	d.leader.setHold(hold)
	if !d.begun && !d.options.Once {
		d.begun = true
		d.journalConfig("started", "version "+d.options.Version, "")
	}
	return notes, quiet
}

// becomeLeader opens the gate. quiet says that no call of anybody before can be
// open; notes are those of this host, and tell it only where nobody else leads.
func (d *Daemon) becomeLeader(held lease.Held, notes *store.Notes, quiet bool) {
	open := 0
	if notes != nil {
		pending, _ := notes.Pending()
		open = len(pending)
		d.writer.Lead(notes, quiet)
	} else {
		d.writer.Lead(nil, false)
	}
	d.leader.set(held, nil)
	if d.leader.zoned {
		return // led tells of each zone
	}
	first := ""
	if wait := d.writer.Doubt(); !quiet && wait > 0 {
		first = fmt.Sprintf("paused answers come in at once, and nothing is taken away for %s, until %s, for what another process may have sent",
			wait, d.clock.Wall().Add(wait).UTC().Format(time.RFC3339))
	}
	d.log.Info("leader", "node", d.leader.node, "open_calls", open, "first", first)
	d.journalLeader("won", "", nil)
}

// journalLeader writes down that the lease was won, or lost and why, of one zone where
// each has its own.
func (d *Daemon) journalLeader(what string, zone record.Name, why error) {
	detail := ""
	if why != nil {
		detail = why.Error()
	}
	d.journal("leader", struct {
		Node   string      `json:"node"`
		What   string      `json:"what"`
		Zone   record.Name `json:"zone,omitempty"`
		Detail string      `json:"detail,omitempty"`
	}{d.leader.node, what, zone, detail})
	if what == "won" {
		d.announceLeader(zone, "this node leads")
		d.takeOverNews()
		return
	}
	d.announceLeader(zone, "this node no longer leads: "+detail)
}

// release shuts the gate, lets go of the lease and of what it has open, and then of
// the directory.
func (l *leader) release(ctx context.Context) error {
	l.mu.Lock()
	hold, held := l.hold, l.held
	l.hold, l.held = nil, nil
	if hold != nil {
		l.why = errors.New("stopped")
	}
	l.mu.Unlock()
	var errs []error
	if held != nil && held != hold {
		errs = append(errs, held.Release(ctx))
	}
	if l.end != nil {
		errs = append(errs, l.end())
	}
	if hold != nil {
		errs = append(errs, hold.Release(ctx))
	}
	return errors.Join(errs...)
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

// stepDown ends a leadership that a zone proves to be over, and lets this node
// queue for the lease anew.
func (d *Daemon) stepDown(ctx context.Context, term lease.Term, why error) {
	d.errors.note("release the lease", d.leader.stepDown(ctx, term, why))
}
