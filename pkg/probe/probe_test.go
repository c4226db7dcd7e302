package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"sidestep/pkg/check"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// roleVariable names the part that the test binary plays in a child process.
const roleVariable = "SIDESTEP_PROBE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		roles[role]()
		return
	}
	goleak.VerifyTestMain(m)
}

// roles are what a child process can be.
var roles = map[string]func(){
	"bench-target":     serveBenchTarget,
	"no-descriptors":   probeWithoutDescriptors,
	"no-network":       probeWithoutNetwork,
	"ping-no-network":  pingWithoutNetwork,
	"no-roots":         probeWithoutRoots,
	"vanishing-source": probeFromAVanishingSource,
}

// child prepares this test binary to play a role.
func child(tb testing.TB, role string, env ...string) *exec.Cmd {
	tb.Helper()
	path, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// counting is a clock that moves by a second at each reading.
func counting() Clock {
	var seconds atomic.Int64
	return func() time.Duration { return time.Duration(seconds.Add(1)) * time.Second }
}

// httpSpec is a check of http://www.example.com:PORT/healthz.
func httpSpec(port uint16, change ...func(*check.HTTP)) *check.Spec {
	h := &check.HTTP{Scheme: "http", Host: "www.example.com", Port: port, Authority: "www.example.com", Path: "/healthz", Method: "GET"}
	for _, f := range change {
		f(h)
	}
	return &check.Spec{Name: "web", Kind: check.KindHTTP, HTTP: h, Timeout: patience}
}

func tcpSpec(port uint16) *check.Spec {
	return &check.Spec{Name: "ssh", Kind: check.KindTCP, TCP: &check.TCP{Port: port}, Timeout: patience}
}

func matching(pattern string) func(*check.HTTP) {
	return func(h *check.HTTP) { h.Body = regexp.MustCompile(pattern) }
}

func withJSON(wanted map[string]string) func(*check.HTTP) {
	return func(h *check.HTTP) { h.JSON = wanted }
}

func accepting(list ...check.StatusRange) func(*check.HTTP) {
	return func(h *check.HTTP) { h.Status = list }
}

// once makes one probe of 127.0.0.1 with a new prober.
func once(spec *check.Spec) check.Result {
	return New(counting(), Options{}).Probe(context.Background(), spec, "127.0.0.1")
}

// word is "pass" or "outcome phase/cause".
func word(r check.Result) string {
	if r.Outcome == check.Pass {
		return string(r.Outcome)
	}
	return string(r.Outcome) + " " + string(r.Phase) + "/" + string(r.Cause)
}

// expect compares a result with a word.
func expect(t *testing.T, got check.Result, want string, inDetail ...string) {
	t.Helper()
	if word := word(got); word != want {
		t.Errorf("probe of %s: got %s (%s), want %s", got.Target.ID(), word, got.Detail, want)
	}
	for _, part := range inDetail {
		if !strings.Contains(got.Detail, part) {
			t.Errorf("detail %q: expected it to contain %q", got.Detail, part)
		}
	}
	if len(got.Detail) > check.MaxDetail {
		t.Errorf("detail has %d bytes, more than %d", len(got.Detail), check.MaxDetail)
	}
}

// expectProbe makes a probe of 127.0.0.1 and compares its result. One that has
// to end by its timeout is overdue.
func expectProbe(t *testing.T, p *Prober, spec *check.Spec, want string, inDetail ...string) {
	t.Helper()
	probe := func(spec *check.Spec) check.Result { return p.Probe(context.Background(), spec, "127.0.0.1") }
	if strings.HasSuffix(want, "/timeout") {
		overdue(t, spec, probe, want, inDetail...)
		return
	}
	expect(t, probe(spec), want, inDetail...)
}

// overdue makes a probe whose timeout has to end it in a certain phase. How far
// a probe comes in a short time is up to the machine: one that ran out of time
// earlier is made again with a longer timeout.
func overdue(t *testing.T, spec *check.Spec, probe func(*check.Spec) check.Result, want string, inDetail ...string) {
	t.Helper()
	absent := func(r check.Result) bool {
		return slices.ContainsFunc(inDetail, func(part string) bool { return !strings.Contains(r.Detail, part) })
	}
	for timeout := 50 * time.Millisecond; ; timeout *= 2 {
		limited := *spec
		limited.Timeout = timeout
		got := probe(&limited)
		early := got.Cause == check.CauseTimeout && (word(got) != want || absent(got))
		if !early || timeout > patience {
			expect(t, got, want, inDetail...)
			return
		}
	}
}

// server is a loopback listener that treats every connection with one function.
type server struct {
	net.Listener
	accepted atomic.Int64
	done     sync.WaitGroup
}

// reserve finds a port that is free at all hosts and keeps it for the test, so
// that nobody else gets it: the test may listen there, stop and listen again,
// and while it does not, connections are refused. The sockets that keep it never
// listen, which is why others with SO_REUSEADDR may (socket(7)).
func reserve(t *testing.T, hosts ...string) uint16 {
	t.Helper()
	var failed error
	for range 100 {
		port, err := tryReserve(t, hosts)
		if err == nil {
			return uint16(port)
		}
		failed = err
	}
	t.Fatalf("find a port that is free at %s: %v", hosts, failed)
	return 0
}

// tryReserve takes the port that is free at the first host at the others, too.
func tryReserve(t *testing.T, hosts []string) (port int, err error) {
	t.Helper()
	for _, host := range hosts {
		addr := netip.MustParseAddr(host)
		family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: port, Addr: addr.As16()})
		if addr.Is4() {
			family, address = unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: addr.As4()}
		}
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		if err := errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, address)); err != nil {
			if addr.Is6() && !errors.Is(err, unix.EADDRINUSE) {
				t.Skipf("no IPv6 on loopback: %v", err)
			}
			return 0, err
		}
		bound, err := unix.Getsockname(fd)
		if err != nil {
			return 0, err
		}
		switch bound := bound.(type) {
		case *unix.SockaddrInet4:
			port = bound.Port
		case *unix.SockaddrInet6:
			port = bound.Port
		}
	}
	return port, nil
}

