package authority

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen; never measured.
const patience = 20 * time.Second

// serve runs a server on loopback until the test ends.
func serve(t testing.TB, z *Zone, o Options) *Server {
	t.Helper()
	s := New(o)
	s.SetZone(z)
	if err := s.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

func exchange(t testing.TB, network, addr string, req *dns.Msg) *dns.Msg {
	t.Helper()
	client := &dns.Client{Net: network, Timeout: patience}
	m, _, err := client.Exchange(req, addr)
	if err != nil {
		t.Fatalf("%s %s: %v", network, req.Question[0].Name, err)
	}
	return m
}

func TestServeOverBothTransports(t *testing.T) {
	s := serve(t, exampleZone(t), Options{})
	for _, network := range []string{"udp", "tcp"} {
		m := exchange(t, network, s.Addr(), ask("WWW.example.com.", dns.TypeA))
		if len(m.Answer) != 3 || !m.Authoritative || m.Answer[0].Header().Name != "WWW.example.com." {
			t.Errorf("%s: %s", network, m)
		}
		m = exchange(t, network, s.Addr(), ask("nothing.example.com.", dns.TypeA))
		if m.Rcode != dns.RcodeNameError || len(m.Ns) != 1 {
			t.Errorf("%s: %s", network, m)
		}
		m = exchange(t, network, s.Addr(), new(dns.Msg).SetUpdate("example.com."))
		if m.Rcode != dns.RcodeNotImplemented {
			t.Errorf("%s: update: %s", network, m)
		}
	}
}

func TestServeTruncatesOverUDPOnly(t *testing.T) {
	text := head
	for i := range 100 {
		text += fmt.Sprintf("many 60 IN A 192.0.2.%d\n", i)
	}
	s := serve(t, parse(t, text), Options{})
	req := ask("many.example.com.", dns.TypeA)
	if m := exchange(t, "udp", s.Addr(), req); !m.Truncated {
		t.Error("UDP: no TC for 100 addresses in 512 octets")
	}
	if m := exchange(t, "tcp", s.Addr(), req); m.Truncated || len(m.Answer) != 100 {
		t.Errorf("TCP: TC %v, %d records", m.Truncated, len(m.Answer))
	}
}

func TestServePipelinesOverTCP(t *testing.T) {
	s := serve(t, exampleZone(t), Options{})
	raw, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	conn := &dns.Conn{Conn: raw}
	defer conn.Close()
	const many = 300 // more than the library's own limit for a connection
	for id := range many {
		req := ask("www.example.com.", dns.TypeA)
		req.Id = uint16(id)
		if err := conn.WriteMsg(req); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[uint16]bool{}
	for range many {
		m, err := conn.ReadMsg()
		if err != nil {
			t.Fatalf("after %d answers: %v", len(seen), err)
		}
		seen[m.Id] = true
	}
	if len(seen) != many {
		t.Errorf("%d questions answered of %d", len(seen), many)
	}
}

// strange hands out connections whose Write is replaced; it is told when the
// connection is closed.
type strange struct {
	net.Listener
	write func(closed <-chan struct{}) error
}

func (l strange) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &strangeConn{Conn: c, write: l.write, closed: make(chan struct{})}, nil
}

type strangeConn struct {
	net.Conn
	write  func(closed <-chan struct{}) error
	once   sync.Once
	closed chan struct{}
}

func (c *strangeConn) Write([]byte) (int, error) { return 0, c.write(c.closed) }

func (c *strangeConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func TestServeEndsWithStuckClients(t *testing.T) {
	s := New(Options{})
	s.SetZone(exampleZone(t))
	if err := s.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	stuck := make(chan struct{})
	s.tcp.Listener = strange{s.tcp.Listener, func(closed <-chan struct{}) error { // a client that does not read
		close(stuck)
		<-closed
		return net.ErrClosed
	}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	for _, question := range []*dns.Msg{nil, ask("www.example.com.", dns.TypeA)} {
		raw, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		if question == nil {
			continue // a client that does not ask
		}
		if err := (&dns.Conn{Conn: raw}).WriteMsg(question); err != nil {
			t.Fatal(err)
		}
	}
	<-stuck
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("serve: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the server does not end while clients hold their connections")
	}
	if s.Addr() != "" {
		t.Errorf("address %s after the end", s.Addr())
	}
}

// After a write that failed, half a message may be on the wire: nothing that
// follows it could be understood.
func TestServeGivesUpAConnectionThatCannotBeWritten(t *testing.T) {
	s := New(Options{})
	s.SetZone(exampleZone(t))
	if err := s.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	s.tcp.Listener = strange{s.tcp.Listener, func(<-chan struct{}) error {
		writes.Add(1)
		return errors.New("no more room")
	}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	raw, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	conn := &dns.Conn{Conn: raw}
	for range 2 {
		if err := conn.WriteMsg(ask("www.example.com.", dns.TypeA)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.ReadMsg(); err == nil {
		t.Error("an answer on a connection that cannot be written")
	}
	if got := writes.Load(); got != 1 {
		t.Errorf("%d answers were tried on it, want 1", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestListenerLimitsConnections(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newListener(inner, 1, patience)
	accepted := make(chan net.Conn, 2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one := dial()
	defer one.Close()
	kept := <-accepted
	two := dial()
	defer two.Close()
	if _, err := two.Read(make([]byte, 1)); err == nil {
		t.Error("a connection above the limit is kept")
	}
	kept.Close()
	three := dial()
	defer three.Close()
	(<-accepted).Close()
	l.Close()
	<-done
}

// An answer arrives although the connection is closed while a question waits.
func TestCloseLosesNoAnswer(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newListener(inner, 1, patience)
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write([]byte("two")); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Read(make([]byte, 1)); err != nil { // the rest is there as well
		t.Fatal(err)
	}
	if _, err := server.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); err != nil || string(got) != "answer" {
		t.Errorf("the client got %q, %v", got, err)
	}
}

func TestListen(t *testing.T) {
	s := New(Options{})
	if s.Addr() != "" {
		t.Errorf("address %q before Listen", s.Addr())
	}
	if err := s.Serve(t.Context()); err == nil {
		t.Error("Serve before Listen: no error")
	}
	if err := s.Listen("127.0.0.1"); err == nil {
		t.Error("an address without a port: no error")
	}
	if err := s.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if err := s.Listen("127.0.0.1:0"); err == nil {
		t.Error("second Listen: no error")
	}
	other := New(Options{})
	if err := other.Listen(s.Addr()); err == nil {
		t.Error("an address in use: no error")
	}
	addr := s.Addr()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := other.Listen(addr); err != nil {
		t.Errorf("after Close the address is not free: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

// With UDP taken on every second port or so, port 0 must still end with both
// transports on one port.
func TestListenFindsAPortForBoth(t *testing.T) {
	for range 50 {
		s := New(Options{})
		if err := s.Listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if s.udp.LocalAddr().String() != s.tcp.Addr().String() {
			t.Errorf("UDP on %s, TCP on %s", s.udp.LocalAddr(), s.tcp.Addr())
		}
		defer s.Close()
	}
}

func TestServeReportsALostSocket(t *testing.T) {
	for name, lose := range map[string]func(*Server) error{
		"udp": func(s *Server) error { return s.udp.Close() },
		"tcp": func(s *Server) error { return s.tcp.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{})
			if err := s.Listen("127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
			if err := lose(s); err != nil {
				t.Fatal(err)
			}
			if err := s.Serve(t.Context()); err == nil || !strings.Contains(err.Error(), "socket closed") {
				t.Errorf("error %v, want one about the socket", err)
			}
		})
	}
}

func TestServeOnIPv6(t *testing.T) {
	s := New(Options{})
	s.SetZone(exampleZone(t))
	if err := s.Listen("[::1]:0"); err != nil {
		t.Skip("no IPv6 loopback here:", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	if rrs, _, err := transfer(t, s.Addr(), dns.TypeAXFR); err != nil || len(rrs) == 0 {
		t.Errorf("transfer over ::1: %d records, %v", len(rrs), err)
	}
	if m := exchange(t, "udp", s.Addr(), ask("www.example.com.", dns.TypeA)); len(m.Answer) != 3 {
		t.Errorf("%s", m)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
