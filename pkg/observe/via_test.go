package observe

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"sidestep/pkg/check"
)

// proxy is an HTTP proxy whose upstream is chosen by the test, as a gateway's is
// by its own look-up of the name.
type proxy struct {
	*httptest.Server

	mu       sync.Mutex
	upstream string
	tunnels  bool
	user     string // of the last request
	asked    string // its request target
}

func newProxy(t *testing.T, tunnels bool) *proxy {
	t.Helper()
	p := &proxy{tunnels: tunnels}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) set(upstream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = upstream
}

func (p *proxy) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	p.mu.Lock()
	p.user, p.asked = in.Header.Get("Proxy-Authorization"), in.RequestURI
	upstream := p.upstream
	p.mu.Unlock()
	switch {
	case in.Method == http.MethodConnect && p.tunnels:
		tunnel(out, upstream)
	case in.Method == http.MethodConnect:
		out.WriteHeader(http.StatusForbidden)
	default:
		in.URL.Host, in.RequestURI = upstream, ""
		reply, err := new(http.Transport).RoundTrip(in)
		if err != nil {
			out.WriteHeader(http.StatusBadGateway)
			return
		}
		defer reply.Body.Close()
		out.Header().Set("X-Backend", reply.Header.Get("X-Backend"))
		out.WriteHeader(reply.StatusCode)
		io.Copy(out, reply.Body)
	}
}

func tunnel(out http.ResponseWriter, upstream string) {
	behind, err := net.Dial("tcp", upstream)
	if err != nil {
		out.WriteHeader(http.StatusBadGateway)
		return
	}
	client, begun, err := http.NewResponseController(out).Hijack()
	if err != nil {
		behind.Close()
		return
	}
	io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		io.Copy(behind, begun) // the server may have read ahead
		behind.Close()
	}()
	io.Copy(client, behind)
	client.Close()
}

// TestViaAProxy keeps the address while the backend behind it changes: with a
// request each in the clear, and with a connection each through a tunnel.
func TestViaAProxy(t *testing.T) {
	for name, secure := range map[string]bool{"absolute form": false, "tunnel": true} {
		t.Run(name, func(t *testing.T) {
			world, p := newWorld(t, secure), newProxy(t, true)
			o := world.options(t, "/?token=hush", "header:x-backend")
			via, err := ParseVia(strings.Replace(p.URL, "://", "://me:hush@", 1))
			if err != nil {
				t.Fatal(err)
			}
			o.Request.Via, o.Loopback = via, false
			peer := p.Listener.Addr().String()
			p.set(fmt.Sprintf("%s:%d", siteA, world.port))
			watching(t, o, func(next func() (Sample, []Event), _ *Watcher, line *Timeline) {
				s, _ := next()
				if len(s.New) != 1 || s.New[0].Says() != "A at 127.0.0.1" || s.New[0].Address.String() != peer || s.Kept.Says() != "A at 127.0.0.1" || len(s.Gaps()) != 0 {
					t.Fatalf("kept %+v, new %+v", s.Kept, s.New)
				}
				if p.user != "Basic bWU6aHVzaA==" || strings.HasPrefix(p.asked, "http://www.example.com") == secure {
					t.Errorf("the proxy was asked for %s by %q", p.asked, p.user)
				}
				world.set(t, siteB)
				if next(); findings(line) != rowRouting.Seen {
					t.Errorf("the gateway stays: findings %q", findings(line))
				}
				p.set(fmt.Sprintf("%s:%d", siteB, world.port))
				s, events := next()
				if s.New[0].Says() != "B at 127.0.0.1" || s.New[0].Address.String() != peer || !strings.Contains(eventTexts(events), "new connection reached B at 127.0.0.1, before A at 127.0.0.1") {
					t.Errorf("new %+v, events\n%s", s.New, eventTexts(events))
				}
				kept := map[bool]string{false: "B at 127.0.0.1", true: "A at 127.0.0.1"}[secure] // a tunnel leads where it led
				if s.Kept.Says() != kept || s.Kept.Requests != 3 {
					t.Errorf("kept %+v", s.Kept)
				}
				if got := fmt.Sprintf("%+v %v", line, via); strings.Contains(got, "hush") {
					t.Errorf("it shows what is secret: %s", got)
				}
			})
		})
	}
}

// TestAProxyThatOpensNoTunnel is told from a backend that does not answer.
func TestAProxyThatOpensNoTunnel(t *testing.T) {
	world, p := newWorld(t, true), newProxy(t, false)
	o := world.options(t, "/", "header:x-backend")
	var err error
	if o.Request.Via, err = ParseVia(p.URL); err != nil {
		t.Fatal(err)
	}
	watching(t, o, func(next func() (Sample, []Event), _ *Watcher, _ *Timeline) {
		s, _ := next()
		want := fmt.Sprintf("the proxy opened no tunnel to www.example.com:%d: it answered 403", world.port)
		if r := s.New[0]; r.Phase != check.PhaseConnect || r.Cause != check.CauseAuth || r.Detail != want {
			t.Errorf("new %+v, want %s", r, want)
		}
	})
}

// TestViaAGateway dials it in the place of the servers, with all else as it is.
func TestViaAGateway(t *testing.T) {
	for protocol, secure := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		world := newWorld(t, secure)
		o := world.options(t, "/", "header:x-backend")
		var err error
		if o.Request.Via, err = ParseVia(fmt.Sprintf("tcp://%s:%d", siteB, world.port)); err != nil {
			t.Fatal(err)
		}
		watching(t, o, func(next func() (Sample, []Event), _ *Watcher, _ *Timeline) {
			s, _ := next()
			if r := s.New[0]; r.Says() != "B at 127.0.0.2" || s.Kept.Says() != "B at 127.0.0.2" || r.Protocol != protocol || s.Resolver.Said() != siteA {
				t.Errorf("kept %+v, new %+v", s.Kept, s.New)
			}
		})
	}
}
