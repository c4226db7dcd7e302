package probe

import (
	"context"
	"io"
	"strings"
	"testing"

	"sidestep/pkg/check"
)

// canned is a connection whose other side has said everything already.
type canned struct{ io.Reader }

func (canned) Write(p []byte) (int, error) { return len(p), nil }

// FuzzAnswer feeds arbitrary bytes as a server's answer. Whatever they are, the
// probe ends with an allowed word, a bounded printable detail, no panic and no
// secret.
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
	made, err := prepare(spec, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a := attempt{ctx: context.Background(), shared: made}
		failure := a.exchange(canned{strings.NewReader(string(data))})
		if failure == nil {
			return
		}
		if failure.outcome != check.Fail || failure.phase == "" || failure.cause == "" || failure.cause == check.CauseLocal {
			t.Errorf("answer %q: got %+v, want the target's fault with phase and cause", data, failure)
		}
		detail := clean(failure.detail)
		if len(detail) > check.MaxDetail || strings.Contains(detail, "very-secret") || strings.ContainsFunc(detail, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("answer %q: bad detail %q", data, detail)
		}
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
