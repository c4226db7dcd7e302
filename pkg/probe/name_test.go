package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/check"
	"sidestep/pkg/resolve"
	"sidestep/pkg/resolve/resolvetest"
)

// named is a prober with a resolver of its own.
func named(s *resolvetest.Server, steered ...string) *Prober {
	return New(counting(), Options{
		Resolver: resolve.Options{Servers: []netip.AddrPort{s.Addr}},
		Loopback: func() bool { return true },
		Steered: func(name string) (string, bool) {
			for _, set := range steered {
				if rest, wild := strings.CutPrefix(set, "*"); name == set || wild && strings.HasSuffix(name, rest) {
					return set, true
				}
			}
			return "", false
		},
	})
}

// listening is a port that takes connections at some addresses of 127.0.0.1 to
// 127.0.0.4, and refuses them at the others.
func listening(t *testing.T, addresses ...string) uint16 {
	t.Helper()
	port := reserve(t, "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
	for _, address := range addresses {
		serve(t, netip.AddrPortFrom(netip.MustParseAddr(address), port).String(), func(net.Conn) {})
	}
	return port
}

// A name passes when one of its addresses does, and fails when all do. The rest
// is never guessed: what was not seen leaves it unknown.
func TestNameIsJudgedByAllItsAddresses(t *testing.T) {
	port := listening(t, "127.0.0.1", "127.0.0.2")
	s := resolvetest.Start(t)
	for _, c := range []struct {
		what    string
		records []string
		want    string
		detail  []string
	}{
		{"all pass", []string{"A 127.0.0.1", "A 127.0.0.2"}, "pass", nil},
		{"one passes", []string{"A 127.0.0.3", "A 127.0.0.2", "A 127.0.0.4"}, "pass", []string{"2 of 3 addresses failed, first 127.0.0.3: connection refused"}},
		{"all fail", []string{"A 127.0.0.4", "A 127.0.0.3"}, "fail connect/refused", []string{"2 of 2 addresses failed, first 127.0.0.3: connection refused"}},
		{"one passes, one is not dialled", []string{"A 127.0.0.1", "A 0.0.0.0"}, "pass", nil},
		{"all fail but one that is not dialled", []string{"A 127.0.0.3", "A 0.0.0.0"}, "unknown resolve/local", []string{"1 of 1 addresses failed", "0.0.0.0 is the unspecified address"}},
		{"none is dialled", []string{"A 169.254.169.254", "A 224.0.0.1", "A 255.255.255.255"}, "unknown resolve/local", []string{"169.254.169.254 is a link-local address"}},
		{"mapped", []string{"AAAA ::ffff:127.0.0.1"}, "unknown resolve/local", []string{"mapped into IPv6"}},
		{"none", []string{"TXT x"}, "fail resolve/unreachable", []string{"app1.example.com. exists but has no address"}},
	} {
		var records []string
		for _, r := range c.records {
			records = append(records, "app1.example.com. 60 "+r)
		}
		s.Serve(t, records...)
		got := named(s).Probe(t.Context(), tcpSpec(port), "app1.example.com.")
		expect(t, got, c.want, c.detail...)
		if got.Target.ID() != "ssh@app1.example.com." || got.Start != time.Second || got.End <= got.Start {
			t.Errorf("%s: target %s, start %s, end %s", c.what, got.Target.ID(), got.Start, got.End)
		}
		if c.want == "pass" && !strings.HasPrefix(got.Source, "127.0.0.") {
			t.Errorf("%s: source %q", c.what, got.Source)
		}
	}
}

// A resolver that filters, or the portal of a network, answers with an address
// of its own liking. What listens there is not the target.
func TestNameThatLeadsHereIsUnknown(t *testing.T) {
	here := serve(t, "127.0.0.1:0", func(net.Conn) {})
	s := resolvetest.Start(t, "app1.example.com. 60 A 127.0.0.1", "six.example.com. 60 AAAA ::1", "app1.localhost. 60 A 127.0.0.1")
	p := New(counting(), Options{Resolver: resolve.Options{Servers: []netip.AddrPort{s.Addr}}})
	const remedy = "perhaps of a filtering resolver: name another in /etc/resolv.conf, or give the answer probe: ADDRESS"
	expect(t, p.Probe(t.Context(), tcpSpec(here.port()), "app1.example.com."), "unknown resolve/local", "127.0.0.1 is an address of this machine, "+remedy)
	expect(t, p.Probe(t.Context(), tcpSpec(here.port()), "six.example.com."), "unknown resolve/local", "::1 is an address of this machine")
	if n := here.accepted.Load(); n != 0 {
		t.Errorf("%d connections were made, want none", n)
	}
	expect(t, p.Probe(t.Context(), tcpSpec(here.port()), "app1.localhost."), "pass")
	expect(t, p.Probe(t.Context(), tcpSpec(here.port()), "127.0.0.1"), "pass")
}

// insideVariable tells a test that it runs in a network namespace that it made.
const insideVariable = "SIDESTEP_PROBE_TEST_INSIDE"

// alone runs a test once more, in a network namespace with loopback and nothing
// else; false outside of it.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		return true
	}
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		missing(t, "needs root, and ip, of Debian's iproute2")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `ip link set lo up && exec "$0" "$@"`, path, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// An address of a family that this machine has no route for is our own fault:
// beside dead ones it leaves the name unknown, and the other family can pass. A
// source of that family leaves it out.
func TestNameWithAFamilyWithoutRoute(t *testing.T) {
	if !alone(t) {
		return
	}
	port := listening(t, "127.0.0.1")
	const v6 = "app1.example.com. 60 AAAA 2001:db8::10"
	s := resolvetest.Start(t, "app1.example.com. 60 A 127.0.0.1", v6)
	expect(t, named(s).Probe(t.Context(), tcpSpec(port), "app1.example.com."), "pass")
	s.Serve(t, "app1.example.com. 60 A 127.0.0.3", v6)
	expect(t, named(s).Probe(t.Context(), tcpSpec(port), "app1.example.com."), "unknown connect/local", "1 of 2 addresses failed", "no route")
	sourced := tcpSpec(port)
	sourced.Source = netip.MustParseAddr("127.0.0.1")
	expect(t, named(s).Probe(t.Context(), sourced, "app1.example.com."), "fail connect/refused", "1 of 1 addresses failed")
}

