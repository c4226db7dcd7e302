package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"sidestep/pkg/lease"
)

// place is a key in the queue and the etcd lease that it hangs on.
type place struct {
	id      clientv3.LeaseID
	key     string
	created int64 // revision; 0 while the key is not there
	renewed mark
}

// Acquire implements lease.Lease. Nodes get their turn in the order in which
// they came; a place is kept from one Acquire to the next for as long as its
// etcd lease lasts, and given up when ctx was cancelled.
func (l *Lease) Acquire(ctx context.Context) (lease.Held, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held, err := l.queue(ctx)
	if err == nil {
		return held, nil
	}
	if _, refused := errors.AsType[*refusal](err); refused || errors.Is(ctx.Err(), context.Canceled) {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin/2)
		defer cancel()
		l.leave(leaving)
	}
	return nil, err
}

// queue waits for its turn.
func (l *Lease) queue(ctx context.Context) (lease.Held, error) {
	var first entry
	for tried := false; ; tried = true {
		patient := ctx
		if !tried {
			patient = context.WithoutCancel(ctx) // at least once, whatever ctx says
		}
		now, revision, err := l.look(patient)
		switch {
		case err != nil && tried && ctx.Err() != nil:
			return nil, l.heldBy(first, ctx.Err()) // the time was over in the midst of it
		case err != nil:
			return nil, notAcquired(err)
		}
		first = now
		if l.place != nil && first.key == l.place.key {
			held, err := l.take(patient)
			if held != nil || err != nil {
				return held, err
			}
			continue // it expired just now
		}
		if err := l.wait(ctx, revision); err != nil {
			return nil, l.heldBy(first, err)
		}
	}
}

// notAcquired says what was meant, unless the words of an etcd say it.
func notAcquired(err error) error {
	if said, is := errors.AsType[*Error](err); is {
		return said
	}
	return fmt.Errorf("acquire the lease: %w", err)
}

func (l *Lease) heldBy(first entry, err error) error {
	hint := "it passes on when that node ends or is silent for the time of its lease"
	if first.Node == l.opts.Node {
		hint = "that is this node's own name: a process before this one, whose lease runs out, or a second node of that name"
	}
	return &lease.HeldError{Holder: first.String(), Hint: hint, Err: err}
}

// look takes or renews our place in the queue, and returns who is first in it,
// and of which revision that is.
func (l *Lease) look(ctx context.Context) (first entry, revision int64, err error) {
	if err := l.connect(); err != nil {
		return first, 0, l.explain("sign in", err)
	}
	if err := l.checkVersion(ctx); err != nil {
		return first, 0, err
	}
	l.sweep(ctx)
	if err := l.renewPlace(ctx); err != nil {
		return first, 0, l.explain("queue for the lease", err)
	}
	entries, revision, err := l.list(ctx)
	if err != nil {
		return first, 0, err
	}
	if err := l.acquainted(entries); err != nil {
		return first, 0, &refusal{err}
	}
	if l.place == nil || l.place.created == 0 {
		if err := l.join(ctx); err != nil {
			return first, 0, l.explain("queue for the lease", err)
		}
		if entries, revision, err = l.list(ctx); err != nil {
			return first, 0, err
		}
	}
	if len(entries) == 0 {
		l.place = nil
		return first, 0, fmt.Errorf("queue for the lease: the key was gone as soon as it was put; does somebody delete what is below %s/leader/?", l.opts.Prefix)
	}
	return entries[0], revision, nil
}

// refusal is an error that says that this node does not belong here.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// list reads the queue, in its order, by a read that went through a majority.
func (l *Lease) list(ctx context.Context) ([]entry, int64, error) {
	var got *clientv3.GetResponse
	err := ask(ctx, answerWithin, func(ctx context.Context) (err error) {
		got, err = l.client.Get(ctx, l.opts.Prefix+"/leader/", clientv3.WithPrefix(),
			clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
		return err
	})
	if err != nil {
		return nil, 0, l.explain("ask who leads", err)
	}
	l.cluster = got.Header.ClusterId
	entries := make([]entry, 0, len(got.Kvs))
	for _, kv := range got.Kvs {
		e, err := readEntry(kv)
		if err != nil {
			return nil, 0, &refusal{err}
		}
		entries = append(entries, e)
	}
	l.follow(got.Header.ClusterId, got.Header.Revision)
	return entries, got.Header.Revision, nil
}

// acquainted refuses nodes that do not belong beside this one. A node of our own
// name may be a process before this one, whose lease runs out: one that is there
// for longer is alive. Of two that wait the later one gives way.
func (l *Lease) acquainted(entries []entry) error {
	now, seen := l.opts.Clock.Boot(), map[string]time.Duration{}
	for _, e := range entries {
		if l.place != nil && e.key == l.place.key {
			break // who came later is not our business
		}
		if err := e.stranger(l.opts.Zones, l.opts.Prefix); err != nil {
			return err
		}
		if e.Node != l.opts.Node || l.ours(e) {
			continue
		}
		end, known := l.namesakes[e.key]
		if !known {
			end = now + 2*e.ttl() + answerWithin // a new leader among the members lets leases begin anew
		}
		if seen[e.key] = end; now > end {
			return fmt.Errorf("another node is called %s, too: %s is alive; give each node a node.name of its own", l.opts.Node, e)
		}
	}
	l.namesakes = seen
	return nil
}

// ours reports whether an entry is what is left of us.
func (l *Lease) ours(e entry) bool {
	return slices.ContainsFunc(l.leftovers, func(id clientv3.LeaseID) bool { return e.key == l.keyOf(id) })
}

// keyOf names a key after the lease that it hangs on: one that is there already
// after a lost answer is ours.
func (l *Lease) keyOf(id clientv3.LeaseID) string {
	return fmt.Sprintf("%s/leader/%016x", l.opts.Prefix, int64(id))
}

// join takes a place in the queue.
func (l *Lease) join(ctx context.Context) error {
	if l.place == nil {
		sent := l.mark()
		var granted *clientv3.LeaseGrantResponse // a second one, of a lost answer, runs out
		err := ask(ctx, answerWithin, func(ctx context.Context) (err error) {
			granted, err = l.client.Grant(ctx, int64(math.Ceil(l.opts.TTL.Seconds())))
			return err
		})
		if err != nil {
			return err
		}
		l.place = &place{id: granted.ID, key: l.keyOf(granted.ID), renewed: sent}
	}
	value, err := l.value()
	if err != nil {
		return err
	}
	key := l.place.key
	var answer *clientv3.TxnResponse
	err = ask(ctx, answerWithin, func(ctx context.Context) (err error) {
		answer, err = l.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
			Then(clientv3.OpPut(key, value, clientv3.WithLease(l.place.id))).
			Else(clientv3.OpGet(key)).Commit()
		return err
	})
	if err != nil {
		return err
	}
	l.place.created = answer.Header.Revision
	if !answer.Succeeded {
		l.place.created = answer.Responses[0].GetResponseRange().Kvs[0].CreateRevision
	}
	return nil
}

// renewPlace renews the lease of our place when it is time to, and forgets a
// place that is gone.
func (l *Lease) renewPlace(ctx context.Context) error {
	if l.place == nil || l.age(l.place.renewed) < l.interval() {
		return nil
	}
	sent := l.mark()
	err := ask(ctx, answerWithin, func(ctx context.Context) error { return keepAlive(ctx, l.client, l.place.id) })
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		l.place = nil
		return nil
	}
	if err == nil {
		l.place.renewed = sent
	}
	return err
}