// serve listens on an address, with a port that is kept for the test where the
// address has port 0. A connection is ended when its function returns.
func serve(t *testing.T, address string, treat func(net.Conn)) *server {
	t.Helper()
	if host, port, err := net.SplitHostPort(address); err == nil && port == "0" {
		address = net.JoinHostPort(host, strconv.Itoa(int(reserve(t, host))))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Listener: listener}
	over, end := context.WithCancel(context.Background())
	s.done.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			s.done.Go(func() {
				stop := context.AfterFunc(over, func() { _ = conn.Close() })
				defer stop()
				treat(conn)
				part(conn)
			})
		}
	})
	t.Cleanup(func() {
		end()
		_ = listener.Close()
		s.done.Wait()
	})
	return s
}

// part ends a connection so that all arrives that was written. A mere close
// while there is something to read is a reset, which overtakes it (RFC 2525
// section 2.17).
func part(conn net.Conn) {
	_ = conn.(*net.TCPConn).CloseWrite()
	hang(conn)
	_ = conn.Close()
}

func (s *server) port() uint16 {
	return uint16(s.Addr().(*net.TCPAddr).Port)
}

// readRequest reads a request up to its empty line.
func readRequest(conn net.Conn) string {
	var request []byte
	buffer := make([]byte, 4096)
	for !strings.Contains(string(request), "\r\n\r\n") {
		n, err := conn.Read(buffer)
		request = append(request, buffer[:n]...)
		if err != nil {
			break
		}
	}
	return string(request)
}

// answer is a server that reads the request, writes text and closes.
func answer(t *testing.T, text string) *server {
	t.Helper()
	return serve(t, "127.0.0.1:0", func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, text)
	})
}

