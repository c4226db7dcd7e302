package probe

import (
	"bytes"
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

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"sidestep/pkg/check"
)

// web2 is an ordinary server of HTTP/2 and HTTP/1.1 over TLS.
func web2(t *testing.T, ca *authority, handler http.HandlerFunc) uint16 {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{ca.issue("www.example.com", time.Now().Add(time.Hour))}}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(s.Listener.Addr().String()).Port()
}

func secureSpec(port uint16, change ...func(*check.HTTP)) *check.Spec {
	return httpSpec(port, append([]func(*check.HTTP){func(h *check.HTTP) { h.Scheme = "https" }}, change...)...)
}

func TestHTTP2IsSpokenWhereTheServerPicksIt(t *testing.T) {
	ca := newAuthority(t)
	port := web2(t, ca, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Proto, r.TLS.NegotiatedProtocol)
	})
	p := ca.prober()
	expect(t, p.Probe(context.Background(), secureSpec(port, matching("^HTTP/2.0 h2$")), "127.0.0.1"), "pass")
	one := func(h *check.HTTP) { h.HTTP1 = true }
	expect(t, p.Probe(context.Background(), secureSpec(port, one, matching("^HTTP/1.1 ")), "127.0.0.1"), "pass")

	old, _ := serveTLS(t, "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{ca.issue("www.example.com", time.Now().Add(time.Hour))}})
	expect(t, p.Probe(context.Background(), secureSpec(old.port(), matching("secure")), "127.0.0.1"), "pass") // a server without ALPN
}

func TestHTTP2RequestOnTheWire(t *testing.T) {
	ca := newAuthority(t)
	requests := make(chan string, 1)
	port := web2(t, ca, func(_ http.ResponseWriter, r *http.Request) {
		var text bytes.Buffer
		fmt.Fprintf(&text, "%s %s %s %s %d\n", r.Method, r.Host, r.RequestURI, r.TLS.ServerName, r.ContentLength)
		_ = r.Header.Write(&text)
		requests <- strings.ReplaceAll(text.String(), "\r", "")
	})
	for _, c := range []struct {
		name   string
		change func(*check.HTTP)
		want   string
	}{
		{"plain", func(*check.HTTP) {}, "GET www.example.com /healthz www.example.com 0\nAccept-Encoding: identity\nUser-Agent: sidestep\n"},
		{"all set", func(h *check.HTTP) {
			h.Method, h.Path, h.Authority = "POST", "/a%2Fb?q=1&r=%20", "www.example.com:8443"
			h.Headers = []check.Header{{Name: "x-key", Value: " one "}, {Name: "X-Key", Value: "two"}, {Name: "Te", Value: "gzip"}, {Name: "Host", Value: "other.example"}}
		}, "POST other.example /a%2Fb?q=1&r=%20 www.example.com 0\nAccept-Encoding: identity\nContent-Length: 0\nUser-Agent: sidestep\nX-Key: one\nX-Key: two\n"},
		{"headers of several frames", func(h *check.HTTP) {
			h.Headers = []check.Header{{Name: "X-Long", Value: strings.Repeat("~", 50000)}}
		}, "GET www.example.com /healthz www.example.com 0\nAccept-Encoding: identity\nUser-Agent: sidestep\nX-Long: " + strings.Repeat("~", 50000) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, ca.prober().Probe(context.Background(), secureSpec(port, c.change), "127.0.0.1"), "pass")
			if got := <-requests; got != c.want {
				t.Errorf("got  %.300q\nwant %.300q", got, c.want)
			}
		})
	}
}

// TestHTTP2SecretsAreKeptOutOfTables: a proxy on the way must not remember the
// values of a check.
func TestHTTP2SecretsAreKeptOutOfTables(t *testing.T) {
	spec := secureSpec(443, func(h *check.HTTP) { h.Headers = []check.Header{{Name: "Authorization", Value: "Bearer secret"}} })
	made, err := prepare(spec, Options{RootCAs: newAuthority(t).prober().options.RootCAs})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	decoder := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == "authorization" {
			found = f.Sensitive && f.Value == "Bearer secret"
		}
	})
	if _, err := decoder.Write(made.headerBlock()); err != nil || !found {
		t.Errorf("the header is not marked as never indexed (%v)", err)
	}
}

