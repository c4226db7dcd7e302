package probe

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"sidestep/pkg/check"
)

// canned is a connection whose other side has said everything already.
type canned struct{ io.Reader }

func (canned) Write(p []byte) (int, error) { return len(p), nil }

// FuzzAnswer feeds arbitrary bytes as a server's answer over HTTP/1.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\n\r\n{\"status\":\"ok\"}",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 302 x\r\nLocation: http://a:b@c/?d#e\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
		"HTTP/1.1 401 very-secret\r\nvery-secret",
	} {
		f.Add([]byte(seed))
	}
	spec := httpSpec(80, matching("o"), withJSON(map[string]string{"status": "ok", "a.0": "1"}), func(h *check.HTTP) {
		h.Headers = []check.Header{{Name: "X-Key", Value: "very-secret"}}
	})
	made := prepared(f, spec)
	f.Fuzz(func(t *testing.T, data []byte) {
		a := attempt{ctx: context.Background(), shared: made}
		allowed(t, data, a.exchange(canned{bytes.NewReader(data)}))
	})
}

// allowed holds what a probe says of any bytes: nothing, or the target's fault
// with a phase, a cause, and a bounded printable detail without a secret.
func allowed(t *testing.T, data []byte, f *failure) {
	t.Helper()
	if f == nil {
		return
	}
	if f.outcome != check.Fail || f.phase == "" || f.cause == "" || f.cause == check.CauseLocal {
		t.Errorf("answer %q: got %+v, want the target's fault with phase and cause", data, f)
	}
	detail := clean(f.detail)
	if len(detail) > check.MaxDetail || strings.Contains(detail, "very-secret") || strings.ContainsFunc(detail, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("answer %q: bad detail %q", data, detail)
	}
}

// prepared is what the probes of a spec share.
func prepared(f *testing.F, spec *check.Spec) *shared {
	f.Helper()
	made, err := prepare(spec, Options{RootCAs: x509.NewCertPool()})
	if err != nil {
		f.Fatal(err)
	}
	return made
}

// FuzzHTTP2 feeds arbitrary bytes as what comes over a connection on which
// HTTP/2 was agreed: frames, HPACK, and the body in DATA.
func FuzzHTTP2(f *testing.F) {
	for _, treat := range []func(*frames){
		func(w *frames) { w.ok(); _ = w.WriteData(1, true, []byte(`{"status":"ok","a":[1]}`)) },
		func(w *frames) {
			w.ok("content-length", "4")
			_ = w.WriteDataPadded(1, false, []byte("half"), []byte{0, 0})
		},
		func(w *frames) { w.ok("content-encoding", "gzip"); _ = w.WriteData(1, true, []byte("\x1f\x8b\x08")) },
		func(w *frames) {
			_ = w.WriteSettings()
			w.headers(false, ":status", "103")
			w.headers(true, ":status", "302", "location", "/x")
		},
		func(w *frames) {
			_ = w.WriteSettings()
			_ = w.WriteGoAway(0, http2.ErrCodeInternal, []byte("very-secret"))
		},
		func(w *frames) {
			_ = w.WriteSettings()
			_ = w.WritePing(false, [8]byte{1})
			_ = w.WriteRSTStream(1, http2.ErrCodeCancel)
		},
		func(w *frames) { w.ok(); _ = w.WriteData(1, false, []byte("ok")); w.headers(true, "sum", "1") },
		func(w *frames) { _ = w.WriteSettings(); w.headers(true, ":status", "very-secret") },
	} {
		var wire bytes.Buffer
		treat(newFrames(&wire))
		f.Add(wire.Bytes())
	}
	made := prepared(f, httpsSpec(443))
	made.spec.Body, made.spec.JSON = regexp.MustCompile("o"), map[string]string{"status": "ok", "a.0": "1"}
	made.fields, made.secrets = fields(made.spec.JSON), mask("very-secret")
	f.Fuzz(func(t *testing.T, data []byte) {
		a := attempt{ctx: context.Background(), shared: made}
		allowed(t, data, a.exchange2(canned{bytes.NewReader(data)}))
	})
}

