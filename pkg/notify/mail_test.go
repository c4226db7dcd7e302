package notify

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"
)

// mailServer is an SMTP server for one message at a time.
type mailServer struct {
	listener net.Listener
	cert     tls.Certificate
	roots    *x509.CertPool
	implicit bool
	noTLS    bool
	auth     string            // what it offers
	refuse   map[string]string // by the beginning of a command: what it says
	said     []string          // what the client said, secured by TLS or not
	secured  bool
	text     string
}

func newMailServer(t *testing.T) *mailServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &mailServer{listener: listener, auth: "LOGIN PLAIN", roots: x509.NewCertPool(), refuse: map[string]string{}}
	s.cert = selfSigned(t, s.roots)
	t.Cleanup(func() { _ = listener.Close() })
	return s
}

func selfSigned(t *testing.T, roots *x509.CertPool) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// send sends one message to the server, which runs meanwhile.
func (s *mailServer) send(t *testing.T, m Message, insecure bool) (string, error) {
	t.Helper()
	scheme := map[bool]string{true: "smtps", false: "smtp"}[s.implicit]
	r := mustParse(t, Settings{
		URL:      scheme + "://ann:MARKER@" + s.listener.Addr().String() + "?from=sidestep@example.com&to=ops@example.com,oncall@example.org",
		Insecure: insecure,
	})
	r.roots = s.roots
	s.said, s.secured, s.text = nil, false, ""
	done := make(chan struct{})
	go func() { defer close(done); s.serve() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := r.Send(ctx, m)
	<-done
	if err != nil && strings.Contains(err.Error(), "MARKER") {
		t.Errorf("the error shows the password: %v", err)
	}
	return answer, err
}

func (s *mailServer) serve() {
	conn, err := s.listener.Accept()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	if s.implicit {
		conn, s.secured = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{s.cert}}), true
	}
	in := bufio.NewReader(conn)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(conn, format+"\r\n", args...) }
	ask := func() string { line, _ := in.ReadString('\n'); return strings.TrimRight(line, "\r\n") }
	say("220 double")
	for {
		line := ask()
		if line == "" {
			return
		}
		s.said = append(s.said, line)
		if reply := s.refusal(line); reply != "" {
			say("%s", reply)
			continue
		}
		switch verb, rest, _ := strings.Cut(line, " "); verb {
		case "EHLO":
			say("250-double")
			if !s.noTLS && !s.secured {
				say("250-STARTTLS")
			}
			say("250 AUTH %s", s.auth)
		case "STARTTLS":
			say("220 go on")
			conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{s.cert}})
			in, s.secured = bufio.NewReader(conn), true
		case "AUTH":
			if rest == "LOGIN" {
				for _, question := range []string{"Username:", "Password:"} {
					say("334 %s", base64.StdEncoding.EncodeToString([]byte(question)))
					s.said = append(s.said, ask())
				}
			}
			say("235 welcome")
		case "DATA":
			say("354 go on")
			for text := ask(); text != "."; text = ask() {
				s.text += text + "\n"
			}
			say("250 queued")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (s *mailServer) refusal(line string) string {
	for begin, reply := range s.refuse {
		if strings.HasPrefix(line, begin) {
			return reply
		}
	}
	return ""
}

func (s *mailServer) wasTold(want string) bool { return slices.Contains(s.said, want) }

func TestMailOverStartTLSAndTLS(t *testing.T) {
	plain := "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00ann\x00MARKER"))
	for _, implicit := range []bool{false, true} {
		s := newMailServer(t)
		s.implicit = implicit
		answer, err := s.send(t, sample(), false)
		if err != nil || answer != "taken for 2 of 2 addresses" {
			t.Fatalf("Send = %q, %v", answer, err)
		}
		if !s.secured || !s.wasTold(plain) || !s.wasTold("MAIL FROM:<sidestep@example.com>") || !s.wasTold("RCPT TO:<oncall@example.org>") {
			t.Errorf("TLS %v, said %q", s.secured, s.said)
		}
		got, err := mail.ReadMessage(strings.NewReader(s.text))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(quotedprintable.NewReader(got.Body))
		if strings.TrimSpace(string(body)) != sample().Text() {
			t.Errorf("body %q, want %q", body, sample().Text())
		}
		if got.Header.Get("To") != "ops@example.com, oncall@example.org" || got.Header.Get("Subject") != sample().Title() || got.Header.Get("Auto-Submitted") == "" {
			t.Errorf("header %v", got.Header)
		}
	}
}