// TestHTTP2FramesAreSmall: a server need not take larger ones (RFC 9113 section 4.2).
func TestHTTP2FramesAreSmall(t *testing.T) {
	spec := secureSpec(443, func(h *check.HTTP) { h.Headers = []check.Header{{Name: "X-Long", Value: strings.Repeat("~", 50000)}} })
	made, err := prepare(spec, Options{RootCAs: newAuthority(t).prober().options.RootCAs})
	if err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(nil, bytes.NewReader(made.request2[len(http2.ClientPreface):]))
	framer.SetMaxReadFrameSize(frameSize)
	for err == nil {
		_, err = framer.ReadFrame()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("reading what a probe sends: %v", err)
	}
}

// TestHTTP2LengthOfAnAnswerWithoutBody: 304 announces what it does not send.
func TestHTTP2LengthOfAnAnswerWithoutBody(t *testing.T) {
	ca := newAuthority(t)
	s := serve2(t, ca, func(f *frames) { _ = f.WriteSettings(); f.headers(true, ":status", "304", "content-length", "5") })
	spec := secureSpec(s.port(), accepting(check.StatusRange{Low: 304, High: 304}), matching("^$"))
	expect(t, ca.prober().Probe(context.Background(), spec, "127.0.0.1"), "pass")
}

func TestHTTP2Bodies(t *testing.T) {
	ca := newAuthority(t)
	zipped := zipped("status: ok")
	port := web2(t, ca, func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		switch r.URL.Path {
		case "/healthz":
			_, _ = io.WriteString(w, `{"status":"ok"}`)
		case "/gzip":
			head.Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, zipped)
		case "/br":
			head.Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "\x0b\x04\x80")
		case "/nothing":
			head.Set("Content-Encoding", "gzip")
			_, err := io.WriteString(w, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")
			for err == nil { // waits at the end of the window
				_, err = io.WriteString(w, strings.Repeat("\x00\x00\x00\xff\xff", 1000)) // stored blocks that hold nothing
			}
		case "/long":
			_, _ = io.WriteString(w, strings.Repeat("x", 200<<10)+"end")
		case "/trailers":
			head.Set("Trailer", "X-Sum")
			_, _ = io.WriteString(w, "early")
			w.(http.Flusher).Flush()
			head.Set("X-Sum", "1")
		case "/early":
			head.Set("Link", "</a>")
			w.WriteHeader(http.StatusEarlyHints)
			_, _ = io.WriteString(w, "hinted")
		case "/login":
			http.Redirect(w, r, "https://user:pw@login.example/sso?token=abc", http.StatusFound)
		case "/secret":
			w.WriteHeader(http.StatusUnauthorized)
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		}
	})
	at := func(path string) func(*check.HTTP) { return func(h *check.HTTP) { h.Path = path } }
	limited := func(n int64) func(*check.HTTP) { return func(h *check.HTTP) { h.BodyLimit = n } }
	head := func(h *check.HTTP) { h.Method = http.MethodHead }
	for _, c := range []struct {
		name, want, detail string
		change             []func(*check.HTTP)
	}{
		{"JSON", "pass", "", []func(*check.HTTP){withJSON(map[string]string{"status": "ok"})}},
		{"another JSON", "fail assert/mismatch", `expected "down", got "ok"`, []func(*check.HTTP){withJSON(map[string]string{"status": "down"})}},
		{"gzip unasked", "pass", "", []func(*check.HTTP){at("/gzip"), matching("^status: ok$")}},
		{"brotli", "fail body/mismatch", `"br"`, []func(*check.HTTP){at("/br"), matching("ok")}},
		{"brotli, status only", "pass", "", []func(*check.HTTP){at("/br")}},
		{"long, status only", "pass", "", []func(*check.HTTP){at("/long")}},
		{"long", "fail body/too-large", "not found in the first 65536 bytes", []func(*check.HTTP){at("/long"), matching("end")}},
		{"long, in the beginning", "pass", "", []func(*check.HTTP){at("/long"), matching("^xxx")}},
		{"long, raised", "pass", "", []func(*check.HTTP){at("/long"), matching("end$"), limited(1 << 20)}},
		{"long, raised beyond any window", "pass", "", []func(*check.HTTP){at("/long"), matching("end$"), limited(1 << 40)}},
		{"gzip of nothing", "fail body/too-large", "more than", []func(*check.HTTP){at("/nothing"), matching("x")}},
		{"trailers", "pass", "", []func(*check.HTTP){at("/trailers"), matching("^early$")}},
		{"early hints", "pass", "", []func(*check.HTTP){at("/early"), matching("^hinted$")}},
		{"redirect", "fail assert/status", `expected status 200-299, got "302 Found"; it redirects to "https://login.example/sso"`, []func(*check.HTTP){at("/login")}},
		{"unauthorized", "fail assert/auth", `got "401 Unauthorized"`, []func(*check.HTTP){at("/secret")}},
		{"no content", "fail assert/mismatch", `got ""`, []func(*check.HTTP){at("/empty"), matching("x")}},
		{"HEAD", "pass", "", []func(*check.HTTP){head}},
		{"HEAD with a pattern", "fail assert/mismatch", "", []func(*check.HTTP){head, matching("x")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, ca.prober().Probe(context.Background(), secureSpec(port, c.change...), "127.0.0.1"), c.want, c.detail)
		})
	}
}

