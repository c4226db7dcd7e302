package probe

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
)

// talking is a TCP check that sends and expects; "" leaves one of them out.
func talking(port uint16, send, pattern string) *check.Spec {
	spec := tcpSpec(port)
	spec.TCP.Send = send
	if pattern != "" {
		spec.TCP.Expect = regexp.MustCompile(pattern)
	}
	return spec
}

// mail greets, and answers to QUIT.
func mail(conn net.Conn) {
	_, _ = io.WriteString(conn, "220 mail.example.com ESMTP\r\n")
	buffer := make([]byte, 100)
	if n, _ := conn.Read(buffer); string(buffer[:n]) == "QUIT\r\n" {
		_, _ = io.WriteString(conn, "221 bye\r\n")
	}
	hang(conn)
}

// pieces writes a text piece by piece, so that it does not come at once.
func pieces(pause time.Duration, all ...string) func(net.Conn) {
	return func(conn net.Conn) {
		for _, piece := range all {
			if _, err := io.WriteString(conn, piece); err != nil {
				return
			}
			time.Sleep(pause)
		}
	}
}

func TestTCPTalk(t *testing.T) {
	flood := func(conn net.Conn) {
		for {
			if _, err := io.WriteString(conn, strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	}
	for _, c := range []struct {
		name, send, expect, want, detail string
		treat                            func(net.Conn)
	}{
		{"greeting", "", "^220 .*ESMTP\r\n", "pass", "", mail},
		{"answer to what was sent", "QUIT\r\n", "(?m)^221 ", "pass", "", mail},
		{"sent, nothing expected", "QUIT\r\n", "", "pass", "", mail},
		{"another greeting", "", "^221", "fail body/timeout", `expected a match of "^221", got "220 mail.example.com ESMTP\r\n" from port `, mail},
		{"nothing comes", "", "^220", "fail body/timeout", `expected a match of "^220", got nothing from port `, hang},
		{"closed at once", "", "^220", "fail assert/mismatch", `expected a match of "^220", got nothing before the server closed`, func(net.Conn) {}},
		{"closed with another text", "", "^220", "fail assert/mismatch", `got "421 busy\r\n" before`, pieces(0, "421 busy\r\n")},
		{"closed, and it matches", "", "^421", "pass", "", pieces(0, "421 busy\r\n")},
		{"reset", "x", "^220", "fail body/reset", `got nothing and a reset`, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)); slam(conn) }},
		{"in pieces", "", "^220 mail$", "pass", "", pieces(5*time.Millisecond, "2", "20 ", "mail", "")},
		{"too much", "", "^220", "fail body/too-large", "not found in the first 65536 bytes", flood},
		{"at the end of what is looked at", "", "y", "pass", "", pieces(0, strings.Repeat("x", check.ExpectLimit-1)+"y"+strings.Repeat("x", 1000))},
		{"behind it", "", "y", "fail body/too-large", "", pieces(0, strings.Repeat("x", check.ExpectLimit)+"y")},
		{"trickle", "", "z", "fail body/timeout", `got "yyy`, func(conn net.Conn) {
			for {
				if _, err := io.WriteString(conn, "y"); err != nil {
					return
				}
				time.Sleep(2 * time.Millisecond)
			}
		}},
		{"binary", "\x00\x01", `(?s)^\x00\xff`, "fail assert/mismatch", `got "\x1b[31m\x00\xff\n"`, func(conn net.Conn) {
			_, _ = io.ReadFull(conn, make([]byte, 2)) // what is left unread makes the close a reset
			pieces(0, "\x1b[31m\x00\xff\n")(conn)
		}},
		{"an echo of what may be a secret", "PASS hunter22\r\n", "^230", "fail assert/mismatch", `got "502 ***?\r\n" before`, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 100))
			_, _ = io.WriteString(conn, "502 PASS hunter22?\r\n")
		}},
		{"what must not be empty", "", "^$", "fail assert/mismatch", "got nothing", func(net.Conn) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, "127.0.0.1:0", c.treat)
			expectProbe(t, New(counting(), Options{}), talking(s.port(), c.send, c.expect), c.want, c.detail)
		})
	}
}