// take makes a lease that is held out of a place that came to be the first; nil
// when it is gone meanwhile.
func (l *Lease) take(ctx context.Context) (*held, error) {
	h := &held{lease: l, client: l.client, place: *l.place, lost: make(chan struct{})}
	gone, err := h.renew(ctx)
	if err != nil {
		return nil, l.explain("acquire the lease", err)
	}
	if gone != nil {
		l.leave(ctx)
		return nil, nil //nolint:nilerr // no error: the caller queues anew
	}
	if h.fresh, err = l.fresh(ctx); err != nil {
		return nil, l.explain("ask who led before", err)
	}
	h.won, l.place = l.mark(), nil
	return h, nil
}

// ledKey is there from when a leadership lasted longer than anybody's from before
// this etcd can: it hangs on no lease.
func (l *Lease) ledKey() string { return l.opts.Prefix + "/led" }

// fresh reports whether this etcd may know less than the nodes do: it has no key of
// a leadership before, or went back behind what this process saw of it.
func (l *Lease) fresh(ctx context.Context) (bool, error) {
	var got *clientv3.GetResponse
	err := ask(ctx, answerWithin, func(ctx context.Context) (err error) {
		got, err = l.client.Get(ctx, l.ledKey())
		return err
	})
	if err != nil {
		return false, err
	}
	return len(got.Kvs) == 0 || l.rewound, nil
}

// follow notes how far this etcd came.
func (l *Lease) follow(cluster uint64, revision int64) {
	if l.revision > 0 && (cluster != l.counter || revision < l.revision) {
		l.rewound = true
	}
	l.counter, l.revision = cluster, revision
}

// wait lasts until somebody before us may be gone, or it is time to renew; an
// error is that of ctx.
func (l *Lease) wait(ctx context.Context, revision int64) error {
	watching, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), l.interval())
	defer cancel()
	changes := l.client.Watch(watching, l.opts.Prefix+"/leader/", clientv3.WithPrefix(),
		clientv3.WithRev(revision+1), clientv3.WithFilterPut())
	for {
		select {
		case <-watching.Done():
			return ctx.Err()
		case change, open := <-changes:
			switch {
			case !open || change.Canceled:
				return pause(watching, ctx)
			case len(change.Events) > 0:
				return ctx.Err()
			}
		}
	}
}

// pause waits a little after a watch that broke.
func pause(watching, ctx context.Context) error {
	timer := time.NewTimer(retryAfter)
	defer timer.Stop()
	select {
	case <-watching.Done():
	case <-timer.C:
	}
	return ctx.Err()
}

// leave gives our place up, and forgets it.
func (l *Lease) leave(ctx context.Context) {
	if l.place == nil {
		return
	}
	l.leftovers = append(l.leftovers, l.place.id)
	l.place = nil
	l.sweep(ctx)
}

func revoke(ctx context.Context, client *clientv3.Client, id clientv3.LeaseID) error {
	return ask(ctx, answerWithin, func(ctx context.Context) error {
		_, err := client.Revoke(ctx, id)
		return err
	})
}

// sweep revokes what is left of us in etcd. What cannot be revoked now is tried
// again with the next Acquire, and runs out by itself.
func (l *Lease) sweep(ctx context.Context) {
	if l.client == nil {
		return
	}
	var left []clientv3.LeaseID
	for _, id := range l.leftovers {
		err := revoke(ctx, l.client, id)
		if err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			l.opts.Logger.Debug("a lease could not be revoked; it runs out", "error", err)
			left = append(left, id)
		}
	}
	l.leftovers = left
}