// frames is one side of an HTTP/2 connection whose frames are written by hand.
type frames struct {
	*http2.Framer
	raw   io.ReadWriter
	block bytes.Buffer
	coder *hpack.Encoder
}

func newFrames(raw io.ReadWriter) *frames {
	f := &frames{Framer: http2.NewFramer(raw, raw), raw: raw}
	f.AllowIllegalWrites = true
	f.coder = hpack.NewEncoder(&f.block)
	return f
}

// headers writes a response of these fields.
func (f *frames) headers(end bool, fields ...string) {
	f.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = f.coder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.block.Bytes(), EndStream: end, EndHeaders: true})
}

// ok writes settings and a response whose body follows.
func (f *frames) ok(fields ...string) {
	_ = f.WriteSettings()
	f.headers(false, append([]string{":status", "200"}, fields...)...)
}

// write writes bytes that need not be frames.
func (f *frames) write(text string) { _, _ = io.WriteString(f.raw, text) }

// forever writes until the probe hangs up.
func forever(write func() error) {
	for write() == nil {
	}
}

// serve2 speaks HTTP/2 by hand once a request has come.
func serve2(t *testing.T, ca *authority, treat func(*frames)) *server {
	t.Helper()
	config := &tls.Config{NextProtos: []string{"h2"}, Certificates: []tls.Certificate{ca.issue("www.example.com", time.Now().Add(time.Hour))}}
	return serve(t, "127.0.0.1:0", func(raw net.Conn) {
		conn := tls.Server(raw, config)
		if conn.Handshake() != nil {
			return
		}
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := newFrames(conn)
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if frame.Header().Type == http2.FrameHeaders {
				break
			}
		}
		treat(f)
		_ = conn.CloseWrite() // says goodbye in TLS, too
	})
}

