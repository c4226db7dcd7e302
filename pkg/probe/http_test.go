package probe

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"sidestep/pkg/check"
)

// Case: the unit's environment has proxy variables. Expected: probes do not know
// of them, so a healthy target passes, a dead one fails, and the proxy sees none.
func TestCase04ProxyEnvironmentIsIgnored(t *testing.T) {
	proxy := serve(t, "127.0.0.1:0", func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://"+proxy.Addr().String())
	}
	t.Setenv("NO_PROXY", "")
	healthy := answer(t, "HTTP/1.1 200 OK\r\n\r\n")
	expect(t, once(httpSpec(healthy.port())), "pass")
	_ = healthy.Close()
	expect(t, once(httpSpec(healthy.port())), "fail connect/refused")
	if n := proxy.accepted.Load(); n != 0 {
		t.Errorf("the proxy got %d connections of probes", n)
	}
}

// Case: a server keeps its open connections and takes no new ones. Expected: every
// probe has a connection of its own, which ends with it.
func TestCase05EveryProbeHasItsOwnConnection(t *testing.T) {
	ended := make(chan struct{}, 100)
	s := serve(t, "127.0.0.1:0", func(conn net.Conn) {
		for readRequest(conn) != "" { // would serve many requests
			if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok"); err != nil {
				break
			}
		}
		ended <- struct{}{}
	})
	p := New(counting(), Options{})
	spec := httpSpec(s.port(), matching("ok"))
	const probes = 20
	for range probes {
		expect(t, p.Probe(context.Background(), spec, "127.0.0.1"), "pass")
	}
	for range probes { // none is left open
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("a connection outlived its probe")
		}
	}
	if n := s.accepted.Load(); n != probes {
		t.Errorf("%d connections for %d probes", n, probes)
	}
	_ = s.Close()
	expect(t, p.Probe(context.Background(), spec, "127.0.0.1"), "fail connect/refused")
}

