package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/cluster"
	"sidestep/pkg/health"
	"sidestep/pkg/lease/etcd/etcdtest"
	"sidestep/pkg/override"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	prefix   = "/sidestep/test"
	beat     = 100 * time.Millisecond
	patience = time.Minute
)

// node is one node of a test and what it was told.
type node struct {
	*cluster.Cluster

	t    *testing.T
	stop func()

	clock clock.Clock // nil is the system's
	gate  sync.Mutex  // it joins only while this is not locked

	mu      sync.Mutex
	says    map[check.Target]cluster.Observation // what it says itself
	local   []override.Override
	heard   map[string]map[check.Target]health.Verdict // by vantage
	beats   map[string]int
	left    []string
	words   []override.Override
	ends    []cluster.End
	told    int // how often of words
	trouble error
	mine    []cluster.End // that it knows
	shared  time.Time
	waits   string
	leads   bool
	yeses   []cluster.Yes
}

// way is the way to an etcd that is there.
type way struct{ client *clientv3.Client }

func (w way) Client() (*clientv3.Client, error)    { return w.client, nil }
func (w way) Explain(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }

type member struct {
	name, vantage, config string
	slow                  bool // as in earnest
	targets               int
}

// start lets a node join an etcd until the test ends or stop is called.
func start(t *testing.T, etcd *etcdtest.Cluster, is member, local ...override.Override) *node {
	t.Helper()
	return startAt(t, etcd.Client(t), is, local...)
}

func startAt(t *testing.T, client *clientv3.Client, is member, local ...override.Override) *node {
	t.Helper()
	return startWith(t, client, is, func(n *node) { n.local = local })
}