// abuse2 is what a server can do wrong in HTTP/2, and what a probe says to it
// that asks for the status only, and one that looks for "x".
var abuse2 = []struct {
	name, plain, match, detail string
	treat                      func(*frames)
}{
	{"nothing", "fail headers/reset", "fail headers/reset", "closed", func(*frames) {}},
	{"HTTP/1.1", "fail headers/mismatch", "fail headers/mismatch", "HTTP/1.1", func(f *frames) { f.write("HTTP/1.1 200 OK\r\n\r\n") }},
	{"garbage", "fail headers/mismatch", "fail headers/mismatch", "not HTTP/2", func(f *frames) { f.write(strings.Repeat("\xff", 100)) }},
	{"no settings", "fail headers/mismatch", "fail headers/mismatch", "expected SETTINGS first", func(f *frames) { f.headers(true, ":status", "200") }},
	{"acknowledged first", "fail headers/mismatch", "fail headers/mismatch", "expected SETTINGS first", func(f *frames) { _ = f.WriteSettingsAck() }},
	{"settings of a wrong size", "fail headers/mismatch", "fail headers/mismatch", "FRAME_SIZE_ERROR", func(f *frames) { f.write("\x00\x00\x05\x04\x00\x00\x00\x00\x00abcde") }},
	{"settings on a stream", "fail headers/mismatch", "fail headers/mismatch", "PROTOCOL_ERROR", func(f *frames) { f.write("\x00\x00\x00\x04\x00\x00\x00\x00\x01") }},
	{"settings and silence", "fail headers/timeout", "fail headers/timeout", "", func(f *frames) { _ = f.WriteSettings(); _, _ = io.Copy(io.Discard, f.raw) }},
	{"stream reset", "fail headers/reset", "fail headers/reset", "RST_STREAM, REFUSED_STREAM", func(f *frames) {
		_ = f.WriteSettings()
		_ = f.WriteRSTStream(1, http2.ErrCodeRefusedStream)
	}},
	{"stream reset in the body", "pass", "fail body/reset", "RST_STREAM, INTERNAL_ERROR", func(f *frames) {
		f.ok()
		_ = f.WriteData(1, false, []byte("hal"))
		_ = f.WriteRSTStream(1, http2.ErrCodeInternal)
	}},
	{"another stream reset", "fail headers/mismatch", "fail headers/mismatch", "stream 3", func(f *frames) {
		_ = f.WriteSettings()
		_ = f.WriteRSTStream(3, http2.ErrCodeInternal)
	}},
	{"go away", "fail headers/reset", "fail headers/reset", `GOAWAY, ENHANCE_YOUR_CALM: "too many probes\n"`, func(f *frames) {
		_ = f.WriteSettings()
		_ = f.WriteGoAway(1, http2.ErrCodeEnhanceYourCalm, []byte("too many probes\n"))
	}},
	{"go away, not processed", "fail headers/reset", "fail headers/reset", "GOAWAY, NO_ERROR", func(f *frames) {
		_ = f.WriteSettings()
		_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
	}},
	{"go away after this one", "pass", "pass", "", func(f *frames) {
		f.ok()
		_ = f.WriteGoAway(1, http2.ErrCodeNo, nil)
		_ = f.WriteData(1, true, []byte("x"))
	}},
	{"HTTP/1.1 wanted", "fail headers/mismatch", "fail headers/mismatch", "http2: false", func(f *frames) {
		_ = f.WriteSettings()
		_ = f.WriteRSTStream(1, http2.ErrCodeHTTP11Required)
	}},
	{"cut in the headers", "fail headers/reset", "fail headers/reset", "", func(f *frames) { _ = f.WriteSettings(); f.write("\x00\x01\x00\x01\x04\x00\x00\x00\x01\x88") }},
	{"cut in the body", "pass", "fail body/reset", "", func(f *frames) { f.ok(); _ = f.WriteData(1, false, []byte("half")) }},
	{"broken HPACK", "fail headers/mismatch", "fail headers/mismatch", "COMPRESSION_ERROR", func(f *frames) {
		_ = f.WriteSettings()
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("\xff\xff\xff\xff\xff\xff"), EndHeaders: true})
	}},
	{"no status", "fail headers/mismatch", "fail headers/mismatch", ":status", func(f *frames) { _ = f.WriteSettings(); f.headers(true, "server", "x") }},
	{"status of letters", "fail headers/mismatch", "fail headers/mismatch", `got "2xx"`, func(f *frames) { _ = f.WriteSettings(); f.headers(true, ":status", "2xx") }},
	{"status of five digits", "fail headers/mismatch", "fail headers/mismatch", ":status", func(f *frames) { _ = f.WriteSettings(); f.headers(true, ":status", "00200") }},
	{"headers with a capital", "fail headers/mismatch", "fail headers/mismatch", "invalid", func(f *frames) { _ = f.WriteSettings(); f.headers(true, ":status", "200", "Server", "x") }},
	{"headers on another stream", "fail headers/mismatch", "fail headers/mismatch", "stream 2", func(f *frames) {
		_ = f.WriteSettings()
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2, BlockFragment: []byte("\x88"), EndHeaders: true})
	}},
	{"headers that never end", "fail headers/too-large", "fail headers/too-large", "65536", func(f *frames) {
		_ = f.WriteSettings()
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("\x88")})
		forever(func() error { return f.WriteContinuation(1, false, bytes.Repeat([]byte("\x00\x01a\x01b"), 1000)) })
	}},
	{"empty continuations", "fail headers/too-large", "fail headers/too-large", "65536", func(f *frames) {
		_ = f.WriteSettings()
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("\x88")})
		forever(func() error { return f.WriteContinuation(1, false, nil) })
	}},
	{"a header that inflates", "fail headers/too-large", "fail headers/too-large", "65536", func(f *frames) {
		_ = f.WriteSettings()
		bomb := append([]byte("\x88\x40\x01a\x7f\x81\x1e"), bytes.Repeat([]byte("b"), 4000)...) // into the table once,
		bomb = append(bomb, bytes.Repeat([]byte("\xbe"), 5000)...)                              // and 5,000 times out of it
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: bomb, EndHeaders: true})
	}},
	{"interim flood", "fail headers/mismatch", "fail headers/mismatch", "interim", func(f *frames) {
		_ = f.WriteSettings()
		forever(func() error { f.headers(false, ":status", "103"); return f.WriteWindowUpdate(0, 1) })
	}},
	{"interim at the end", "fail headers/mismatch", "fail headers/mismatch", "103", func(f *frames) { _ = f.WriteSettings(); f.headers(true, ":status", "103") }},
	{"switching protocols", "fail headers/mismatch", "fail headers/mismatch", "101", func(f *frames) { _ = f.WriteSettings(); f.headers(false, ":status", "101") }},
	{"data first", "fail headers/mismatch", "fail headers/mismatch", "expected HEADERS, got DATA", func(f *frames) { _ = f.WriteSettings(); _ = f.WriteData(1, true, []byte("x")) }},
	{"data on another stream", "pass", "fail body/mismatch", "stream 3", func(f *frames) { f.ok(); _ = f.WriteData(3, true, []byte("x")) }},
	{"push", "fail headers/mismatch", "fail headers/mismatch", "PUSH_PROMISE", func(f *frames) {
		_ = f.WriteSettings()
		_ = f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: []byte("\x82"), EndHeaders: true})
	}},
	{"a frame that is too large", "pass", "fail body/mismatch", "too large", func(f *frames) { f.ok(); _ = f.WriteData(1, true, make([]byte, frameSize+1)) }},
	{"headers in the body", "pass", "fail body/mismatch", "HEADERS", func(f *frames) { f.ok(); f.headers(false, "x", "y") }},
	{"trailers", "pass", "pass", "", func(f *frames) { f.ok(); _ = f.WriteData(1, false, []byte("x")); f.headers(true, "x", "y") }},
	{"padding alone", "pass", "fail body/too-large", "", func(f *frames) {
		f.ok()
		forever(func() error { return f.WriteDataPadded(1, false, nil, make([]byte, 255)) })
	}},
	{"empty data", "pass", "fail body/too-large", "", func(f *frames) { f.ok(); forever(func() error { return f.WriteData(1, false, nil) }) }},
	{"body without end", "pass", "fail body/too-large", "65536", func(f *frames) { f.ok(); forever(func() error { return f.WriteData(1, false, make([]byte, 1000)) }) }},
	{"more than the window", "pass", "fail body/mismatch", "window", func(f *frames) {
		f.ok("content-encoding", "gzip")
		_ = f.WriteData(1, false, []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"))
		forever(func() error { return f.WriteData(1, false, bytes.Repeat([]byte("\x00\x00\x00\xff\xff"), 1000)) }) // stored blocks of nothing
	}},
	{"body that trickles", "pass", "fail body/timeout", "", func(f *frames) {
		f.ok()
		forever(func() error { time.Sleep(5 * time.Millisecond); return f.WriteData(1, false, []byte("y")) })
	}},
	{"pings without end", "fail headers/mismatch", "fail headers/mismatch", "more than 100", func(f *frames) {
		_ = f.WriteSettings()
		forever(func() error { return f.WritePing(false, [8]byte{}) })
	}},
	{"pings in the body", "pass", "fail body/mismatch", "more than 100", func(f *frames) { f.ok(); forever(func() error { return f.WritePing(false, [8]byte{}) }) }},
	{"settings without end", "fail headers/mismatch", "fail headers/mismatch", "more than 100", func(f *frames) { forever(func() error { return f.WriteSettings() }) }},
	{"unknown frames without end", "fail headers/too-large", "fail headers/too-large", "", func(f *frames) {
		_ = f.WriteSettings()
		forever(func() error { return f.WriteRawFrame(0xbe, 0, 0, make([]byte, 100)) })
	}},
	{"a window that overflows nothing", "pass", "pass", "", func(f *frames) {
		f.ok()
		_ = f.WriteWindowUpdate(0, 1<<31-1)
		_ = f.WriteData(1, true, []byte("x"))
	}},
	{"a window of zero", "fail headers/mismatch", "fail headers/mismatch", "PROTOCOL_ERROR", func(f *frames) { _ = f.WriteSettings(); _ = f.WriteWindowUpdate(0, 0) }},
	{"content-length too long", "pass", "fail body/mismatch", "expected 9 bytes of body (content-length), got 1", func(f *frames) { f.ok("content-length", "9"); _ = f.WriteData(1, true, []byte("x")) }},
	{"content-length too short", "pass", "fail body/mismatch", "expected 0 bytes", func(f *frames) { f.ok("content-length", "0"); _ = f.WriteData(1, true, []byte("x")) }},
	{"content-length of letters", "pass", "pass", "", func(f *frames) { f.ok("content-length", "nine"); _ = f.WriteData(1, true, []byte("x")) }},
	{"gzip named, plain sent", "pass", "fail body/mismatch", "gzip", func(f *frames) { f.ok("content-encoding", "gzip"); _ = f.WriteData(1, true, []byte("plain text")) }},
	{"answered before it was read", "pass", "pass", "", func(f *frames) {
		f.ok()
		_ = f.WriteData(1, true, []byte("x"))
		_ = f.WriteRSTStream(1, http2.ErrCodeNo)
	}},
}

