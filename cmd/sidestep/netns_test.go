package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/control"
)

// netns is a network of its own, with loopback up.
type netns struct {
	t    *testing.T
	name string
}

func newNetns(t *testing.T, name string) *netns {
	t.Helper()
	n := &netns{t, fmt.Sprintf("sst-%d-%s-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"), name)}
	out, err := exec.Command("ip", "netns", "add", n.name).CombinedOutput()
	if err != nil {
		const why = "needs root and the command ip (Debian: iproute2) to make a network namespace"
		if os.Getenv("SIDESTEP_TEST_REAL") == "require" {
			t.Fatalf("%s: %v: %s", why, err, out)
		}
		t.Skipf("%s: %v: %s", why, err, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.name).Run() })
	n.ip("link", "set", "lo", "up")
	return n
}

// ip runs the command ip inside.
func (n *netns) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", append([]string{"-n", n.name}, args...)...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// inside runs a function whose sockets and processes belong to the namespace.
func (n *netns) inside(do func()) {
	n.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		file, err := os.Open("/run/netns/" + n.name)
		if err == nil {
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
			_ = file.Close()
		}
		if err == nil {
			do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		n.t.Fatal(err)
	}
}

// double is a web server in a namespace that can be stopped, and counts.
type double struct {
	ns     *netns
	addr   string
	server *http.Server

	mu    sync.Mutex
	conns int
	paths map[string]int
}

func (n *netns) double(addr string) *double {
	n.t.Helper()
	d := &double{ns: n, addr: addr, paths: map[string]int{}}
	d.start()
	n.t.Cleanup(d.stop)
	return d
}

func (d *double) start() {
	d.ns.t.Helper()
	d.ns.inside(func() {
		listener, err := net.Listen("tcp", d.addr)
		if err != nil {
			d.ns.t.Error(err)
			return
		}
		d.server = &http.Server{
			ReadHeaderTimeout: time.Second,
			ConnState: func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					d.mu.Lock()
					defer d.mu.Unlock()
					d.conns++
				}
			},
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.paths[r.URL.Path]++
			}),
		}
		go func() { _ = d.server.Serve(listener) }()
	})
}

func (d *double) stop() { _ = d.server.Close() }

// split is a node on one side of a cable, and all the world on the other.
type split struct {
	*world
	near, far *netns
}

const splitZone = `$ORIGIN example.com.
$TTL 300
@   IN SOA ns1 hostmaster 1 3600 600 86400 60
@   IN NS  ns1
ns1 IN A   127.0.0.1
www 60 IN A 198.51.100.11
www 60 IN A 198.51.100.12
www 60 IN AAAA 2001:db8::11
www 60 IN AAAA 2001:db8::12
`

const splitConfig = `node: {name: mon-1}
state: {dir: %[1]s/state}
control: {socket: %[1]s/c.sock}
reconcile: {debounce: 200ms}
zones: [{zone: example.com, provider: local, file: %[1]s/example.com.zone, listen: ""}]
checks:
  four: {http: {url: "http://www.example.com:8080/four"}, interval: 1s, timeout: 950ms, fall: 3, rise: 2}
  six:  {http: {url: "http://www.example.com:8080/six"}, interval: 1s, timeout: 950ms, fall: 3, rise: 2}
canary: {targets: [{tcp: "198.51.100.53:53"}]}
adopt: auto
records:
  - {name: www.example.com, check: four, answers: [198.51.100.11, 198.51.100.12]}
  - {name: www.example.com, check: six, answers: ["2001:db8::11", "2001:db8::12"]}
`

