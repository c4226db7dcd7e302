package cluster_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"sidestep/pkg/cluster"
	"sidestep/pkg/lease/etcd/etcdtest"
	"sidestep/pkg/override"
)

// keys counts the keys of persons' words.
func keys(t *testing.T, client *clientv3.Client, below string) int {
	t.Helper()
	got, err := client.Get(t.Context(), prefix+"/shared/"+below, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	return int(got.Count)
}

// TestAnEndThatCouldNotBeSharedIsBrought, and no word that it ended comes back, but
// one that was said later does.
func TestAnEndThatCouldNotBeSharedIsBrought(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	drain, freeze := word(override.Drain, "www.example.com.", "kernel"), word(override.Freeze, "all", "audit")
	a := start(t, etcd, member{name: "a", vantage: "eu"}, drain, freeze)
	a.joined()
	later := freeze
	later.Said = time.Now().Add(time.Hour)
	if _, err := a.Put(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	b := startWith(t, etcd.Client(t), member{name: "b", vantage: "us"}, func(n *node) {
		n.mine = []cluster.End{{Override: drain, At: ended, By: "bob"}, {Override: freeze, At: ended, By: "bob"}}
	})
	for _, n := range []*node{a, b} {
		n.wait("the drain to end, and the later freeze to hold", func() bool {
			return len(n.ends) == 1 && n.ends[0].Override.Same(drain) && n.ends[0].By == "bob" && len(n.words) == 1 && n.words[0].Said.Equal(later.Said)
		})
	}
}

// TestWhatIsOverLeavesEtcd: a word whose time was over a day ago, an end of a month
// ago, and of more than a thousand ends the oldest. A node that kept a word of which
// the end is gone does not bring it back, if it had shared it; one that never could
// does, and so does every node to an etcd that is new.
func TestWhatIsOverLeavesEtcd(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	client := etcd.Client(t)
	defer func() { _ = client.Close() }()
	long := time.Now().Add(-40 * 24 * time.Hour)
	said := func(target string, at time.Time) override.Override {
		o := word(override.Drain, target, "test")
		o.Said, o.From = at, at
		return o
	}
	put := func(o override.Override, ended time.Time) {
		t.Helper()
		value := map[string]any{"version": 1, "override": o}
		if !ended.IsZero() {
			value["cleared"] = map[string]any{"at": ended, "by": "ann"}
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Put(t.Context(), prefix+"/shared/overrides/drain/"+o.Target, string(text)); err != nil {
			t.Fatal(err)
		}
	}
	timed := said("timed", long)
	timed.Until = time.Now().Add(-25 * time.Hour)
	put(timed, time.Time{})
	put(said("forever", long), time.Time{})
	put(said("ended", long), long.Add(time.Hour))
	young := said("young", time.Now().Add(-29*24*time.Hour))
	put(young, young.Said.Add(time.Hour))
	a := start(t, etcd, member{name: "a", vantage: "eu"})
	a.wait("what is over to leave", func() bool { return keys(t, client, "overrides/") == 2 && len(a.words) == 1 && len(a.ends) == 1 })

	kept := func(n *node) { n.local, n.shared = []override.Override{said("ended", long)}, time.Now() }
	b := startWith(t, etcd.Client(t), member{name: "b", vantage: "us"}, kept)
	b.wait("the word that it kept to end", func() bool {
		return len(b.ends) == 2 && b.ends[1].Override.Target == "ended" && !said("ended", long).Said.After(b.ends[1].At)
	})
	b.stop()
	if n := keys(t, client, "overrides/"); n != 2 {
		t.Errorf("%d keys, want 2", n)
	}
	never := startWith(t, etcd.Client(t), member{name: "c", vantage: "us"}, func(n *node) { kept(n); n.shared = time.Time{} })
	never.wait("its word to be shared", func() bool { return len(never.words) == 2 })
	never.stop()

	for i := range 1040 {
		o := said(fmt.Sprintf("t%04d", i), time.Now())
		put(o, o.Said)
	}
	a.wait("only so many ends to stay", func() bool { return keys(t, client, "overrides/") == 1002 })
	got, err := client.Get(t.Context(), prefix+"/shared/forgotten/", clientv3.WithPrefix())
	if err != nil || len(got.Kvs) != 1 {
		t.Errorf("what is forgotten: %v, %v", got, err)
	}

	if _, err := client.Delete(t.Context(), prefix, clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	fresh := startWith(t, etcd.Client(t), member{name: "d", vantage: "us"}, kept)
	fresh.wait("an etcd that is new to learn the word, and every end from who was there", func() bool {
		return len(fresh.words) == 1 && len(fresh.ends) == 1000
	})
}

// TestAnEndOutlivesEtcd: a word that was taken back comes back neither from an etcd
// that was restored from before that, nor from a node that was away when it was built
// anew. Every node that heard of the end brings it, also one at which it was not said.
func TestAnEndOutlivesEtcd(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	drain := word(override.Drain, "www.example.com.", "kernel")
	a, b := start(t, etcd, member{name: "a", vantage: "eu"}), start(t, etcd, member{name: "b", vantage: "us"})
	ended := func(n *node) func() bool {
		return func() bool { return len(n.words) == 0 && len(n.ends) == 1 && n.ends[0].By == "bob" }
	}
	if _, err := a.Put(t.Context(), drain); err != nil {
		t.Fatal(err)
	}
	b.wait("the drain", func() bool { return len(b.words) == 1 })
	client := etcd.Client(t)
	defer func() { _ = client.Close() }()
	key := prefix + "/shared/overrides/drain/www.example.com."
	old, err := client.Get(t.Context(), key)
	if err != nil || len(old.Kvs) != 1 {
		t.Fatalf("%v, %v", old, err)
	}
	if _, err := a.Clear(t.Context(), cluster.End{Override: drain, At: drain.Said, By: "bob"}); err != nil { // by a clock that is behind
		t.Fatal(err)
	}
	b.wait("the drain to end", ended(b))
	a.stop()
	if _, err := client.Put(t.Context(), key, string(old.Kvs[0].Value)); err != nil {
		t.Fatal(err)
	}
	b.wait("it to be there again", func() bool { return len(b.words) == 1 })
	b.wait("it to end again", ended(b))

	etcd.BuildAnew(t)
	c := startWith(t, etcd.Client(t), member{name: "c", vantage: "asia"}, func(n *node) { n.local, n.shared = []override.Override{drain}, time.Now() })
	for _, n := range []*node{b, c} {
		n.wait("who was away to hear of the end", ended(n))
	}
}

// TestRemember: the latest end of each word, unless a later word holds, and none that
// etcd would be rid of.
func TestRemember(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	end := func(target string, ago, until time.Duration) cluster.End {
		o := override.Override{Kind: override.Drain, Target: target, Said: now.Add(-60 * day)}
		if until != 0 {
			o.Until = now.Add(until)
		}
		return cluster.End{Override: o, At: now.Add(-ago)}
	}
	known := []cluster.End{end("twice", 2*day, 0), end("again", 2*day, 0), end("old", 31*day, 0), end("over", 2*day, -25*time.Hour)}
	again := override.Override{Kind: override.Drain, Target: "again", Said: now.Add(-day)}
	heard := []cluster.End{end("twice", day, 0), end("timed", 40*day, day)}
	got := cluster.Remember(known, heard, []override.Override{again}, now)
	if len(got) != 2 || got[0].Override.Target != "timed" || !got[1].At.Equal(now.Add(-day)) {
		t.Errorf("keeps %+v, want the end of what is timed, and the later one of what ended twice", got)
	}
	for i := range 1000 {
		heard = append(heard, end(fmt.Sprint(i), time.Hour, 0))
	}
	got = cluster.Remember(got, heard, nil, now)
	if len(got) != 1000 || got[0].Override.Target == "timed" {
		t.Errorf("keeps %d ends, the first of %s; want the latest 1000", len(got), got[0].Override.Target)
	}
}
