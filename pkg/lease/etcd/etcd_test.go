package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"sidestep/pkg/clock"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/etcd/etcdtest"
)

const patience = time.Minute // of a busy machine

// node is one that leads or waits.
type node struct {
	*Lease
	t    *testing.T
	held lease.Held
	stop context.CancelFunc // of its Keep
}

// setup is a node before it is made.
type setup struct {
	Options

	way Settings
}

func newNode(t *testing.T, endpoints []string, name string, change ...func(*setup)) *node {
	t.Helper()
	o := setup{
		way:     Settings{Endpoints: endpoints},
		Options: Options{Prefix: "/sidestep/test", Node: name, Zones: []string{"example.com."}, TTL: 10 * time.Second},
	}
	for _, c := range change {
		c(&o)
	}
	o.way.Prefix = o.Prefix
	o.Way = NewWay(o.way)
	n := &node{Lease: New(o.Options), t: t}
	t.Cleanup(n.kill)
	return n
}

// short is a lease that a test can see run out.
func short(o *setup) { o.TTL = 3 * time.Second }

// acquire wins the lease, and keeps it like a daemon.
func (n *node) acquire(ctx context.Context) error {
	held, err := n.Acquire(ctx)
	if err != nil {
		return err
	}
	n.held = held
	keeping, stop := context.WithCancel(context.Background())
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		held.(lease.Keeper).Keep(keeping)
	}()
	n.stop = func() { stop(); <-kept }
	return nil
}

func (n *node) mustAcquire() {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	for {
		err := n.acquire(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			n.t.Fatalf("%s does not win the lease: %v", n.opts.Node, err)
		}
	}
}

// kill ends the node as kill -9 would: nothing is released.
func (n *node) kill() {
	if n.stop != nil {
		n.stop()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.client = nil
	_ = n.opts.Way.Close()
}

// mustHold fails unless somebody else holds the lease, and says what is told.
func (n *node) mustWait(within time.Duration) string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), within)
	defer cancel()
	_, err := n.Acquire(ctx)
	other, ok := errors.AsType[*lease.HeldError](err)
	if !ok {
		n.t.Fatalf("%s: expected that the lease is held, got %v", n.opts.Node, err)
	}
	return other.Error()
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

func TestOneOfTwoLeadsAndTheOtherIsTold(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	a, b := newNode(t, c.Endpoints(), "mon-1"), newNode(t, c.Endpoints(), "mon-2")
	a.mustAcquire()
	if err := a.held.Gate(time.Second); err != nil {
		t.Errorf("the gate of the holder: %v", err)
	}
	if said := b.mustWait(100 * time.Millisecond); !strings.Contains(said, "it is held by mon-1 (process ") {
		t.Errorf("told %q, expected who holds it", said)
	}
	if said, err := b.Describe(t.Context()); err != nil || !strings.Contains(said.Words, ": led by mon-1 (process ") || !strings.Contains(said.Words, ", 1 waiting") {
		t.Errorf("described as %q, %v", said.Words, err)
	}
	if until, ends := a.held.Until(); !ends || until <= clock.System().Boot() {
		t.Errorf("the lease ends at %v, %v; expected a time to come", until, ends)
	}
	first := a.held.Term().Epoch
	if err := a.held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.held.Gate(0); !errors.Is(err, lease.ErrLost) {
		t.Errorf("the gate after the release: %v, expected that it is lost", err)
	}
	if err := a.held.Release(t.Context()); err != nil {
		t.Errorf("a second release: %v", err)
	}
	b.mustAcquire() // at once: nothing had to run out
	if b.held.Term().Epoch <= first {
		t.Errorf("epoch %d after %d, expected a higher one", b.held.Term().Epoch, first)
	}
	if b.held.Term().Cluster == 0 {
		t.Error("expected the id of the cluster")
	}
}

func TestNodesTakeTurnsInTheOrderInWhichTheyCame(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	first := newNode(t, c.Endpoints(), "mon-0")
	first.mustAcquire()
	turns := make(chan *node)
	for i := range 4 {
		n := newNode(t, c.Endpoints(), fmt.Sprintf("mon-%d", i+1))
		n.mustWait(50 * time.Millisecond) // has its place now
		go func() {
			n.mustAcquire()
			turns <- n
		}()
	}
	for i, holder := 1, first; i <= 4; i++ {
		if err := holder.held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if holder = <-turns; holder.opts.Node != fmt.Sprintf("mon-%d", i) {
			t.Fatalf("turn %d went to %s", i, holder.opts.Node)
		}
	}
}

func TestTheLeaseOfADeadHolderRunsOut(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	a, b := newNode(t, c.Endpoints(), "mon-1", short), newNode(t, c.Endpoints(), "mon-2", short)
	a.mustAcquire()
	b.mustWait(50 * time.Millisecond)
	a.kill()
	at := time.Now()
	b.mustAcquire()
	if took := time.Since(at); took < 2*time.Second {
		t.Errorf("taken over after %v, before the lease of 3s can have run out", took)
	}
	eventually(t, "the gate of the dead one shuts", func() bool { return errors.Is(a.held.Gate(0), lease.ErrLost) })
}

