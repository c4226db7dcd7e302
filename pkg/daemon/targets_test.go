package daemon

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/resolve"
	"sidestep/pkg/resolve/resolvetest"
	"sidestep/pkg/steer"
)

// Two targets that are names, and servers behind both of them.
const (
	app1 = "app1.example.net."
	app2 = "app2.example.net."
	at1  = app1 + " 60 A 127.0.0.1"
	at2  = app2 + " 60 A 127.0.0.2"
)

// named is a world of real time and real sockets: app.example.com is a CNAME to
// app1, or else to app2.
type named struct {
	*world
	*running
	resolver *resolvetest.Server
}

func newNamed(t *testing.T) *named {
	t.Helper()
	w := &named{world: newWorld(t, class), resolver: resolvetest.Start(t, at1, at2)}
	port := accepting(t, "127.0.0.1", "127.0.0.2")
	w.config.Checks["web"] = &check.Spec{
		Name: "web", Kind: check.KindTCP, TCP: &check.TCP{Port: port},
		Interval: 400 * time.Millisecond, Timeout: 390 * time.Millisecond, Fall: 3, Rise: 2,
	}
	w.config.Zones[0].Settings.Options = map[string]string{"listen": "127.0.0.1:0"} // so that names may lead to loopback
	w.config.Records = nil
	w.addSet(&steer.Spec{
		Key: record.Key{Zone: home, Name: "app.example.com.", Type: record.CNAME}, TTL: time.Minute,
		Policy: steer.Priority, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, Failback: steer.Failback{Hold: time.Hour},
	}, app1, app2)
	w.running = w.run(func(o *Options) {
		o.Probe, o.Resolver = nil, resolve.Options{Servers: []netip.AddrPort{w.resolver.Addr}}
	})
	return w
}

// accepting finds a port that is free at all addresses, and takes connections on
// it until the test ends.
func accepting(t *testing.T, addresses ...string) uint16 {
	t.Helper()
	var list []net.Listener
	port := uint16(0)
	for tries := 0; len(list) < len(addresses); tries++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", addresses[len(list)], port))
		if err == nil {
			port = netip.MustParseAddrPort(listener.Addr().String()).Port()
			list = append(list, listener)
			continue
		}
		if tries == 100 {
			t.Fatal(err)
		}
		for _, taken := range list {
			_ = taken.Close() // another port is tried
		}
		list, port = nil, 0
	}
	for _, listener := range list {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_ = conn.Close() // a connection is all that is asked
			}
		}()
		t.Cleanup(func() { _ = listener.Close(); <-ended })
	}
	return port
}

// target is what status says of the target at a name.
func (w *named) target(name string) control.Target {
	w.Helper()
	for _, target := range w.status().Targets {
		if target.Address == name {
			return target
		}
	}
	w.Fatalf("no target at %s", name)
	return control.Target{}
}

// until waits for what has to happen, however slow the machine is.
func (w *named) until(what string, happened func() bool) {
	w.Helper()
	for end := time.Now().Add(30 * time.Second); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("waited too long for %s: %+v", what, w.status().Targets)
		}
	}
}

// verdicts lists what the journal says of the verdicts on a target.
func (w *named) verdicts(name string) string {
	var words []string
	for _, line := range w.journal("verdict") {
		if line["target"] == "web@"+name {
			words = append(words, fmt.Sprint(line["to"]))
		}
	}
	return strings.Join(words, " ")
}

// mustBeUnknown breaks the resolver and holds both targets to be unknown by it
// and nothing worse, for some rounds.
func (w *named) mustBeUnknown(fault resolvetest.Fault, detail string) {
	w.Helper()
	w.resolver.Fail(fault)
	w.until("both to be unknown by "+string(fault), func() bool {
		one, two := w.target(app1), w.target(app2)
		return one.Verdict == "unknown" && two.Verdict == "unknown" && strings.Contains(one.Detail, detail)
	})
	asked := len(w.resolver.Asked())
	w.until("more questions", func() bool { return len(w.resolver.Asked()) > asked+8 })
	if one := w.target(app1); one.Verdict != "unknown" || one.Fails > 0 || !strings.Contains(one.Detail, w.resolver.Addr.String()) {
		w.Errorf("by %s: %+v", fault, one)
	}
}

// A resolver in four states, and a target known by its name alone:
//
//	app1.example.net: SERVFAIL, then no answer, then NXDOMAIN, then right
//
// The first two say nothing of the target: it is shown as unknown, its verdict
// stands and nothing is written. NXDOMAIN is its own failure, and brings it down
// after fall. It comes back without a restart.
func TestCase14ResolverInTrouble(t *testing.T) {
	w := newNamed(t)
	live := func() string { return strings.Join(w.zones[home].Live(w.config.Records[0].Key), " ") }
	up := func() bool { return w.target(app1).Verdict == "up" && w.target(app2).Verdict == "up" }
	w.until("both to be up", up)
	w.mustBeUnknown(resolvetest.ServFail, "answered SERVFAIL")
	w.mustBeUnknown(resolvetest.Silent, "no answer in time")
	if writes := w.writes(home); len(writes) > 0 || live() != app1 || w.verdicts(app1) != "up" {
		t.Fatalf("the resolver failed: %d writes, live %s, verdicts %s", len(writes), live(), w.verdicts(app1))
	}

	w.resolver.Fail(resolvetest.Healthy)
	w.resolver.Serve(t, at2)
	w.until("app1 to be down", func() bool { return w.target(app1).Verdict == "down" })
	if one := w.target(app1); one.Phase != "resolve" || one.Cause != "unreachable" {
		t.Errorf("by NXDOMAIN: %+v", one)
	}
	w.until("the name to move", func() bool { return live() == app2 })
	w.resolver.Serve(t, at1, at2)
	w.until("both to be up again", up)
	if got := w.verdicts(app1); got != "up down up" {
		t.Errorf("verdicts on app1: %s", got)
	}
}

// A reload that steers one more name is heeded by the next probe: a target that
// leads through it is unknown, and not one more reason to write.
func TestCase15ReloadSteersWhatATargetLeadsThrough(t *testing.T) {
	w := newNamed(t)
	w.resolver.Serve(t, app1+" 60 CNAME edge.example.com.", "edge.example.com. 60 A 127.0.0.1", at2)
	w.until("both to be up", func() bool { return w.target(app1).Verdict == "up" && w.target(app2).Verdict == "up" })
	next := *w.config
	edge := &steer.Spec{
		Key: record.Key{Zone: home, Name: "edge.example.com.", Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
		Checks: []string{"web"}, Answers: []steer.Answer{{Value: "127.0.0.1", Probe: "127.0.0.1"}},
	}
	next.Records = append(next.Records[:1:1], edge)
	if err := w.zones[home].EditByHand(memory.Put("edge.example.com.", "A", time.Minute, "127.0.0.1")); err != nil {
		t.Fatal(err)
	}
	w.ask(func(*engine.Engine) { w.putInForce(&next) })
	want := "app1.example.net. resolves through edge.example.com., which sidestep steers"
	w.until("app1 to be unknown after the reload", func() bool {
		one := w.target(app1)
		return one.Verdict == "unknown" && strings.HasPrefix(one.Detail, want)
	})
	if one := w.target(app1); one.Fails > 0 {
		t.Errorf("got %+v, want %s", one, want)
	}
	if writes := w.writes(home); len(writes) > 0 {
		t.Errorf("%d writes", len(writes))
	}
}
