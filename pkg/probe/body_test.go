package probe

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/check"
)

// zipped is text as gzip.
func zipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text) // to memory
	_ = w.Close()
	return out.String()
}

// endless writes text again and again until the probe hangs up.
func endless(head, text string, pause time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		readRequest(conn)
		_, err := io.WriteString(conn, head)
		for err == nil {
			_, err = io.WriteString(conn, text)
			if pause > 0 {
				time.Sleep(pause)
			}
		}
	}
}

// Case: servers that answer 200 with chunks that never end, a length of 10 GiB,
// a byte now and then for ever, and a little gzip that inflates without end; one
// check looks at the status, one at the body. Expected: the first passes at
// once, the second ends at its timeout or its limit, whichever comes first, and
// memory does not grow.
func TestCase06EndlessAndHugeBodies(t *testing.T) {
	bomb := zipped(strings.Repeat("\x00", 4<<20)) // 4 KiB that inflate to 4 MiB, again and again
	doubles := []struct {
		name, matched string
		treat         func(net.Conn)
	}{
		{"chunks without end", "fail body/too-large", endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "400\r\n"+strings.Repeat("x", 1024)+"\r\n", 0)},
		{"length of 10 GiB", "fail body/too-large", endless(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", 10<<30), strings.Repeat("x", 4096), 0)},
		{"byte by byte", "fail body/timeout", endless("HTTP/1.1 200 OK\r\n\r\n", "x", 10*time.Millisecond)},
		{"gzip bomb", "fail body/too-large", endless("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", bomb, 0)},
		{"gzip of nothing", "fail body/too-large", endless("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff",
			strings.Repeat("\x00\x00\x00\xff\xff", 1000), 0)}, // stored blocks that hold nothing
	}
	before := memory()
	for _, d := range doubles {
		t.Run(d.name, func(t *testing.T) {
			s := serve(t, "127.0.0.1:0", d.treat)
			p := New(counting(), Options{})
			plain, match := httpSpec(s.port()), httpSpec(s.port(), matching("never there"))
			expectProbe(t, p, plain, "pass")
			for range 5 {
				expectProbe(t, p, match, d.matched)
			}
		})
	}
	if grown := int64(memory()) - int64(before); grown > 20<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

// memory is the heap in use after a collection.
func memory() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// Case: the body "status: ok" as identity, as gzip when asked for, as gzip
// always, as plain text that its header calls gzip, as deflate, and as brotli;
// one check looks at the status, one for the text. Expected: identity is asked
// for and gzip undone, what cannot be undone fails only the second check, and
// the reason names the encoding.
func TestCase10ContentEncodings(t *testing.T) {
	const text = "status: ok"
	reply := func(encoding, body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", encoding, len(body), body)
	}
	for _, c := range []struct{ name, answer, matched, detail string }{
		{"identity", reply("identity", text), "pass", ""},
		{"none named", "HTTP/1.1 200 OK\r\n\r\n" + text, "pass", ""},
		{"gzip unasked", reply("GZIP", zipped(text)), "pass", ""},
		{"x-gzip", reply("x-gzip", zipped(text)), "pass", ""},
		{"gzip named, plain sent", reply("gzip", text), "fail body/mismatch", "gzip"},
		{"deflate named, plain sent", reply("deflate", text), "fail body/mismatch", `"deflate"`},
		{"brotli named, plain sent", reply("br", text), "fail body/mismatch", `"br"`},
		{"one in the other", reply("gzip, br", zipped(text)), "fail body/mismatch", `"gzip, br"`},
		{"gzip named, one byte sent", reply("gzip", "s"), "fail body/mismatch", "gzip"},
		{"gzip cut short", reply("gzip", zipped(text)[:20]), "fail body/mismatch", "gzip"},
		{"gzip with a wrong sum", reply("gzip", zipped(text)[:len(zipped(text))-8]+"12345678"), "fail body/mismatch", "gzip"},
		{"gzip named, nothing sent", reply("gzip", ""), "fail assert/mismatch", ""},
		{"deflate", reply("deflate", "x\x9c..."), "fail body/mismatch", "deflate"},
		{"brotli", reply("br", "\x0b\x04\x80"), "fail body/mismatch", `"br"`},
		{"gzip and connection cut short", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99\r\n\r\n" + zipped(text)[:20], "fail body/reset", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := answer(t, c.answer)
			expect(t, once(httpSpec(s.port())), "pass")
			expect(t, once(httpSpec(s.port(), matching("^status: ok$"))), c.matched, c.detail)
		})
	}
	t.Run("gzip when asked", func(t *testing.T) {
		s := serve(t, "127.0.0.1:0", func(conn net.Conn) {
			if strings.Contains(readRequest(conn), "Accept-Encoding: gzip") {
				_, _ = io.WriteString(conn, reply("gzip", zipped(text)))
				return
			}
			_, _ = io.WriteString(conn, reply("identity", text))
		})
		expect(t, once(httpSpec(s.port(), matching(text))), "pass")
		asking := func(h *check.HTTP) { h.Headers = []check.Header{{Name: "Accept-Encoding", Value: "gzip"}} }
		expect(t, once(httpSpec(s.port(), matching(text), asking)), "pass")
	})
}

func TestBodyLimit(t *testing.T) {
	limited := func(n int64) func(*check.HTTP) { return func(h *check.HTTP) { h.BodyLimit = n } }
	long := answer(t, "HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", 100<<10)+"end")
	ten := answer(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+strings.Repeat("1\r\nx\r\n", 9)+"1\r\ny\r\n0\r\n\r\n")
	squeezed := answer(t, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"+zipped(strings.Repeat("x", 100<<10)+"end"))
	object := answer(t, "HTTP/1.1 200 OK\r\n\r\n{\"status\":\"ok\"}")
	for _, c := range []struct {
		name, want string
		spec       *check.Spec
		detail     string
	}{
		{"beyond the default", "fail body/too-large", httpSpec(long.port(), matching("end")), "not found in the first 65536 bytes"},
		{"before the limit", "pass", httpSpec(long.port(), matching("^xxx")), ""},
		{"raised", "pass", httpSpec(long.port(), matching("end$"), limited(200<<10)), ""},
		{"inflated beyond the default", "fail body/too-large", httpSpec(squeezed.port(), matching("end")), "65536"},
		{"inflated, raised", "pass", httpSpec(squeezed.port(), matching("end$"), limited(200<<10)), ""},
		{"exactly the limit, in small chunks", "pass", httpSpec(ten.port(), matching("y$"), limited(10)), ""},
		{"one less", "fail body/too-large", httpSpec(ten.port(), matching("y$"), limited(9)), ""},
		{"complete but other", "fail assert/mismatch", httpSpec(ten.port(), matching("z")), `got "xxxxxxxxxy"`},
		{"JSON within", "pass", httpSpec(object.port(), withJSON(map[string]string{"status": "ok"}), limited(15)), ""},
		{"JSON beyond", "fail body/too-large", httpSpec(object.port(), withJSON(map[string]string{"status": "ok"}), limited(14)), "JSON"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, once(c.spec), c.want, c.detail) })
	}
	broken := answer(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n")
	expect(t, once(httpSpec(broken.port(), matching("x"))), "fail body/mismatch", "chunk")
}

