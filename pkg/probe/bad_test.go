package probe

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
)

// says is a server that reads the request, writes text and closes.
func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, text)
	}
}

// slowly is a server that writes a text byte by byte.
func slowly(text string) func(net.Conn) {
	return func(conn net.Conn) {
		readRequest(conn)
		for i := range len(text) {
			if _, err := conn.Write([]byte{text[i]}); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// badAnswers is what a server can do wrong in HTTP/1, and what a probe says to
// it that asks for the status only, and one that looks for "x". Statuses, body
// limits and encodings have tables of their own.
var badAnswers = []struct {
	name, plain, match, detail string
	treat                      func(net.Conn)
}{
	{"closed at once", "fail headers/reset", "fail headers/reset", "before its answer was complete", says("")},
	{"hang", "fail headers/timeout", "fail headers/timeout", "timeout", hang},
	{"headers byte by byte", "fail headers/timeout", "fail headers/timeout", `; it began with "HT`, slowly("HTTP/1.1 200 OK\r\nServer: slow\r\n\r\n")},
	{"banner of SSH", "fail headers/mismatch", "fail headers/mismatch", `expected HTTP/1.x, got "SSH-2.0-OpenSSH_9.2\r\n": malformed`, says("SSH-2.0-OpenSSH_9.2\r\n")},
	{"banner of SMTP", "fail headers/mismatch", "fail headers/mismatch", `220 mail`, says("220 mail.example.com ESMTP\r\n")},
	{"alert of TLS", "fail headers/mismatch", "fail headers/mismatch", `\x15\x03\x03`, says("\x15\x03\x03\x00\x02\x02\x28\n")},
	{"frames of HTTP/2", "fail headers/mismatch", "fail headers/mismatch", "", says("\x00\x00\x00\x04\x00\x00\x00\x00\x00\n")},
	{"zeros without end", "fail headers/too-large", "fail headers/too-large", "65536", endless("", strings.Repeat("\x00", 1000), 0)},
	{"lines without end", "fail headers/mismatch", "fail headers/mismatch", "", endless("", "\r\n", 0)},
	{"headers without end", "fail headers/too-large", "fail headers/too-large", "65536", endless("HTTP/1.1 200 OK\r\n", "X-A: b\r\n", 0)},
	{"interim answers without end", "fail headers/mismatch", "fail headers/mismatch", "interim", endless("", "HTTP/1.1 103 Early Hints\r\n\r\n", 0)},
	{"interim answers and a hang", "fail headers/timeout", "fail headers/timeout", "", func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 103 a\r\n\r\n"); hang(conn) }},
	{"folded header", "pass", "pass", "", says("HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n\r\nx")},
	{"header without a name", "fail headers/mismatch", "fail headers/mismatch", "malformed", says("HTTP/1.1 200 OK\r\n: b\r\n\r\nx")},
	{"two lengths", "fail headers/mismatch", "fail headers/mismatch", "Content-Length", says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx")},
	{"length of letters", "fail headers/mismatch", "fail headers/mismatch", "Content-Length", says("HTTP/1.1 200 OK\r\nContent-Length: one\r\n\r\nx")},
	{"length beyond all numbers", "fail headers/mismatch", "fail headers/mismatch", "Content-Length", says("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx")},
	{"length too long", "pass", "fail body/reset", "before its answer was complete", says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")},
	{"length too short", "pass", "fail assert/mismatch", `got "y"`, says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nyx")},
	{"unknown transfer encoding", "fail headers/mismatch", "fail headers/mismatch", "transfer encoding", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx")},
	{"no chunk", "pass", "fail body/mismatch", "chunk", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n")},
	{"chunk beyond all numbers", "pass", "fail body/mismatch", "chunk", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx")},
	{"chunk of less than nothing", "pass", "fail body/mismatch", "chunk", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nx")},
	{"chunk longer than it says", "pass", "fail body/mismatch", "chunked", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n")},
	{"cut in a chunk", "pass", "fail body/reset", "", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nx")},
	{"cut between chunks", "pass", "fail body/reset", "", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")},
	{"chunk extensions without end", "pass", "fail body/mismatch", "chunk", endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("a", 1000)+"\r\ny\r\n", 0)},
	{"a chunk's line without end", "pass", "fail body/mismatch", "too long", endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "aaaaaaaaaa", 0)},
	{"trailers without end", "pass", "fail body/mismatch", "trailer", endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n0\r\n", "X-A: b\r\n", 0)},
	{"body and hang", "pass", "fail body/timeout", "", func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\ny")
		hang(conn)
	}},
	{"gzip of two members", "pass", "pass", "", says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zipped("y") + zipped("x"))},
	{"gzip and garbage", "pass", "fail body/mismatch", "gzip", says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zipped("x") + "garbage after it")},
}

func TestBadAnswers(t *testing.T) {
	before := memory()
	for _, c := range badAnswers {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, "127.0.0.1:0", c.treat)
			for i, spec := range []*check.Spec{httpSpec(s.port()), httpSpec(s.port(), matching("x"))} {
				want := []string{c.plain, c.match}[i]
				detail := c.detail
				if want == "pass" {
					detail = ""
				}
				start := time.Now()
				expectProbe(t, New(counting(), Options{}), spec, want, detail)
				if took := time.Since(start); took > patience/2 {
					t.Errorf("took %s", took)
				}
			}
		})
	}
	if grown := int64(memory()) - int64(before); grown > 20<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}
