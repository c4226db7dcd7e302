package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/pkg/lease/etcd/etcdtest"
	"sidestep/pkg/provider/httpapi/httpfake"
)

// relay is a way to a server that a test can cut: what was connected is closed,
// and nothing new comes through, until it is mended.
type relay struct {
	addr string

	mu    sync.Mutex
	to    string
	cut   bool
	conns []net.Conn
}

func startRelay(t *testing.T, to string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return relayFrom(t, listener, to)
}

func relayFrom(t *testing.T, listener net.Listener, to string) *relay {
	t.Helper()
	r := &relay{addr: listener.Addr().String(), to: to}
	t.Cleanup(func() {
		_ = listener.Close()
		r.set(true)
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.pass(conn)
		}
	}()
	return r
}

func (r *relay) pass(conn net.Conn) {
	defer conn.Close()
	r.mu.Lock()
	to := r.to
	r.mu.Unlock()
	other, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer other.Close()
	r.mu.Lock()
	r.conns = append(r.conns, conn, other)
	cut := r.cut
	r.mu.Unlock()
	if cut {
		return
	}
	go func() { _, _ = io.Copy(other, conn); other.Close() }()
	_, _ = io.Copy(conn, other)
}

func (r *relay) set(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
	if cut {
		for _, c := range r.conns {
			_ = c.Close()
		}
		r.conns = nil
	}
}

