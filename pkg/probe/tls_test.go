package probe

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
)

// authority is a CA for one test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-99 * time.Hour), NotAfter: time.Now().Add(99 * time.Hour), // longer than what it signs
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.key = a.sign(template, nil)
	return a
}

// sign makes a certificate, by the CA once there is one.
func (a *authority) sign(template *x509.Certificate, parent *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	signer := a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// issue makes a server's certificate for name that ends at until.
func (a *authority) issue(name string, until time.Time) tls.Certificate {
	a.t.Helper()
	return a.issueFrom(name, time.Now().Add(-24*time.Hour), until)
}

func (a *authority) issueFrom(name string, from, until time.Time) tls.Certificate {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: from, NotAfter: until,
	}
	if ip := net.ParseIP(name); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	cert, key := a.sign(template, a.cert)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// prober trusts this authority.
func (a *authority) prober() *Prober {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return New(counting(), Options{RootCAs: roots})
}

// pem is the authority's own certificate, as a check's CA.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// client is a certificate and its key, as a check has them.
func (a *authority) client(name string) (cert, key []byte) {
	a.t.Helper()
	pair := a.issue(name, time.Now().Add(time.Hour))
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// seen is what a TLS server saw of a client.
type seen struct{ sni, request string }

// serveTLS answers 200 over TLS and reports what it saw.
func serveTLS(t *testing.T, address string, config *tls.Config) (*server, chan seen) {
	t.Helper()
	reports := make(chan seen, 16)
	s := serve(t, address, func(raw net.Conn) {
		conn := tls.Server(raw, config)
		if err := conn.Handshake(); err != nil {
			return
		}
		reports <- seen{conn.ConnectionState().ServerName, readRequest(conn)}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nsecure")
	})
	return s, reports
}

func httpsSpec(port uint16) *check.Spec {
	return httpSpec(port, func(h *check.HTTP) { h.Scheme = "https" }, matching("secure"))
}

// Case: a server with a good certificate for www.example.com, given by SNI, and
// an expired one for everybody else, dialled by its address. Expected: SNI, the
// verified name and Host are www.example.com; swapped, the certificate is told.
func TestCase01NameNotAddressIsSentAndVerified(t *testing.T) {
	ca := newAuthority(t)
	good, old := ca.issue("www.example.com", time.Now().Add(time.Hour)), ca.issue("old.example.com", time.Now().Add(-time.Hour))
	bySNI := func(forName, otherwise *tls.Certificate) *tls.Config {
		return &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName == "www.example.com" {
				return forName, nil
			}
			return otherwise, nil
		}}
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			s, reports := serveTLS(t, net.JoinHostPort(host, "0"), bySNI(&good, &old))
			expect(t, ca.prober().Probe(context.Background(), httpsSpec(s.port()), host), "pass")
			got := <-reports
			if got.sni != "www.example.com" || !strings.Contains(got.request, "\r\nHost: www.example.com\r\n") {
				t.Errorf("server name %q, request %q; want www.example.com in both", got.sni, got.request)
			}
			s, _ = serveTLS(t, net.JoinHostPort(host, "0"), bySNI(&old, &good))
			expect(t, ca.prober().Probe(context.Background(), httpsSpec(s.port()), host), "fail tls/certificate", "certificate")
		})
	}
}

func TestCertificates(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	later := time.Now().Add(time.Hour)
	for _, c := range []struct {
		name, want, detail string
		cert               tls.Certificate
		host               string
	}{
		{"expired", "fail tls/certificate", "expired", ca.issue("www.example.com", time.Now().Add(-time.Minute)), "www.example.com"},
		{"for another name", "fail tls/certificate", "other.example.com", ca.issue("other.example.com", later), "www.example.com"},
		{"of an unknown authority", "fail tls/certificate", "unknown authority", stranger.issue("www.example.com", later), "www.example.com"},
		{"for the address, when the URL has one", "pass", "", ca.issue("127.0.0.1", later), "127.0.0.1"},
		{"for an IPv6 address in brackets", "pass", "", ca.issue("::1", later), "[::1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := serveTLS(t, "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{c.cert}})
			spec := httpsSpec(s.port())
			spec.HTTP.Host, spec.HTTP.Authority = c.host, c.host
			expect(t, ca.prober().Probe(context.Background(), spec, "127.0.0.1"), c.want, c.detail)
		})
	}
}

