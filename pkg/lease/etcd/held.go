package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"sidestep/pkg/lease"
)

// mark is a moment on both clocks.
type mark struct {
	boot time.Duration
	wall time.Time
}

func (l *Lease) mark() mark { return mark{l.opts.Clock.Boot(), l.opts.Clock.Wall()} }

// age is how long ago a mark was set, by the clock that went furthest.
func (l *Lease) age(m mark) time.Duration {
	return max(l.opts.Clock.Boot()-m.boot, l.opts.Clock.Wall().Sub(m.wall))
}

func (l *Lease) interval() time.Duration { return lease.Interval(l.opts.TTL) }

// value is the entry of this node.
func (l *Lease) value() (string, error) {
	text, err := json.Marshal(entry{
		Version: entryVersion, Node: l.opts.Node, Host: l.host, PID: os.Getpid(),
		Since: l.opts.Clock.Wall().UTC().Truncate(time.Second), TTL: l.opts.TTL.Seconds(), Zones: l.opts.Zones,
	})
	return string(text), err
}

// held is a lease that was won. It is kept by Keep.
type held struct {
	lease  *Lease
	client *clientv3.Client

	mu       sync.Mutex
	place    place
	cluster  uint64
	fresh    bool
	won      mark
	settled  bool // belongs to Keep
	released bool
	why      error // why it is lost; nil while it is held
	lost     chan struct{}
}

// renew renews the lease and sees to it that the key is still ours. gone says
// why it is not; err, why neither can be told.
func (h *held) renew(ctx context.Context) (gone, err error) {
	sent, within := h.lease.mark(), min(answerWithin, h.lease.opts.TTL/4)
	err = ask(ctx, within, func(ctx context.Context) error { return keepAlive(ctx, h.client, h.place.id) })
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return errors.New("it ran out in etcd, or was revoked"), nil
	}
	if err != nil {
		return nil, err
	}
	var got *clientv3.GetResponse
	err = ask(ctx, within, func(ctx context.Context) (err error) {
		got, err = h.client.Get(ctx, h.place.key)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(got.Kvs) == 0 || got.Kvs[0].CreateRevision != h.place.created {
		return fmt.Errorf("the key %s was deleted", h.place.key), nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.place.renewed = sent
	h.cluster = got.Header.ClusterId
	return nil, nil
}

// keepAlive sends one renewal. The client's own KeepAliveOnce tries again without
// a pause for as long as there is no member.
func keepAlive(ctx context.Context, client *clientv3.Client, id clientv3.LeaseID) error {
	ctx, cancel := context.WithCancel(ctx) // ends the stream
	defer cancel()
	stream, err := pb.NewLeaseClient(client.ActiveConnection()).LeaseKeepAlive(ctx)
	if err != nil {
		return clientv3.ContextError(ctx, err)
	}
	if err := stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil && !errors.Is(err, io.EOF) {
		return clientv3.ContextError(ctx, err)
	}
	answer, err := stream.Recv() // and tells why nothing could be sent
	if err != nil {
		return clientv3.ContextError(ctx, err)
	}
	if answer.GetTTL() <= 0 {
		return rpctypes.ErrLeaseNotFound
	}
	return nil
}

// Keep renews the lease until it is lost or released, or ctx ends, and then
// returns. It implements lease.Keeper.
func (h *held) Keep(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	renewed := make(chan struct{}, 1)
	var watching sync.WaitGroup
	watching.Go(func() { h.watch(ctx, renewed) })
	defer watching.Wait()
	defer cancel()
	next := time.NewTimer(h.lease.interval())
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.lost:
			return
		case <-next.C:
			next.Reset(h.again(ctx))
			select {
			case renewed <- struct{}{}:
			default:
			}
		}
	}
}

// watch loses the lease when the key is deleted. What happened before it began, the
// next renewal finds. A watch that etcd ended begins anew after a renewal. No renewal
// waits for it: a member that does not answer can keep it from beginning.
func (h *held) watch(ctx context.Context, renewed <-chan struct{}) {
	for ctx.Err() == nil {
		for change := range h.client.Watch(clientv3.WithRequireLeader(ctx), h.place.key, clientv3.WithFilterPut()) {
			if !change.Canceled && len(change.Events) > 0 {
				h.lose(fmt.Errorf("the key %s was deleted", h.place.key))
				return
			}
		}
		select {
		case <-renewed:
		case <-ctx.Done():
		}
	}
}

