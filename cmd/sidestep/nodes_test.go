package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
	"sidestep/pkg/lease/etcd/etcdtest"
	"sidestep/providers"
)

// branch is one of several nodes within this process that share an etcd and a
// zone. What it sees of the answers is what the test says.
type branch struct {
	t      *testing.T
	name   string
	daemon *daemon.Daemon
	log    *lockedBuffer
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	dead map[string]bool
}

// branches are nodes that judge by two of three vantages.
type branches struct {
	t     *testing.T
	cloud *cloud
	front *front
	nodes []*branch
	etcd  *etcdtest.Cluster
}

const branchConfig = `node: {name: %[2]s}
state: {dir: %[1]s/state}
control: {socket: %[1]s/c.sock}
leader: {lock: etcd, lease: 10s}
etcd: {endpoints: ["%[3]s"], prefix: /sidestep/test}
adopt: auto
reconcile: {debounce: 50ms}
guard: {mass: 0, max_writes: 0}
canary: {targets: [{tcp: "127.0.0.53:53"}]}
zones:
  - zone: example.com
    verify: {dns: false}
    %[4]s
checks:
  web: {tcp: {port: 80}, interval: 200ms, timeout: 180ms, fall: 2, rise: 2, vantages: {of: [a, b, c], down: 2}}
records:
  - {name: www.example.com, check: web, answers: [127.0.0.11, 127.0.0.12]}
`

func startBranches(t *testing.T) *branches {
	t.Helper()
	etcd := etcdtest.Start(t, etcdtest.Options{})
	b := &branches{t: t, etcd: etcd, cloud: startCloudflare(t, walkAnswers...)}
	b.cloud.answers = walkAnswers
	b.front = startFront(t, b.cloud)
	keys := strings.ReplaceAll(strings.ReplaceAll(b.cloud.keys, b.cloud.url, b.front.URL), "\n", "\n    ")
	for _, name := range []string{"a", "b", "c"} {
		dir := shortDir(t)
		b.nodes = append(b.nodes, b.start(name, fmt.Sprintf(branchConfig, dir, name, etcd.Endpoints()[0], strings.TrimSpace(keys)), dir))
		if name == "a" {
			b.wait("the first to lead", func() bool { return b.nodes[0].status().Leader.State == "leader" })
		}
	}
	return b
}

