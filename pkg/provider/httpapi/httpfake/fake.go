package httpfake

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Server runs a handler on loopback and steps in where the script says so. Its
// methods may be called from any goroutine.
type Server struct {
	URL string

	http     *httptest.Server
	handler  http.Handler
	mu       sync.Mutex
	script   []*armed
	requests []Request
	closing  chan struct{}
}

// Request is one that arrived, in order.
type Request struct {
	Method, Path, Query string
	Escaped             string // the path as it was sent
	Header              http.Header
	Body                []byte
	Fault               string // what the script did to it, empty for nothing
}

// Fault is what happens to one request. The zero value of a field does nothing,
// and one that has nothing but a Delay lets the request through after it. Else
// they follow each other in this order: Delay, the handler when Apply holds, then
// the answer given here, or, without a Status, a connection that is closed
// without one.
type Fault struct {
	Name   string        // for the record of requests
	Delay  time.Duration // before anything else; ends early when the client goes away
	Hang   bool          // no answer until the client goes away or the server closes
	Apply  bool          // the handler runs, and its answer is thrown away
	Drop   bool          // the connection is closed without an answer, whatever Status says
	Status int           // answer with this status …
	Header http.Header
	Body   string // … and this body
}

// Match picks requests. body is the whole body.
type Match func(r *http.Request, body []byte) bool

type armed struct {
	match Match
	fault Fault
	skip  int
}

// Any matches each request.
func Any(*http.Request, []byte) bool { return true }

// Start serves a handler on a port of 127.0.0.1. Close ends it.
func Start(handler http.Handler) *Server {
	s := &Server{handler: handler, closing: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close ends the server and what hangs in it.
func (s *Server) Close() {
	close(s.closing)
	s.http.CloseClientConnections()
	s.http.Close()
}

// Arm lets a fault happen to the first request that matches, once skip others
// have matched before it. Faults are tried in the order in which they were
// armed, each is used once.
func (s *Server) Arm(match Match, skip int, fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, &armed{match, fault, skip})
}

// Disarm forgets the faults that have not happened, and reports how many.
func (s *Server) Disarm() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := len(s.script)
	s.script = nil
	return left
}

// Requests lists what arrived since the start or the last Forget.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Forget empties the record of requests.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the body could not be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	fault := s.next(r, body)
	if fault.Delay > 0 && !s.pause(r, fault.Delay) {
		return
	}
	if fault.passes() {
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.handler.ServeHTTP(w, r)
		return
	}
	if fault.Apply {
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if fault.Hang {
		s.pause(r, time.Hour)
	}
	if fault.Hang || fault.Drop || fault.Status == 0 {
		drop(w)
		return
	}
	maps.Copy(w.Header(), fault.Header)
	w.WriteHeader(fault.Status)
	_, _ = io.WriteString(w, fault.Body)
}

// passes reports whether the handler's own answer is sent.
func (f Fault) passes() bool { return !f.Hang && !f.Apply && !f.Drop && f.Status == 0 }

// next notes the request and takes the fault that is meant for it.
func (s *Server) next(r *http.Request, body []byte) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fault Fault
	for i, a := range s.script {
		if !a.match(r, body) {
			continue
		}
		if a.skip > 0 {
			a.skip--
			continue
		}
		s.script = append(s.script[:i:i], s.script[i+1:]...)
		fault = a.fault
		if fault.Name == "" {
			fault.Name = "fault"
		}
		break
	}
	s.requests = append(s.requests, Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Escaped: r.URL.EscapedPath(),
		Header: r.Header.Clone(), Body: body, Fault: fault.Name,
	})
	return fault
}

// pause reports whether the time passed with the client still there.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.closing:
	}
	return false
}

// drop closes the connection of a request with a reset, as a peer that dies
// does. Where the connection cannot be had it answers nothing but a status that
// no API has.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// Redirect sends to the server what this process sends to a host by clients
// that have no transport of their own, until the test ends: for libraries that
// know their API's address by heart. Tests that use it cannot run in parallel.
func (s *Server) Redirect(t interface{ Cleanup(func()) }, host string) {
	before := http.DefaultTransport
	http.DefaultTransport = redirect{before, host, strings.TrimPrefix(s.URL, "http://")}
	t.Cleanup(func() { http.DefaultTransport = before })
}

type redirect struct {
	next     http.RoundTripper
	from, to string
}

// RoundTrip sends a request on.
func (r redirect) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host == r.from {
		request = request.Clone(request.Context())
		request.Host = r.from // which a signature may cover
		request.URL.Scheme, request.URL.Host = "http", r.to
	}
	return r.next.RoundTrip(request)
}

// Answer gives every request of this process, by clients that have no transport of
// their own, what answer says, without a server, until the test ends: for fuzzing.
// Tests that use it cannot run in parallel.
func Answer(t interface{ Cleanup(func()) }, answer func(*http.Request) (status int, body []byte)) {
	before := http.DefaultTransport
	http.DefaultTransport = roundTrip(func(r *http.Request) (*http.Response, error) {
		status, body := answer(r)
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r,
		}, nil
	})
	t.Cleanup(func() { http.DefaultTransport = before })
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip answers a request.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// JSON answers a request.
func JSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}
