package main

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sidestep/pkg/lease/etcd/etcdtest"
	"sidestep/pkg/provider/httpapi/httpfake"
)

// cell is one fault of the leader of two daemons, under one lock and at one provider.
type cell struct {
	lock, provider, fault string
	late                  string // how late a call may be, as the config has it; empty for what the provider's test says
	away                  string // the kind of the request that takes an answer away, once the other one is there
}

// The cells that no other test has: see TestZoneLock, TestTwoNodes…, TestPartitions.
var cells = []cell{
	{lock: "file", provider: "cloudflare", fault: "kill -9"},
	{lock: "file", provider: "cloudflare", fault: "SIGSTOP and SIGCONT"},
	{lock: "file", provider: "cloudflare", fault: "cut off from the provider"},
	{lock: "file", provider: "cloudflare", fault: "late", away: "write"},
	{lock: "file", provider: "tencentcloud", fault: "kill -9"},
	{lock: "file", provider: "tencentcloud", fault: "SIGSTOP and SIGCONT"},
	{lock: "file", provider: "tencentcloud", fault: "cut off from the provider"},
	{lock: "file", provider: "tencentcloud", fault: "late", late: "5s", away: "flip"},
	{lock: "zone", provider: "cloudflare", fault: "late", away: "write"},
	{lock: "etcd", provider: "powerdns", fault: "SIGSTOP and SIGCONT", late: "4s"},
	{lock: "etcd", provider: "powerdns", fault: "cut off from the provider", late: "4s"},
	{lock: "etcd", provider: "powerdns", fault: "cut off from etcd", late: "4s"},
	{lock: "etcd", provider: "powerdns", fault: "late", late: "8s", away: "write"},
}

// TestTwoDaemonsUnderALock lets the leader of two daemons be killed, stopped and
// continued, cut off, or killed with a take-away on its way that arrives when the other
// one leads; each time the first server dies. By the log of the API the two change the
// zone one after the other, but for the call that is late where nothing can refuse it,
// and which the second waits for; the name always answers (see front.look); and the second answer is
// what it comes to. Whoever keeps its lock through the fault is followed by nobody.
func TestTwoDaemonsUnderALock(t *testing.T) {
	t.Parallel()
	cases := map[string]cell{}
	for _, c := range cells {
		cases[c.lock+"/"+c.provider+"/"+c.fault] = c
	}
	together(t, cases, func(t *testing.T, c cell) { c.run(t) })
}

func (c cell) run(t *testing.T) {
	t.Helper()
	p, log := c.start(t)
	first, second := p.nodes[0], p.nodes[1]
	mend := c.strike(p)
	order := []string{"mon-1"}
	switch {
	case c.stays():
		p.wait("the second to judge", func() bool { return p.judged(1, "down") })
		second.waitLeader("standby", "mon-1")
	default:
		second.waitLeader("leader", "mon-")
		p.wait("the second answer", func() bool { return strings.Contains(p.live(), ip(p.backends[1])) })
		order = append(order, "mon-2")
	}
	if c.fenced() && !c.stays() {
		p.wait("the second answer alone", func() bool { return p.live() == ip(p.backends[1]) })
	}
	mend()
	p.wait("the second answer alone", func() bool { return p.live() == ip(p.backends[1]) })
	switch {
	case c.stays():
		first.waitLeader("leader", "mon-1")
	case c.fault != "late":
		first.waitLeader("standby", "mon-")
	}
	for _, n := range p.nodes {
		n.front.settle() // whose request changed the zone is known once it was answered
	}
	refusable := c.fault != "late" || c.fenced() // else the late call takes effect, within its time
	if got := log.order(); refusable && !slices.Equal(got, order) {
		t.Errorf("who changed the zone, in order: %v, expected %v", got, order)
	}
	t.Logf("changes of the zone: %d by the first, %d by the second; requests to write: %d and %d; %d of the second were refused or changed nothing",
		log.count("mon-1"), log.count("mon-2"), p.writes(0), p.writes(1), p.writes(1)-log.count("mon-2"))
}

// fenced reports whether the provider compares and swaps.
func (c cell) fenced() bool { return c.provider == "cloudflare" }

// stays reports whether the leader keeps its lock through the fault.
func (c cell) stays() bool {
	switch c.fault {
	case "SIGSTOP and SIGCONT":
		return c.lock == "file"
	case "cut off from the provider":
		return c.lock != "zone"
	}
	return false
}