func (b *branches) start(name, text, dir string) *branch {
	b.t.Helper()
	c, err := config.Parse(filepath.Join(dir, "sidestep.yaml"), []byte(text), config.Options{Getenv: func(name string) string { return b.cloud.env[name] }})
	if err != nil {
		b.t.Fatalf("%v\n%s", err, text)
	}
	n := &branch{t: b.t, name: name, log: &lockedBuffer{}, done: make(chan struct{}), dead: map[string]bool{}}
	n.daemon, err = daemon.New(daemon.Options{
		Config: c, Registry: providers.Registry(), Version: "test", Write: true,
		Logger: slog.New(slog.NewTextHandler(n.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Probe: n.probe,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	go func() {
		defer close(n.done)
		if err := n.daemon.Run(ctx); err != nil {
			b.t.Errorf("node %s: %v", name, err)
		}
	}()
	b.t.Cleanup(func() {
		n.end()
		if b.t.Failed() {
			b.t.Logf("log of node %s:\n%s", name, n.log.String())
		}
	})
	return n
}

func (n *branch) end() {
	n.cancel()
	<-n.done
}

func (n *branch) probe(_ context.Context, _ *check.Spec, address string) check.Result {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead[address] {
		return check.Result{Outcome: check.Fail, Phase: check.PhaseConnect, Cause: check.CauseRefused, Detail: "connection refused"}
	}
	return check.Result{Outcome: check.Pass}
}

// finds lets a node find an answer dead, or not.
func (n *branch) finds(address string, dead bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead[address] = dead
}

func (n *branch) status() control.Status {
	n.t.Helper()
	s, err := n.daemon.Status(context.Background(), "")
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// hears reports whether a node knows that a vantage says something of an answer.
func (n *branch) hears(vantage, address, verdict string) bool {
	for _, target := range n.status().Targets {
		if target.Address != address || target.Vantages == nil {
			continue
		}
		for _, v := range target.Vantages {
			if v.Name == vantage {
				return v.Verdict == verdict
			}
		}
	}
	return false
}

func (b *branches) wait(what string, happened func() bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("waited %s for: %s; the name answers with %s", patience, what, b.cloud.live())
		}
	}
}

func (b *branches) writes() int {
	n := 0
	for _, kind := range b.front.kinds(cloudflareKind) {
		if kind == "write" {
			n++
		}
	}
	return n
}

// TestTheLeaderIsBlind: the canary of the node that leads fails, then a server dies. It
// gives the lead to one that sees, which takes the server out.
func TestTheLeaderIsBlind(t *testing.T) {
	t.Parallel()
	b := startBranches(t)
	a := b.nodes[0]
	b.wait("every node to be heard", func() bool {
		return a.hears("b", walkAnswers[0], "up") && a.hears("c", walkAnswers[0], "up") && a.status().Zones[0].Listed
	})
	a.finds("127.0.0.53", true)
	for _, n := range b.nodes {
		n.finds(walkAnswers[0], true)
	}
	b.wait("the standby to know that nobody writes", func() bool {
		return slices.ContainsFunc(b.nodes[1].status().Notices, func(n string) bool { return strings.HasPrefix(n, "node a leads and is blind: ") })
	})
	b.wait("the server to leave the answer", func() bool { return b.cloud.live() == walkAnswers[1] })
	b.wait("the blind one to say who leads", func() bool {
		s := a.status().Leader
		return s.State == "standby" && (strings.HasPrefix(s.Holder, "b ") || strings.HasPrefix(s.Holder, "c "))
	})
	a.finds("127.0.0.53", false)
	b.wait("the blind one to wait for the lead again", func() bool {
		s := a.status().Leader
		return s.State == "standby" && !strings.Contains(s.Detail, "blind")
	})
}

// TestVantagesOfThreeNodes: one node that sees a server dead changes nothing, two
// do. When two are silent nothing is known any more, and nothing is written. What
// a person says at a standby holds everywhere.
func TestVantagesOfThreeNodes(t *testing.T) {
	t.Parallel()
	b := startBranches(t)
	a, second, third := b.nodes[0], b.nodes[1], b.nodes[2]
	both, one := strings.Join(walkAnswers, " "), walkAnswers[1]
	b.wait("every node to be heard", func() bool {
		return second.hears("a", walkAnswers[0], "up") && third.hears("b", walkAnswers[0], "up") &&
			a.hears("b", walkAnswers[0], "up") && a.hears("c", walkAnswers[0], "up") && a.status().Zones[0].Listed
	})
	b.wait("the second to stand by behind the first", func() bool {
		s := second.status().Leader
		return s.State == "standby" && strings.HasPrefix(s.Holder, "a ")
	})

	// One of three.
	before := b.writes()
	third.finds(walkAnswers[0], true)
	b.wait("the leader to hear of one", func() bool { return a.hears("c", walkAnswers[0], "down") })
	if live := b.cloud.live(); live != both || b.writes() != before {
		t.Errorf("one of three says down, and the name answers with %s after %d writes", live, b.writes()-before)
	}

	// Two of three.
	second.finds(walkAnswers[0], true)
	b.wait("the server to leave the answer", func() bool { return b.cloud.live() == one })
	second.finds(walkAnswers[0], false)
	third.finds(walkAnswers[0], false)
	b.wait("the server to come back", func() bool { return b.cloud.live() == both })

	// A person at a standby.
	if _, err := second.daemon.Override(t.Context(), control.OverrideRequest{Kind: "drain", Target: walkAnswers[0], For: "1h", Reason: "new kernel"}, "ann"); err != nil {
		t.Fatal(err)
	}
	b.wait("the drained answer to leave", func() bool { return b.cloud.live() == one })
	b.wait("the third to know", func() bool { return len(third.status().Overrides) == 1 && third.status().Overrides[0].By == "ann" })
	if _, err := third.daemon.ClearOverride(t.Context(), control.ClearRequest{Target: walkAnswers[0]}, "bob"); err != nil {
		t.Fatal(err)
	}
	b.wait("it to come back", func() bool { return b.cloud.live() == both && len(a.status().Overrides) == 0 })

	// A person while etcd stands still.
	b.etcd.Members[0].Pause()
	said, err := second.daemon.Override(t.Context(), control.OverrideRequest{Kind: "freeze", Target: "all", For: "1h", Reason: "audit"}, "ann")
	b.etcd.Members[0].Resume()
	if err != nil || !strings.HasPrefix(said.Noted, "it holds at this node only: ") || said.Exit != control.ExitProvider {
		t.Errorf("a freeze while etcd is away: %+v, %v", said, err)
	}
	for _, n := range b.nodes {
		b.wait("node "+n.name+" to be frozen", func() bool { return n.status().Frozen != nil })
	}
	b.etcd.Members[0].Pause()
	said, err = third.daemon.ClearOverride(t.Context(), control.ClearRequest{Target: "all"}, "bob")
	if err != nil || !strings.HasPrefix(said.Noted, "it holds at this node only: ") || said.Exit != control.ExitProvider || third.status().Frozen != nil {
		t.Errorf("its end while etcd is away: %+v, %v, frozen %v", said, err, third.status().Frozen)
	}
	b.etcd.Members[0].Resume()
	for _, n := range b.nodes {
		b.wait("node "+n.name+" to go on", func() bool { return n.status().Frozen == nil })
	}
	b.wait("somebody to lead again", func() bool { return a.status().Leader.State == "leader" })

	// Two are silent.
	second.end()
	third.end()
	b.wait("the leader to miss them", func() bool {
		return a.hears("b", walkAnswers[0], "unknown") && a.hears("c", walkAnswers[0], "unknown")
	})
	before = b.writes()
	a.finds(walkAnswers[0], true)
	b.wait("its own word", func() bool { return a.hears("a", walkAnswers[0], "down") })
	if live := b.cloud.live(); live != both || b.writes() != before {
		t.Errorf("two of three are silent, and the name answers with %s after %d writes", live, b.writes()-before)
	}
	explained, err := a.daemon.Explain(t.Context(), control.ExplainRequest{Name: "www.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", explained); !strings.Contains(text, "2 needed") && !strings.Contains(text, "silent") {
		t.Errorf("explain does not say why nothing is written: %s", text)
	}
	if !slices.ContainsFunc(a.status().Nodes, func(n control.Node) bool { return n.Own && n.Name == "a" }) {
		t.Errorf("nodes %+v", a.status().Nodes)
	}
}
