package probe

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
)

// with sets the TLS of an HTTPS check.
func with(spec *check.Spec, options check.TLS) *check.Spec {
	spec.HTTP.TLS = options
	return spec
}

// asking is a server that wants a client certificate of an authority.
func (a *authority) asking(host string) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{
		Certificates: []tls.Certificate{a.issue(host, time.Now().Add(time.Hour))},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: roots,
	}
}

func TestOwnAuthority(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	s, _ := serveTLS(t, "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{ca.issue("www.example.com", time.Now().Add(time.Hour))}})
	probe := func(p *Prober, pool []byte) check.Result {
		return p.Probe(context.Background(), with(httpsSpec(s.port()), check.TLS{CA: pool}), "127.0.0.1")
	}
	expect(t, probe(other.prober(), ca.pem()), "pass")
	expect(t, probe(ca.prober(), other.pem()), "fail tls/certificate", `unknown authority "CN=test CA": expected one of the check's ca`) // only the check's own counts
	expect(t, probe(other.prober(), append(other.pem(), ca.pem()...)), "pass")
	expect(t, probe(ca.prober(), []byte("no PEM")), "unknown resolve/local", "read ca")
}

func TestServerName(t *testing.T) {
	ca := newAuthority(t)
	s, reports := serveTLS(t, "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{ca.issue("origin.example.com", time.Now().Add(time.Hour))}})
	spec := with(httpsSpec(s.port()), check.TLS{ServerName: "origin.example.com"})
	expect(t, ca.prober().Probe(context.Background(), spec, "127.0.0.1"), "pass")
	if got := <-reports; got.sni != "origin.example.com" || !strings.Contains(got.request, "\r\nHost: www.example.com\r\n") {
		t.Errorf("server name %q, request %q; want origin.example.com, and the host of the URL in the request", got.sni, got.request)
	}
	expect(t, ca.prober().Probe(context.Background(), httpsSpec(s.port()), "127.0.0.1"), "fail tls/certificate",
		`expected a certificate for www.example.com, got one for "origin.example.com"`)
}

func TestClientCertificate(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	cert, key := ca.client("probe")
	strange, strangeKey := stranger.client("probe")
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := ca.asking("www.example.com")
		config.MaxVersion = version
		s := serve(t, "127.0.0.1:0", func(raw net.Conn) {
			conn := tls.Server(raw, config)
			if conn.Handshake() == nil {
				_ = readRequest(conn)
				_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\nsecure"))
			}
		})
		probe := func(options check.TLS) check.Result {
			return ca.prober().Probe(context.Background(), with(httpsSpec(s.port()), options), "127.0.0.1")
		}
		expect(t, probe(check.TLS{Cert: cert, Key: key}), "pass")
		hint := "give the check cert and key"
		if version == tls.VersionTLS12 {
			hint = "handshake failure" // there is no alert for it (RFC 5246 section 7.4.6)
		}
		expect(t, probe(check.TLS{}), "fail tls/mismatch", hint)
		expect(t, probe(check.TLS{Cert: strange, Key: strangeKey}), "fail tls/mismatch", "does not take the check's cert")
		got := probe(check.TLS{Cert: cert, Key: strangeKey})
		expect(t, got, "unknown resolve/local", "read cert and key", "does not match")
		if strings.Contains(got.Detail, "PRIVATE") {
			t.Errorf("detail %q tells of the key", got.Detail)
		}
	}
}

// TestCertificateTimes holds what the guard against a wrong clock rests on: only
// a certificate that is not valid now marks a result.
func TestCertificateTimes(t *testing.T) {
	ca := newAuthority(t)
	hour := func(n int) time.Time { return time.Now().Add(time.Duration(n) * time.Hour) }
	dates := regexp.MustCompile(`valid from \d{4}-\d\d-\d\d \d\d:\d\d to \d{4}-\d\d-\d\d \d\d:\d\d, and the clock here says ` + time.Now().UTC().Format("2006-01-"))
	for _, c := range []struct {
		name  string
		cert  tls.Certificate
		clock bool
		word  string
	}{
		{"expired", ca.issueFrom("www.example.com", hour(-48), hour(-24)), true, `the certificate "www.example.com" has expired: valid from `},
		{"not yet valid", ca.issueFrom("www.example.com", hour(24), hour(48)), true, `the certificate "www.example.com" is not valid yet: valid from `},
		{"of another name", ca.issueFrom("other.example.com", hour(-1), hour(1)), false, "other.example.com"},
		{"of nobody", newAuthority(t).issueFrom("www.example.com", hour(-1), hour(1)), false, "unknown authority"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := serveTLS(t, "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{c.cert}})
			got := ca.prober().Probe(context.Background(), httpsSpec(s.port()), "127.0.0.1")
			expect(t, got, "fail tls/certificate", c.word)
			if got.Clock != c.clock || c.clock != dates.MatchString(got.Detail) {
				t.Errorf("Clock is %t with detail %q, want %t", got.Clock, got.Detail, c.clock)
			}
		})
	}
	s, _ := serveTLS(t, "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{ca.issueFrom("www.example.com", hour(-1), hour(1))}})
	if got := ca.prober().Probe(context.Background(), httpsSpec(s.port()), "127.0.0.1"); got.Outcome != check.Pass || got.Clock {
		t.Errorf("got %+v, want a pass without Clock", got)
	}
}

// cross signs the key of another authority.
func (a *authority) cross(other *authority, from, until time.Time) *x509.Certificate {
	a.t.Helper()
	template := *other.cert
	template.NotBefore, template.NotAfter = from, until
	der, err := x509.CreateCertificate(rand.Reader, &template, a.cert, &other.key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

// An intermediate out of its time under a good certificate marks a result, too,
// whatever else the server sends.
func TestIntermediateTimes(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	now := time.Now()
	intermediate := func(of *authority, from, until time.Time) *authority {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "test intermediate"}, NotBefore: from, NotAfter: until,
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
		out := &authority{t: t}
		out.cert, out.key = of.sign(template, of.cert)
		return out
	}
	past, soon := now.Add(-24*time.Hour), now.Add(time.Hour)
	expired := intermediate(ca, past, now.Add(-time.Hour))
	crossed := &authority{t: t, key: expired.key, cert: stranger.cross(expired, past, soon)} // the same authority, vouched for by another
	for _, c := range []struct {
		name   string
		signer *authority
		more   []*authority // sent, too
		clock  bool
		word   string
	}{
		{"expired", expired, nil, true, `the certificate "test intermediate" has expired: valid from`},
		{"not yet valid", intermediate(ca, soon, now.Add(48*time.Hour)), nil, true, `the certificate "test intermediate" is not valid yet`},
		{"expired beside another", expired, []*authority{intermediate(ca, past, soon)}, true, "has expired"},
		{"expired beside a good one of nobody", expired, []*authority{crossed}, true, `the certificate "test intermediate" has expired`},
		{"expired, of nobody", intermediate(stranger, past, now.Add(-time.Hour)), nil, false, "has expired"},
		{"good, of nobody", intermediate(stranger, past, soon), nil, false, "unknown authority"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cert := c.signer.issueFrom("www.example.com", past, now.Add(48*time.Hour))
			for _, a := range append([]*authority{c.signer}, c.more...) {
				cert.Certificate = append(cert.Certificate, a.cert.Raw)
			}
			s, _ := serveTLS(t, "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
			got := ca.prober().Probe(t.Context(), httpsSpec(s.port()), "127.0.0.1")
			expect(t, got, "fail tls/certificate", c.word)
			if got.Clock != c.clock {
				t.Errorf("Clock is %t with detail %q, want %t", got.Clock, got.Detail, c.clock)
			}
		})
	}
}

func TestCertificateNamesAreMany(t *testing.T) {
	ca := newAuthority(t)
	template := &x509.Certificate{SerialNumber: ca.cert.SerialNumber, NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter}
	for range 100 {
		template.DNSNames = append(template.DNSNames, "one-of-very-many.example.com")
	}
	cert, key := ca.sign(template, ca.cert)
	s, _ := serveTLS(t, "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}})
	got := ca.prober().Probe(context.Background(), httpsSpec(s.port()), "127.0.0.1")
	expect(t, got, "fail tls/certificate", "expected a certificate for www.example.com, got one for", `"...`)
}
