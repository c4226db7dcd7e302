package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sidestep/pkg/lease/etcd/etcdtest"
)

// twin is a second process with the name of a node, on a machine of its own.
func (m *member) twin(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: shortDir(t), env: m.env}
	text, err := os.ReadFile(m.config)
	if err != nil {
		t.Fatal(err)
	}
	w.config = filepath.Join(w.dir, "sidestep.yaml")
	if err := os.WriteFile(w.config, []byte(strings.ReplaceAll(string(text), m.dir, w.dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run()
	return w
}

// TestTwoNodesLeaderWithoutItsName: a leader that stood still for longer than its name
// is kept, and for less than its lease, has its name back from a second process that
// took it, and hears the freeze that is said then.
func TestTwoNodesLeaderWithoutItsName(t *testing.T) {
	t.Parallel()
	p := startDuoAt(t, hostedNamed("cloudflare"), 2, etcdtest.Start(t, etcdtest.Options{}), "60s")
	leader, standby := p.nodes[0], p.nodes[1]
	leader.signal(t, syscall.SIGSTOP)
	twin := leader.twin(t)
	p.wait("the second process to take the name", func() bool {
		s := twin.status()
		return s != nil && len(s.Nodes) == 2 && !strings.Contains(strings.Join(s.Notices, "\n"), "node.name")
	})
	standby.says(4, "mon-1 leads, and has not answered", "freeze", "--for", "1h", "--reason", "audit")
	p.breakFirst()
	p.wait("the standby to judge", func() bool { return p.judged(1, "down") })
	leader.signal(t, syscall.SIGCONT)
	p.wait("the leader to hear of the freeze", func() bool { return leader.mustStatus().Frozen != nil })
	p.wait("it to have its name, and the second process to be told", func() bool {
		return strings.Contains(strings.Join(twin.mustStatus().Notices, "\n"), "node.name mon-1 is taken by process") &&
			!strings.Contains(strings.Join(leader.mustStatus().Notices, "\n"), "node.name")
	})
	p.wait("the leader to judge", func() bool { return p.judged(0, "down") })
	standby.says(0, "cleared: freeze all", "unfreeze")
	p.wait("both to go on", func() bool { return leader.mustStatus().Frozen == nil && twin.mustStatus().Frozen == nil })
	if n := p.writes(1); n > 0 {
		t.Errorf("the standby wrote %d times", n)
	}
}

// TestTwoNodesFreezeBeforeTheLease: a node that was cut off and wins the lease anew has
// heard the freeze that was said meanwhile before it writes.
func TestTwoNodesFreezeBeforeTheLease(t *testing.T) {
	t.Parallel()
	p := fencedDuo(t)
	a, b := p.nodes[0], p.nodes[1]
	a.etcd.set(true)
	b.waitLeader("leader", "mon-2")
	b.says(0, "freeze", "freeze", "--for", "1h", "--reason", "audit")
	p.breakFirst()
	p.wait("both to judge", func() bool { return p.judged(0, "down") && p.judged(1, "down") })
	b.stop(t)
	a.etcd.set(false)
	a.waitLeader("leader", "mon-1")
	p.wait("it to be frozen", func() bool { return a.mustStatus().Frozen != nil })
	if p.live() != ip(p.backends[0]) {
		t.Errorf("frozen, and %s is live", p.live())
	}
}

// TestTwoNodesAFreezeThatTheLeaderMayMiss: where the lock is not in etcd, a leader that
// is cut off from there goes on, and a word at another node says that it may not have
// come to the leader.
func TestTwoNodesAFreezeThatTheLeaderMayMiss(t *testing.T) {
	t.Parallel()
	p := newDuo(t, hostedNamed("cloudflare"), 2)
	p.etcd = etcdtest.Start(t, etcdtest.Options{})
	p.start(func(m *member, text string) string {
		m.etcd = startRelay(t, p.etcd.Members[0].Addr)
		return text + zoneLockTimes + fmt.Sprintf("etcd: {endpoints: [\"http://%s\"], prefix: /sidestep/test}\n", m.etcd.addr)
	})
	leader, standby := p.nodes[0], p.nodes[1]
	leader.waitLeader("leader", "mon-1")
	standby.waitLeader("standby", "mon-1")
	standby.says(0, "mon-1 leads and acts on it", "freeze", "--for", "1h", "--reason", "audit")
	standby.says(0, "cleared: freeze all", "unfreeze")
	leader.etcd.set(true)
	standby.says(4, "mon-1, which leads, has not been heard for ", "freeze", "--for", "1h", "--reason", "audit")
	leader.etcd.set(false) // it leaves faster
}
