package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/etcd/etcdtest"
)

// lastOpen asks the gate, for a call of a length, until it is shut for good, and
// returns when it was open for the last time.
func (n *node) lastOpen(call time.Duration) (last time.Time) {
	for {
		at := time.Now()
		switch err := n.held.Gate(call); {
		case err == nil:
			last = at
		case errors.Is(err, lease.ErrLost):
			return last
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A leader hangs in a call for longer than its lease lasts, and the lease's
// server does not hear from it from then on; another node stands by. The leader
// has five more writes queued, and something at its end takes a minute.
//
// No write goes out that could end after the other node leads, and none at all
// once it does, whenever the old leader wakes up.
func TestCase79NoCallCanEndInTheNextLeadersTime(t *testing.T) {
	t.Parallel()
	const call = time.Second
	c := etcdtest.Start(t, etcdtest.Options{})
	a, b := newNode(t, c.Endpoints(), "mon-1", short), newNode(t, c.Endpoints(), "mon-2", short)
	a.mustAcquire()
	b.mustWait(50 * time.Millisecond)
	won := make(chan time.Time)
	go func() {
		b.mustAcquire()
		won <- time.Now()
	}()
	a.stop() // etcd hears no more of it
	last := a.lastOpen(call)
	if last.IsZero() {
		t.Fatal("the gate of the leader was never open")
	}
	if at := <-won; last.Add(call).After(at) {
		t.Errorf("a call of %v that went out at %v may end after the other node leads, at %v", call, last, at)
	}
	for range 5 {
		if err := a.held.Gate(call); !errors.Is(err, lease.ErrLost) {
			t.Errorf("a queued write after the hang: %v", err)
		}
	}
	if err := b.held.Gate(call); err != nil {
		t.Errorf("the gate of the new leader: %v", err)
	}
}

// Node A holds the lease. A's date is set forward by an hour, then back by one
// before the true time; B's is set forward by an hour. Then A dies, with its
// date still an hour behind.
//
// At no time do two nodes lead; a date alone costs nobody the lease, though the
// gate is shut until it is renewed; and the dead leader is replaced within two
// leases.
func TestCase81DatesThatJump(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	ofA, ofB := clock.Bubble(), clock.Bubble()
	a := newNode(t, c.Endpoints(), "mon-1", func(o *setup) { o.Clock, o.TTL = ofA, 5*time.Second })
	b := newNode(t, c.Endpoints(), "mon-2", func(o *setup) { o.Clock, o.TTL = ofB, 5*time.Second })
	a.mustAcquire()
	first := a.held.Term().Epoch
	ofB.StepWall(time.Hour)
	b.mustWait(500 * time.Millisecond)

	ofA.StepWall(time.Hour)
	eventually(t, "the gate opens with the next renewal", func() bool { return a.held.Gate(time.Second) == nil })
	ofA.StepWall(-2 * time.Hour)
	if err := a.held.Gate(time.Second); err != nil {
		t.Errorf("after the date was set back: %v", err)
	}
	b.mustWait(500 * time.Millisecond)
	if a.held.Term().Epoch != first || errors.Is(a.held.Gate(0), lease.ErrLost) {
		t.Errorf("a date cost the lease: %v", a.held.Gate(0))
	}

	a.stop()
	died := time.Now()
	b.mustAcquire()
	if err := a.held.Gate(0); !errors.Is(err, lease.ErrLost) {
		t.Errorf("two nodes lead: the gate of the dead one says %v", err)
	}
	if took := time.Since(died); took > patience {
		t.Errorf("replaced after %v", took)
	}
}

// Two nodes; etcd is down for longer than the lease, and comes back having
// forgotten nothing.
//
// The gate of the leader is shut by then, and nobody's opens while etcd is away;
// each node is told what is wrong in a line. Afterwards exactly one leads, with
// a higher epoch, and need not wait for what is left of itself.
func TestCase82EtcdIsAwayAndComesBack(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	a, b := newNode(t, c.Endpoints(), "mon-1", short), newNode(t, c.Endpoints(), "mon-2", short)
	a.mustAcquire()
	first := a.held.Term().Epoch
	b.mustWait(50 * time.Millisecond)

	c.Members[0].Kill()
	eventually(t, "the leader knows that the lease is lost", func() bool {
		select {
		case <-a.held.Lost():
			return true
		default:
			return false
		}
	})
	if err := a.held.Gate(0); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "ago, and it is good for 2.9s") {
		t.Errorf("the gate says: %v", err)
	}
	if err := a.held.Release(t.Context()); err == nil {
		t.Error("released without etcd")
	}
	for _, n := range []*node{a, b} {
		n.mustRefuse("etcd at ", "connection refused")
	}

	c.Members[0].Restart()
	a.mustAcquire() // or the other one: whose place in the queue outlived this
	if a.held.Term().Epoch <= first {
		t.Errorf("epoch %d after %d", a.held.Term().Epoch, first)
	}
	if said := b.mustWait(100 * time.Millisecond); !strings.Contains(said, "mon-1") {
		t.Errorf("the other node was told %q", said)
	}
}

// Three members, of which one stands still, whichever it is: the leader keeps its
// lease.
func TestAMemberThatStandsStill(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{Members: 3})
	a := newNode(t, c.Endpoints(), "mon-1", func(o *setup) { o.TTL = 30 * time.Second })
	a.mustAcquire()
	for _, m := range c.Members {
		m.Pause()
		until, _ := a.held.Until()
		eventually(t, "the lease is renewed by the majority", func() bool {
			if err := a.held.Gate(0); err != nil {
				t.Fatalf("one member of three cost the lease: %v", err)
			}
			now, _ := a.held.Until()
			return now > until+2*time.Second // sent while it stood still
		})
		m.Resume()
	}
}

// Three members, of which two stand still: the gate shuts before the lease can
// be anybody else's. Once they go on, another node wins it.
func TestAMajorityThatStandsStill(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{Members: 3})
	a, b := newNode(t, c.Endpoints(), "mon-1", short), newNode(t, c.Endpoints(), "mon-2", short)
	a.mustAcquire()
	b.mustWait(50 * time.Millisecond)
	c.Members[0].Pause()
	c.Members[2].Pause()
	a.lastOpen(0)
	c.Members[0].Resume()
	c.Members[2].Resume()
	_ = a.held.Release(t.Context()) // of what may have run out
	b.mustAcquire()
	if err := b.held.Gate(0); err != nil {
		t.Errorf("the gate of the new leader: %v", err)
	}
	if err := a.held.Gate(0); !errors.Is(err, lease.ErrLost) {
		t.Errorf("the gate of the leader before: %v", err)
	}
}

// Nothing that Acquire began outlives it when etcd does not answer.
func TestAcquireEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	c.Members[0].Pause()
	n := newNode(t, c.Endpoints(), "mon-1")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := n.Acquire(ctx); err == nil || !strings.Contains(err.Error(), "gave no answer within 3s") {
		t.Errorf("got %v", err)
	}
	c.Members[0].Resume()
	n.mustAcquire()
}