// hang keeps a connection without a word until the other side ends it.
func hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// slam ends a connection by RST.
func slam(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

// web is an ordinary HTTP server.
func web(t *testing.T, handler http.HandlerFunc) uint16 {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(s.Listener.Addr().String()).Port()
}

func TestResultCarriesFacts(t *testing.T) {
	s := answer(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	got := once(httpSpec(s.port()))
	want := check.Result{
		Target:  check.Target{Check: "web", Address: "127.0.0.1"},
		Outcome: check.Pass, Source: "127.0.0.1", Start: time.Second, End: 2 * time.Second,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNotProbedIsUnknown(t *testing.T) {
	s := answer(t, "HTTP/1.1 200 OK\r\n\r\n")
	for _, c := range []struct {
		name, address, want, detail string
		spec                        *check.Spec
	}{
		{"icmp", "127.0.0.1", "unknown resolve/local", "expected http, tcp or icmp", &check.Spec{Name: "ping", Kind: check.KindICMP}},
		{"http without settings", "127.0.0.1", "unknown resolve/local", "with its settings", &check.Spec{Name: "x", Kind: check.KindHTTP}},
		{"neither address nor name", "www..example", "unknown resolve/local", "expected a domain name", httpSpec(s.port())},
		{"mapped address", "::ffff:127.0.0.1", "unknown resolve/local", "expected an IPv4 or IPv6 address", httpSpec(s.port())},
		{"bad path", "127.0.0.1", "unknown resolve/local", "read path", httpSpec(s.port(), func(h *check.HTTP) { h.Path = "x?token=hunter22" })},
		{"bad method", "127.0.0.1", "unknown resolve/local", `read method "G T"`, httpSpec(s.port(), func(h *check.HTTP) { h.Method = "G T" })},
		{"bad header", "127.0.0.1", "unknown resolve/local", `read header "X-Key"`, httpSpec(s.port(), func(h *check.HTTP) {
			h.Headers = []check.Header{{Name: "X-Key", Value: "hunter22\r\nX-Other: 1"}}
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := New(counting(), Options{}).Probe(context.Background(), c.spec, c.address)
			expect(t, got, c.want, c.detail)
			if strings.Contains(got.Detail, "hunter22") {
				t.Errorf("detail %q tells a secret", got.Detail)
			}
		})
	}
	if n := s.accepted.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestPanicIsUnknown(t *testing.T) {
	s := answer(t, "HTTP/1.1 200 OK\r\n\r\nok")
	spec := httpSpec(s.port(), func(h *check.HTTP) { h.Body = new(regexp.Regexp) }) // matching with it panics
	expect(t, once(spec), "unknown assert/local", "panicked")
}

func TestDeadlines(t *testing.T) {
	s := serve(t, "127.0.0.1:0", hang)
	t.Run("of the check", func(t *testing.T) {
		overdue(t, httpSpec(s.port()), once, "fail headers/timeout")
	})
	t.Run("of the caller", func(t *testing.T) {
		overdue(t, httpSpec(s.port()), func(spec *check.Spec) check.Result {
			ctx, cancel := context.WithTimeout(context.Background(), spec.Timeout)
			defer cancel()
			return New(counting(), Options{}).Probe(ctx, httpSpec(s.port()), "127.0.0.1")
		}, "fail headers/timeout")
	})
	t.Run("over already", func(t *testing.T) {
		ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
		defer cancel()
		expect(t, New(counting(), Options{}).Probe(ctx, httpSpec(s.port()), "127.0.0.1"), "fail connect/timeout")
	})
}

func TestCancelledIsUnknown(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := serve(t, "127.0.0.1:0", func(conn net.Conn) {
		readRequest(conn)
		cancel()
		hang(conn)
	})
	p := New(counting(), Options{})
	expect(t, p.Probe(ctx, httpSpec(s.port()), "127.0.0.1"), "unknown headers/local", "stopped")
	expect(t, p.Probe(ctx, tcpSpec(s.port()), "127.0.0.1"), "unknown connect/local", "stopped")
}

func TestManyAtOnceAndCacheBound(t *testing.T) {
	port := web(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
	p := New(counting(), Options{})
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 20 {
				path := "/" + strconv.Itoa(worker) + "/" + strconv.Itoa(i)
				spec := httpSpec(port, matching("^"+path+"$"), func(h *check.HTTP) { h.Path = path })
				if got := p.Probe(context.Background(), spec, "127.0.0.1"); got.Outcome != check.Pass {
					t.Errorf("%s: %+v", path, got)
				}
			}
		})
	}
	all.Wait()
	for range 2*maxCached + 5 {
		if _, f := p.shared.of(tcpSpec(1), Options{}); f != nil {
			t.Fatal(f.detail)
		}
	}
	if n := len(p.shared.bySpec); n > maxCached {
		t.Errorf("%d specs are kept, more than %d", n, maxCached)
	}
}