// newSplit makes both sides. With six the node has a route for IPv6.
func newSplit(t *testing.T, six bool) *split {
	t.Helper()
	s := &split{world: &world{t: t, dir: shortDir(t)}, near: newNetns(t, "near"), far: newNetns(t, "far")}
	s.config = filepath.Join(s.dir, "sidestep.yaml")
	s.near.ip("link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", s.far.name)
	s.near.ip("addr", "add", "198.51.100.1/24", "dev", "cable")
	for _, host := range []string{"11", "12", "53"} {
		s.far.ip("addr", "add", "198.51.100."+host+"/24", "dev", "cable")
		s.far.ip("addr", "add", "2001:db8::"+host+"/64", "dev", "cable", "nodad")
	}
	if six {
		s.near.ip("addr", "add", "2001:db8::1/64", "dev", "cable", "nodad")
	}
	s.near.ip("link", "set", "cable", "up")
	s.far.ip("link", "set", "cable", "up")
	for path, text := range map[string]string{s.config: fmt.Sprintf(splitConfig, s.dir), s.zoneFile(): splitZone} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *split) zoneFile() string { return filepath.Join(s.dir, "example.com.zone") }

// start runs the daemon on the near side.
func (s *split) start() (p *process) {
	s.t.Helper()
	if _, err := builtBinary(); err != nil {
		s.t.Fatal(err)
	}
	s.near.inside(func() { p = s.run() })
	return p
}