func TestJSONFields(t *testing.T) {
	const body = `{"status":"ok","n":1,"f":1.50,"big":9007199254740993,"yes":true,"none":null,"word":"true",
		"db":{"state":"up","list":[{"ok":false},"two"]},"a.b":"dotted"}`
	for _, c := range []struct{ path, text, want, detail string }{
		{"status", "ok", "pass", ""},
		{"status", "OK", "fail assert/mismatch", `field "status": expected "OK", got "ok"`},
		{"n", "1", "pass", ""},
		{"n", "1.0", "pass", ""},
		{"n", "2", "fail assert/mismatch", `got "1"`},
		{"f", "1.5", "pass", ""},
		{"big", "9007199254740993", "pass", ""},
		{"big", "9007199254740992", "fail assert/mismatch", ""},
		{"yes", "true", "pass", ""},
		{"word", "true", "pass", ""},
		{"yes", "false", "fail assert/mismatch", `got "true"`},
		{"none", "null", "pass", ""},
		{"none", "", "fail assert/mismatch", `got "null"`},
		{"db.state", "up", "pass", ""},
		{"db.list.0.ok", "false", "pass", ""},
		{"db.list.1", "two", "pass", ""},
		{"db.list.2", "two", "fail assert/mismatch", "no such field"},
		{"db.list.-1", "two", "fail assert/mismatch", "no such field"},
		{"db.list", "two", "fail assert/mismatch", "a list"},
		{"db", "up", "fail assert/mismatch", "an object"},
		{"db.gone", "up", "fail assert/mismatch", "no such field"},
		{"status.deeper", "ok", "fail assert/mismatch", "no such field"},
	} {
		t.Run(c.path+"="+c.text, func(t *testing.T) {
			s := answer(t, "HTTP/1.1 200 OK\r\n\r\n\xef\xbb\xbf"+body)
			expect(t, once(httpSpec(s.port(), withJSON(map[string]string{c.path: c.text}))), c.want, c.detail)
		})
	}
	for _, text := range []string{"", "not JSON", `{"status":"ok"`, `{"status":"ok"} {}`, `"ok"`, `["ok"]`} {
		s := answer(t, "HTTP/1.1 200 OK\r\n\r\n"+text)
		expect(t, once(httpSpec(s.port(), withJSON(map[string]string{"status": "ok"}))), "fail assert/mismatch")
	}
}

func TestSeveralFieldsAndPattern(t *testing.T) {
	s := answer(t, "HTTP/1.1 200 OK\r\n\r\n{\"a\":1,\"b\":2,\"c\":3}")
	wanted := map[string]string{"c": "0", "b": "0", "a": "1"}
	expect(t, once(httpSpec(s.port(), withJSON(wanted))), "fail assert/mismatch", `field "b"`)
	expect(t, once(httpSpec(s.port(), withJSON(map[string]string{"a": "1"}), matching("z"))), "fail assert/mismatch", "match")
	expect(t, once(httpSpec(s.port(), withJSON(map[string]string{"a": "1"}), matching("3"))), "pass")
}

func TestSameNumberIsSymmetricAndExactForIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.Int64().Draw(t, "x"), rapid.Int64().Draw(t, "y")
		if got := sameNumber(fmt.Sprint(x), fmt.Sprint(y)); got != (x == y) {
			t.Fatalf("sameNumber(%d, %d) = %t", x, y, got)
		}
		f := rapid.Float64Range(-1e6, 1e6).Draw(t, "f")
		long, short := strconv.FormatFloat(f, 'f', -1, 64), strconv.FormatFloat(f, 'e', -1, 64)
		if !sameNumber(long, short) || !sameNumber(short, long) {
			t.Fatalf("%s and %s are not the same", long, short)
		}
	})
}

func TestReaderPoolSurvivesFailures(t *testing.T) {
	bad, good := answer(t, "HTTP/1.1 200 OK\r\nX: half"), answer(t, "HTTP/1.1 200 OK\r\n\r\nfresh")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				expect(t, once(httpSpec(bad.port(), matching("x"))), "fail headers/reset")
				expect(t, once(httpSpec(good.port(), matching("^fresh$"))), "pass")
			}
		})
	}
	all.Wait()
}
