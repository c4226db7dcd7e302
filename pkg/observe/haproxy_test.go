package observe

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sidestep/pkg/provider/providertest/realserver"
	"sidestep/providers/rfc2136/rfc2136test"
)

// startHAProxy runs HAProxy before a name that it resolves by itself.
func startHAProxy(t *testing.T, server string, port uint16) *realserver.Process {
	t.Helper()
	return realserver.Start(t, realserver.Program{
		Name: "haproxy", Packages: "haproxy",
		Configure: func(dir, addr string) ([]string, error) {
			config := fmt.Sprintf(`
defaults
  mode http
  timeout connect 30s
  timeout client 5m
  timeout server 5m
resolvers zone
  nameserver one %s
  hold valid 200ms
  timeout resolve 200ms
  timeout retry 200ms
frontend in
  bind %s
  default_backend origin
backend origin
  server one www.example.com:%d resolvers zone resolve-prefer ipv4 init-addr none
`, server, addr, port)
			file := filepath.Join(dir, "haproxy.cfg")
			return []string{"-db", "-f", file}, os.WriteFile(file, []byte(config), 0o600)
		},
		Ready: func(ctx context.Context, addr string) bool {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/", http.NoBody)
			if err != nil {
				return false
			}
			reply, err := new(http.Transport).RoundTrip(request)
			if err != nil {
				return false
			}
			reply.Body.Close()
			return reply.StatusCode == http.StatusOK
		},
	})
}

// TestViaRealHAProxy moves a name behind HAProxy: as a proxy and as a gateway its
// address stays, and the identity tells which backend it reaches. The connection
// that was kept may stay at the old one, where HAProxy keeps its own behind it.
func TestViaRealHAProxy(t *testing.T) {
	world := newWorld(t, false)
	bind := rfc2136test.StartBIND(t, rfc2136test.Zone{Name: "example.com.", Text: realZone})
	update(t, bind, siteA)
	haproxy := startHAProxy(t, bind.Addr, world.port)
	for _, c := range []struct{ way, from, old, to, fresh string }{
		{"http://", siteA, "A", siteB, "B"},
		{"tcp://", siteB, "B", siteA, "A"},
	} {
		t.Run(c.way, func(t *testing.T) {
			o := world.options(t, "/", "header:x-backend")
			o.Servers[0].Addr = netip.MustParseAddrPort(bind.Addr)
			o.Resolvers[0] = o.Servers[0].Addr
			var err error
			if o.Request.Via, err = ParseVia(c.way + haproxy.Addr); err != nil {
				t.Fatal(err)
			}
			watching(t, o, func(next func() (Sample, []Event), w *Watcher, line *Timeline) {
				s, _ := next()
				if s.New[0].Identity != c.old || s.Kept.Identity != c.old || s.Resolver.Said() != c.from {
					t.Fatalf("kept %+v, new %+v, name at %s", s.Kept, s.New, s.Resolver.Said())
				}
				update(t, bind, c.to)
				for end := time.Now().Add(time.Minute); s.New[0].Identity != c.fresh; s, _ = next() {
					if time.Now().After(end) {
						t.Fatalf("kept %+v, new %+v\n%v", s.Kept, s.New, line.Events)
					}
					time.Sleep(20 * time.Millisecond)
				}
				seen := map[string]string{c.old: rowAge.Seen}[s.Kept.Identity]
				if s.Kept.Requests != len(line.Samples) || findings(line) != seen {
					t.Errorf("kept %+v after %d samples, findings %q", s.Kept, len(line.Samples), findings(line))
				}
				w.Retire("told to")
				s, _ = next()
				if s.Kept.Identity != c.fresh || s.Kept.Address.String() != haproxy.Addr || s.New[0].Address.String() != haproxy.Addr || findings(line) != "" {
					t.Errorf("kept %+v, new %+v, findings %q", s.Kept, s.New, findings(line))
				}
			})
		})
	}
}