// A check with a source is about the family of that source alone.
func TestNameWithASource(t *testing.T) {
	port := listening(t, "127.0.0.1")
	s := resolvetest.Start(t, "app1.example.com. 60 A 127.0.0.1", "v6.example.com. 60 AAAA ::1")
	spec := tcpSpec(port)
	spec.Source = netip.MustParseAddr("127.0.0.9")
	got := named(s).Probe(t.Context(), spec, "app1.example.com.")
	expect(t, got, "pass")
	if got.Source != "127.0.0.9" {
		t.Errorf("source %q", got.Source)
	}
	got = named(s).Probe(t.Context(), spec, "v6.example.com.")
	expect(t, got, "unknown resolve/local", "v6.example.com. has no address of the family of the check's source 127.0.0.9")
	if got.Source != "127.0.0.9" {
		t.Errorf("source %q", got.Source)
	}
	expect(t, named(s).Probe(t.Context(), spec, "nowhere.example.com."), "fail resolve/unreachable", "NXDOMAIN")
	if asked := s.Asked(); slices.ContainsFunc(asked, func(q string) bool { return strings.HasSuffix(q, " AAAA") }) {
		t.Errorf("asked %q: a source of IPv4 cannot reach what AAAA says", asked)
	}
}

// What the resolver cannot tell is unknown and names it; what came of half a
// view can pass and not fail.
func TestNameAtABadResolver(t *testing.T) {
	port := listening(t, "127.0.0.1")
	s := resolvetest.Start(t, "up.example.com. 60 A 127.0.0.1", "down.example.com. 60 A 127.0.0.3")
	p := named(s)
	for _, fault := range []resolvetest.Fault{resolvetest.ServFail, resolvetest.Refused, resolvetest.Lame} {
		s.Fail(fault)
		expect(t, p.Probe(t.Context(), tcpSpec(port), "up.example.com."), "unknown resolve/local", "resolver "+s.Addr.String(), "mend the resolver, or name another in /etc/resolv.conf")
	}
	s.Fail(resolvetest.Healthy)
	s.FailType(dns.TypeAAAA, resolvetest.ServFail)
	expect(t, p.Probe(t.Context(), tcpSpec(port), "up.example.com."), "pass")
	expect(t, p.Probe(t.Context(), tcpSpec(port), "down.example.com."), "unknown resolve/local", "1 of 1 addresses failed", "AAAA: resolver "+s.Addr.String()+": answered SERVFAIL")
	s.Fail(resolvetest.Silent)
	short := tcpSpec(port)
	short.Timeout = 400 * time.Millisecond
	began := time.Now()
	expect(t, p.Probe(t.Context(), short, "up.example.com."), "unknown resolve/local", "no answer in time")
	if took := time.Since(began); took > patience {
		t.Errorf("a silent resolver took %s", took)
	}
	gone := New(counting(), Options{Resolver: resolve.Options{File: "/nonexistent/resolv.conf"}})
	expect(t, gone.Probe(t.Context(), tcpSpec(port), "up.example.com."), "unknown resolve/local", "/nonexistent/resolv.conf", "nameserver")
	expect(t, p.Probe(t.Context(), tcpSpec(port), "app1..example.com"), "unknown resolve/local", "expected a domain name")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	expect(t, p.Probe(stopped, tcpSpec(port), "up.example.com."), "unknown resolve/local", "stopped")
}

