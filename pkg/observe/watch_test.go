package observe

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"sidestep/pkg/authority"
	"sidestep/pkg/authority/authoritytest"
	"sidestep/pkg/check"
	"sidestep/pkg/record"
)

// world is a zone, and two backends on one port at two addresses.
type world struct {
	zone     *authority.Server
	serial   int
	backends map[string]*httptest.Server // by address
	port     uint16
	ca       []byte
	secure   bool
}

const (
	siteA = "127.0.0.1"
	siteB = "127.0.0.2"
)

func newWorld(t *testing.T, secure bool) *world {
	t.Helper()
	w := &world{backends: map[string]*httptest.Server{}, secure: secure}
	w.zone = authoritytest.Start(t, "example.com.", w.text(siteA))
	pair, ca := certificate(t, "www.example.com")
	w.ca = ca
	for range 50 {
		listener, err := net.Listen("tcp", siteA+":0")
		if err != nil {
			t.Fatal(err)
		}
		w.port = netip.MustParseAddrPort(listener.Addr().String()).Port()
		other, err := net.Listen("tcp", fmt.Sprintf("%s:%d", siteB, w.port))
		if err != nil {
			listener.Close()
			continue
		}
		w.start(t, "A", siteA, listener, pair)
		w.start(t, "B", siteB, other, pair)
		return w
	}
	t.Fatal("no port is free at both addresses")
	return nil
}

// set puts one answer into the zone; none takes the name out.
func (w *world) set(t *testing.T, values ...string) {
	t.Helper()
	authoritytest.Set(t, w.zone, "example.com.", w.text(values...))
}

func (w *world) text(values ...string) string {
	w.serial++
	text := fmt.Sprintf("@ 60 IN SOA ns h %d 60 60 60 60\n@ 60 IN NS ns\nns 60 IN A 127.0.0.1\n", w.serial)
	for _, v := range values {
		text += "www 60 IN A " + v + "\n"
	}
	return text
}

func (w *world) start(t *testing.T, name, address string, listener net.Listener, pair tls.Certificate) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		out.Header().Set("X-Backend", name)
		switch in.URL.Path {
		case "/close":
			out.Header().Set("Connection", "close")
		case "/echo":
			fmt.Fprintf(out, `{"node":{"name":%q},"list":[7]}`, in.Header.Get("Authorization"))
			return
		case "/long":
			io.WriteString(out, strings.Repeat("x", 3<<20))
			return
		}
		fmt.Fprintf(out, `{"node":{"name":%q},"list":[7]}`, name)
	}))
	s.Listener.Close()
	s.Listener = listener
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if w.secure {
		s.EnableHTTP2 = true
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		s.StartTLS()
	} else {
		s.Start()
	}
	w.backends[address] = s
	t.Cleanup(s.Close)
}

// hangs has a backend wait with its answer to such requests, until over is called or the
// test ends.
func (w *world) hangs(t *testing.T, address string, such func(*http.Request) bool) (over func()) {
	t.Helper()
	done := make(chan struct{})
	over = sync.OnceFunc(func() { close(done) })
	t.Cleanup(over)
	backend := w.backends[address].Config
	answer := backend.Handler
	backend.Handler = http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if such(in) {
			<-done
		}
		answer.ServeHTTP(out, in)
	})
	return over
}