func (s *split) read(path string) string {
	s.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// waitFor waits until status is as it should be.
func (s *split) waitFor(what string, is func(*control.Status) bool) {
	s.t.Helper()
	s.wait(what, func() bool { status := s.status(); return status != nil && is(status) })
}

// verdictAt is what status says of an address; empty when it knows none.
func verdictAt(status *control.Status, address string) string {
	i := slices.IndexFunc(status.Targets, func(t control.Target) bool { return t.Address == address })
	if i < 0 {
		return ""
	}
	return status.Targets[i].Verdict
}

// canaryIs reports whether the canary has come to a state.
func canaryIs(state string) func(*control.Status) bool {
	return func(s *control.Status) bool { return s.Canary != nil && s.Canary.State == state }
}

// TestCase21MonitorLosesItsOwnNetwork pulls the cable between the node and
// everything else, at either end: where the far end is down, probes and canary
// time out; where its own is, there is no route. Nothing is written while it is
// out nor afterwards, and status and journal name the canary. Then one server
// alone fails, and the answer follows.
func TestCase21MonitorLosesItsOwnNetwork(t *testing.T) {
	t.Parallel()
	s := newSplit(t, true)
	s.far.double("198.51.100.53:53")
	second := s.far.double("198.51.100.12:8080")
	for _, addr := range []string{"198.51.100.11:8080", "[2001:db8::11]:8080", "[2001:db8::12]:8080"} {
		s.far.double(addr)
	}
	p := s.start()
	s.waitUp(4)
	s.waitFor("the canary to pass", canaryIs("pass"))
	before := s.read(s.zoneFile())
	// A fresh link may need a moment, and what a start saw of it is no outage.
	journalFile := filepath.Join(s.state(), "journal.jsonl")
	begin := len(s.read(journalFile))
	for _, end := range []*netns{s.far, s.near} {
		end.ip("link", "set", "cable", "down")
		s.waitFor("the canary to fail", canaryIs("fail"))
		status := s.mustStatus()
		if c := status.Canary.Targets; len(c) != 1 || c[0].Target != "198.51.100.53:53" || c[0].Result == "pass" {
			t.Errorf("status says of the canary: %+v", status.Canary)
		}
		if n := strings.Join(status.Notices, "\n"); !strings.Contains(n, "nothing is written: the canary fails") || !strings.Contains(n, "198.51.100.53:53") {
			t.Errorf("notices: %s", n)
		}
		code, out, errOut := s.sidestep("reconcile")
		if code != 3 || !strings.Contains(out, "blocked by guard canary") {
			t.Errorf("reconcile exited with %d, want 3:\n%s%s", code, out, errOut)
		}
		end.ip("link", "set", "cable", "up")
		if end == s.near { // the kernel takes the addresses of IPv6 away with the link
			s.near.ip("addr", "replace", "2001:db8::1/64", "dev", "cable", "nodad")
		} else {
			for _, host := range []string{"11", "12", "53"} {
				s.far.ip("addr", "replace", "2001:db8::"+host+"/64", "dev", "cable", "nodad")
			}
		}
		s.waitFor("the canary to pass again", canaryIs("pass"))
		s.waitUp(4)
		time.Sleep(4 * time.Second) // some intervals, in which a late failure could still count
		if after := s.read(s.zoneFile()); after != before {
			t.Fatalf("the zone was written:\n%s", after)
		}
	}
	journal := s.read(journalFile)[begin:]
	if n := strings.Count(journal, `"guard":"canary"`); n != 4 {
		t.Errorf("%d lines about the canary in the journal, want two for each outage:\n%s", n, journal)
	}
	if strings.Contains(journal, `"to":"down"`) {
		t.Errorf("somebody went down:\n%s", journal)
	}

	second.stop()
	s.waitFor("the one that failed to leave the answer", func(status *control.Status) bool {
		return slices.Equal(status.Records[0].Live, []string{"198.51.100.11"})
	})
	if code := p.stop(t); code != 0 {
		t.Errorf("sidestep ended with %d", code)
	}
}

// TestNoRouteForAFamily: a node without a route for IPv6 knows nothing of AAAA
// answers, which stay as they are, and steers A answers as ever.
func TestNoRouteForAFamily(t *testing.T) {
	t.Parallel()
	s := newSplit(t, false)
	s.far.double("198.51.100.53:53")
	s.far.double("198.51.100.11:8080")
	second := s.far.double("198.51.100.12:8080")
	s.start()
	s.waitUp(2)
	s.waitFor("the probes over IPv6 to be known as our own fault", func(status *control.Status) bool {
		return verdictAt(status, "2001:db8::11") == "unknown" && verdictAt(status, "2001:db8::12") == "unknown" &&
			strings.Contains(status.Targets[3].Detail, "no route") && status.Targets[3].Unknowns > 6
	})
	second.stop()
	s.waitFor("the A answer to follow", func(status *control.Status) bool {
		return slices.Equal(status.Records[0].Live, []string{"198.51.100.11"})
	})
	if six := s.mustStatus().Records[1]; six.Type != "AAAA" || len(six.Live) != 2 {
		t.Errorf("got %+v", six)
	}
	if journal := s.read(filepath.Join(s.state(), "journal.jsonl")); strings.Contains(journal, `"type":"AAAA"`) {
		t.Errorf("AAAA was written:\n%s", journal)
	}
}

// TestCase12EachFamilyByItself: the IPv6 listener of a host is stopped, the IPv4
// one of the same name works. The AAAA target goes down, the A target stays up,
// and no connection came to the IPv4 listener but for the A target.
func TestCase12EachFamilyByItself(t *testing.T) {
	t.Parallel()
	s := newSplit(t, true)
	s.far.double("198.51.100.53:53")
	four := s.far.double("198.51.100.11:8080")
	s.far.double("198.51.100.12:8080")
	six := s.far.double("[2001:db8::11]:8080")
	s.far.double("[2001:db8::12]:8080")
	p := s.start()
	s.waitUp(4)
	six.stop()
	s.waitFor("the AAAA target to go down", func(status *control.Status) bool { return verdictAt(status, "2001:db8::11") == "down" })
	s.waitFor("the AAAA answer to follow", func(status *control.Status) bool {
		return slices.Equal(status.Records[1].Live, []string{"2001:db8::12"})
	})
	if v := verdictAt(s.mustStatus(), "198.51.100.11"); v != "up" {
		t.Errorf("the A target is %s", v)
	}
	p.stop(t)
	four.mu.Lock()
	defer four.mu.Unlock()
	if len(four.paths) != 1 || four.paths["/four"] == 0 || four.conns > four.paths["/four"]+1 {
		t.Errorf("the IPv4 listener saw %v in %d connections", four.paths, four.conns)
	}
}