func TestHTTP2Abuse(t *testing.T) {
	ca := newAuthority(t)
	before := memory()
	for _, c := range abuse2 {
		t.Run(c.name, func(t *testing.T) {
			s := serve2(t, ca, c.treat)
			for i, spec := range []*check.Spec{secureSpec(s.port()), secureSpec(s.port(), matching("x"))} {
				want := []string{c.plain, c.match}[i]
				detail := c.detail
				if want == "pass" {
					detail = ""
				}
				expectProbe(t, ca.prober(), spec, want, detail)
			}
		})
	}
	if grown := int64(memory()) - int64(before); grown > 20<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

func TestHTTP2AnswersWhatItHasTo(t *testing.T) {
	ca := newAuthority(t)
	answers := make(chan string, 10)
	s := serve2(t, ca, func(f *frames) {
		_ = f.WriteSettings()
		_ = f.WritePing(false, [8]byte{1, 2, 3})
		for range 2 {
			frame, err := f.ReadFrame()
			if err != nil {
				answers <- err.Error()
				return
			}
			answers <- fmt.Sprint(frame)
		}
		f.headers(true, ":status", "200")
	})
	expect(t, ca.prober().Probe(context.Background(), secureSpec(s.port()), "127.0.0.1"), "pass")
	for _, want := range []string{"SETTINGS flags=ACK", "PING flags=ACK"} {
		if got := <-answers; !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestHTTP2EndsByAReset(t *testing.T) {
	ca := newAuthority(t)
	ended := make(chan error, 1)
	s := serve2(t, ca, func(f *frames) {
		_ = f.WriteSettings()
		f.headers(true, ":status", "200")
		var err error
		for err == nil {
			_, err = f.ReadFrame()
		}
		ended <- err
	})
	expect(t, ca.prober().Probe(context.Background(), secureSpec(s.port()), "127.0.0.1"), "pass")
	if err := <-ended; !strings.Contains(err.Error(), "reset") {
		t.Errorf("the server saw %v, want a reset", err)
	}
	if n := s.accepted.Load(); n != 1 {
		t.Errorf("%d connections for one probe", n)
	}
}

func TestHTTP2SecretsAreNeverTold(t *testing.T) {
	const token = "tok\"en/Zürich"
	ca := newAuthority(t)
	for _, treat := range []func(*frames){
		func(f *frames) { _ = f.WriteSettings(); _ = f.WriteGoAway(0, http2.ErrCodeInternal, []byte(token)) },
		func(f *frames) { _ = f.WriteSettings(); f.headers(true, ":status", token) },
		func(f *frames) { _ = f.WriteSettings(); f.headers(true, ":status", "302", "location", "/"+token) },
		func(f *frames) { f.ok("content-encoding", token) },
		func(f *frames) { f.ok(); _ = f.WriteData(1, true, []byte(token)) },
	} {
		s := serve2(t, ca, treat)
		spec := secureSpec(s.port(), matching("never"), func(h *check.HTTP) {
			h.Headers = []check.Header{{Name: "Authorization", Value: "Bearer " + token}}
		})
		if got := ca.prober().Probe(context.Background(), spec, "127.0.0.1"); got.Outcome != check.Fail || strings.Contains(got.Detail, "en/Z") {
			t.Errorf("%s with detail %s", got.Outcome, got.Detail)
		}
	}
}