func TestMailByAuthLogin(t *testing.T) {
	s := newMailServer(t)
	s.auth = "LOGIN"
	if _, err := s.send(t, sample(), false); err != nil {
		t.Fatal(err)
	}
	encode := base64.StdEncoding.EncodeToString
	if !s.secured || !s.wasTold(encode([]byte("ann"))) || !s.wasTold(encode([]byte("MARKER"))) {
		t.Errorf("TLS %v, said %q", s.secured, s.said)
	}
}

// A header cannot be added by what a mail is about, nor the text be ended early.
func TestMailHeadersCannotBeInjected(t *testing.T) {
	s := newMailServer(t)
	hostile := "x\r\nBcc: evil@example.com\r\n\r\n三 .\r\n.\r\nMAIL FROM:<evil@example.com>"
	m := Message{Node: "mon-1", At: time.Now(), Sections: []Section{{Topic: Down, Title: hostile, Lines: []string{".", hostile}}}}
	if _, err := s.send(t, m, false); err != nil {
		t.Fatal(err)
	}
	got, err := mail.ReadMessage(strings.NewReader(s.text))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
	if err != nil || got.Header.Get("Bcc") != "" || !strings.Contains(subject, `x\r\nBcc`) || s.wasTold("MAIL FROM:<evil@example.com>") {
		t.Errorf("subject %q, %v; header %v; said %q", subject, err, got.Header, s.said)
	}
}

func TestMailThatIsNotTaken(t *testing.T) {
	for _, c := range []struct {
		begin, reply, want string
		again              bool
	}{
		{"AUTH", "535 no MARKER", "no ***", false},
		{"MAIL", "451 later", "later", true},
		{"RCPT", "550 who?", "who?", false},
		{"STARTTLS", "454 not now", "not now", true},
	} {
		s := newMailServer(t)
		s.refuse[c.begin] = c.reply
		_, err := s.send(t, sample(), false)
		sent, ok := errors.AsType[*Error](err)
		if !ok || sent.Again != c.again || !strings.Contains(sent.Text, c.want) {
			t.Errorf("%s refused: %v, again %v", c.begin, err, ok && sent.Again)
		}
	}
	s := newMailServer(t)
	s.refuse["RCPT TO:<ops"] = "550 moved"
	if answer, err := s.send(t, sample(), false); err != nil || !strings.Contains(answer, "1 of 2") || !strings.Contains(answer, "moved") {
		t.Errorf("one of two refused: %q, %v", answer, err)
	}
}

// Without TLS mail goes to this machine alone, or on the operator's word.
func TestMailWithoutTLS(t *testing.T) {
	s := newMailServer(t)
	s.noTLS = true
	if _, err := s.send(t, sample(), false); err != nil || s.secured {
		t.Errorf("on loopback: %v", err)
	}
	s = newMailServer(t)
	if _, err := s.send(t, sample(), true); err != nil || s.secured || s.wasTold("STARTTLS") {
		t.Errorf("with insecure: %v, said %q", err, s.said)
	}
	s = newMailServer(t)
	s.noTLS = true
	r := mustParse(t, Settings{URL: "smtp://ann:MARKER@mx.example.com?from=a@example.com&to=b@example.com"})
	r.mail.addr = s.listener.Addr().String()
	go s.serve()
	_, err := r.Send(context.Background(), sample())
	if sent, ok := errors.AsType[*Error](err); !ok || sent.Again || !strings.Contains(sent.Text, "no STARTTLS") {
		t.Errorf("elsewhere: %v", err)
	}
}
