package httpapi

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
)

const secret = "s3cr3t-t0ken"

// start serves "ok" and gives a client for it.
func start(t *testing.T, limiter *provider.Limiter) (*httpfake.Server, *Client) {
	t.Helper()
	server := httpfake.Start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	t.Cleanup(server.Close)
	return server, client(t, server.URL, limiter)
}

func client(t *testing.T, base string, limiter *provider.Limiter) *Client {
	t.Helper()
	c, err := New(Options{Base: base, Limiter: limiter, Agent: "sidestep/test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// call makes a request that carries the secret wherever one can be.
func call(write bool) Request {
	method := http.MethodGet
	if write {
		method = http.MethodPost
	}
	return Request{
		Op: "edit zone example.com.", Method: method, Path: "/zones", Query: url.Values{"key": {secret}}, Write: write,
		Body: []byte(secret), Header: http.Header{"X-Key": {secret}},
		Sign: func(r *http.Request) error { r.Header.Set("Authorization", "Bearer "+secret); return nil },
	}
}

func classed(t *testing.T, err error, class provider.Class, code string) *provider.Error {
	t.Helper()
	e, ok := errors.AsType[*provider.Error](err)
	if !ok {
		t.Fatalf("expected a *provider.Error, got %T: %v", err, err)
	}
	if e.Class != class || e.Code != code {
		t.Errorf("expected %s %q, got %s %q: %v", class, code, e.Class, e.Code, err)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the error tells the secret: %v", err)
	}
	return e
}

// What never reached the API may be sent again, a write too.
func TestBrokenBeforeItLeft(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + listener.Addr().String()
	_ = listener.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	untrusted.Config.ErrorLog = nil
	for _, tt := range []struct{ name, base, code, hint string }{
		{"refused", refused, "unreachable", "endpoint on the zone, HTTPS_PROXY"},
		{"tls", untrusted.URL, "certificate", "clock"},
	} {
		for _, write := range []bool{false, true} {
			_, err := client(t, tt.base, nil).Do(t.Context(), call(write))
			e := classed(t, err, provider.Retryable, tt.code)
			if !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("%s: the hint does not speak of the %s: %q", tt.name, tt.hint, e.Hint)
			}
		}
	}
}

// What left and has no answer of the API is Ambiguous when it was a write.
func TestBrokenAfterItLeft(t *testing.T) {
	large := strings.Repeat("x", 2000)
	for _, tt := range []struct {
		name  string
		fault httpfake.Fault
		code  string
	}{
		{"dropped before", httpfake.Fault{Drop: true}, "no-answer"},
		{"dropped after applying", httpfake.Fault{Apply: true, Drop: true}, "no-answer"},
		{"hangs", httpfake.Fault{Hang: true}, "timeout"},
		{"too large", httpfake.Fault{Status: 200, Body: large}, "HTTP 200"},
		{"ends early", httpfake.Fault{Status: 200, Header: http.Header{"Content-Length": {"900"}}, Body: "{"}, "HTTP 200"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, write := range []bool{false, true} {
				server, c := start(t, nil)
				server.Arm(httpfake.Any, 0, tt.fault)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				if tt.fault.Hang {
					ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
				}
				defer cancel()
				r := call(write)
				r.Limit = 1000
				_, err := c.Do(ctx, r)
				want := provider.Retryable
				if write {
					want = provider.Ambiguous
				}
				classed(t, err, want, tt.code)
				if n := len(server.Requests()); n != 1 {
					t.Errorf("expected 1 request at the API, got %d", n)
				}
			}
		})
	}
}

// A body that stops coming is a call that timed out, and no foreign page.
func TestBrokenInTheBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"result":[`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := client(t, server.URL, nil).Do(ctx, call(true))
	classed(t, err, provider.Ambiguous, "timeout")
}

// An end of ours is no word about the API.
func TestBrokenByOurselves(t *testing.T) {
	server, c := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	r := call(true)
	r.Gate = func() error { cancel(); return nil }
	_, err := c.Do(ctx, r)
	classed(t, err, provider.Retryable, "canceled")
	if len(server.Requests()) != 0 {
		t.Error("it was sent")
	}
}

// The next host would be given the credential.
func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere, _ := start(t, nil)
	for _, to := range []string{elsewhere.URL + "/zones", "/zones/2", ""} {
		server, c := start(t, nil)
		server.Arm(httpfake.Any, 0, httpfake.Fault{Status: 308, Header: http.Header{"Location": {to}}})
		reply, err := c.Do(t.Context(), call(false))
		if err != nil || reply.Status != 308 {
			t.Fatalf("expected the redirect itself, got %+v, %v", reply, err)
		}
		if e := Classify("list", false, reply); e.Class != provider.Permanent || e.Hint == "" {
			t.Errorf("expected a permanent error with a hint, got %v", e)
		}
		if n := len(server.Requests()); n != 1 {
			t.Errorf("expected 1 request, got %d", n)
		}
	}
	if n := len(elsewhere.Requests()); n != 0 {
		t.Errorf("the other host was asked %d times", n)
	}
}

// What takes long comes first: the wait for the limiter, then the signature,
// which has a date, then the gate, which says how long the lease lasts.
func TestOrderOfACall(t *testing.T) {
	server, _ := start(t, nil)
	limiter := provider.NewLimiter(1.0/3600, 1, 0)
	c := client(t, server.URL, limiter)
	var steps []string
	r := call(true)
	r.Sign = func(*http.Request) error { steps = append(steps, "sign"); return nil }
	r.Gate = func() error {
		steps = append(steps, "gate")
		if len(server.Requests()) > 0 {
			steps = append(steps, "sent before")
		}
		return nil
	}
	if _, err := c.Do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if want := []string{"sign", "gate"}; !slices.Equal(steps, want) {
		t.Errorf("expected %v, got %v", want, steps)
	}
	steps = nil
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // the limiter has nothing for an hour
	defer cancel()
	_, err := c.Do(ctx, r)
	classed(t, err, provider.Retryable, "")
	if len(steps) > 0 || len(server.Requests()) != 1 {
		t.Errorf("the limiter was not asked first: %v, %d requests", steps, len(server.Requests()))
	}
}

// The gate's error is its own, so that the caller knows it again, and nothing is
// sent; a request that cannot be signed is nobody's but a person's matter.
func TestGateAndSignRefuse(t *testing.T) {
	server, c := start(t, nil)
	closed := errors.New("the lease ends")
	r := call(true)
	r.Gate = func() error { return closed }
	if _, err := c.Do(t.Context(), r); err != closed { //nolint:errorlint // as it is, unwrapped
		t.Errorf("expected the gate's own error, got %v", err)
	}
	r = call(true)
	r.Sign = func(*http.Request) error { return errors.New("no key") }
	r.Gate = func() error { t.Error("the gate was asked about what cannot be sent"); return nil }
	_, err := c.Do(t.Context(), r)
	classed(t, err, provider.Permanent, "")
	if len(server.Requests()) != 0 {
		t.Error("it was sent")
	}
}

// A connection that the server closed while nobody used it is no reason to fail,
// and none to send a write twice.
func TestIdleConnectionIsReplaced(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	requests := 0
	server := &http.Server{
		Handler:           http.HandlerFunc(func(http.ResponseWriter, *http.Request) { mu.Lock(); requests++; mu.Unlock() }),
		ReadHeaderTimeout: time.Minute,
		ConnState: func(c net.Conn, s http.ConnState) {
			if s == http.StateNew {
				mu.Lock()
				conns = append(conns, c)
				mu.Unlock()
			}
		},
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	c := client(t, "http://"+listener.Addr().String(), nil)
	noticed := make(chan struct{}, 8)
	transport, _ := c.http.Transport.(*http.Transport)
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &watched{conn, noticed}, err
	}
	if _, err := c.Do(t.Context(), call(true)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	_ = conns[0].Close()
	mu.Unlock()
	<-noticed
	if _, err := c.Do(t.Context(), call(true)); err != nil {
		t.Errorf("the write failed: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if requests != 2 || len(conns) != 2 {
		t.Errorf("expected 2 requests on 2 connections, got %d on %d", requests, len(conns))
	}
}

type watched struct {
	net.Conn

	closed chan struct{}
}

func (w *watched) Close() error {
	w.closed <- struct{}{}
	return w.Conn.Close()
}

// A kept connection that breaks once a write is on it has the write on it: it is
// not sent again.
func TestWriteOnAKeptConnectionIsNotRepeated(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		server, c := start(t, nil)
		if _, err := c.Do(t.Context(), call(true)); err != nil {
			t.Fatal(err)
		}
		server.Arm(httpfake.Any, 0, httpfake.Fault{Apply: true, Drop: true})
		r := call(true)
		r.Method, r.Body = method, nil
		_, err := c.Do(t.Context(), r)
		classed(t, err, provider.Ambiguous, "no-answer")
		if n := len(server.Requests()); n != 2 {
			t.Errorf("%s: expected 2 requests in all, got %d", method, n)
		}
	}
}

// A zone that is asked to wait holds the others of its credential.
func TestTooManyRequestsHoldsTheCredential(t *testing.T) {
	server, _ := start(t, nil)
	limiter := provider.NewLimiter(1000, 1000, 0)
	one, other := client(t, server.URL, limiter), client(t, server.URL, limiter)
	server.Arm(httpfake.Any, 0, httpfake.Fault{Status: 429, Header: http.Header{"Retry-After": {"300"}}})
	reply, err := one.Do(t.Context(), call(true))
	if err != nil {
		t.Fatal(err)
	}
	if e := Classify("edit", true, reply); e.Class != provider.Retryable || e.After != 5*time.Minute {
		t.Errorf("expected retryable after 5m, got %v after %s", e, e.After)
	}
	for _, write := range []bool{false, true} {
		_, err := other.Do(t.Context(), call(write))
		if e := classed(t, err, provider.Retryable, "held"); e.After < 4*time.Minute || e.After > 5*time.Minute {
			t.Errorf("expected to be told to wait for about 5m, got %s", e.After)
		}
	}
	if n := len(server.Requests()); n != 1 {
		t.Errorf("expected 1 request, got %d", n)
	}
}

// The path is put together as it was written, escapes included.
func TestPathAndAgent(t *testing.T) {
	server, _ := start(t, nil)
	c := client(t, server.URL+"/client/v4/", nil)
	r := call(false)
	r.Path, r.Query = "/zones/a%2Fb/c%20d", url.Values{"q": {"a&b"}}
	if _, err := c.Do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got := server.Requests()[0]
	if got.Path != "/client/v4/zones/a/b/c d" || got.Escaped != "/client/v4/zones/a%2Fb/c%20d" || got.Query != "q=a%26b" || got.Header.Get("User-Agent") != "sidestep/test" {
		t.Errorf("got %s (%s) ? %s by %s", got.Path, got.Escaped, got.Query, got.Header.Get("User-Agent"))
	}
	r.Path = "/zones/%zz"
	_, err := c.Do(t.Context(), r)
	classed(t, err, provider.Permanent, "")
}

func TestStream(t *testing.T) {
	_, c := start(t, nil)
	own := provider.Failf(provider.Conflict, "read", "81058", "identical")
	err := c.Stream(t.Context(), call(true), func(int, http.Header, io.Reader) error { return own })
	if !errors.Is(err, own) {
		t.Errorf("expected the reader's own classed error, got %v", err)
	}
	err = c.Stream(t.Context(), call(true), func(int, http.Header, io.Reader) error { return errors.New("not JSON") })
	classed(t, err, provider.Ambiguous, "HTTP 200")
}

func TestParseEndpoint(t *testing.T) {
	for _, tt := range []struct {
		text     string
		insecure bool
		fails    string
	}{
		{"https://api.example.net/client/v4/", false, ""},
		{"http://127.0.0.1:8080", false, ""},
		{"http://[::1]:8080", false, ""},
		{"http://localhost:8080", false, ""},
		{"http://api.example.net", true, ""},
		{"http://api.example.net", false, "in the clear"},
		{"ftp://user:" + secret + "@api.example.net", false, "expected a URL like"},
		{"https://user:" + secret + "@api.example.net", false, "expected no user"},
		{"https://user:" + secret + "@api.example.net:port", false, "invalid port"},
		{"https://api.example.net/?key=" + secret, false, "expected no user, query"},
		{"https://api.example.net/#here", false, "fragment"},
		{"api.example.net", false, "expected a URL like"},
		{"127.0.0.1:1", false, "expected a URL like"},
		{"https://", false, "expected a URL like"},
	} {
		_, err := ParseEndpoint(tt.text, tt.insecure)
		switch {
		case tt.fails == "" && err != nil:
			t.Errorf("%s: %v", tt.text, err)
		case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
			t.Errorf("%s: expected an error with %q, got %v", tt.text, tt.fails, err)
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("the error tells the secret: %v", err)
		}
	}
}
