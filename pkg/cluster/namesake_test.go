package cluster_test

import (
	"strings"
	"testing"

	"sidestep/pkg/cluster"
	"sidestep/pkg/lease/etcd/etcdtest"
	"sidestep/pkg/override"
)

// TestAProcessWithoutItsNameHears what persons say, although another process has its
// name; it says nothing. When it wins the lease it has the name back, and the other
// one is told, and hears in its turn.
func TestAProcessWithoutItsNameHears(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c := start(t, etcd, member{name: "c", vantage: "asia"})
	c.joined()
	first := start(t, etcd, member{name: "a", vantage: "eu"})
	first.joined()
	second := start(t, etcd, member{name: "a", vantage: "us"})
	taken := func(n *node) bool {
		return n.trouble != nil && strings.Contains(n.trouble.Error(), "node.name a is taken by process ")
	}
	second.wait("that its name is taken", func() bool { return taken(second) })
	said := func(reason string) {
		t.Helper()
		if _, err := c.Put(t.Context(), word(override.Freeze, "all", reason)); err != nil {
			t.Fatal(err)
		}
		for _, n := range []*node{first, second} {
			n.wait("the freeze of "+reason, func() bool { return len(n.words) == 1 && n.words[0].Reason == reason })
		}
	}
	said("audit")
	if second.Heard() == 0 {
		t.Error("it hears, and does not say so")
	}
	second.lock(func() { second.leads = true })
	second.wait("its name", func() bool { return second.trouble == nil })
	first.wait("that its name is taken", func() bool { return taken(first) })
	c.wait("to hear its vantage", func() bool { return c.beats["us"] > 0 })
	said("move")
}

// TestWordsAtOnce are all that were said before, also to one that is not among the
// nodes.
func TestWordsAtOnce(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	a := start(t, etcd, member{name: "a", vantage: "eu"})
	a.joined()
	freeze := word(override.Freeze, "all", "audit")
	if _, err := a.Put(t.Context(), freeze); err != nil {
		t.Fatal(err)
	}
	client := etcd.Client(t)
	defer func() { _ = client.Close() }()
	stranger := cluster.New(cluster.Options{Etcd: way{client}, Prefix: prefix, Node: "x"})
	words, ends, err := stranger.Words(t.Context())
	if err != nil || len(words) != 1 || len(ends) != 0 {
		t.Fatalf("words %v, ends %v, %v", words, ends, err)
	}
	if _, err := a.Clear(t.Context(), cluster.End{Override: freeze, At: freeze.Said, By: "bob"}); err != nil {
		t.Fatal(err)
	}
	if words, ends, err = stranger.Words(t.Context()); err != nil || len(words) != 0 || len(ends) != 1 {
		t.Fatalf("after its end: words %v, ends %v, %v", words, ends, err)
	}
}
