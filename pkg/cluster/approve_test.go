package cluster_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"sidestep/pkg/clock"
	"sidestep/pkg/cluster"
	"sidestep/pkg/lease/etcd/etcdtest"
)

func (n *node) leading() (leads bool) {
	n.lock(func() { leads = n.leads })
	return leads
}

// approve takes a yes as a daemon does: one to a plan only while it leads.
func (n *node) approve(yes cluster.Yes) (a cluster.Answer) {
	n.lock(func() {
		a.Leads = n.leads
		switch {
		case yes.Plan != "" && !n.leads:
			a.Later = true
		case yes.Target == "nonsense":
			a.Error, a.Exit = "no such thing", 2
		default:
			n.yeses = append(n.yeses, yes)
		}
	})
	return a
}

// approves lets a node bring a yes to all, and waits for so many answers.
func (n *node) approves(yes cluster.Yes, enough int, patience time.Duration) []cluster.Answer {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	answers, err := n.Approve(ctx, yes, func(a []cluster.Answer) bool { return len(a) >= enough })
	if err != nil {
		n.t.Fatal(err)
	}
	slices.SortFunc(answers, func(a, b cluster.Answer) int { return int(a.Node[0]) - int(b.Node[0]) })
	return answers
}

func (n *node) took(yeses ...cluster.Yes) {
	n.t.Helper()
	n.wait("it to have taken what was said", func() bool { return slices.Equal(n.yeses, yeses) })
}

// TestAYesIsTakenByEveryNodeOnce, and told to who said it, with who leads. Who comes
// later takes none that a leader took; who was here before takes it once, however
// often it joins.
func TestAYesIsTakenByEveryNodeOnce(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	a, b := start(t, etcd, member{name: "a", vantage: "eu"}), start(t, etcd, member{name: "b", vantage: "us"})
	a.joined()
	b.joined()
	a.lock(func() { a.leads = true })
	yes := cluster.Yes{Target: "www.example.com.", By: "ann"}
	want := []cluster.Answer{{Node: "a", Leads: true}, {Node: "b"}}
	if got := b.approves(yes, 2, patience); !slices.Equal(got, want) {
		t.Errorf("answers %+v, want %+v", got, want)
	}
	want = []cluster.Answer{{Node: "a", Leads: true, Error: "no such thing", Exit: 2}, {Node: "b", Error: "no such thing", Exit: 2}}
	if got := b.approves(cluster.Yes{Target: "nonsense"}, 2, patience); !slices.Equal(got, want) {
		t.Errorf("answers %+v, want %+v", got, want)
	}
	b.Reconfigured("other") // which joins anew
	c := start(t, etcd, member{name: "c", vantage: "asia"})
	c.joined()
	other := cluster.Yes{Target: "api.example.com.", By: "bob"}
	if got := c.approves(other, 3, patience); len(got) != 3 {
		t.Errorf("answers %+v, want three", got)
	}
	a.took(yes, other)
	b.took(yes, other)
	c.took(other)
}

// gated is a way to an etcd that can be shut to who joins.
type gated struct {
	way

	gate *sync.Mutex
}

func (g gated) Client() (*clientv3.Client, error) {
	g.gate.Lock()
	defer g.gate.Unlock()
	return g.way.Client()
}

// TestAYesBetweenTwoStays of a node is taken by it, though a leader was faster; one
// that was said while it was away for longer is not.
func TestAYesBetweenTwoStays(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	clk := clock.NewFake(time.Hour, time.Now())
	a := startWith(t, etcd.Client(t), member{name: "a", vantage: "eu"}, func(n *node) { n.leads = true })
	a.joined()
	b := startWith(t, etcd.Client(t), member{name: "b", vantage: "us"}, func(n *node) { n.clock = clk })
	stays := func() { // one beat comes with its join, and then it listens
		before := 0
		a.lock(func() { before = a.beats["us"] })
		a.wait("beats of b", func() bool { return a.beats["us"] > before+1 })
	}
	between := func(yes cluster.Yes, away time.Duration) {
		stays()
		b.gate.Lock()
		defer b.gate.Unlock()
		b.Reconfigured("other") // which joins anew
		a.wait("the end of b's stay", func() bool {
			return slices.ContainsFunc(a.Nodes(), func(n cluster.Node) bool { return n.Name == "b" && n.Gone })
		})
		if got := a.approves(yes, 1, patience); len(got) != 1 || !got[0].Leads {
			t.Errorf("answers %+v, want the leader's", got)
		}
		clk.Advance(away)
	}
	early, late, last := cluster.Yes{Target: "www.example.com."}, cluster.Yes{Target: "api.example.com."}, cluster.Yes{Target: "app.example.com."}
	between(early, 10*time.Second)
	b.took(early)
	between(late, 20*time.Second)
	stays()
	if got := a.approves(last, 2, patience); len(got) != 2 {
		t.Errorf("answers %+v, want two", got)
	}
	a.took(early, late, last)
	b.took(early, last)
}

// TestAYesThatOnlyALeaderTakes waits for one, also for one that was not there when it
// was said, and is taken by one of them.
func TestAYesThatOnlyALeaderTakes(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	a, b := start(t, etcd, member{name: "a", vantage: "eu"}), start(t, etcd, member{name: "b", vantage: "us"})
	a.joined()
	b.joined()
	yes := cluster.Yes{Target: "example.com.", Plan: "3f2a9c01b7de", By: "ann"}
	if got := b.approves(yes, 1, 5*beat); len(got) > 0 {
		t.Errorf("answers %+v, want none while nobody leads", got)
	}
	c := start(t, etcd, member{name: "c", vantage: "asia"})
	c.joined()
	c.lock(func() { c.leads = true })
	c.took(yes)
	a.wait("the answer of c", func() bool {
		return slices.ContainsFunc(a.Nodes(), func(n cluster.Node) bool { return n.Name == "c" && n.Leads })
	})
	c.lock(func() { c.leads = false })
	a.lock(func() { a.leads = true })
	b.wait("a to lead", func() bool {
		return slices.ContainsFunc(b.Nodes(), func(n cluster.Node) bool { return n.Name == "a" && n.Leads })
	})
	a.took()
}