// certificate makes one that vouches for itself.
func certificate(t *testing.T, host string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (w *world) options(t *testing.T, path, identity string) Options {
	t.Helper()
	addr := netip.MustParseAddrPort(w.zone.Addr())
	id, err := ParseIdentity(identity)
	if err != nil {
		t.Fatal(err)
	}
	scheme := "http"
	if w.secure {
		scheme = "https"
	}
	return Options{
		Name: "www.example.com.", Type: record.A, Loopback: true, Timeout: 20 * time.Second,
		Servers: []Server{{Name: "ns.example.com.", Addr: addr}}, Resolvers: []netip.AddrPort{addr},
		Request: &Request{Identity: id, HTTP: check.HTTP{
			Scheme: scheme, Host: "www.example.com", Port: w.port, Authority: fmt.Sprintf("www.example.com:%d", w.port), Path: path, TLS: check.TLS{CA: w.ca},
		}},
	}
}

// watching runs a test inside of a watch.
func watching(t *testing.T, o Options, play func(next func() (Sample, []Event), w *Watcher, line *Timeline)) {
	t.Helper()
	var line Timeline
	err := Watch(o, func(w *Watcher) error {
		play(func() (Sample, []Event) {
			s := w.Sample(t.Context())
			return s, line.Add(s)
		}, w, &line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func eventTexts(events []Event) string {
	words := make([]string, len(events))
	for i, e := range events {
		words[i] = e.String()
	}
	return strings.Join(words, "\n")
}

func findings(line *Timeline) string {
	var words []string
	for _, f := range line.Findings() {
		words = append(words, f.Seen)
	}
	return strings.Join(words, "; ")
}

// TestANameThatMoves follows a switch over both protocols: the answer, then new
// connections, and the kept one only once it is retired.
func TestANameThatMoves(t *testing.T) {
	for protocol, secure := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(protocol, func(t *testing.T) {
			world := newWorld(t, secure)
			watching(t, world.options(t, "/", "header:x-backend"), func(next func() (Sample, []Event), w *Watcher, line *Timeline) {
				s, events := next()
				if gaps := s.Gaps(); len(gaps)+len(events) > 0 {
					t.Fatalf("gaps %q, events %q", gaps, events)
				}
				if k := s.Kept; k.Says() != "A at 127.0.0.1" || k.Protocol != protocol || k.Requests != 1 || SaysAll(s.New) != "A at 127.0.0.1" {
					t.Fatalf("kept %+v, new %+v", k, s.New)
				}
				world.set(t, siteB)
				s, events = next()
				if s.Kept.Requests != 2 || s.Kept.Says() != "A at 127.0.0.1" || SaysAll(s.New) != "B at 127.0.0.2" {
					t.Errorf("kept %+v, new %+v", s.Kept, s.New)
				}
				for _, want := range []string{
					"authoritative ns.example.com 127.0.0.1:", " changed: 127.0.0.1 -> 127.0.0.2", "resolver changed: 127.0.0.1 -> 127.0.0.2",
					"new connection reached B at 127.0.0.2, before A at 127.0.0.1",
				} {
					if !strings.Contains(eventTexts(events), want) {
						t.Errorf("no event %q in\n%s", want, eventTexts(events))
					}
				}
				if got := findings(line); got != rowAge.Seen {
					t.Errorf("findings %q", got)
				}
				w.Retire("told to")
				s, events = next()
				if s.Kept.Says() != "B at 127.0.0.2" || eventTexts(events) != "kept connection ended by sidestep: told to\nkept connection changed: A at 127.0.0.1 -> B at 127.0.0.2" {
					t.Errorf("kept %+v, events\n%s", s.Kept, eventTexts(events))
				}
				if got := findings(line); got != "" {
					t.Errorf("findings %q", got)
				}
			})
		})
	}
}

// TestAServerEndsTheKeptConnection closes it at the server, between samples and
// with an answer.
func TestAServerEndsTheKeptConnection(t *testing.T) {
	for protocol, secure := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(protocol, func(t *testing.T) {
			world := newWorld(t, secure)
			watching(t, world.options(t, "/", "json:node.name"), func(next func() (Sample, []Event), _ *Watcher, _ *Timeline) {
				next()
				world.set(t, siteB)
				world.backends[siteA].CloseClientConnections()
				s, events := next()
				if k := s.Kept; k.Ended == nil || k.Ended.By != ByServer || k.Ended.Address.Addr().String() != siteA || k.Says() != "B at 127.0.0.2" || k.Requests != 1 {
					t.Errorf("kept %+v, ended %v", k, k.Ended)
				}
				for _, want := range []string{"kept connection ended by server: it ", "kept connection changed: A at 127.0.0.1 -> B at 127.0.0.2"} {
					if !strings.Contains(eventTexts(events), want) {
						t.Errorf("no event %q in\n%s", want, eventTexts(events))
					}
				}
			})
		})
	}
	t.Run("with an answer", func(t *testing.T) {
		world := newWorld(t, false)
		watching(t, world.options(t, "/close", "json:list.0"), func(next func() (Sample, []Event), _ *Watcher, _ *Timeline) {
			for range 2 {
				s, _ := next()
				if k := s.Kept; k.Ended == nil || !strings.Contains(k.Ended.String(), "ended by server: it asked for the end") || k.Requests != 1 || k.Identity != "7" {
					t.Errorf("kept %+v, ended %v", k, k.Ended)
				}
			}
		})
	})
	t.Run("too long a body", func(t *testing.T) {
		world := newWorld(t, false)
		watching(t, world.options(t, "/long", "regexp:^(x)"), func(next func() (Sample, []Event), _ *Watcher, _ *Timeline) {
			s, _ := next()
			if k := s.Kept; k.Ended == nil || k.Ended.By != ByUs || k.Identity != "x" {
				t.Errorf("kept %+v, ended %v", k, k.Ended)
			}
		})
	})
}

// TestAWrongCertificateIsRefused asks for a name that the certificate is not for.
func TestAWrongCertificateIsRefused(t *testing.T) {
	world := newWorld(t, true)
	o := world.options(t, "/", "header:x-backend")
	o.Request.HTTP.Host = "other.example.com"
	watching(t, o, func(next func() (Sample, []Event), _ *Watcher, line *Timeline) {
		s, _ := next()
		const want = "expected a certificate for other.example.com, got one for www.example.com"
		for _, r := range append(s.New, *s.Kept) {
			if r.Phase != check.PhaseTLS || r.Cause != check.CauseCertificate || r.Detail != want || r.Status != 0 || r.Identity != "" {
				t.Errorf("got %+v", r)
			}
		}
		if gaps := s.Gaps(); len(gaps) != 2 || !strings.Contains(gaps[1], "new connection to 127.0.0.1: tls/certificate "+want) {
			t.Errorf("gaps %q", gaps)
		}
		if got := findings(line); got != rowTransport.Seen {
			t.Errorf("findings %q", got)
		}
	})
}

// TestSecretsAreNotShown lets a server echo what it was sent.
func TestSecretsAreNotShown(t *testing.T) {
	world := newWorld(t, false)
	o := world.options(t, "/echo?token=tellnoone", "json:node.name")
	o.Request.HTTP.Headers = []check.Header{{Name: "Authorization", Value: "Bearer hush-hush"}}
	watching(t, o, func(next func() (Sample, []Event), _ *Watcher, _ *Timeline) {
		s, _ := next()
		if got := fmt.Sprintf("%+v %+v", s.Kept, s.New); strings.Contains(got, "hush") || strings.Contains(got, "tellnoone") || s.Kept.Identity != "***" {
			t.Errorf("got %s", got)
		}
	})
}

// TestLoopbackIsNotDialled where the config has no such address.
func TestLoopbackIsNotDialled(t *testing.T) {
	world := newWorld(t, false)
	o := world.options(t, "/", "header:x-backend")
	o.Loopback = false
	watching(t, o, func(next func() (Sample, []Event), _ *Watcher, _ *Timeline) {
		s, _ := next()
		if len(s.Refused) != 1 || s.New[0].Phase != check.PhaseResolve || s.Kept.Phase != check.PhaseResolve || !strings.Contains(s.New[0].Detail, "127.0.0.1 is not dialled") {
			t.Errorf("refused %q, new %+v", s.Refused, s.New)
		}
	})
}