// One deadline covers the question and all addresses, which are probed side by
// side.
func TestNameHasOneDeadline(t *testing.T) {
	var records []string
	for i := range 20 {
		records = append(records, fmt.Sprintf("app1.example.com. 60 A 127.0.1.%d", i+1))
	}
	s := resolvetest.Start(t, records...)
	silent := serve(t, "0.0.0.0:0", hang)
	spec := httpSpec(silent.port())
	spec.Timeout = 2 * time.Second
	began := time.Now()
	got := named(s).Probe(t.Context(), spec, "app1.example.com.")
	expect(t, got, "unknown resolve/local", "16 of 16 addresses failed", "4 more are not probed")
	if took := time.Since(began); took > 8*spec.Timeout {
		t.Errorf("16 addresses took %s, one deadline is %s", took, spec.Timeout)
	}
	for time.Since(began) < patience && silent.accepted.Load() < maxAddresses {
		time.Sleep(time.Millisecond) // the kernel took them, the server may come later
	}
	if n := silent.accepted.Load(); n != maxAddresses {
		t.Errorf("%d connections, want %d", n, maxAddresses)
	}
}

// Sixteen addresses are shared by the families, so that one cannot hide the
// other.
func TestNameSharesAddressesBetweenFamilies(t *testing.T) {
	var answer resolve.Answer
	for i := range 20 {
		answer.Addresses = append(answer.Addresses, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
	}
	for i := range 3 {
		answer.Addresses = append(answer.Addresses, netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(i)}))
	}
	got := sift(answer, false)
	v6 := 0
	for _, addr := range got.probed {
		if addr.Is6() {
			v6++
		}
	}
	if len(got.probed) != maxAddresses || v6 != 3 || !strings.Contains(got.missed, "7 more") {
		t.Errorf("got %d, %d of them IPv6; %s", len(got.probed), v6, got.missed)
	}
}

