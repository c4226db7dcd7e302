package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// manualDuo is two nodes of which the first leads, and a third machine with the same
// config where no daemon runs. A failback waits for a person.
func manualDuo(t *testing.T) (p *duo, third *world) {
	t.Helper()
	p = startDuo(t, hostedNamed("cloudflare"), 2, "failback: {hold: 0s}", "failback: {mode: manual}")
	third = &world{t: t, dir: shortDir(t), env: p.nodes[1].env}
	text, err := os.ReadFile(p.nodes[1].config)
	if err != nil {
		t.Fatal(err)
	}
	third.config = filepath.Join(third.dir, "sidestep.yaml")
	config := strings.ReplaceAll(strings.Replace(string(text), "mon-2", "mon-3", 1), p.nodes[1].dir, third.dir)
	if err := os.WriteFile(third.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return p, third
}

// says runs a command and wants it to exit so, with some words in what it prints.
func (w *world) says(exit int, words string, args ...string) {
	w.t.Helper()
	code, stdout, stderr := w.sidestep(args...)
	if code != exit || !strings.Contains(stdout+stderr, words) {
		w.t.Errorf("sidestep %s: exit %d\n%s%s\nwant exit %d and %q", strings.Join(args, " "), code, stdout, stderr, exit, words)
	}
}

// TestACommandOnAnyNode: at a node that stands by, and at one where no daemon runs,
// every word of a person comes to the leader and to all others, and the command says
// who acts on it.
func TestACommandOnAnyNode(t *testing.T) {
	t.Parallel()
	p, third := manualDuo(t)
	leader, standby := p.nodes[0], p.nodes[1]
	one, two := ip(p.backends[0]), ip(p.backends[1])
	for i, at := range []*world{standby.world, third} {
		other := []*world{third, standby.world}[i]
		at.says(0, "mon-1 leads and acts on it", "drain", one, "--for", "1h", "--reason", "new kernel")
		p.wait("the drained answer to leave", func() bool { return p.live() == two })
		third.says(0, "new kernel", "override", "list")
		other.says(0, "cleared: drain "+one, "undrain", one)
		p.wait("every node to know that", func() bool {
			return len(leader.mustStatus().Overrides) == 0 && len(standby.mustStatus().Overrides) == 0
		})
		p.wait("a failback to wait", func() bool { return leader.mustStatus().Records[0].Waiting == "failback to "+one })
		at.says(0, "approved: www.example.com; mon-1 leads and goes on with it now", "approve", "www.example.com")
		p.wait("it to come back", func() bool { return p.live() == one })
		at.says(0, "node mon-1, which leads: nothing waits", "approve", "www.example.com")
		at.says(2, "node mon-1, which leads: approve \"nonsense\"", "approve", "nonsense")
		began := time.Now()
		at.says(2, "not 000000000000", "approve", "example.com", "--plan", "000000000000")
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it waited %s for more than the leader's answer", took)
		}
		at.says(0, "mon-1 leads and acts on it", "freeze", "--for", "1h", "--reason", "audit")
		p.wait("both to be frozen", func() bool { return leader.mustStatus().Frozen != nil && standby.mustStatus().Frozen != nil })
		other.says(0, "cleared: freeze all", "unfreeze")
		p.wait("both to go on", func() bool { return leader.mustStatus().Frozen == nil && standby.mustStatus().Frozen == nil })
	}

	leader.signal(t, syscall.SIGSTOP)
	began := time.Now()
	var both sync.WaitGroup // before another leads
	both.Go(func() {
		standby.says(4, "noted: www.example.com; mon-1 leads, and has not answered", "approve", "www.example.com")
	})
	standby.says(4, "mon-1 leads, and has not answered within 5s; nothing is written before", "drain", one, "--for", "1h", "--reason", "new kernel")
	both.Wait()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it waited %s for a leader that does not answer", took)
	}
	leader.signal(t, syscall.SIGCONT)
	third.says(0, "cleared: drain "+one, "undrain", one)

	third.says(0, "nothing to clear: no drain", "undrain", one) // and hears that nothing is frozen
	standby.etcd.set(true)                                      // which is the third's way, too
	third.says(5, "nothing was written, since it is not known who leads: ", "reconcile")
	third.says(5, "it holds at this node only: the other nodes are told by the next command here", "drain", one, "--for", "1h", "--reason", "new kernel")
	third.says(5, "cleared: drain "+one, "undrain", one)
	third.says(5, "noted: www.example.com; at this node only", "approve", "www.example.com")
	third.says(0, "what persons said at the other nodes is not known here: share with other nodes: ", "override", "list")
	if _, stdout, stderr := third.sidestep("undrain", one); strings.Count(stdout+stderr, "share with other nodes: ") != 1 {
		t.Errorf("says more than once that etcd is away:\n%s%s", stdout, stderr)
	}
	standby.etcd.set(false) // it leaves faster
}