// again renews once, and returns when the next renewal is due.
func (h *held) again(ctx context.Context) time.Duration {
	gone, err := h.renew(ctx)
	if gone == nil && err == nil {
		err = h.settle(ctx)
	}
	switch {
	case gone != nil:
		h.lose(gone)
	case err != nil && ctx.Err() == nil:
		_ = h.Gate(0) // loses it when the time is over
		h.lease.opts.Logger.Debug("the lease was not renewed; trying again", "error", err)
		return min(retryAfter, h.lease.interval())
	}
	return h.lease.interval()
}

// settle puts the key that says that somebody led, once this leadership is older
// than any belief from before this etcd.
func (h *held) settle(ctx context.Context) error {
	l := h.lease
	if !h.fresh || h.settled || l.age(h.won) < lease.Belief(l.opts.TTL) {
		return nil
	}
	value, err := l.value()
	if err != nil {
		return err
	}
	err = ask(ctx, answerWithin, func(ctx context.Context) error {
		_, err := h.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(l.ledKey()), "=", 0)).
			Then(clientv3.OpPut(l.ledKey(), value)).
			Else(clientv3.OpGet(l.ledKey())).Commit()
		return err
	})
	h.settled = err == nil
	return err
}

// lose ends the lease for good.
func (h *held) lose(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loseLocked(why)
}

func (h *held) loseLocked(why error) {
	if h.why == nil {
		h.why = why
		close(h.lost)
	}
}

// Gate implements lease.Held. It asks nobody: what it goes by is kept true by
// Keep.
func (h *held) Gate(callTimeout time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, renewed := h.lease, h.place.renewed
	trust := lease.Trust(l.opts.TTL)
	if silent := l.opts.Clock.Boot() - renewed.boot; h.why == nil && silent > trust {
		h.loseLocked(fmt.Errorf("etcd confirmed it %s ago, and it is good for %s", tenths(silent), tenths(trust)))
	}
	if h.why != nil {
		return fmt.Errorf("%w: %w", lease.ErrLost, h.why)
	}
	if age := l.age(renewed); age+callTimeout > trust {
		return fmt.Errorf("%w: etcd confirmed it %s ago and it is good for %s, the call may take %s",
			lease.ErrShort, tenths(age), tenths(trust), callTimeout)
	}
	return nil
}

func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// Term has the revision that made our key for its epoch: every later leader's is
// higher, for as long as it is the same etcd. One that was built anew from nothing
// counts from 1 again, and has the cluster id of the one before when its members
// have the same addresses.
func (h *held) Term() lease.Term {
	h.mu.Lock()
	defer h.mu.Unlock()
	return lease.Term{Epoch: uint64(h.place.created), Cluster: h.cluster, Group: group(h.lease.opts.Prefix), Fresh: h.fresh} //nolint:gosec // revisions count from 1
}

// group is short for a prefix: what stands in a zone is kept small.
func group(prefix string) uint64 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(prefix)) // never fails (hash.Hash)
	return uint64(sum.Sum32())
}

// Until implements lease.Held.
func (h *held) Until() (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.place.renewed.boot + lease.Trust(h.lease.opts.TTL), true
}

// Lost implements lease.Held. It is closed by Keep, by Gate and by Release.
func (h *held) Lost() <-chan struct{} { return h.lost }

// Release shuts the gate and revokes the lease, so that the next one's turn
// comes at once. What cannot be revoked is revoked by the next Acquire, or runs
// out.
func (h *held) Release(ctx context.Context) error {
	h.mu.Lock()
	again := h.released
	h.released = true
	h.loseLocked(errors.New("it was released"))
	h.mu.Unlock()
	if again {
		return nil
	}
	err := revoke(ctx, h.client, h.place.id)
	if err == nil || errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	h.lease.mu.Lock()
	h.lease.leftovers = append(h.lease.leftovers, h.place.id)
	h.lease.mu.Unlock()
	return h.lease.explain("release the lease", err)
}