// lead makes another server of the one behind it.
func (r *relay) lead(to string) {
	r.set(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to, r.cut = to, false
}

// duo is two nodes that steer one zone and share an etcd, each with a way of its
// own to the etcd and to the provider's API.
type duo struct {
	t        *testing.T
	etcd     *etcdtest.Cluster
	backends []*lab.Backend
	cloud    *cloud
	kind     func(httpfake.Request) string
	nodes    []*member
}

// member is one node of a duo.
type member struct {
	*world
	*process
	front *front
	etcd  *relay
}

// startDuo runs both nodes on a zone that answers with some of the backends, and
// waits until the first leads and the second stands by. Edits are pairs of what is in
// their config and what is written instead.
func startDuo(t *testing.T, h hosted, live int, edits ...string) *duo {
	t.Helper()
	return startDuoAt(t, h, live, etcdtest.Start(t, etcdtest.Options{}), "10s", edits...)
}

// startDuoAt is startDuo at an etcd that runs, with a lease of that length.
func startDuoAt(t *testing.T, h hosted, live int, c *etcdtest.Cluster, lease string, edits ...string) *duo {
	t.Helper()
	p := newDuo(t, h, live)
	p.etcd = c
	c.Put(t, "/sidestep/test/led", "{}") // it is no new one
	p.start(func(m *member, text string) string {
		m.etcd = startRelay(t, c.Members[0].Addr)
		text += fmt.Sprintf("leader: {lock: etcd, lease: %s}\netcd: {endpoints: [\"http://%s\"], prefix: /sidestep/test}\n", lease, m.etcd.addr)
		return strings.NewReplacer(edits...).Replace(text)
	})
	return p
}

// newDuo is a zone that answers with some of the backends, and no node yet.
func newDuo(t *testing.T, h hosted, live int) *duo {
	t.Helper()
	list, err := startLab(2)
	if err != nil {
		t.Fatal(err)
	}
	p := &duo{t: t, backends: list, kind: h.kind}
	for _, b := range list {
		t.Cleanup(func() { _ = b.Close() })
	}
	answers := []string{ip(list[0]), ip(list[1])}
	p.cloud = h.start(t, answers[:live]...)
	p.cloud.answers = answers
	return p
}

// start runs both nodes, with configs that are written under their lock, and waits
// until the first leads and the second stands by.
func (p *duo) start(under func(m *member, text string) string) {
	p.t.Helper()
	_, port, _ := net.SplitHostPort(p.backends[0].Addr())
	for i := range 2 {
		m := &member{world: &world{t: p.t, dir: shortDir(p.t)}, front: startFront(p.t, p.cloud)}
		m.config = filepath.Join(m.dir, "sidestep.yaml")
		m.env = p.cloud.environ()
		text := p.cloud.configFor(m.dir, pace{300 * time.Millisecond, 100 * time.Millisecond}, port, m.front)
		text = under(m, strings.Replace(text, "walker", fmt.Sprintf("mon-%d", i+1), 1))
		if err := os.WriteFile(m.config, []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
		m.process = m.run()
		p.nodes = append(p.nodes, m)
		m.waitLeader([]string{"leader", "standby"}[i], "mon-1")
	}
	p.wait("the zone to be as wanted, and both to know", func() bool {
		return p.live() == ip(p.backends[0]) && p.judged(0, "up") && p.judged(1, "up")
	})
}

func (p *duo) wait(what string, happened func() bool) { p.t.Helper(); p.nodes[0].wait(what, happened) }

func (p *duo) live() string { return p.cloud.live() }

// judged reports whether a node finds both backends to be so.
func (p *duo) judged(node int, first string) bool {
	s := p.nodes[node].status()
	return s != nil && verdictAt(s, ip(p.backends[0])) == first && verdictAt(s, ip(p.backends[1])) == "up"
}

func (m *member) waitLeader(state, holder string) (l control.Leader) {
	m.t.Helper()
	m.wait(fmt.Sprintf("%s to be %s", m.config, state), func() bool {
		s := m.status()
		if s == nil {
			return false
		}
		l = s.Leader
		return l.State == state && strings.HasPrefix(l.Holder, holder)
	})
	return l
}

// writes are the requests of a node, so far, that change something.
func (p *duo) writes(node int) (n int) {
	for _, kind := range p.nodes[node].front.kinds(p.kind) {
		if !slices.Contains([]string{"list", "look", "zone"}, kind) {
			n++
		}
	}
	return n
}

func (p *duo) breakFirst() {
	p.t.Helper()
	if err := p.backends[0].Break(lab.Refuse); err != nil {
		p.t.Fatal(err)
	}
}

// silent fails when a node has written since it had written n times.
func (p *duo) silent(node, n int) {
	p.t.Helper()
	if now := p.writes(node); now != n {
		p.t.Errorf("%s wrote %d times more; all its requests: %v", p.nodes[node].config, now-n, p.nodes[node].front.kinds(p.kind))
	}
}

func hostedNamed(name string) hosted {
	i := slices.IndexFunc(hostedProviders, func(h hosted) bool { return h.name == name })
	return hostedProviders[i]
}

// fencedDuo has a provider that compares and swaps.
func fencedDuo(t *testing.T) *duo { t.Helper(); return startDuo(t, hostedNamed("cloudflare"), 2) }

// TestTwoNodesLeaderStandsStill: a leader that is stopped for longer than its lease
// and continued after the other took over writes nothing any more, and stands by.
func TestTwoNodesLeaderStandsStill(t *testing.T) {
	t.Parallel()
	p := fencedDuo(t)
	p.nodes[0].signal(t, syscall.SIGSTOP)
	p.breakFirst()
	p.nodes[1].waitLeader("leader", "mon-2")
	p.wait("the second answer", func() bool { return p.live() == ip(p.backends[1]) })
	before := p.writes(0)
	p.nodes[0].signal(t, syscall.SIGCONT)
	p.nodes[0].waitLeader("standby", "mon-2")
	p.wait("the first to see the failure, too", func() bool { return p.judged(0, "down") })
	p.silent(0, before)
}

// TestCase82TwoNodesLeaderCutOffFromEtcd cuts the leader, and nobody else, off from
// etcd for longer than the lease; meanwhile the first address dies.
//
// The leader stops writing before the other one leads, goes on probing and judging,
// says why it writes nothing, and stands by when it is mended. The other one
// switches the name: one writer, and the name always answers.
func TestCase82TwoNodesLeaderCutOffFromEtcd(t *testing.T) {
	t.Parallel()
	p := fencedDuo(t)
	p.nodes[0].etcd.set(true)
	l := p.nodes[0].waitLeader("none", "")
	if !strings.Contains(l.Detail, "acquire the lease") && !strings.Contains(l.Detail, "lost") {
		t.Errorf("says of its leadership %q", l.Detail)
	}
	before := p.writes(0)
	p.breakFirst()
	p.wait("the first to judge on without etcd", func() bool { return p.judged(0, "down") })
	p.nodes[1].waitLeader("leader", "mon-2")
	p.wait("the second answer", func() bool { return p.live() == ip(p.backends[1]) })
	p.silent(0, before)
	p.nodes[0].etcd.set(false)
	p.nodes[0].waitLeader("standby", "mon-2")
	p.silent(0, before)
	if code := p.nodes[1].stop(t); code != 0 {
		t.Errorf("the second ended with %d", code)
	}
	p.nodes[0].waitLeader("leader", "mon-1") // at once: the lease was let go of
}

// TestTwoNodesLeaderCutOffFromTheProvider: it stays the leader, nobody else writes,
// and it switches the name once it can.
func TestTwoNodesLeaderCutOffFromTheProvider(t *testing.T) {
	t.Parallel()
	p := fencedDuo(t)
	before := p.writes(1)
	p.nodes[0].front.down.Store(&httpfake.Fault{Status: 503, Body: "out of order"})
	p.breakFirst()
	p.wait("both to judge", func() bool { return p.judged(0, "down") && p.judged(1, "down") })
	p.nodes[1].waitLeader("standby", "mon-1")
	p.nodes[0].front.down.Store(nil)
	p.wait("the second answer", func() bool { return p.live() == ip(p.backends[1]) })
	p.silent(1, before)
	p.nodes[0].waitLeader("leader", "mon-1")
}

// TestCase79TwoNodesACallComesLate kills the leader while a write of it is on its way
// to the provider. The other node takes over and switches the name; then the write
// arrives. The provider refuses it, and the zone stays as the new leader left it.
func TestCase79TwoNodesACallComesLate(t *testing.T) {
	t.Parallel()
	p := fencedDuo(t)
	call := newLate(func(r *http.Request) bool {
		return p.kind(httpfake.Request{Method: r.Method, Path: r.URL.Path, Header: r.Header}) == "write"
	})
	arrive := sync.OnceFunc(func() { close(call.arrives) })
	t.Cleanup(arrive) // or the API would wait for it
	p.nodes[0].front.late.Store(call)
	p.breakFirst()
	<-call.sent
	p.nodes[0].kill()
	p.nodes[1].waitLeader("leader", "mon-2")
	p.wait("the second answer", func() bool { return p.live() == ip(p.backends[1]) })
	p.cloud.changed() // by a request of which the answer may be on its way still
	before := p.cloud.zoneNow()
	arrive()
	<-call.done
	if diff := differences(p.cloud.zoneNow(), before); diff != "" {
		t.Errorf("the late call changed the zone:\n%s", diff)
	}
}

// unfenced is two nodes at a provider without a fence, whose leader is killed as the
// first answer dies, once the other leads.
func unfenced(t *testing.T, name string, live int, late string) *duo {
	t.Helper()
	h := hostedNamed(name)
	begin := h.start
	h.start = func(t *testing.T, live ...string) *cloud {
		t.Helper()
		c := begin(t, live...)
		c.keys = strings.Replace(c.keys, "late: 300ms", "late: "+late, 1)
		return c
	}
	p := startDuo(t, h, live)
	p.nodes[0].kill()
	p.breakFirst()
	p.nodes[1].waitLeader("leader", "mon-2")
	return p
}

func (p *duo) waitBoth() {
	p.t.Helper()
	both := []string{ip(p.backends[0]), ip(p.backends[1])}
	p.wait("both answers", func() bool {
		live := strings.Fields(p.live())
		slices.Sort(live)
		return slices.Equal(live, both)
	})
}

// TestTwoNodesAtAProviderWithoutAFence: a leader that took over adds at once, and
// takes nothing away while a call of the one before could come late, which is five
// minutes where signatures live so long; status says so.
func TestTwoNodesAtAProviderWithoutAFence(t *testing.T) {
	t.Parallel()
	p := unfenced(t, "tencentcloud", 1, "300ms")
	p.waitBoth()
	p.wait("status to say what it waits for", func() bool {
		s := p.nodes[1].status()
		return s != nil && s.Zones[0].Waits != nil && time.Until(s.Zones[0].Waits.Until) > 4*time.Minute
	})
}

// TestTakeOverWithoutAFence goes the whole way at a real server, whose calls may be
// some seconds late: the new leader adds at once, says everywhere until when it takes
// nothing away and why, and takes the dead answer away then and not before.
func TestTakeOverWithoutAFence(t *testing.T) {
	t.Parallel()
	p := unfenced(t, "powerdns", 2, "4s")
	p.waitBoth()
	next := p.nodes[1]
	wait := next.mustStatus().Zones[0].Waits
	if wait == nil || !strings.Contains(wait.Why, "an earlier process") {
		t.Fatalf("status says that it waits %+v", wait)
	}
	const why = "paused answers come in at once, and nothing is taken away until what an earlier process may have sent is beyond doubt"
	for _, command := range []string{"status", "plan", "explain www.example.com"} {
		_, said, _ := next.sidestep(strings.Fields(command)...)
		if time.Until(wait.Until) > 0 && !strings.Contains(said, "until "+wait.Until.Local().Format(time.TimeOnly)) || !strings.Contains(said, why) {
			t.Errorf("%s does not say until when, and why:\n%s", command, said)
		}
	}
	if log := next.log.String(); !strings.Contains(log, "and nothing is taken away for ") || !strings.Contains(log, "waiting before the next write") {
		t.Errorf("the log does not say it:\n%s", log)
	}
	p.wait("the second answer alone", func() bool { return p.live() == ip(p.backends[1]) })
	if early := time.Until(wait.Until); early > 0 {
		t.Errorf("the dead answer went %s too early", early)
	}
}
