package cluster_test

import (
	"testing"

	"sidestep/pkg/cluster"
	"sidestep/pkg/lease/etcd/etcdtest"
)

// A node whose keys are gone without a word is missed until it comes again. One that
// ends in order is not.
func TestANodeThatIsGoneWithoutAWordIsMissed(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	a, c := start(t, etcd, member{name: "a", vantage: "eu"}), start(t, etcd, member{name: "c", vantage: "asia"})
	find := func(name string) (found cluster.Node) {
		for _, n := range a.Nodes() {
			if n.Name == name {
				found = n
			}
		}
		return found
	}
	a.wait("the third node", func() bool { return find("c").Heard > 0 })
	client := etcd.Client(t)
	defer func() { _ = client.Close() }()
	key := prefix + "/shared/nodes/b"
	says := func() {
		value := `{"version":1,"node":"b","vantage":"us","host":"h2","instance":"x","leads":true,"stands":true,"count":7}`
		if _, err := client.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	says()
	a.wait("the second node", func() bool { return find("b").Heard > 0 })
	heard := find("b").Heard
	if _, err := client.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	c.stop()
	a.wait("the end of the third", func() bool { return find("c").Name == "" })
	if n := find("b"); !n.Gone || n.Heard < heard || n.Host != "h2" || n.Leads || n.Stands {
		t.Errorf("the node that is gone without a word: %+v", n)
	}
	says()
	a.wait("it to come again", func() bool { return !find("b").Gone && find("b").Heard > heard })
}