func TestTLSTrouble(t *testing.T) {
	ca := newAuthority(t)
	cert := ca.issue("www.example.com", time.Now().Add(time.Hour))
	configured := func(change func(*tls.Config)) func(net.Conn) {
		config := &tls.Config{Certificates: []tls.Certificate{cert}}
		change(config)
		return func(raw net.Conn) {
			conn := tls.Server(raw, config)
			if conn.Handshake() == nil {
				_ = readRequest(conn)
			}
		}
	}
	for _, c := range []struct {
		name, want, detail string
		treat              func(net.Conn)
	}{
		{"plain HTTP", "fail tls/mismatch", "does not speak TLS", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			hang(conn)
		}},
		{"hang", "fail tls/timeout", "", hang},
		{"closed", "fail tls/reset", "", func(conn net.Conn) { _, _ = conn.Read(make([]byte, 4096)) }},
		{"reset", "fail tls/reset", "", func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1))
			slam(conn)
		}},
		{"no common protocol", "fail tls/mismatch", "no application protocol", configured(func(c *tls.Config) { c.NextProtos = []string{"imap"} })},
		{"old version", "fail tls/mismatch", "protocol version", configured(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11; c.MinVersion = tls.VersionTLS10 })},
		{"garbage", "fail tls/mismatch", `got "\xff\xff\xff\xff\xff"`, func(conn net.Conn) {
			_, _ = io.WriteString(conn, strings.Repeat("\xff", 1000))
			hang(conn)
		}},
		{"garbage in a record", "fail tls/mismatch", "", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "\x16\x03\x03\x00\x04\xff\xff\xff\xff")
			hang(conn)
		}},
		{"a record without end", "fail tls/mismatch", "", func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096))
			_, err := io.WriteString(conn, "\x16\x03\x03\x40\x00\x02\xff\xff\xff")
			for err == nil {
				_, err = conn.Write(make([]byte, 4096))
			}
		}},
		{"an alert at once", "fail tls/mismatch", "handshake failure", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "\x15\x03\x03\x00\x02\x02\x28")
			hang(conn)
		}},
		{"byte by byte", "fail tls/timeout", "", func(conn net.Conn) {
			for _, b := range []byte("\x16\x03\x03\x3f\xff" + strings.Repeat("\x02", 1000)) {
				if _, err := conn.Write([]byte{b}); err != nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
		}},
		{"name refused", "fail tls/mismatch", "", configured(func(c *tls.Config) {
			c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, errors.New("no such name") }
		})},
		{"client certificate asked", "fail tls/mismatch", "certificate required", configured(func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert })},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, "127.0.0.1:0", c.treat)
			expectProbe(t, ca.prober(), httpsSpec(s.port()), c.want, c.detail)
		})
	}
}

func TestEveryHandshakeIsFull(t *testing.T) {
	ca := newAuthority(t)
	resumed := make(chan bool, 4)
	config := &tls.Config{
		Certificates:     []tls.Certificate{ca.issue("www.example.com", time.Now().Add(time.Hour))},
		VerifyConnection: func(s tls.ConnectionState) error { resumed <- s.DidResume; return nil },
	}
	s, _ := serveTLS(t, "127.0.0.1:0", config)
	p, spec := ca.prober(), httpsSpec(s.port())
	for range 3 {
		expect(t, p.Probe(context.Background(), spec, "127.0.0.1"), "pass")
		if <-resumed {
			t.Error("a handshake was resumed, which does not check the certificate")
		}
	}
}

func probeWithoutRoots() {
	spec := httpsSpec(1)
	say(once(spec))
}

func TestNoRootsIsUnknown(t *testing.T) {
	empty := t.TempDir()
	got := inChild(t, "no-roots", nil, "SSL_CERT_DIR="+empty, fmt.Sprintf("SSL_CERT_FILE=%s/none", empty))
	if !strings.HasPrefix(got, "unknown resolve/local") || !strings.Contains(got, "ca-certificates") {
		t.Errorf("got %q, want unknown resolve/local and the remedy ca-certificates", got)
	}
}
