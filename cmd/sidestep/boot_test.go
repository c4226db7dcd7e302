package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sidestep/pkg/control"
	"sidestep/providers/rfc2136/rfc2136test"
)

const bootZone = `$ORIGIN example.com.
$TTL 300
@   IN SOA ns1 hostmaster 1 3600 600 86400 60
@   IN NS  ns1
ns1 IN A   127.0.0.1
www 60 IN A 198.51.100.11
www 60 IN A 198.51.100.12
alias 60 IN CNAME a.example.com.
a   IN A 198.51.100.11
b   IN A 198.51.100.12
`

const bootConfig = `node: {name: mon-1}
state: {dir: %[1]s/state}
control: {socket: %[1]s/c.sock}
reconcile: {debounce: 200ms, retry: {base: 200ms, max: 1s}}
zones:
  - zone: example.com
    provider: rfc2136
    insecure: true
    server: 198.51.100.53:53
    tsig: {name: %[2]s, algorithm: %[3]s, secret: %[4]s}
    verify: {dns: false}
checks:
  web: {http: {url: "http://www.example.com:8080/"}, interval: 500ms, timeout: 450ms, fall: 3, rise: 2}
canary: {targets: [{tcp: "198.51.100.53:53"}]}
adopt: auto
records:
  - {name: www.example.com, check: web, answers: [198.51.100.11, 198.51.100.12]}
  - {name: alias.example.com, policy: priority, check: web, answers: [a.example.com, b.example.com]}
`

// TestCase95BootBeforeTheNetwork starts sidestep in a network namespace with
// neither address nor route nor name server, as a unit may be that did not wait.
// It stays alive, believes nothing and writes nothing. Some time later the network
// comes: everything is judged from a clean round on, still nothing is written, and
// the first failure afterwards is acted on.
func TestCase95BootBeforeTheNetwork(t *testing.T) {
	t.Parallel()
	s := &split{world: &world{t: t, dir: shortDir(t)}, near: newNetns(t, "near"), far: newNetns(t, "far")}
	s.server = rfc2136test.StartBIND(t, rfc2136test.Zone{Name: "example.com.", Text: bootZone})
	s.far.ip("link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", s.near.name)
	for _, host := range []string{"11", "12", "53"} {
		s.far.ip("addr", "add", "198.51.100."+host+"/24", "dev", "cable")
	}
	s.far.ip("link", "set", "cable", "up")
	s.far.forward("198.51.100.53:53", s.server.Addr)
	s.far.double("198.51.100.11:8080")
	second := s.far.double("198.51.100.12:8080")

	resolv := filepath.Join(s.dir, "resolv.conf")
	s.config = filepath.Join(s.dir, "sidestep.yaml")
	key := s.server.Key
	for path, text := range map[string]string{resolv: "", s.config: fmt.Sprintf(bootConfig, s.dir, key.Name, key.Algorithm, key.Secret)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.inside = []string{"unshare", "--mount", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, resolv}
	before := s.records("www.example.com.", "A")
	p := s.start()

	unjudged := func(status *control.Status) bool {
		return len(status.Targets) == 4 && !slices.ContainsFunc(status.Targets, func(t control.Target) bool {
			return t.Verdict != "unknown" || t.Unknowns < 6
		})
	}
	s.waitFor("every target to stay unknown for six probes", unjudged)
	status := s.mustStatus()
	if status.Leader.State != "leader" || status.Zones[0].Listed || status.Zones[0].Error == "" {
		t.Errorf("leader %+v, zone %+v; expected a leader whose zone cannot be listed yet", status.Leader, status.Zones[0])
	}
	select {
	case <-p.done:
		t.Fatalf("sidestep ended for want of a network: %v", p.err)
	default:
	}

	s.near.ip("addr", "add", "198.51.100.1/24", "dev", "cable")
	s.near.ip("link", "set", "cable", "up")
	if err := os.WriteFile(resolv, []byte("nameserver 198.51.100.53\noptions use-vc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.waitUp(4)
	if journal := s.read(filepath.Join(s.state(), "journal.jsonl")); strings.Contains(journal, `"kind":"write"`) || strings.Contains(journal, `"to":"down"`) {
		t.Errorf("judged down or written before there was a network:\n%s", journal)
	}
	if after := s.records("www.example.com.", "A"); !slices.Equal(before, after) {
		t.Errorf("www was %v and is %v", before, after)
	}

	second.stop()
	s.wait("the one that failed to leave the answer", func() bool {
		return slices.Equal(s.live(), []string{"198.51.100.11"})
	})
	if code := p.stop(t); code != 0 {
		t.Errorf("sidestep ended with %d", code)
	}
}

// forward takes connections in the namespace and makes each at an address outside
// of it.
func (n *netns) forward(addr, to string) {
	n.t.Helper()
	var listener net.Listener
	n.inside(func() {
		var err error
		if listener, err = net.Listen("tcp", addr); err != nil {
			n.t.Error(err)
		}
	})
	if listener == nil {
		n.t.FailNow()
	}
	n.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go pipe(from, to)
		}
	}()
}

// pipe copies both ways until either side ends.
func pipe(from net.Conn, to string) {
	defer from.Close()
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		_, _ = io.Copy(out, from)
		_ = out.Close()
	}()
	_, _ = io.Copy(from, out)
}