// The sum over the addresses of a name, for results that a test can choose.
func TestNameSum(t *testing.T) {
	at := func(address string, outcome check.Outcome, cause check.Cause, end time.Duration) check.Result {
		return check.Result{Target: check.Target{Address: address}, Outcome: outcome, Phase: check.PhaseConnect, Cause: cause, Detail: string(cause), End: end, Source: "from " + address}
	}
	pass := func(address string, end time.Duration) check.Result { return at(address, check.Pass, "", end) }
	dead := func(address string) check.Result { return at(address, check.Fail, check.CauseRefused, 5) }
	ours := func(address string) check.Result { return at(address, check.Unknown, check.CauseLocal, 5) }
	for _, c := range []struct {
		missed  string
		results []check.Result
		want    string
		detail  string
	}{
		{"", []check.Result{pass("x", 9), pass("y", 3), pass("z", 4)}, "pass at 3 from y", ""},
		{"", []check.Result{dead("x"), pass("y", 3), ours("z")}, "pass at 3 from y", "1 of 3 addresses failed, first x: refused"},
		{"", []check.Result{dead("x"), ours("y"), dead("z"), ours("v")}, "unknown connect/local from y", "2 of 4 addresses failed, first x: refused; unknown at y: local"},
		{"", []check.Result{ours("x"), ours("y")}, "unknown connect/local from x", "unknown at x: local"},
		{"half", []check.Result{dead("x"), ours("y")}, "unknown connect/local from y", "1 of 2 addresses failed, first x: refused; unknown at y: local"},
		{"half", []check.Result{dead("x")}, "unknown resolve/local", "1 of 1 addresses failed, first x: refused; half"},
		{"half", nil, "unknown resolve/local", "half"},
		{"half", []check.Result{pass("x", 2)}, "pass at 2 from x", ""},
		{"", []check.Result{dead("x"), dead("y")}, "fail connect/refused from x", "2 of 2 addresses failed, first x: refused"},
	} {
		r := found{missed: c.missed}.judge(c.results)
		got := string(r.Outcome)
		switch r.Outcome {
		case check.Pass:
			got += fmt.Sprintf(" at %d", r.End)
		default:
			got += fmt.Sprintf(" %s/%s", r.Phase, r.Cause)
		}
		if r.Source != "" {
			got += " " + r.Source
		}
		if got != c.want || r.Detail != c.detail {
			t.Errorf("got %s (%s), want %s (%s)", got, r.Detail, c.want, c.detail)
		}
	}
	late := dead("x")
	late.Clock = true
	if got := (found{}).judge([]check.Result{dead("x"), late, dead("y")}); !got.Clock {
		t.Error("one address failed by the date alone, and the sum does not say so")
	}
	if got := (found{}).judge([]check.Result{pass("x", 1), late}); got.Clock {
		t.Error("a pass is marked as one that failed by the date")
	}
}

func TestNameNeverDialled(t *testing.T) {
	for text, want := range map[string]string{
		"0.0.0.0": "unspecified", "::": "unspecified", "224.0.0.1": "multicast", "239.1.2.3": "multicast", "ff02::1": "multicast",
		"255.255.255.255": "broadcast", "169.254.169.254": "link-local", "fe80::1": "link-local", "::ffff:192.0.2.1": "mapped",
		"127.0.0.1": "this machine", "127.53.0.1": "this machine", "::1": "this machine",
		"10.0.0.1": "", "192.0.2.1": "", "2001:db8::1": "", "fd00::1": "",
	} {
		addr := netip.MustParseAddr(text)
		if got := undialled(addr, true); (got == "") != (want == "" || addr.IsLoopback()) {
			t.Errorf("%s in a lab: got %q", text, got)
		}
		if got := undialled(addr, false); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestNameQuestionTakesHalf(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if got := half(ctx); got > 30*time.Minute || got < 29*time.Minute {
		t.Errorf("of an hour the question may take %s", got)
	}
}