// Case: servers that answer 200, 204, 206, 301, 302, 401, 403, 404, 429, 500, 503,
// 100 and then 200, HTTP/1.0 without a length, a status line without a reason,
// and a banner that is no HTTP; status: [200-299, 401] beside the default.
// Expected: 2xx passes, interim answers do not count, garbage fails, and the
// list flips 401 alone.
func TestCase11StatusTable(t *testing.T) {
	line := func(status string) string { return "HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n\r\n" }
	for _, c := range []struct{ answer, byDefault, with401 string }{
		{line("200 OK"), "pass", "pass"},
		{line("204 No Content"), "pass", "pass"},
		{line("206 Partial Content"), "pass", "pass"},
		{line("301 Moved Permanently"), "fail assert/status", "fail assert/status"},
		{line("302 Found"), "fail assert/status", "fail assert/status"},
		{line("401 Unauthorized"), "fail assert/auth", "pass"},
		{line("403 Forbidden"), "fail assert/auth", "fail assert/auth"},
		{line("404 Not Found"), "fail assert/status", "fail assert/status"},
		{line("407 Proxy Authentication Required"), "fail assert/auth", "fail assert/auth"},
		{line("429 Too Many Requests"), "fail assert/status", "fail assert/status"},
		{line("500 Oops"), "fail assert/status", "fail assert/status"},
		{line("503 Service Unavailable"), "fail assert/status", "fail assert/status"},
		{line("101 Switching Protocols"), "fail assert/status", "fail assert/status"},
		{"HTTP/1.1 100 Continue\r\n\r\n" + line("200 OK"), "pass", "pass"},
		{"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + line("503 no"), "fail assert/status", "fail assert/status"},
		{strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", maxInterim) + line("200 OK"), "pass", "pass"},
		{strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", maxInterim+1) + line("200 OK"), "fail headers/mismatch", "fail headers/mismatch"},
		{"HTTP/1.0 200 OK\r\n\r\nuntil the end", "pass", "pass"},
		{"HTTP/1.1 200\r\n\r\n", "pass", "pass"},
		{"SSH-2.0-OpenSSH_9.2\r\n", "fail headers/mismatch", "fail headers/mismatch"},
		{"HTTP/1.1 20x OK\r\n\r\n", "fail headers/mismatch", "fail headers/mismatch"},
		{"HTTP/2.0 200 OK\r\n\r\n", "fail headers/mismatch", "fail headers/mismatch"},
		{"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "fail headers/mismatch", "fail headers/mismatch"},
		{"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "fail headers/mismatch", "fail headers/mismatch"},
		{"", "fail headers/reset", "fail headers/reset"},
		{"HTTP/1.1 200 OK\r\nServ", "fail headers/reset", "fail headers/reset"},
	} {
		name, _, _ := strings.Cut(c.answer, "\r\n")
		t.Run(name, func(t *testing.T) {
			s := answer(t, c.answer)
			expect(t, once(httpSpec(s.port())), c.byDefault)
			expect(t, once(httpSpec(s.port(), accepting(check.StatusRange{Low: 200, High: 299}, check.StatusRange{Low: 401, High: 401}))), c.with401)
		})
	}
}

func TestStatusDetail(t *testing.T) {
	s := answer(t, "HTTP/1.1 302 Found\r\nLocation: https://user:pw@login.example/sso?token=abc#x\r\n\r\n")
	got := once(httpSpec(s.port(), accepting(check.StatusRange{Low: 200, High: 299}, check.StatusRange{Low: 401, High: 401})))
	want := `expected status 200-299, 401, got "302 Found"; it redirects to "https://login.example/sso", and redirects are not followed`
	if got.Detail != want {
		t.Errorf("got %s, want %s", got.Detail, want)
	}
}

func TestRequestOnTheWire(t *testing.T) {
	requests := make(chan string, 1)
	s := serve(t, "127.0.0.1:0", func(conn net.Conn) {
		requests <- readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	})
	for _, c := range []struct {
		name   string
		change func(*check.HTTP)
		want   string
	}{
		{"plain", func(*check.HTTP) {}, "GET /healthz HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: sidestep\r\nConnection: close\r\nAccept-Encoding: identity\r\n\r\n"},
		{"all set", func(h *check.HTTP) {
			h.Method, h.Path, h.Authority = "HEAD", "/a%2Fb?q=1&r=%20", "www.example.com:8443"
			h.Headers = []check.Header{{Name: "x-key", Value: "one"}, {Name: "X-Key", Value: "two"}, {Name: "user-agent", Value: "probe/1"}, {Name: "Host", Value: "other.example"}}
		}, "HEAD /a%2Fb?q=1&r=%20 HTTP/1.1\r\nHost: other.example\r\nUser-Agent: probe/1\r\nConnection: close\r\nAccept-Encoding: identity\r\nX-Key: one\r\nX-Key: two\r\n\r\n"},
		{"nothing set", func(h *check.HTTP) { h.Method, h.Path, h.Authority = "", "", "" },
			"GET / HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: sidestep\r\nConnection: close\r\nAccept-Encoding: identity\r\n\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, once(httpSpec(s.port(), c.change)), "pass")
			if got := <-requests; got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var asked atomic.Int64
	port := web(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	expect(t, once(httpSpec(port)), "fail assert/status", "/elsewhere")
	if asked.Load() != 1 {
		t.Errorf("%d requests, want 1", asked.Load())
	}
}

func TestHeadersAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"one long line":    "HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", maxHeaders) + "\r\n\r\n",
		"many lines":       "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: b\r\n", maxHeaders/8+1) + "\r\n",
		"long status line": "HTTP/1.1 200 " + strings.Repeat("x", maxHeaders),
	} {
		t.Run(name, func(t *testing.T) {
			s := answer(t, text)
			expect(t, once(httpSpec(s.port())), "fail headers/too-large", "65536")
		})
	}
	s := answer(t, "HTTP/1.1 200 OK\r\nX-Long: "+strings.Repeat("x", maxHeaders/2)+"\r\nContent-Length: 3\r\n\r\nend")
	expect(t, once(httpSpec(s.port(), matching("end"))), "pass")
}

func TestResets(t *testing.T) {
	s := serve(t, "127.0.0.1:0", func(conn net.Conn) {
		readRequest(conn)
		slam(conn)
	})
	expect(t, once(httpSpec(s.port())), "fail headers/reset")

	s = serve(t, "127.0.0.1:0", func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
		_, _ = conn.Read(make([]byte, 1)) // until the test lets go, so the answer is read first
	})
	overdue(t, httpSpec(s.port(), matching("ok")), once, "fail body/timeout", "not complete within the timeout")

	s = answer(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
	expect(t, once(httpSpec(s.port(), matching("half"))), "fail body/reset")
}

// bulky is a check whose request no socket buffer takes.
func bulky(port uint16) *check.Spec {
	return httpSpec(port, func(h *check.HTTP) {
		h.Headers = []check.Header{{Name: "X-Bulk", Value: strings.Repeat("x", 6<<20)}}
	})
}

func TestSend(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s := serve(t, "127.0.0.1:0", func(conn net.Conn) {
		_ = conn.(*net.TCPConn).SetReadBuffer(4096)
		<-release
	})
	overdue(t, bulky(s.port()), once, "fail send/timeout")

	s = serve(t, "127.0.0.1:0", func(conn net.Conn) {
		_ = conn.(*net.TCPConn).SetReadBuffer(4096)
		_, _ = conn.Read(make([]byte, 100))
		slam(conn)
	})
	expect(t, once(bulky(s.port())), "fail send/reset")
}

func TestSecretsAreNeverTold(t *testing.T) {
	const token, password = "tok\"en/Zürich", "hunter22"
	headers := func(h *check.HTTP) {
		h.Headers = []check.Header{
			{Name: "Authorization", Value: "Bearer " + token},
			{Name: "X-Basic", Value: "Basic dXNlcjpodW50ZXIyMg=="}, // user:hunter22
		}
	}
	echoes := []string{token, password, "Bearer " + token, "dXNlcjpodW50ZXIyMg=="}
	for _, echo := range echoes {
		for _, text := range []string{
			echo + "\r\n\r\n",
			"HTTP/1.1 403 " + echo + "\r\n\r\n",
			"HTTP/1.1 302 Found\r\nLocation: /" + echo + "\r\n\r\n",
			"HTTP/1.1 200 OK\r\n" + echo + "\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Encoding: " + echo + "\r\n\r\nx",
			"HTTP/1.1 200 OK\r\n\r\n{\"status\": " + fmt.Sprintf("%q", echo) + "}",
			"HTTP/1.1 200 OK\r\n\r\n" + echo,
		} {
			s := answer(t, text)
			got := once(httpSpec(s.port(), headers, withJSON(map[string]string{"status": "ok"})))
			for _, secret := range []string{"en/Z", password, "dXNlcjpodW50ZXIyMg"} {
				if got.Outcome != check.Fail || strings.Contains(got.Detail, secret) {
					t.Errorf("answer %q: %s with detail %s", text, got.Outcome, got.Detail)
				}
			}
		}
	}
}

func TestServerTextIsEscapedAndCut(t *testing.T) {
	s := answer(t, "HTTP/1.1 200 OK\r\n\r\n\x1b[31mred\x00\xff\u202e"+strings.Repeat("ü", 500))
	got := once(httpSpec(s.port(), matching(strings.Repeat("long ü", 40))))
	expect(t, got, "fail assert/mismatch")
	got = once(httpSpec(s.port(), matching("blue")))
	expect(t, got, "fail assert/mismatch", `\x1b[31mred\x00`, `\u202e`)
	for _, r := range got.Detail {
		if r < ' ' || r > '~' {
			t.Errorf("detail %q has the unprintable %q", got.Detail, r)
		}
	}
}

func TestEndTogetherWithTheLastBytes(t *testing.T) {
	// As crypto/tls reads an answer that a close_notify follows.
	made, err := prepare(httpSpec(80), Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := attempt{ctx: context.Background(), shared: made}
	if f := a.exchange(canned{iotest.DataErrReader(strings.NewReader("HTTP/1.1 200 OK\r\n\r\n"))}); f != nil {
		t.Errorf("got %+v, want a pass", f)
	}
}
