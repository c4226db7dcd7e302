package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/lease"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

const silence = 20 * time.Second

// startShared begins a process that leads by an etcd, where the term of each
// leadership is as told. It counts how often it stepped down.
func (w *world) startShared(n *node, terms ...lease.Term) *int {
	down := new(int)
	n.term, terms = terms[0], terms[1:]
	options := n.write.options
	options.Zones = []Zone{{Name: zoneName, Adapter: w.zone.Adapter(n.name)}}
	options.Handover, options.Silence = true, silence
	options.StepDown = func(_ context.Context, term lease.Term, why error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if *down++; term != n.term {
			w.hurt = fmt.Errorf("stepped down from %+v in %+v", term, n.term)
		}
		n.gate, n.term = why, lease.Term{}
		if len(terms) > 0 { // it wins the lease again, at once
			n.gate, n.term, terms = nil, terms[0], terms[1:]
		}
	}
	n.write = New(options)
	n.write.Lead(nil, false)
	return down
}

// putTerm puts the stamp of a leader of another process into the zone.
func (w *world) putTerm(t *testing.T, term lease.Term) {
	t.Helper()
	s := provider.Stamp{Holder: "node-2", At: w.clock.Wall(), Epoch: term.Epoch, Cluster: term.Cluster, Seq: 1, Nonce: fmt.Sprintf("%x", w.clock.Boot())}
	var edits []memory.Edit
	for _, old := range w.stamps(t) {
		edits = append(edits, memory.Delete("_sidestep.example.com.", "TXT", old.Raw))
	}
	w.hand(t, append(edits, memory.Put("_sidestep.example.com.", "TXT", time.Minute, s.String()))...)
}

// Stamps of other leaders, and what a new leader with epoch 7 of cluster 1 does: it
// takes over at once, after a silence, or never.
func TestEpochInTheStamp(t *testing.T) {
	const at, later, never = 0, silence, -1
	for name, c := range map[string]struct {
		stamp lease.Term
		terms []lease.Term // of the process, one after the other
		after time.Duration
		downs int
		why   string
	}{
		"an earlier leader":          {stamp: lease.Term{Epoch: 6, Cluster: 1}, after: at},
		"a lock without epochs":      {stamp: lease.Term{}, after: at},
		"before there was the field": {stamp: lease.Term{Epoch: 99}, after: at},
		"a later leader":             {stamp: lease.Term{Epoch: 8, Cluster: 1}, after: never, downs: 1, why: "is of node-2 with epoch 8, a later one; this node steps down"},
		"a later leader, before this one won again": {
			stamp: lease.Term{Epoch: 8, Cluster: 1}, terms: []lease.Term{{Epoch: 9, Cluster: 1}}, after: at, downs: 1,
		},
		"the same etcd, built anew": {
			stamp: lease.Term{Epoch: 99, Cluster: 1}, terms: []lease.Term{{Epoch: 9, Cluster: 1}}, after: later, downs: 1,
			why: "this etcd, of the same id, has only come to 9: it was built anew or restored; it is taken over when it stays as it is for 20s",
		},
		"another etcd, a higher epoch": {
			stamp: lease.Term{Epoch: 99, Cluster: 0xabc}, after: later,
			why: "the stamp is of node-2, which led by another etcd (cluster id abc, this one's is 1); it is taken over when it stays as it is for 20s",
		},
		"another etcd, a lower epoch": {stamp: lease.Term{Epoch: 2, Cluster: 0xabc}, after: later, why: "led by another etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			forClasses(t, func(t *testing.T, class memory.Class) {
				w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
				w.putTerm(t, c.stamp)
				n := w.only()
				downs := w.startShared(n, append([]lease.Term{{Epoch: 7, Cluster: 1}}, c.terms...)...)
				began := w.clock.Boot()
				err := n.round(w.want(values[1]), Orders{}).Err
				if _, is := errors.AsType[*OutrankedError](err); is && len(c.terms) > 0 {
					err = n.round(w.want(values[1]), Orders{}).Err
				}
				took := w.clock.Boot() - began
				switch {
				case c.after == never:
					if _, is := errors.AsType[*OutrankedError](err); !is || !errors.Is(err, ErrNotLeader) || !strings.Contains(err.Error(), c.why) {
						t.Errorf("got %v, expected to be outranked: %s", err, c.why)
					}
					if e := w.effects(); len(e) != 0 {
						t.Errorf("written: %v", e)
					}
				case err != nil:
					t.Error(err)
				case took != c.after:
					t.Errorf("took over after %v, expected %v", took, c.after)
				default:
					w.mustLive(t, values[1])
				}
				waits := slices.ContainsFunc(n.waits, func(w Wait) bool { return w.For == silence && strings.Contains(w.Why, c.why) })
				if waits != (c.after == later) || *downs != c.downs || w.hurt != nil {
					t.Errorf("told of %v; stepped down %d times, expected %d (%v)", n.waits, *downs, c.downs, w.hurt)
				}
				w.check(t)
			}, fencing...)
		})
	}
}

// A stale leader, which has written and does not know that its lease is another's
// by now, steps down with the first list that shows the later leader's stamp, though
// there is nothing to write.
func TestStaleLeaderStepsDown(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		n := w.only()
		downs := w.startShared(n, lease.Term{Epoch: 7, Cluster: 1})
		if err := w.round(w.want(values[1])).Err; err != nil {
			t.Fatal(err)
		}
		w.putTerm(t, lease.Term{Epoch: 8, Cluster: 1})
		before := len(w.effects())
		if n.worker().look(t.Context()); *downs != 1 || w.hurt != nil {
			t.Errorf("stepped down %d times (%v)", *downs, w.hurt)
		}
		if err := w.round(w.want(values[0])).Err; !errors.Is(err, ErrNotLeader) || len(w.effects()) != before {
			t.Errorf("got %v, and %v", err, w.effects()[before:])
		}
	}, fencing...)
}

// A leader of another etcd that lives changes its stamp, and the silence begins
// anew; a person may say that it does not live.
func TestALeaderOfAnotherEtcdThatLives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		other := lease.Term{Epoch: 2, Cluster: 0xabc}
		w.putTerm(t, other)
		n := w.only()
		w.startShared(n, lease.Term{Epoch: 7, Cluster: 1})
		ended := make(chan Report, 1)
		go func() { ended <- w.round(w.want(values[1])) }()
		for range 2 {
			time.Sleep(silence - time.Second)
			w.putTerm(t, other)
		}
		if until, why := n.write.Waiting(zoneName); until == 0 || !strings.Contains(why, "another etcd") {
			t.Errorf("waits until %v: %q", until, why)
		}
		if report := <-ended; report.Err == nil {
			w.mustLive(t, values[1])
		}
		for _, v := range w.zone.History()[1:] {
			if v.Cause.Node == n.name && v.At < 2*(silence-time.Second)+silence {
				t.Errorf("written at %v", v.At)
			}
		}
	})
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		w.putTerm(t, lease.Term{Epoch: 2, Cluster: 0xabc})
		w.startShared(w.only(), lease.Term{Epoch: 7, Cluster: 1})
		began := w.clock.Boot()
		if err := w.only().round(w.want(values[1]), Orders{TakeOver: true}).Err; err != nil || w.clock.Boot() != began {
			t.Errorf("by order: %v after %v", err, w.clock.Boot()-began)
		}
		w.mustLive(t, values[1])
	})
}