func TestAPlaceThatIsNotWantedAnyMoreIsGivenUp(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	a, b := newNode(t, c.Endpoints(), "mon-1"), newNode(t, c.Endpoints(), "mon-2")
	a.mustAcquire()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	if _, err := b.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, expected that it was cancelled", err)
	}
	client := c.Client(t)
	defer client.Close()
	all, err := client.Leases(t.Context())
	if err != nil || len(all.Leases) != 1 {
		t.Errorf("%d leases in etcd, %v; expected the holder's alone", len(all.Leases), err)
	}
	if err := errors.Join(a.held.Release(t.Context()), a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	if all, err = client.Leases(t.Context()); err != nil || len(all.Leases) != 0 {
		t.Errorf("%d leases in etcd after the end, %v", len(all.Leases), err)
	}
}

// A waiting node looks again from time to time, and its own time may be over in the
// midst of that: it is told who leads all the same, as it knew before.
func TestTheTimeIsOverInTheMidstOfALook(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	a := newNode(t, c.Endpoints(), "mon-1")
	b := newNode(t, c.Endpoints(), "mon-2", short) // which looks twice a second
	a.mustAcquire()
	b.mustWait(50 * time.Millisecond)
	time.AfterFunc(200*time.Millisecond, c.Members[0].Pause)
	if said := b.mustWait(900 * time.Millisecond); !strings.Contains(said, "it is held by mon-1 (process ") {
		t.Errorf("told %q", said)
	}
	c.Members[0].Resume()
}

func TestDeletedByHand(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	a, b := newNode(t, c.Endpoints(), "mon-1", func(o *setup) { o.TTL = time.Minute }), newNode(t, c.Endpoints(), "mon-2")
	a.mustAcquire()
	b.mustWait(50 * time.Millisecond)
	client := c.Client(t)
	defer client.Close()
	if _, err := client.Delete(t.Context(), a.held.(*held).place.key); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.held.Lost(): // long before the next renewal
	case <-time.After(patience):
		t.Fatal("the holder does not notice")
	}
	if err := a.held.Gate(0); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "was deleted") {
		t.Errorf("the gate: %v", err)
	}
	b.mustAcquire()
	if err := a.held.Release(t.Context()); err != nil {
		t.Errorf("release what is gone: %v", err)
	}
	if said := a.mustWait(50 * time.Millisecond); !strings.Contains(said, "mon-2") {
		t.Errorf("told %q", said)
	}
}

// stuckWatcher is one whose member takes the connection and says nothing.
type stuckWatcher struct{ clientv3.Watcher }

func (stuckWatcher) Watch(ctx context.Context, _ string, _ ...clientv3.OpOption) clientv3.WatchChan {
	<-ctx.Done()
	ended := make(chan clientv3.WatchResponse)
	close(ended)
	return ended
}

// No renewal waits for a watch that does not begin.
func TestAWatchThatDoesNotBeginStopsNoRenewal(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	a := newNode(t, c.Endpoints(), "mon-1")
	client, err := a.opts.Way.Client()
	if err != nil {
		t.Fatal(err)
	}
	client.Watcher = stuckWatcher{client.Watcher}
	a.mustAcquire()
	first, _ := a.held.Until()
	eventually(t, "the lease is renewed", func() bool { until, _ := a.held.Until(); return until > first })
}

// An etcd that forgot, or never knew, who led before gives a fresh leadership, until
// one lasted longer than any belief from before.
func TestALeadershipOfAnEtcdBuiltAnewIsFresh(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	brief := func(o *setup) { o.TTL = MinTTL }
	first := newNode(t, c.Endpoints(), "mon-1", brief)
	led := func() bool {
		client := c.Client(t)
		defer func() { _ = client.Close() }()
		got, err := client.Get(t.Context(), first.ledKey())
		return err == nil && len(got.Kvs) == 1
	}
	if first.mustAcquire(); !first.held.Term().Fresh || led() {
		t.Errorf("at the very first: %+v, led %v", first.held.Term(), led())
	}
	eventually(t, "the first leadership is old enough", led)
	if !first.held.Term().Fresh {
		t.Error("a leadership is what it began as")
	}
	second := newNode(t, c.Endpoints(), "mon-2", brief)
	first.kill()
	if second.mustAcquire(); second.held.Term().Fresh {
		t.Error("the second is not fresh: the first one's lease ran out here")
	}
	c.BuildAnew(t)
	<-second.held.Lost()
	c.Put(t, first.ledKey(), "{}") // as a copy from before would have it
	third := newNode(t, c.Endpoints(), "mon-3", brief)
	if third.mustAcquire(); third.held.Term().Fresh {
		t.Error("a process that saw nothing of this etcd before cannot know")
	}
	third.kill()
	second.stop()
	if second.mustAcquire(); !second.held.Term().Fresh {
		t.Error("expected that the second sees that the revisions went back")
	}
}