// startWith lets a node join that knows what prepare gives it.
func startWith(t *testing.T, client *clientv3.Client, is member, prepare func(*node)) *node {
	t.Helper()
	pace := beat
	if is.slow {
		pace = cluster.Beat
	}
	n := &node{
		t: t, says: map[check.Target]cluster.Observation{},
		heard: map[string]map[check.Target]health.Verdict{}, beats: map[string]int{},
	}
	prepare(n)
	n.Cluster = cluster.New(cluster.Options{
		Etcd: gated{way{client}, &n.gate}, Clock: n.clock,
		Prefix: prefix, Node: is.name, Vantage: is.vantage, Config: is.config, Release: "test", Beat: pace,
		Heard: n.hear,
		Left: func(vantage string) {
			n.lock(func() { n.left = append(n.left, vantage); delete(n.heard, vantage) })
		},
		Overrides: func(words []override.Override, ends []cluster.End) {
			n.lock(func() {
				n.words, n.ends = words, ends
				n.mine = cluster.Remember(n.mine, ends, words, time.Now())
				n.told++
			})
		},
		Local: func() (known cluster.Known) {
			n.lock(func() { known = cluster.Known{Words: n.local, Ends: n.mine, Shared: n.shared} })
			return known
		},
		Shared:  func(at time.Time) { n.lock(func() { n.shared = at }) },
		Whole:   n.whole,
		Targets: func() int { return is.targets },
		Waits:   func(_ time.Duration, because string) { n.lock(func() { n.waits = because }) },
		Leads:   n.leading,
		First:   n.leading,
		Approve: n.approve,
		Trouble: func(err error) { n.lock(func() { n.trouble = err }) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := n.Run(ctx); err != nil {
			t.Errorf("%s: %v", is.name, err)
		}
	}()
	n.stop = func() { cancel(); <-done }
	t.Cleanup(func() {
		n.stop()
		_ = client.Close() // it reports the end of its own context
	})
	return n
}

func (n *node) lock(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
}

func (n *node) hear(r cluster.Report) {
	n.lock(func() {
		if n.heard[r.Vantage] == nil || r.Whole {
			n.heard[r.Vantage] = map[check.Target]health.Verdict{}
		}
		n.beats[r.Vantage]++
		for _, o := range r.Observations {
			n.heard[r.Vantage][o.Target] = o.Verdict
		}
		if r.Blind {
			n.heard[r.Vantage] = map[check.Target]health.Verdict{}
		}
	})
}

func (n *node) whole() (r cluster.Report) {
	n.lock(func() {
		r.Whole = true
		for _, o := range n.says {
			r.Observations = append(r.Observations, o)
		}
	})
	return r
}

// say lets the node find something of some targets.
func (n *node) say(verdict health.Verdict, targets ...check.Target) {
	var r cluster.Report
	n.lock(func() {
		for _, target := range targets {
			o := cluster.Observation{Target: target, Verdict: verdict, Since: time.Now()}
			n.says[target] = o
			r.Observations = append(r.Observations, o)
		}
	})
	n.Say(r)
}

// hears is what the node knows of a target from a vantage.
func (n *node) hears(vantage string, target check.Target) (v health.Verdict) {
	n.lock(func() { v = n.heard[vantage][target] })
	return v
}

func (n *node) wait(what string, happened func() bool) {
	n.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		ok := false
		n.lock(func() { ok = happened() })
		switch {
		case ok:
			return
		case time.Now().After(end):
			n.lock(func() {
				n.t.Fatalf("waited %v for: %s; heard %v, words %v, trouble %v", patience, what, n.heard, n.words, n.trouble)
			})
		}
	}
}

// joined waits until the node was told what persons said.
func (n *node) joined() {
	n.t.Helper()
	n.wait("the node to join", func() bool { return n.told > 0 && n.trouble == nil })
}

func target(i int) check.Target {
	return check.Target{Check: "web", Address: fmt.Sprintf("203.0.113.%d", i)}
}

// TestNodesHearEachOther: verdicts, changes of them, what is not known any more,
// those that were said before one joined, and the end of a node.
func TestNodesHearEachOther(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	a, b := start(t, etcd, member{name: "a", vantage: "eu"}), start(t, etcd, member{name: "b", vantage: "us"})
	a.joined()
	a.say(health.Up, target(1), target(2))
	b.wait("both targets to be up", func() bool { return b.heard["eu"][target(1)] == health.Up && b.heard["eu"][target(2)] == health.Up })
	a.say(health.Down, target(2))
	b.wait("one to be down", func() bool { return b.heard["eu"][target(2)] == health.Down })
	a.say(health.Unknown, target(1))
	b.wait("one to be unknown", func() bool { return b.heard["eu"][target(1)] != health.Up })
	if v := b.hears("eu", target(2)); v != health.Down {
		t.Errorf("the other is %q", v)
	}

	c := start(t, etcd, member{name: "c", vantage: "asia"})
	c.wait("what was said before", func() bool { return c.heard["eu"][target(2)] == health.Down && c.beats["eu"] > 0 })
	a.stop()
	b.wait("the end of a", func() bool { return slices.Contains(b.left, "eu") })
	if names := b.Nodes(); len(names) != 2 || names[0].Name != "b" || names[1].Name != "c" {
		t.Errorf("nodes %+v, want b and c", names)
	}
}

// TestWhatStandsThereProvesNothing: the keys of a node that is gone without a word
// are there until its lease ends, and nobody takes them for its voice.
func TestWhatStandsThereProvesNothing(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	client := etcd.Client(t)
	defer func() { _ = client.Close() }()
	for key, value := range map[string]string{
		"nodes/ghost":         `{"version":1,"node":"ghost","vantage":"eu","instance":"x","count":7}`,
		"verdicts/ghost/0000": `{"version":1,"said":[["web","203.0.113.1","down","connect","refused","1"]]}`,
		"nodes/odd":           "hello",
		"nodes/newer":         `{"version":99}`,
		"verdicts/odd/0000":   `{"version":1,"said":[["web","203.0.113.1","dead","","","1"],["web","203.0.113.1","down","","","soon"]]}`,
		"overrides/melt/x":    `{"version":1,"override":{"kind":"melt","target":"x"}}`,
	} {
		if _, err := client.Put(t.Context(), prefix+"/shared/"+key, value); err != nil {
			t.Fatal(err)
		}
	}
	a := start(t, etcd, member{name: "a", vantage: "us"})
	a.joined()
	// Once it hears a node that lives, it has been told of changes.
	start(t, etcd, member{name: "b", vantage: "asia"})
	a.wait("a node that lives", func() bool { return a.beats["asia"] > 1 })
	a.lock(func() {
		if len(a.words) > 0 {
			t.Errorf("words %v, of which none can be read", a.words)
		}
		if len(a.heard) > 1 {
			t.Errorf("heard %v of nodes that say nothing", a.heard)
		}
	})
	for _, n := range a.Nodes() {
		switch n.Name {
		case "odd", "newer":
			if n.Mute == "" {
				t.Errorf("%s: what is wrong with it is not said", n.Name)
			}
		case "ghost":
			if n.Heard != 0 {
				t.Errorf("%s was heard", n.Name)
			}
		}
	}
}

func word(kind override.Kind, target, reason string) override.Override {
	now := time.Now().UTC().Truncate(time.Second)
	return override.Override{Kind: kind, Target: target, Thing: override.Set, By: "ann", Reason: reason, Said: now, From: now}
}

// TestWordsAreShared: what a person said before there was an etcd, at either node
// and taken back at another one; a node that comes back later learns what was
// cleared meanwhile.
func TestWordsAreShared(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	early := word(override.Drain, "www.example.com.", "before there was an etcd")
	a := start(t, etcd, member{name: "a", vantage: "eu"}, early)
	a.joined()
	b := start(t, etcd, member{name: "b", vantage: "us"})
	b.wait("the word from before", func() bool { return len(b.words) == 1 && b.words[0].Reason == early.Reason })

	if _, err := b.Put(t.Context(), word(override.Freeze, "all", "audit")); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*node{a, b} {
		n.wait("the freeze", func() bool { return len(n.words) == 2 && n.words[0].Kind == override.Freeze })
	}
	a.lock(func() { a.local = nil })
	if _, err := a.Clear(t.Context(), cluster.End{Override: early, At: time.Now(), By: "bob"}); err != nil {
		t.Fatal(err)
	}
	b.wait("the drain to end", func() bool {
		return len(b.words) == 1 && b.words[0].Kind == override.Freeze && len(b.ends) == 1 && b.ends[0].By == "bob"
	})

	c := start(t, etcd, member{name: "c", vantage: "asia"}, early)
	c.wait("only what still holds", func() bool {
		return c.told > 0 && len(c.words) == 1 && c.words[0].Kind == override.Freeze && len(c.ends) == 1 && !early.Said.After(c.ends[0].At)
	})
}

// TestNoWordEndsBecauseItIsAbsent: a node without words joins an empty etcd first,
// and somebody deletes keys by hand; a freeze of a node that knows it goes on, and
// comes to be known.
func TestNoWordEndsBecauseItIsAbsent(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	first := start(t, etcd, member{name: "a", vantage: "eu"})
	first.joined()
	freeze := word(override.Freeze, "all", "audit")
	second := start(t, etcd, member{name: "b", vantage: "us"}, freeze)
	frozen := func(n *node) func() bool {
		return func() bool { return len(n.words) == 1 && n.words[0].Kind == override.Freeze && len(n.ends) == 0 }
	}
	first.wait("the freeze", frozen(first))
	second.wait("its own freeze", frozen(second))
	client := etcd.Client(t)
	defer func() { _ = client.Close() }()
	if _, err := client.Delete(t.Context(), prefix+"/shared/overrides/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	first.wait("the freeze again", frozen(first))

	// A newer sidestep freezes a zone.
	if _, err := client.Put(t.Context(), prefix+"/shared/overrides/freeze/example.com.", `{"version":99}`); err != nil {
		t.Fatal(err)
	}
	first.wait("what cannot be read to count as a freeze", func() bool {
		return slices.ContainsFunc(first.words, func(o override.Override) bool {
			return o.Kind == override.Freeze && o.Target == "example.com." && strings.Contains(o.Reason, "a newer sidestep")
		})
	})
}

// TestNamesakes: a second process of one name is told and says nothing; so is a
// second node of one vantage, which speaks once the first is gone.
func TestNamesakes(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	first := start(t, etcd, member{name: "a", vantage: "eu"})
	first.joined()
	listener := start(t, etcd, member{name: "z", vantage: "asia"})
	listener.joined()

	namesake := start(t, etcd, member{name: "a", vantage: "us"})
	namesake.wait("the namesake to be told", func() bool {
		taken, is := errors.AsType[*cluster.NamesakeError](namesake.trouble)
		return is && strings.HasPrefix(taken.Error(), "share with other nodes: node.name a is taken by process ") &&
			strings.HasPrefix(namesake.waits, "node a was process ")
	})
	second := start(t, etcd, member{name: "b", vantage: "eu"})
	second.wait("the second of a vantage to be told", func() bool {
		taken, is := errors.AsType[*cluster.NamesakeError](second.trouble)
		return is && strings.Contains(taken.Error(), "node.vantage eu is taken by node a")
	})
	first.say(health.Up, target(1))
	second.say(health.Down, target(1))
	listener.wait("the first one's word", func() bool { return listener.heard["eu"][target(1)] == health.Up })
	first.stop()
	listener.wait("the second one's word", func() bool { return listener.heard["eu"][target(1)] == health.Down })
	second.wait("the trouble to end", func() bool { return second.trouble == nil })
}

// TestEtcdIsGoneForAWhile: nothing is heard and nothing can be said by persons;
// afterwards all is as it was.
func TestEtcdIsGoneForAWhile(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	a, b := start(t, etcd, member{name: "a", vantage: "eu"}), start(t, etcd, member{name: "b", vantage: "us"})
	a.joined()
	a.say(health.Up, target(1))
	b.wait("the target to be up", func() bool { return b.heard["eu"][target(1)] == health.Up })

	etcd.Members[0].Pause()
	if _, err := a.Put(t.Context(), word(override.Freeze, "all", "audit")); err == nil || !strings.HasPrefix(err.Error(), "share what a person said: ") {
		t.Errorf("said while etcd is gone: %v", err)
	}
	a.wait("the trouble", func() bool { return a.trouble != nil })
	a.say(health.Down, target(1))
	before := 0
	b.lock(func() { before = b.beats["eu"] })
	etcd.Members[0].Resume()
	b.wait("the target to be down", func() bool { return b.heard["eu"][target(1)] == health.Down && b.beats["eu"] > before })
	a.wait("the trouble to end", func() bool { return a.trouble == nil })
}

// TestConfigsAreCompared: nodes tell what they steer by a digest.
func TestConfigsAreCompared(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	a, b := start(t, etcd, member{name: "a", vantage: "eu", config: "1234"}), start(t, etcd, member{name: "b", vantage: "us", config: "5678"})
	digest := func(name string) string {
		for _, n := range a.Nodes() {
			if n.Name == name {
				return n.Config
			}
		}
		return ""
	}
	a.wait("the other's digest", func() bool { return digest("b") == "5678" && digest("a") == "1234" })
	b.say(health.Up, target(1))
	b.Reconfigured("1234")
	a.wait("the digest of its new config", func() bool { return digest("b") == "1234" && a.heard["us"][target(1)] == health.Up })
}

// TestTrafficIsBounded: of 1,000 targets that change all the time, more is said
// than can be written. What a node sends to etcd stays below 20 kB/s, all that the
// protocol adds counted, and what is heard in the end is what was said last.
func TestTrafficIsBounded(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	meter := startMeter(t, etcd.Members[0].Addr)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + meter.addr}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	a, b := startAt(t, client, member{name: "a", vantage: "eu", slow: true, targets: 1000}), start(t, etcd, member{name: "b", vantage: "us"})
	a.joined()
	const n = 1000
	var targets []check.Target
	for i := range n {
		targets = append(targets, check.Target{Check: "web", Address: fmt.Sprintf("203.0.%d.%d", i/250, i%250)})
	}
	began, before := time.Now(), meter.sent.Load()
	verdict := health.Up
	for time.Since(began) < 6*time.Second {
		verdict = map[health.Verdict]health.Verdict{health.Up: health.Down, health.Down: health.Up}[verdict]
		a.say(verdict, targets...)
		time.Sleep(50 * time.Millisecond) // far more often than can be written
	}
	b.wait("all of what was said last", func() bool {
		return len(b.heard["eu"]) == n && !slices.ContainsFunc(targets, func(t check.Target) bool { return b.heard["eu"][t] != verdict })
	})
	took, sent := time.Since(began), meter.sent.Load()-before
	t.Logf("%d targets that changed all the time: %d bytes to etcd in %v, %.1f kB/s", n, sent, took.Round(time.Millisecond), float64(sent)/1000/took.Seconds())
	const atStart = 32 << 10
	if limit := 20_000*took.Seconds() + atStart; float64(sent) > limit {
		t.Errorf("%d bytes were sent, at most %.0f are allowed", sent, limit)
	}
}

// meter passes connections on and counts what clients send.
type meter struct {
	addr string
	sent atomic.Int64
}

func startMeter(t *testing.T, to string) *meter {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &meter{addr: listener.Addr().String()}
	var group sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); group.Wait() })
	group.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return // closed
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = from.Close()
				continue
			}
			group.Go(func() { _, _ = io.Copy(from, out); _ = from.Close() })
			group.Go(func() { _, _ = io.Copy(io.MultiWriter(out, m), from); _ = out.Close() })
		}
	})
	return m
}

func (m *meter) Write(p []byte) (int, error) {
	m.sent.Add(int64(len(p)))
	return len(p), nil
}