// TestTCPManyPieces holds the bound on work: a match that comes after more
// pieces than are looked at is found all the same.
func TestTCPManyPieces(t *testing.T) {
	made, err := prepare(talking(1, "", "ready"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := attempt{ctx: context.Background(), shared: made}
	if f := a.await(&inPieces{[]byte(strings.Repeat("x", 40*manyLooks) + "ready"), 1}); f != nil {
		t.Errorf("got %+v, want a match", f)
	}
}

// steps is an answer that comes byte by byte, and counts how often it was asked.
type steps struct{ left int }

func (s *steps) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	s.left--
	p[0] = 'x'
	return 1, nil
}

func TestTCPByteByByteIsNotDear(t *testing.T) {
	made, err := prepare(talking(1, "", "(x+x+)+y"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := attempt{ctx: context.Background(), shared: made}
	start := time.Now()
	made.tcp.Expect.Match([]byte(strings.Repeat("x", check.ExpectLimit)))
	limit := max(patience, 200*time.Since(start)) // about ten such looks are allowed, and there would be tens of thousands
	start = time.Now()
	f := a.await(&steps{check.ExpectLimit})
	if f == nil || f.cause != check.CauseTooLarge {
		t.Errorf("got %+v, want too-large", f)
	}
	if took := time.Since(start); took > limit {
		t.Errorf("looking at %d bytes took %s, more than %s", check.ExpectLimit, took, limit)
	}
}

func TestTCPSend(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	deafEar := func(conn net.Conn) { _ = conn.(*net.TCPConn).SetReadBuffer(4096); <-release }
	spec := talking(serve(t, "127.0.0.1:0", deafEar).port(), strings.Repeat("x", 8<<20), "")
	overdue(t, spec, once, "fail send/timeout")

	s := serve(t, "127.0.0.1:0", func(conn net.Conn) {
		_ = conn.(*net.TCPConn).SetReadBuffer(4096)
		_, _ = conn.Read(make([]byte, 100))
		slam(conn)
	})
	expect(t, once(talking(s.port(), strings.Repeat("x", 8<<20), "")), "fail send/reset")
}

// overTLS makes a TCP check speak TLS.
func overTLS(spec *check.Spec, options check.TLS) *check.Spec {
	spec.TCP.TLS = &options
	return spec
}

func TestTCPOverTLS(t *testing.T) {
	ca := newAuthority(t)
	later := time.Now().Add(time.Hour)
	greet := func(cert tls.Certificate, names chan<- string) func(net.Conn) {
		return func(raw net.Conn) {
			conn := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{cert}})
			if conn.Handshake() != nil {
				return
			}
			names <- conn.ConnectionState().ServerName + " " + conn.ConnectionState().NegotiatedProtocol
			mail(conn)
		}
	}
	for _, c := range []struct {
		name, certificate, serverName, sni, want, detail string
	}{
		{"of a name", "mail.example.com", "mail.example.com", "mail.example.com ", "pass", ""},
		{"of the address", "127.0.0.1", "", " ", "pass", ""},
		{"of a name, and the address is asked", "mail.example.com", "", "", "fail tls/certificate", "127.0.0.1"},
		{"of another name", "mail.example.com", "imap.example.com", "", "fail tls/certificate", `expected a certificate for imap.example.com, got one for "mail.example.com"`},
		{"of another address", "127.0.0.2", "", "", "fail tls/certificate", "127.0.0.2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			names := make(chan string, 2)
			s := serve(t, "127.0.0.1:0", greet(ca.issue(c.certificate, later), names))
			for _, spec := range []*check.Spec{talking(s.port(), "", ""), talking(s.port(), "QUIT\r\n", "^220 .*\r\n(.*\n)*221 ")} {
				got := ca.prober().Probe(context.Background(), overTLS(spec, check.TLS{ServerName: c.serverName}), "127.0.0.1")
				expect(t, got, c.want, c.detail)
			}
			if c.want == "pass" {
				if got := <-names; got != c.sni {
					t.Errorf("server name and protocol %q, want %q", got, c.sni)
				}
			}
		})
	}
}

// TestTLSNameOfATarget: where the target is a name, the certificate has to be
// the name's, whichever of its addresses is dialled.
func TestTLSNameOfATarget(t *testing.T) {
	ca := newAuthority(t)
	options := Options{RootCAs: ca.prober().options.RootCAs}
	made, err := prepare(overTLS(tcpSpec(1), check.TLS{}), options)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{ca.issue("lb.example.net", time.Now().Add(time.Hour))}}
	s, _ := serveTLS(t, "127.0.0.1:0", config)
	for target, want := range map[string]string{"lb.example.net.": "", "lb.example.net": "", "other.example.net.": "tls/certificate"} {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		a := attempt{ctx: context.Background(), shared: made, target: target}
		got := ""
		if _, f := a.secure(conn); f != nil {
			got = string(f.phase) + "/" + string(f.cause)
		}
		if got != want {
			t.Errorf("target %s: got %q, want %q", target, got, want)
		}
		_ = conn.Close()
	}
}
