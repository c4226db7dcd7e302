package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"sidestep/pkg/lease"
	"sidestep/pkg/lease/etcd"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// run is a process: as a daemon does, it works its zone, and leads whenever it has the
// lease.
func (n *peer) run(ctx context.Context, line *memory.Line, write *Reconciler, wanted lease.Lease, way *etcd.Way, done chan struct{}) {
	defer close(done)
	var side sync.WaitGroup
	side.Go(func() { write.Run(ctx) })
	for ctx.Err() == nil {
		line.Runs()
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		held, err := wanted.Acquire(attempt)
		cancel()
		if err != nil {
			_ = provider.Sleep(ctx, time.Second)
			continue
		}
		if n.ended() {
			_ = held.Release(context.Background())
			break
		}
		if keeper, ok := held.(lease.Keeper); ok {
			side.Go(func() { keeper.Keep(ctx) })
		}
		n.lead(ctx, &side, write, held)
		if ctx.Err() == nil {
			n.set(nil)
			_ = held.Release(ctx)
		}
	}
	side.Wait()
	if way != nil {
		_ = way.Close()
	}
}

// lead lasts until the lease is known to be lost, or the process ends.
func (n *peer) lead(ctx context.Context, side *sync.WaitGroup, write *Reconciler, held lease.Held) {
	d := n.disk
	d.mu.Lock()
	quiet := n.crew.model == nil && d.trusted && len(d.open) == 0
	old := slices.Collect(maps.Keys(d.open))
	d.mu.Unlock()
	if n.crew.model == nil {
		n.crew.turn(n, held.Term().Epoch)
	}
	write.Lead(diskNotes{n}, quiet)
	n.set(held)
	write.Look(zoneName)
	if !quiet {
		side.Go(func() {
			if provider.Sleep(ctx, write.Quiet()) == nil && !n.ended() {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.trusted = true
				maps.DeleteFunc(d.open, func(id string, _ bool) bool { return slices.Contains(old, id) })
			}
		})
	}
	again := time.NewTicker(10 * time.Second)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-held.Lost():
			return
		case <-again.C:
			_ = held.Gate(0)
		}
	}
}

var errStandby = errors.New("the lease was not won yet")

// Gate and Term are those of the lease, while there is one.
func (n *peer) Gate(call time.Duration) error {
	held := n.get()
	if held == nil {
		return errStandby
	}
	err := held.Gate(call)
	if err != nil && call > 0 {
		n.crew.mu.Lock()
		defer n.crew.mu.Unlock()
		n.crew.shut++
	}
	return err
}

func (n *peer) Term() lease.Term {
	if held := n.get(); held != nil {
		return held.Term()
	}
	return lease.Term{}
}

// stepDown lets go of the lease of a leadership that is over.
func (n *peer) stepDown(ctx context.Context, term lease.Term, _ error) {
	if held := n.get(); held != nil && held.Term() == term {
		n.crew.stepped()
		_ = held.Release(ctx)
	}
}

func (n *peer) get() lease.Held {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}

func (n *peer) set(held lease.Held) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = held
}

func (n *peer) ended() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gone
}

// leads reports whether the process may write now.
func (n *peer) leads() bool {
	held := n.get()
	return !n.ended() && held != nil && held.Gate(0) == nil
}

// opened writes down that the gate let a call out, and stops the process there if it
// is to.
func (n *peer) opened() {
	c := n.crew
	c.mu.Lock()
	c.sent = append(c.sent, &sending{by: n.process(), at: time.Now(), seen: n.seen})
	c.mu.Unlock()
	n.mu.Lock()
	trap := n.trap
	n.trap = false
	n.mu.Unlock()
	if trap {
		n.freeze()
	}
}

// leaves lets the call be under way for a while. The provider looks at its signature
// when it comes.
func (n *peer) leaves() error {
	c := n.crew
	c.mu.Lock()
	s := c.sent[len(c.sent)-1]
	for i := len(c.sent) - 1; s.by != n.process(); i-- {
		s = c.sent[i]
	}
	s.left = time.Now()
	s.stopped = s.left.After(s.at)
	travels := []time.Duration{0, 0, crewCall / 2, crewCall - time.Millisecond}[c.chance.IntN(4)]
	c.mu.Unlock()
	select {
	case <-time.After(travels):
	case <-n.dies: // what is left of the way, the call goes without its sender
	}
	if c.signed > 0 && time.Since(s.at) > c.signed {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.expired++
		return provider.Failf(provider.Permanent, "write", "expired", "the signature is too old")
	}
	return nil
}

// freeze stops the process, and thaw lets it go on.
func (n *peer) freeze() {
	n.line.Freeze()
	if n.etcd != nil {
		n.etcd.Hold(true)
	}
}

func (n *peer) thaw() {
	n.mu.Lock()
	n.trap = false
	n.mu.Unlock()
	n.line.Thaw()
	if n.etcd != nil {
		n.etcd.Hold(false)
	}
}

// kill ends the process: what it has sent is under way still, and nothing else of it
// ever is. The kernel frees its lock file.
func (n *peer) kill() {
	if n.ended() {
		return
	}
	held := n.get()
	n.mu.Lock()
	n.gone = true
	n.mu.Unlock()
	close(n.dies)
	n.line.Set(func(l *memory.Line) { l.Dead = true })
	if n.etcd != nil {
		n.etcd.Cut(true)
	} else if held != nil {
		_ = held.Release(context.Background())
	}
	n.stop()
	n.thaw()
}

// end ends it in order.
func (n *peer) end() {
	if n.ended() {
		return
	}
	n.stop()
	<-n.done
	if err := n.write.Release(context.Background()); err != nil {
		n.crew.t.Log(err)
	}
	if held := n.get(); held != nil {
		_ = held.Release(context.Background())
	}
	n.mu.Lock()
	n.gone = true
	n.mu.Unlock()
}
