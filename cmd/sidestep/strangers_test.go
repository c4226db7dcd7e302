package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sidestep/pkg/lease/etcd/etcdtest"
)

// beside makes another node of a duo, from the config of the second one and with a
// way of its own to the API. Edits are pairs of what is in the config and what is
// written instead.
func (p *duo) beside(edits ...string) *member {
	p.t.Helper()
	like := p.nodes[1]
	m := &member{world: &world{t: p.t, dir: shortDir(p.t), env: p.cloud.environ()}, front: startFront(p.t, p.cloud), etcd: like.etcd}
	m.config = filepath.Join(m.dir, "sidestep.yaml")
	text, err := os.ReadFile(like.config)
	if err != nil {
		p.t.Fatal(err)
	}
	edits = append(edits, like.dir+"/", m.dir+"/", like.front.URL, m.front.URL)
	if err := os.WriteFile(m.config, []byte(strings.NewReplacer(edits...).Replace(string(text))), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return m
}

// notices waits until status has a notice with all of some parts.
func (m *member) notices(parts ...string) {
	m.t.Helper()
	m.wait("a notice with "+strings.Join(parts, ", "), func() bool {
		s := m.status()
		if s == nil {
			return false
		}
		all := strings.Join(s.Notices, "\n")
		for _, part := range parts {
			if !strings.Contains(all, part) {
				return false
			}
		}
		return true
	})
}

// TestNodesThatDoNotBelong puts nodes beside two that share an etcd: one of another
// deployment, one with a name that is taken, one with another config, and one whose
// etcd is none. Each says what is wrong with it, and writes nothing while the others
// do.
func TestNodesThatDoNotBelong(t *testing.T) {
	t.Parallel()
	p := fencedDuo(t)
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := web.Addr().String()
	_ = web.Close() // nobody is there

	foreign := p.beside("name: mon-2", "name: web-1", "example.com", "example.net")
	nowhere := p.beside("name: mon-2", "name: mon-5", p.nodes[1].etcd.addr, port)
	for m, want := range map[*member]string{
		foreign: "the prefix /sidestep/test is used by mon-1 (process ",
		nowhere: "refuses the connection; sidestep validate --online",
	} {
		if code, out, errOut := m.sidestep("reconcile"); code == 0 || !strings.Contains(errOut, want) {
			t.Errorf("reconcile exited with %d, expected to be told of %q:\n%s%s", code, want, out, errOut)
		}
	}

	namesake := p.beside()
	namesake.process = namesake.run()
	other := p.beside("name: mon-2", "name: mon-3", "interval: 300ms", "interval: 310ms")
	other.process = other.run()
	namesake.notices("node.name mon-2 is taken by process ", "give each node its own node.name")
	other.notices("the config of this node (", ") is another than that of mon-1 (", "give all nodes one config")
	p.nodes[0].notices("the config of this node (", "mon-3 (") // each has another way to the API, too

	p.breakFirst()
	p.wait("the second answer", func() bool { return p.live() == ip(p.backends[1]) })
	for _, m := range []*member{foreign, nowhere, namesake, other} {
		for _, kind := range m.front.kinds(p.kind) {
			if kind == "write" {
				t.Errorf("%s wrote", m.config)
			}
		}
	}
	for _, m := range []*member{namesake, other} {
		if l := m.mustStatus().Leader; l.State != "standby" {
			t.Errorf("%s is %+v", m.config, l)
		}
	}
}

// TestNodesThatShareNoLock puts nodes beside an etcd's leader that its lock does not
// reach: one with a lock file, one with another prefix of that etcd, one with another
// etcd. Each finds the stamp of a living leader, which has nothing to write, and writes
// nothing; when a person takes over at one of them, the leader is told of it.
func TestNodesThatShareNoLock(t *testing.T) {
	t.Parallel()
	p := fencedDuo(t)
	if code, out, errOut := p.nodes[0].sidestep("drain", ip(p.backends[0]), "--for", "1h", "--reason", "new kernel"); code != 0 {
		t.Fatalf("drain exited with %d: %s%s", code, out, errOut)
	}
	p.wait("the second answer", func() bool { return p.live() == ip(p.backends[1]) })
	port := etcdtest.Start(t, etcdtest.Options{}).Members[0].Addr
	besides := map[string]*member{
		"node mon-1, which leads by an etcd (cluster id ":             p.beside("name: mon-2", "name: mon-7", "leader: {lock: etcd, lease: 10s}", "leader: {lock: file}", "\netcd: ", "\n#"),
		"node mon-1, which leads by another etcd.prefix of this etcd": p.beside("name: mon-2", "name: mon-8", "/sidestep/test", "/sidestep/tset"),
		"node mon-1, which leads by another etcd (cluster id ":        p.beside("name: mon-2", "name: mon-9", p.nodes[1].etcd.addr, port),
	}
	for _, m := range besides {
		m.process = m.run()
	}
	for want, m := range besides {
		two := m.waitLeader("two-writers", "mon-1")
		code, out, errOut := m.sidestep("reconcile")
		journal, err := os.ReadFile(filepath.Join(m.state(), "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for place, said := range map[string]string{"reconcile": out + errOut, "status": two.Detail, "log": m.log.String(), "journal": string(journal)} {
			if !strings.Contains(said, want) || !strings.Contains(said, "sidestep reconcile --take-over; else nothing is written here before its stamp is 1h old") {
				t.Errorf("%s of %s does not name %q:\n%s", place, m.config, want, said)
			}
		}
		if valid, told, _ := m.sidestep("validate", "--online"); valid != 0 || !strings.Contains(told, "note: two writers: "+want) {
			t.Errorf("validate --online exited with %d and does not name %q:\n%s", valid, want, told)
		}
		if code != 4 {
			t.Errorf("reconcile exited with %d, expected 4", code)
		}
		if n := m.front.kinds(p.kind); slices.Contains(n, "write") || slices.Contains(n, "claim") {
			t.Errorf("%s wrote: %v", m.config, n)
		}
	}
	if valid, told, _ := p.nodes[1].sidestep("validate", "--online"); valid != 0 || strings.Contains(told, "note: node mon-1") || strings.Contains(told, "two writers") {
		t.Errorf("validate --online of a standby exited with %d, and finds something wrong with its leader:\n%s", valid, told)
	}
	quiet := p.writes(0)
	if code, out, errOut := besides["node mon-1, which leads by another etcd.prefix of this etcd"].sidestep("reconcile", "--take-over"); code != 0 || p.live() == ip(p.backends[1]) {
		t.Errorf("reconcile --take-over exited with %d, and the zone has %s:\n%s%s", code, p.live(), out, errOut)
	}
	_, _, _ = p.nodes[0].sidestep("reconcile")
	if two := p.nodes[0].waitLeader("two-writers", "mon-8"); !strings.Contains(two.Detail, "leads by another etcd.prefix of this etcd") {
		t.Errorf("the leader says %+v", two)
	}
	p.silent(0, quiet)
}
