package authority

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/miekg/dns"
)

const (
	bindAttempts = 64              // how many free ports are tried before UDP and TCP share one
	maxConns     = 256             // TCP connections at once; more are closed as they come
	writeTimeout = 5 * time.Second // for one message over TCP, so that a client that does not read is let go
	idleTimeout  = 8 * time.Second // between two questions of a connection (RFC 7766 section 6.2.3)
	closeGrace   = time.Second     // for answers under way when the server stops
)

// Options are what a server is made from; the zero value is a good one.
type Options struct {
	Logger   *slog.Logger   // nil says nothing
	Transfer []netip.Prefix // who may transfer the zone; nil is loopback, empty is nobody
}

// Server answers for one zone over UDP and TCP. Its methods may be called by
// any number of goroutines at once.
type Server struct {
	log      *slog.Logger
	transfer []netip.Prefix
	zone     atomic.Pointer[Zone]

	mu      sync.Mutex // guards what follows
	udp     net.PacketConn
	tcp     *listener
	serving bool
}

// New makes a server that listens nowhere and has no zone yet; without a zone
// it refuses every question.
func New(o Options) *Server {
	s := &Server{log: o.Logger, transfer: o.Transfer}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.transfer == nil {
		s.transfer = loopback
	}
	return s
}

// SetZone puts a zone in the place of the one before. Answers and transfers
// that have begun are told to their end from the one they began with.
func (s *Server) SetZone(z *Zone) { s.zone.Store(z) }

// Zone is the zone that is served now; nil before the first SetZone.
func (s *Server) Zone() *Zone { return s.zone.Load() }

// Listen binds an address ("127.0.0.1:5353") for UDP and TCP. Port 0 takes one
// that is free for both. Questions wait in the sockets until Serve.
func (s *Server) Listen(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen on %q: expected ADDRESS:PORT: %w", addr, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp != nil {
		return fmt.Errorf("listen on %s: already listening on %s", addr, s.tcp.Addr())
	}
	for range bindAttempts {
		if err = s.bind(host, port); err == nil {
			return nil
		}
		if port != "0" || !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return fmt.Errorf("listen on %s: %w", addr, err)
}

// bind opens the TCP listener, whose port the kernel may choose, and then UDP
// on the very same port.
func (s *Server) bind(host, port string) error {
	tcp, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	bound := strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port)
	udp, err := net.ListenPacket("udp", net.JoinHostPort(host, bound))
	if err != nil {
		return errors.Join(err, tcp.Close())
	}
	s.udp, s.tcp = udp, newListener(tcp, maxConns, writeTimeout)
	return nil
}

// Addr is the address that the server listens on, for UDP and TCP alike; empty
// before Listen.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp == nil {
		return ""
	}
	return s.tcp.Addr().String()
}

// Close gives up the sockets of a server that listens and was never served;
// Serve closes its own.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp == nil || s.serving {
		return nil
	}
	err := errors.Join(s.tcp.Close(), s.udp.Close())
	s.udp, s.tcp = nil, nil
	return err
}

// Serve answers until the context ends or a socket fails, and returns when all
// sockets, connections and goroutines are gone; nil when it was the context.
// A server is served once, after Listen.
func (s *Server) Serve(ctx context.Context) error {
	udp, tcp, err := s.take()
	if err != nil {
		return err
	}
	defer s.release()
	handler := dns.HandlerFunc(s.handle)
	parts := []*part{
		newPart(&dns.Server{PacketConn: udp, Handler: handler, UDPSize: dns.DefaultMsgSize}),
		newPart(&dns.Server{Listener: tcp, Handler: handler, MaxTCPQueries: -1, IdleTimeout: func() time.Duration { return idleTimeout }}),
	}
	s.log.Info("name server started", "addr", tcp.Addr().String())
	failed := make(chan error, len(parts))
	var all sync.WaitGroup
	for _, p := range parts {
		all.Go(func() { failed <- p.run() })
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
		err = fmt.Errorf("serve names on %s: socket closed: %w", tcp.Addr(), err)
	}
	stop(parts, tcp)
	all.Wait()
	s.log.Info("name server stopped", "addr", tcp.Addr().String())
	return err
}

func (s *Server) take() (net.PacketConn, *listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp == nil {
		return nil, nil, errors.New("serve names: not listening; call Listen first")
	}
	if s.serving {
		return nil, nil, fmt.Errorf("serve names on %s: already serving", s.tcp.Addr())
	}
	s.serving = true
	return s.udp, s.tcp, nil
}

func (s *Server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.udp, s.tcp, s.serving = nil, nil, false
}

// part is the server of one transport. It can only be stopped once it has
// started, and may fail before that, which is what the channels are for.
type part struct {
	server  *dns.Server
	started chan struct{}
	ended   chan struct{}
}

func newPart(server *dns.Server) *part {
	p := &part{server: server, started: make(chan struct{}), ended: make(chan struct{})}
	server.NotifyStartedFunc = func() { close(p.started) }
	return p
}

func (p *part) run() error {
	defer close(p.ended)
	return p.server.ActivateAndServe()
}

// stop ends both parts: answers under way get a moment, connections that need
// longer are cut.
func stop(parts []*part, tcp *listener) {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	for _, p := range parts {
		select {
		case <-p.started:
			// The errors are that it has ended already, and that the grace is over,
			// which cutting the connections answers.
			_ = p.server.ShutdownContext(ctx)
		case <-p.ended:
		}
	}
	tcp.cut()
}

// handle answers one request; the library calls it from many goroutines.
func (s *Server) handle(w dns.ResponseWriter, req *dns.Msg) {
	var err error
	if z := s.zone.Load(); s.transfers(w, req, z) {
		err = transferZone(w, req, z)
	} else {
		err = w.WriteMsg(respond(z, req, overTCP(w)))
	}
	if err != nil {
		s.log.Debug("answer not sent", "client", w.RemoteAddr().String(), "err", err)
		// Half a message may have left: what followed on this connection could
		// not be read. That it is closed already is fine.
		_ = w.Close()
	}
}

// transfers reports whether a request is one for the whole zone that is to be
// granted; any other is refused on the usual road.
func (s *Server) transfers(w dns.ResponseWriter, req *dns.Msg, z *Zone) bool {
	if z == nil || req.Opcode != dns.OpcodeQuery || len(req.Question) != 1 || !isTransfer(req.Question[0].Qtype) {
		return false
	}
	if _, rcode := edns(req); rcode != dns.RcodeSuccess {
		return false
	}
	q := req.Question[0]
	granted := overTCP(w) && q.Qclass == dns.ClassINET && dns.CanonicalName(q.Name) == z.origin && s.mayTransfer(w.RemoteAddr())
	if !granted {
		s.log.Debug("zone transfer refused", "client", w.RemoteAddr().String(), "zone", q.Name)
	}
	return granted
}

func overTCP(w dns.ResponseWriter) bool {
	_, ok := w.LocalAddr().(*net.TCPAddr)
	return ok
}
