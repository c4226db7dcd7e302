package lab

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// IdentityHeader is the header in which a backend tells its name.
const IdentityHeader = "X-Backend"

// headerTimeout is how long a client may take to send its request.
const headerTimeout = 10 * time.Second

// Backend is an HTTP server that can be broken and mended while it runs. Its
// methods may be called by any number of goroutines at once.
//
// "/healthz" answers {"status":"ok","backend":"NAME"}, "/" a line of text that
// names the backend. The header IdentityHeader of both has its name as well.
type Backend struct {
	name, addr string
	requests   atomic.Int64

	mu      sync.Mutex // guards what follows
	mode    Mode
	cert    *tls.Certificate // nil serves without TLS
	http2   bool             // offered over TLS
	started bool
	held    *os.File      // keeps the address from Start to Close
	changed chan struct{} // closed when the mode changes, which frees what hangs
	server  *http.Server  // nil while nothing listens
	ended   chan struct{} // closed when the server's loop is over
}

// NewBackend makes a backend for an address ("127.0.0.11:8080"; port 0 takes a
// free one at Start). It does nothing before Start.
func NewBackend(name, addr string) *Backend {
	return &Backend{name: name, addr: addr, mode: OK, changed: make(chan struct{})}
}

// Name is the name that the backend answers with.
func (b *Backend) Name() string { return b.name }

// Addr is the address of the backend, which stays the same through all modes.
func (b *Backend) Addr() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.addr
}

// Secure lets the backend serve over TLS from the next Start on, by HTTP/2 with the
// clients that offer it, or by HTTP/1.1 alone.
func (b *Backend) Secure(cert tls.Certificate, http2 bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cert, b.http2 = &cert, http2
}

// Show lets the backend of a TLS server show another certificate on connections to
// come. Those that are open stay, and no client resumes an earlier session.
func (b *Backend) Show(cert tls.Certificate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cert = &cert
}

// Mode is how the backend behaves now.
func (b *Backend) Mode() Mode {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mode
}

// Requests is how many requests have reached the backend, in any mode.
func (b *Backend) Requests() int64 { return b.requests.Load() }

// Start listens and serves until Close. When it returns, connections are taken.
// A mode in which the backend does not listen keeps the address for it.
func (b *Backend) Start() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started {
		return fmt.Errorf("start backend %s: it runs already on %s", b.name, b.addr)
	}
	held, addr, err := hold(b.addr)
	if err != nil {
		return fmt.Errorf("start backend %s on %s: %w", b.name, b.addr, err)
	}
	was := b.addr
	b.addr = addr
	if err := b.open(); err != nil {
		b.addr = was
		return fmt.Errorf("start backend %s: %w", b.name, errors.Join(err, held.Close()))
	}
	b.started, b.mode, b.held = true, OK, held
	return nil
}

// Break makes the backend behave as the mode says from now on: when it returns,
// new connections and requests see it. Connections that are open are closed for
// Refuse and kept for the others; requests that hang are cut by every change.
func (b *Backend) Break(mode Mode) error {
	mode, err := ParseMode(string(mode))
	if err != nil {
		return fmt.Errorf("break backend %s: %w", b.name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.started {
		return fmt.Errorf("break backend %s: it does not run; start it first", b.name)
	}
	if b.http2 && (mode == Hang || mode == Reset) {
		return fmt.Errorf("break backend %s: mode %s is of HTTP/1.1 connections, and it serves HTTP/2", b.name, mode)
	}
	if err := b.enter(mode); err != nil {
		return fmt.Errorf("bring backend %s to mode %s: %w", b.name, mode, err)
	}
	return nil
}

// Mend makes the backend answer again. It fails when another program listens on
// the very address meanwhile.
func (b *Backend) Mend() error { return b.Break(OK) }

// Close ends the backend: its listener, connections and loop. It may be started
// again.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = false
	b.set(OK)
	err := b.shut()
	if b.held != nil {
		err = errors.Join(err, b.held.Close())
		b.held = nil
	}
	if err != nil {
		return fmt.Errorf("close backend %s: %w", b.name, err)
	}
	return nil
}

func (b *Backend) enter(mode Mode) error {
	if mode == Refuse {
		b.set(mode)
		return b.shut()
	}
	if b.server == nil {
		if err := b.open(); err != nil {
			return err
		}
	}
	b.set(mode)
	return nil
}

func (b *Backend) set(mode Mode) {
	b.mode = mode
	close(b.changed)
	b.changed = make(chan struct{})
}

// open starts to listen and serve.
func (b *Backend) open() error {
	listener, err := net.Listen("tcp", b.addr)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(b.serve),
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          log.New(io.Discard, "", 0), // broken connections are what the lab is for
	}
	serve := func() error { return server.Serve(listener) }
	if b.cert != nil {
		server.Protocols = new(http.Protocols)
		server.Protocols.SetHTTP1(true)
		server.Protocols.SetHTTP2(b.http2)
		server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true, GetCertificate: b.certificate}
		serve = func() error { return server.ServeTLS(listener, "", "") }
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = serve() // always an error: that it was closed
	}()
	b.server, b.ended = server, ended
	return nil
}

func (b *Backend) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cert, nil
}

// shut ends what open began, connections included.
func (b *Backend) shut() error {
	if b.server == nil {
		return nil
	}
	err := b.server.Close()
	<-b.ended
	b.server, b.ended = nil, nil
	return err
}

// serve answers one request in the mode that holds when it comes.
func (b *Backend) serve(w http.ResponseWriter, r *http.Request) {
	b.requests.Add(1)
	b.mu.Lock()
	mode, changed := b.mode, b.changed
	b.mu.Unlock()
	switch mode {
	case Hang:
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		cut(w, false)
	case Reset:
		cut(w, true)
	case Refuse: // the request came just before the door was shut
		cut(w, false)
	default:
		b.answer(w, r, mode.status())
	}
}

func (b *Backend) answer(w http.ResponseWriter, r *http.Request, status int) {
	w.Header().Set(IdentityHeader, b.name)
	var body []byte
	switch {
	case status != http.StatusOK:
		http.Error(w, fmt.Sprintf("%s is broken: %d %s", b.name, status, http.StatusText(status)), status)
		return
	case r.URL.Path == "/":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		body = []byte("this is backend " + b.name + "\n")
	case r.URL.Path == "/healthz":
		w.Header().Set("Content-Type", "application/json")
		body = health(b.name)
	default:
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(body) // the client may have gone; it is nobody's loss
}

func health(name string) []byte {
	body, err := json.Marshal(struct {
		Status  string `json:"status"`
		Backend string `json:"backend"`
	}{"ok", name})
	if err != nil {
		return nil // two strings can always be written as JSON
	}
	return append(body, '\n')
}

// cut ends a connection without an answer; a reset throws away what the client
// has not read yet, as a crash does. Errors mean that the connection is gone
// already, which is what was wanted.
func cut(w http.ResponseWriter, reset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
