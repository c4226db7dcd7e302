package control_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
)

// The tokens that the servers of these tests know.
const (
	operator = "operator-0123456789abcdef"
	reader   = "reader-0123456789abcdef"
)

// over is a server over TCP, asked by one client.
type over struct {
	t      *testing.T
	addr   string
	scheme string
	client *http.Client
	access *control.Access
}

func serveTCP(t *testing.T, b control.Backend, change ...func(*control.TCPOptions, *control.Server)) *over {
	t.Helper()
	options := control.TCPOptions{
		Listen: "127.0.0.1:0", Hosts: []string{"mon-1"},
		Access: control.NewAccess([]control.Token{{"ops", control.RoleOperate, operator}, {"wall", control.RoleRead, reader}}, nil),
	}
	for _, f := range change {
		f(&options, nil)
	}
	server, err := control.ListenTCP(t.Context(), options, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&options, server)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &over{t, server.Addr().String(), "http", client, options.Access}
}

// ask sends a request with a token and more headers, as "Name: value"; Host is one too.
func (o *over) ask(method, path, token, body string, headers ...string) (int, string) {
	o.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(o.t.Context(), method, o.scheme+"://"+o.addr+path, reader)
	if err != nil {
		o.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Add(name, value)
	}
	response, err := o.client.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// quiet is a backend that answers everything, and keeps who approved.
func quiet(by *string) backend {
	return backend{
		status: func(context.Context, string) (control.Status, error) { return control.Status{Node: "mon-1"}, nil },
		plan:   func(context.Context, control.PlanRequest) (control.Plan, error) { return control.Plan{}, nil },
		approve: func(_ context.Context, _ control.ApproveRequest, who string) (control.Approval, error) {
			*by = who
			return control.Approval{}, nil
		},
	}
}

// TestTCPLetsInWhoMayComeIn asks with every kind of right and wrong.
func TestTCPLetsInWhoMayComeIn(t *testing.T) {
	by := ""
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	o := serveTCP(t, quiet(&by), func(options *control.TCPOptions, _ *control.Server) {
		options.Handlers = map[string]control.Mount{"/": {Handler: page}, "/metrics": {Handler: page, Role: control.RoleRead}}
	})
	const approve = `{"target":"all"}`
	for _, c := range []struct {
		name, method, path, token, body string
		headers                         []string
		status                          int
		word                            string
	}{
		{"a reader reads", "GET", "/api/v1/status", reader, "", nil, 200, `"mon-1"`},
		{"an operator reads", "GET", "/api/v1/status", operator, "", nil, 200, `"mon-1"`},
		{"a reader plans", "POST", "/api/v1/plan", reader, "{}", nil, 200, "zones"},
		{"no token", "GET", "/api/v1/status", "", "", nil, 401, "expected a token"},
		{"a wrong token", "GET", "/api/v1/status", reader + "x", "", nil, 401, "no such token"},
		{"a reader changes", "POST", "/api/v1/approve", reader, approve, nil, 403, "the token wall has the role read, and this needs operate"},
		{"a reader reconciles", "POST", "/api/v1/reconcile", reader, "{}", nil, 403, "needs operate"},
		{"an operator changes", "POST", "/api/v1/approve", operator, approve, nil, 200, "approved"},
		{"its own name", "GET", "/api/v1/status", reader, "", []string{"Host: mon-1:9953"}, 200, ""},
		{"localhost", "GET", "/api/v1/status", reader, "", []string{"Host: LocalHost:9953"}, 200, ""},
		{"a rebound name", "GET", "/api/v1/status", reader, "", []string{"Host: evil.example:9953"}, 421, "not called"},
		{"a rebound name, of the page", "GET", "/", "", "", []string{"Host: evil.example"}, 421, "not called"},
		{"its own page", "POST", "/api/v1/approve", operator, approve, []string{"Host: localhost:9953", "Origin: http://localhost:9953"}, 200, ""},
		{"a foreign page", "POST", "/api/v1/approve", operator, approve, []string{"Origin: http://evil.example"}, 403, "another origin"},
		{"a foreign page that reads", "GET", "/api/v1/status", reader, "", []string{"Origin: http://evil.example"}, 403, "another origin"},
		{"a page from nowhere", "GET", "/api/v1/status", reader, "", []string{"Origin: null"}, 403, "another origin"},
		{"a page of another port", "GET", "/api/v1/status", reader, "", []string{"Host: localhost:9953", "Origin: http://localhost:80"}, 403, "another origin"},
		{"a foreign page without an origin", "GET", "/api/v1/status", reader, "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403, "another origin"},
		{"a link to the page", "GET", "/", "", "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 200, "page"},
		{"a link to the API", "GET", "/api/v1/status", reader, "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 403, "another origin"},
		{"an oversized body", "POST", "/api/v1/approve", operator, `{"target":"` + strings.Repeat("a", 65<<10) + `"}`, nil, 413, "more than 65536 bytes"},
		{"two bodies", "POST", "/api/v1/approve", operator, approve + approve, nil, 400, "something follows"},
		{"a body where none is taken", "GET", "/api/v1/status", reader, approve, nil, 400, "takes no body"},
		{"the page", "GET", "/", "", "", nil, 200, "page"},
		{"metrics", "GET", "/metrics", reader, "", nil, 200, "page"},
		{"metrics without a token", "GET", "/metrics", "", "", nil, 401, "expected a token"},
		{"health", "GET", "/healthz", "", "", nil, 200, "ok\n"},
		{"not of this version", "GET", "/api/v1/nosuch", reader, "", nil, 404, "no such request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			by = ""
			status, text := o.ask(c.method, c.path, c.token, c.body, c.headers...)
			if status != c.status || !strings.Contains(text, c.word) {
				t.Errorf("answered with %d %s, want %d and %q", status, text, c.status, c.word)
			}
			if approved := c.path == "/api/v1/approve" && c.status == 200; approved && by != "ops" || !approved && by != "" {
				t.Errorf("approved by %q", by)
			}
		})
	}
}

// TestTCPTakesOtherTokens: after Set the old ones are worth nothing.
func TestTCPTakesOtherTokens(t *testing.T) {
	by := ""
	o := serveTCP(t, quiet(&by))
	o.access.Set([]control.Token{{"new", control.RoleRead, "another-0123456789"}}, nil)
	if status, _ := o.ask("GET", "/api/v1/status", reader, ""); status != 401 {
		t.Errorf("the old token: %d", status)
	}
	if status, _ := o.ask("GET", "/api/v1/status", "another-0123456789", ""); status != 200 {
		t.Errorf("the new token: %d", status)
	}
}

// TestTCPTellsADeadLoop asks for the health of a daemon that hangs.
func TestTCPTellsADeadLoop(t *testing.T) {
	o := serveTCP(t, backend{dead: errors.New("it hangs")})
	if status, text := o.ask("GET", "/healthz", "", ""); status != 503 || !strings.Contains(text, "no sign of life") {
		t.Errorf("%d %s", status, text)
	}
}

// TestTCPStopsGuessing: after many wrong tokens not even a right one is tried.
func TestTCPStopsGuessing(t *testing.T) {
	by := ""
	o := serveTCP(t, quiet(&by))
	for i := range control.WrongMost {
		if status, text := o.ask("GET", "/api/v1/status", fmt.Sprint("guess", i), ""); status != 401 {
			t.Fatalf("guess %d: %d %s", i, status, text)
		}
	}
	if status, text := o.ask("GET", "/api/v1/status", reader, ""); status != 429 || !strings.Contains(text, "too many wrong tokens came from 127.0.0.1") {
		t.Errorf("after them: %d %s", status, text)
	}
	if status, _ := o.ask("GET", "/healthz", "", ""); status != 200 {
		t.Errorf("health needs no token, and answers with %d", status)
	}
}

// TestWrongTokensAreCountedByAddress, of IPv6 by network, for a time, and of a bounded
// number of addresses.
func TestWrongTokensAreCountedByAddress(t *testing.T) {
	a := control.NewAccess(nil, nil)
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	one, near, far := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8:1::1")
	for range control.WrongMost {
		a.Failed(one, now)
	}
	if !a.Blocked(one, now) || !a.Blocked(near, now) || a.Blocked(far, now) || a.Blocked(one, now.Add(control.WrongWithin)) {
		t.Error("not its network, or not only that, or for ever")
	}
	v4 := netip.MustParseAddr("10.0.0.0")
	for range control.WrongKept + control.WrongMost {
		v4 = v4.Next()
		a.Failed(v4, now)
	}
	if unknown := netip.MustParseAddr("192.0.2.1"); !a.Blocked(unknown, now) || a.Blocked(unknown, now.Add(control.WrongWithin)) {
		t.Error("a flood from many addresses is not bounded, or for ever")
	}
}

// TestTCPSpeaksTLS: with a certificate nothing is said in plain, its names are the
// server's, and a renewed one is shown at once.
func TestTCPSpeaksTLS(t *testing.T) {
	lender := httptest.NewUnstartedServer(nil) // it has a certificate of example.com and 127.0.0.1
	lender.StartTLS()
	defer lender.Close()
	by := ""
	o := serveTCP(t, quiet(&by), func(options *control.TCPOptions, _ *control.Server) {
		certificate := lender.TLS.Certificates[0]
		options.Access = control.NewAccess([]control.Token{{"wall", control.RoleRead, reader}}, &certificate)
	})
	if status, text := o.ask("GET", "/api/v1/status", reader, ""); status != 400 {
		t.Errorf("in plain: %d %s", status, text)
	}
	o.scheme, o.client = "https", lender.Client()
	defer o.client.CloseIdleConnections()
	if status, text := o.ask("GET", "/api/v1/status", reader, "", "Host: example.com"); status != 200 {
		t.Errorf("over TLS: %d %s", status, text)
	}
	if status, _ := o.ask("GET", "/api/v1/status", reader, "", "Host: example.org"); status != 421 {
		t.Errorf("by another name: %d", status)
	}
	if status, _ := o.ask("GET", "/api/v1/status", reader, "", "Host: example.com", "Origin: http://example.com"); status != 403 {
		t.Errorf("from a page in plain: %d", status)
	}
	o.client.CloseIdleConnections()
	for range 2 * control.MaxConnections { // TLS begins on none of them
		conn, err := net.Dial("tcp", o.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	if status, _ := o.ask("GET", "/healthz", "", ""); status != 200 {
		t.Errorf("beside silent connections: %d", status)
	}
}

// TestTCPNeedsTLSElsewhere, and a port that is free.
func TestTCPNeedsTLSElsewhere(t *testing.T) {
	by := ""
	o := serveTCP(t, quiet(&by))
	for listen, want := range map[string]string{"0.0.0.0:0": "control.tls", "192.0.2.1:9953": "control.tls", o.addr: "name another port with control.listen", "x": "expected an address"} {
		if _, err := control.ListenTCP(t.Context(), control.TCPOptions{Listen: listen, Access: o.access}, quiet(&by)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("listen on %s: %v", listen, err)
		}
	}
}

// TestTCPEndsSlowClients: one that does not finish the head of its request, and one
// whose TLS does not begin, are cut off.
func TestTCPEndsSlowClients(t *testing.T) {
	by := ""
	for name, secure := range map[string]bool{"plain": false, "tls": true} {
		t.Run(name, func(t *testing.T) {
			o := serveTCP(t, quiet(&by), func(options *control.TCPOptions, s *control.Server) {
				if secure && s == nil {
					options.Access = control.NewAccess(nil, &tls.Certificate{})
				}
				if s != nil {
					s.SetHeaderWithin(50 * time.Millisecond)
				}
			})
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", o.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, map[bool]string{true: "\x16", false: "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "}[secure]); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := io.Copy(io.Discard, bufio.NewReader(conn)); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
				t.Errorf("it was kept: %v", err)
			}
		})
	}
}

func isTimeout(err error) bool {
	timeout, is := errors.AsType[net.Error](err)
	return is && timeout.Timeout()
}