// FuzzExpect feeds arbitrary bytes in pieces as a TCP answer. What the probe
// says does not depend on the pieces.
func FuzzExpect(f *testing.F) {
	f.Add([]byte("220 mail.example.com\r\n250 ok\r\n"), 3)
	f.Add([]byte("\xff\x00very-secret"), 1)
	f.Add([]byte("250x\n\x00z"), 2)
	made := prepared(f, talking(1, "very-secret", `(?m)^250 |\x00z`))
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		a := attempt{ctx: context.Background(), shared: made}
		whole := a.await(bytes.NewReader(data))
		allowed(t, data, whole)
		parts := a.await(&inPieces{data, max(1, size)})
		if (whole == nil) != (parts == nil) || whole != nil && *whole != *parts {
			t.Errorf("answer %q: %+v at once, %+v in pieces of %d", data, whole, parts, size)
		}
	})
}

// inPieces gives a text in pieces of a size.
type inPieces struct {
	left []byte
	size int
}

func (r *inPieces) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.size)], r.left)
	r.left = r.left[n:]
	return n, nil
}

// FuzzGzip feeds arbitrary bytes as a body whose header says gzip.
func FuzzGzip(f *testing.F) {
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x02\x00\xfd\xffok\xb9\x8f\xd1\x47\x02\x00\x00\x00"))
	f.Add([]byte("\x1f\x8b\x08\x1f\x00\x00\x00\x00\x00\xff\x02\x00hiname\x00comment\x00"))
	f.Add([]byte("plain"))
	made := prepared(f, httpSpec(80, matching("ok"), func(h *check.HTTP) { h.BodyLimit = 1000 }))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := attempt{ctx: context.Background(), shared: made}
		head := strings.NewReader("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
		allowed(t, data, a.exchange(canned{io.MultiReader(head, bytes.NewReader(data))}))
	})
}

// cannedConn is canned for a handshake.
type cannedConn struct {
	net.Conn
	canned
}

func (c cannedConn) Read(p []byte) (int, error)  { return c.canned.Read(p) }
func (c cannedConn) Write(p []byte) (int, error) { return c.canned.Write(p) }
func (cannedConn) Close() error                  { return nil }

// FuzzTLS feeds arbitrary bytes as a server's part of a handshake.
func FuzzTLS(f *testing.F) {
	hello := "\x02\x00\x00\x28\x03\x03" + strings.Repeat("r", 32) + "\x00\xc0\x2b\x00\x00\x00"
	for _, seed := range []string{
		"HTTP/1.1 400 Bad Request\r\n\r\n",
		"\x15\x03\x03\x00\x02\x02\x28",
		"\x15\x03\x03\x00\x02\x01\x00",
		"\x16\x03\x03\x00\x2c" + hello,
		"\x16\x03\x03\x00\x2c" + hello + "\x16\x03\x03\x00\x07\x0b\x00\x00\x03\x00\x00\x00",
		"\x14\x03\x03\x00\x01\x01",
		"\x17\x03\x03\xff\xff",
	} {
		f.Add([]byte(seed))
	}
	made := prepared(f, httpsSpec(443))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := attempt{ctx: context.Background(), shared: made}
		_, failure := a.secure(cannedConn{canned: canned{bytes.NewReader(data)}})
		if failure == nil {
			t.Errorf("answer %q: the handshake went through", data)
		}
		allowed(t, data, failure)
	})
}

// FuzzJSON feeds arbitrary bodies, paths and expected values to the assertion:
// it never panics, and finds what it showed.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,"x",true,null,1e999]}}`), "a.b.0", "1")
	f.Add([]byte(`[[[]]]`), "0.0", "")
	f.Add([]byte(`"x" 1`), "", "x")
	f.Fuzz(func(t *testing.T, body []byte, path, text string) {
		document, err := parseJSON(body)
		if err != nil {
			return
		}
		for _, want := range fields(map[string]string{path: text}) {
			value, found := want.in(document)
			if !found {
				continue
			}
			switch value.(type) {
			case map[string]any, []any:
				if same(value, text) {
					t.Errorf("%s of %q equals text %q", path, body, text)
				}
			default:
				if !same(value, show(value)) {
					t.Errorf("%s of %q is not the same as its own text %q", path, body, show(value))
				}
			}
		}
	})
}
