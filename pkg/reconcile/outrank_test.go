package reconcile

import (
	"cmp"
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

const belief = 20 * time.Second

// startShared begins a process that leads by an etcd, where the term of each
// leadership is as told. It counts how often it stepped down.
func (w *world) startShared(n *node, terms ...lease.Term) *int {
	down := new(int)
	n.term, terms = terms[0], terms[1:]
	options := n.write.options
	options.Zones = []Zone{{Name: zoneName, Adapter: w.zone.Adapter(n.name)}}
	options.Handover, options.Belief = true, belief
	options.Known = func(name string) bool { return name == "node-3" }
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
func (w *world) putTerm(t *testing.T, holder string, term lease.Term) {
	t.Helper()
	w.putOnly(t, provider.Stamp{Holder: holder, At: w.clock.Wall(), Epoch: term.Epoch, Cluster: term.Cluster, Group: term.Group, Seq: 1, Nonce: fmt.Sprintf("%x", w.clock.Boot())})
}

// putOnly makes a stamp the only one in the zone.
func (w *world) putOnly(t *testing.T, s provider.Stamp) {
	t.Helper()
	var edits []memory.Edit
	for _, old := range w.stamps(t) {
		edits = append(edits, memory.Delete("_sidestep.example.com.", "TXT", old.Raw))
	}
	w.hand(t, append(edits, memory.Put("_sidestep.example.com.", "TXT", time.Minute, s.String()))...)
}

// Stamps of other leaders, and what a new leader with epoch 7 of cluster 1 does, who
// knows node-3 only: it takes over at once, after a silence, or never.
func TestEpochInTheStamp(t *testing.T) {
	const at, later, never = 0, belief, -1
	own := lease.Term{Epoch: 7, Cluster: 1, Group: 5}
	for name, c := range map[string]struct {
		stamp  lease.Term
		holder string       // node-2 if empty
		terms  []lease.Term // of the process, one after the other
		after  time.Duration
		downs  int
		why    string
	}{
		"an earlier leader":                 {stamp: lease.Term{Epoch: 6, Cluster: 1, Group: 5}, after: at},
		"before there were groups":          {stamp: lease.Term{Epoch: 6, Cluster: 1}, after: at},
		"a lock without epochs, and known":  {stamp: lease.Term{}, holder: "node-3", after: at},
		"a lock without epochs, of our own": {stamp: lease.Term{}, holder: "node-1", after: at},
		"a later leader":                    {stamp: lease.Term{Epoch: 8, Cluster: 1, Group: 5}, after: never, downs: 1, why: "is of node-2 with epoch 8, a later one; this node steps down"},
		"a later leader, before this one won again": {
			stamp: lease.Term{Epoch: 8, Cluster: 1, Group: 5}, terms: []lease.Term{{Epoch: 9, Cluster: 1, Group: 5}}, after: at, downs: 1,
		},
		"the same etcd, built anew": {
			stamp: lease.Term{Epoch: 99, Cluster: 1, Group: 5}, terms: []lease.Term{{Epoch: 9, Cluster: 1, Group: 5}}, after: later, downs: 1,
			why: "this etcd, of the same id, has only come to 9: it was built anew or restored; it is taken over when it stays as it is for 20s",
		},
		"another etcd, a higher epoch, known": {
			stamp: lease.Term{Epoch: 99, Cluster: 0xabc, Group: 5}, holder: "node-3", after: later,
			why: "the stamp is of node-3, which led by another etcd (cluster id abc, this one's is 1); it is taken over when it stays as it is for 20s",
		},
		"another etcd, a lower epoch, known": {stamp: lease.Term{Epoch: 2, Cluster: 0xabc}, holder: "node-3", after: later, why: "led by another etcd"},
		"another etcd, of our own name":      {stamp: lease.Term{Epoch: 99, Cluster: 0xabc}, holder: "node-1", after: later, why: "led by another etcd"},
		"another etcd":                       {stamp: lease.Term{Epoch: 2, Cluster: 0xabc, Group: 5}, after: never, why: "node node-2, which leads by another etcd (cluster id abc, this one's is 1), wrote this zone"},
		"another prefix":                     {stamp: lease.Term{Epoch: 2, Cluster: 1, Group: 6}, after: never, why: "node node-2, which leads by another etcd.prefix of this etcd, wrote this zone"},
		"a lock without epochs":              {stamp: lease.Term{}, after: never, why: "node node-2, which leads by lock: file or zone, and by no etcd, wrote this zone"},
	} {
		t.Run(name, func(t *testing.T) {
			forClasses(t, func(t *testing.T, class memory.Class) {
				w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
				holder := cmp.Or(c.holder, "node-2")
				w.putTerm(t, holder, c.stamp)
				n := w.only()
				downs := w.startShared(n, append([]lease.Term{own}, c.terms...)...)
				began := w.clock.Boot()
				err := n.round(w.want(values[1]), Orders{}).Err
				if _, is := errors.AsType[*OutrankedError](err); is && len(c.terms) > 0 {
					err = n.round(w.want(values[1]), Orders{}).Err
				}
				took := w.clock.Boot() - began
				switch {
				case c.after == never:
					_, ranked := errors.AsType[*OutrankedError](err)
					_, rival := errors.AsType[*TwoWritersError](err)
					if ranked == rival || ranked != (c.downs > 0) || ranked != errors.Is(err, ErrNotLeader) || !strings.Contains(err.Error(), c.why) {
						t.Errorf("got %v, expected: %s", err, c.why)
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
				waits := slices.ContainsFunc(n.waits, func(w Wait) bool { return w.For == belief && strings.Contains(w.Why, c.why) })
				if waits != (c.after == later) || *downs != c.downs || w.hurt != nil {
					t.Errorf("told of %v; stepped down %d times, expected %d (%v)", n.waits, *downs, c.downs, w.hurt)
				}
				w.check(t)
			}, fencing...)
		})
	}
}

// A stamp that the lock does not reach is a second writer's until a person says that
// it is not, it is released, or it is an hour old.
func TestTheWaysOnFromASecondWriter(t *testing.T) {
	own, other := lease.Term{Epoch: 7, Cluster: 1, Group: 5}, lease.Term{Epoch: 2, Cluster: 1, Group: 6}
	for name, c := range map[string]struct {
		age      time.Duration
		released bool
		orders   Orders
		writes   bool
	}{
		"young":    {age: FreshStamp},
		"old":      {age: FreshStamp + time.Second, writes: true},
		"released": {released: true, writes: true},
		"by order": {orders: Orders{TakeOver: true}, writes: true},
	} {
		t.Run(name, func(t *testing.T) {
			forClasses(t, func(t *testing.T, class memory.Class) {
				w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
				s := provider.Stamp{Holder: "node-2", At: w.clock.Wall().Add(-c.age), Epoch: other.Epoch, Cluster: other.Cluster, Group: other.Group, Nonce: "5f0c", Released: c.released}
				w.putOnly(t, s)
				n := w.only()
				w.startShared(n, own)
				if rival := n.worker().look(t.Context()).Rival; (rival == nil) != (c.writes && !c.orders.TakeOver) {
					t.Errorf("a look finds %v", rival)
				}
				report := n.round(w.want(values[1]), c.orders)
				if two, is := errors.AsType[*TwoWritersError](report.Err); is == c.writes || is && (!two.At.Equal(s.At.Truncate(time.Second)) || two.Holder != "node-2") {
					t.Errorf("got %v", report.Err)
				}
				if wrote := len(w.effects()) > 0; wrote != c.writes {
					t.Errorf("written: %v", w.effects())
				}
				if c.orders.TakeOver && report.TookOver != "node-2" {
					t.Errorf("took over from %q", report.TookOver)
				}
			}, fencing...)
		})
	}
}

// Who is overtaken in its own leadership finds that out with the next list, although
// it has nothing to write, and takes nothing over in turn: not from one that it knows,
// and not from a namesake.
func TestTheOvertakenLeaderIsTold(t *testing.T) {
	for _, holder := range []string{"node-1", "node-2", "node-3"} {
		forClasses(t, func(t *testing.T, class memory.Class) {
			w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
			n := w.only()
			w.startShared(n, lease.Term{Epoch: 7, Cluster: 1, Group: 5})
			if err := n.round(w.want(values[1]), Orders{}).Err; err != nil {
				t.Fatal(err)
			}
			w.putTerm(t, holder, lease.Term{Epoch: 99, Cluster: 0xabc, Group: 5})
			before := len(w.effects())
			if rival := n.worker().look(t.Context()).Rival; rival == nil || rival.Holder != holder || rival.Namesake != (holder == n.name) {
				t.Errorf("a look finds %v", rival)
			}
			err := n.round(w.want(values[0]), Orders{}).Err
			if _, is := errors.AsType[*TwoWritersError](err); !is || len(w.effects()) != before {
				t.Errorf("got %v, and %v", err, w.effects()[before:])
			}
		}, fencing...)
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
		w.putTerm(t, "node-2", lease.Term{Epoch: 8, Cluster: 1})
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
		w.putTerm(t, "node-3", other)
		n := w.only()
		w.startShared(n, lease.Term{Epoch: 7, Cluster: 1})
		ended := make(chan Report, 1)
		go func() { ended <- w.round(w.want(values[1])) }()
		for range 2 {
			time.Sleep(belief - time.Second)
			w.putTerm(t, "node-3", other)
		}
		if until, why := n.write.Waiting(zoneName); until == 0 || !strings.Contains(why, "another etcd") {
			t.Errorf("waits until %v: %q", until, why)
		}
		if report := <-ended; report.Err == nil {
			w.mustLive(t, values[1])
		}
		for _, v := range w.zone.History()[1:] {
			if v.Cause.Node == n.name && v.At < 2*(belief-time.Second)+belief {
				t.Errorf("written at %v", v.At)
			}
		}
	})
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		w.putTerm(t, "node-3", lease.Term{Epoch: 2, Cluster: 0xabc})
		w.startShared(w.only(), lease.Term{Epoch: 7, Cluster: 1})
		began := w.clock.Boot()
		if err := w.only().round(w.want(values[1]), Orders{TakeOver: true}).Err; err != nil || w.clock.Boot() != began {
			t.Errorf("by order: %v after %v", err, w.clock.Boot()-began)
		}
		w.mustLive(t, values[1])
	})
}