// start runs two daemons under the lock. With a lock file both have one state
// directory, and so one name.
func (c cell) start(t *testing.T) (*duo, *changeLog) {
	t.Helper()
	h := hostedNamed(c.provider)
	begin := h.start
	h.start = func(t *testing.T, live ...string) *cloud {
		t.Helper()
		api := begin(t, live...)
		if c.late != "" {
			api.keys = regexp.MustCompile(`late: \S+`).ReplaceAllString(api.keys, "late: "+c.late)
		}
		return api
	}
	p := newDuo(t, h, 2)
	var members *etcdtest.Cluster
	if c.lock == "etcd" {
		members = etcdtest.Start(t, etcdtest.Options{})
		members.Put(t, "/sidestep/test/led", "{}") // it is no new one
	}
	log := &changeLog{cloud: p.cloud}
	p.start(func(m *member, text string) string {
		node := fmt.Sprintf("mon-%d", len(p.nodes)+1)
		m.front.told = func(r *http.Request) { log.see(node, h.kind(asSeen(r))) }
		switch c.lock {
		case "etcd":
			m.etcd = startRelay(t, members.Members[0].Addr)
			return text + fmt.Sprintf("leader: {lock: etcd, lease: 10s}\netcd: {endpoints: [\"http://%s\"], prefix: /sidestep/test}\n", m.etcd.addr)
		case "zone":
			return text + zoneLockTimes
		}
		if len(p.nodes) > 0 {
			text = strings.ReplaceAll(text, m.state(), p.nodes[0].state())
		}
		return strings.ReplaceAll(text, "mon-2", "mon-1")
	})
	return p, log
}

// strike lets the fault of the leader happen and the first server die; mend ends it.
func (c cell) strike(p *duo) (mend func()) {
	p.t.Helper()
	first := p.nodes[0]
	mend = func() {}
	switch c.fault {
	case "kill -9":
		first.kill()
		mend = func() { first.process = first.run() }
	case "SIGSTOP and SIGCONT":
		first.signal(p.t, syscall.SIGSTOP)
		mend = func() { first.signal(p.t, syscall.SIGCONT) }
	case "cut off from the provider":
		first.front.down.Store(&httpfake.Fault{Drop: true})
		mend = func() { first.front.down.Store(nil) }
	case "cut off from etcd":
		first.etcd.set(true)
		first.waitLeader("none", "") // as long as it leads, it would write
		mend = func() { first.etcd.set(false) }
	case "late":
		return c.killWithACallOnItsWay(p)
	}
	p.breakFirst()
	return mend
}

// killWithACallOnItsWay lets the first server die, and kills the leader once the
// take-away that follows is on its way; mend lets that arrive.
func (c cell) killWithACallOnItsWay(p *duo) (mend func()) {
	p.t.Helper()
	call := newLate(func(r *http.Request) bool {
		added := strings.Contains(p.live(), ip(p.backends[1])) || c.provider == "powerdns" // in one call
		return added && p.kind(asSeen(r)) == c.away
	})
	arrive := sync.OnceFunc(func() { close(call.arrives) })
	p.t.Cleanup(arrive) // or the API would wait for it
	p.nodes[0].front.late.Store(call)
	p.breakFirst()
	<-call.sent
	p.nodes[0].kill()
	return func() {
		p.cloud.changed()
		before := p.cloud.zoneNow()
		arrive()
		<-call.done
		if diff := differences(p.cloud.zoneNow(), before); c.fenced() && diff != "" {
			p.t.Errorf("the late call changed the zone:\n%s", diff)
		}
	}
}

// asSeen is a request as the fakes keep it, without its body.
func asSeen(r *http.Request) httpfake.Request {
	return httpfake.Request{Method: r.Method, Path: r.URL.Path, Header: r.Header}
}

// changeLog is who changed a zone, request by request.
type changeLog struct {
	cloud *cloud

	mu   sync.Mutex
	last string
	who  []string
}

func (l *changeLog) see(node, kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains([]string{"list", "look", "zone"}, kind) {
		return
	}
	if now := l.cloud.zoneNow(); now != l.last {
		l.who, l.last = append(l.who, node), now
	}
}

// order is who did, each once for as long as nobody else came between.
func (l *changeLog) order() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Compact(slices.Clone(l.who))
}

func (l *changeLog) count(node string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, who := range l.who {
		if who == node {
			n++
		}
	}
	return n
}
