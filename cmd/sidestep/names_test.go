package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/lab"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
	"sidestep/pkg/resolve/resolvetest"
)

// TestNamesAsTargets steers a CNAME in a local zone between two names. The real
// program resolves them by the resolv.conf that it finds, at a resolver of this
// test: the name moves when all addresses of its target are dead, not when one
// is, and not when the resolver is.
func TestNamesAsTargets(t *testing.T) {
	t.Parallel()
	w := &world{t: t, dir: shortDir(t)}
	w.config = filepath.Join(w.dir, "sidestep.yaml")
	w.startBackends(3)
	resolver := w.ownResolver(
		"edge1.example.net. 60 A "+ip(w.backends[0]),
		"edge1.example.net. 60 A "+ip(w.backends[1]),
		"edge2.example.net. 60 CNAME far.example.org.",
		"far.example.org. 60 A "+ip(w.backends[2]))
	server := w.writeNames()
	answers := func(want string) func() bool {
		return func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			a, err := observe.Ask(ctx, server.String(), "app.example.com.", record.CNAME)
			return err == nil && len(a.Values) == 1 && a.Values[0] == want
		}
	}
	w.run()
	w.waitUp(2)

	w.breaks(0)
	code, out, _ := w.sidestep("check", "--fail", "edge1.example.net")
	line := regexp.MustCompile(`(?m)^web@edge1\.example\.net\. +pass .* 1 of 2 addresses failed, first ` + ip(w.backends[0]) + `: connection refused$`)
	if code != 0 || !line.MatchString(out) {
		t.Errorf("with one of two dead check exited with %d:\n%s", code, out)
	}
	resolver.Fail(resolvetest.ServFail)
	w.wait("a resolver that fails to show", func() bool {
		s := w.status()
		return s != nil && strings.Contains(s.Targets[0].Detail, "resolver "+resolver.Addr.String()+": answered SERVFAIL")
	})
	if s := w.mustStatus(); len(s.Writes) > 0 || !answers("edge1.example.net.")() {
		t.Errorf("one of two addresses and the resolver failed: %+v", s.Writes)
	}
	resolver.Fail(resolvetest.Healthy)
	w.breaks(1)
	w.wait("app.example.com to move", answers("edge2.example.net."))
}

// ownResolver lets sidestep run where resolv.conf names a resolver of the test.
func (w *world) ownResolver(records ...string) *resolvetest.Server {
	w.t.Helper()
	address := fmt.Sprintf("127.53.%d.%d", os.Getpid()>>8&0xff, os.Getpid()&0xff)
	path := filepath.Join(w.dir, "resolv.conf")
	if err := os.WriteFile(path, []byte("nameserver "+address+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.inside = []string{"unshare", "--mount", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, path}
	out, err := exec.Command(w.inside[0], append(w.inside[1:], "true")...).CombinedOutput()
	switch {
	case err != nil && os.Getenv("SIDESTEP_TEST_REAL") == "require":
		w.t.Fatalf("%v: %s", err, out)
	case err != nil:
		w.t.Skipf("needs the right to mount in a namespace of its own: %v: %s", err, out)
	}
	return resolvetest.StartAt(w.t, address+":53", records...)
}

// writeNames makes a zone and a config in which app.example.com is edge1 or
// edge2, and returns where the zone is served.
func (w *world) writeNames() netip.AddrPort {
	w.t.Helper()
	port, err := dnsPort()
	if err != nil {
		w.t.Fatal(err)
	}
	_, web, _ := net.SplitHostPort(w.backends[0].Addr())
	server := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port))
	for name, text := range map[string]string{
		"zone": "$TTL 60\n@ IN SOA ns hostmaster 1 3600 600 86400 60\n@ IN NS ns\nns IN A 127.0.0.1\napp IN CNAME edge1.example.net.\n",
		"sidestep.yaml": fmt.Sprintf(`node: {name: mon-1}
state: {dir: state}
control: {socket: c.sock}
adopt: auto
reconcile: {debounce: 200ms}
zones: [{zone: example.com, provider: local, file: zone, listen: "%s"}]
checks: {web: {http: {url: "http://app.example.com:%s/healthz"}, interval: 2s, timeout: 1900ms, fall: 2, rise: 2}}
records: [{name: app.example.com, policy: priority, check: web, answers: [edge1.example.net, edge2.example.net]}]
`, server, web),
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	return server
}

// breaks lets a web server refuse its connections.
func (w *world) breaks(n int) {
	w.t.Helper()
	if err := w.backends[n].Break(lab.Refuse); err != nil {
		w.t.Fatal(err)
	}
}
