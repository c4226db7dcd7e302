package probe

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
)

// prepareTLS makes the TLS config that the probes of a Spec share. Without a
// session cache every handshake is a full one, which checks the certificate.
func prepareTLS(spec check.TLS, name string, protocols []string, options Options) (*tls.Config, error) {
	config := &tls.Config{
		ServerName: name,
		RootCAs:    options.RootCAs,
		NextProtos: protocols,
		MinVersion: tls.VersionTLS12,
	}
	switch {
	case len(spec.CA) > 0:
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(spec.CA) {
			return nil, errors.New("read ca: expected certificates in PEM, got none")
		}
	case options.RootCAs == nil && !systemRoots():
		return nil, errors.New("no CA certificates on this machine; install them (ca-certificates), or give the check ca: FILE")
	}
	if len(spec.Cert) > 0 {
		pair, err := tls.X509KeyPair(spec.Cert, spec.Key)
		if err != nil {
			return nil, fmt.Errorf("read cert and key: %w", err)
		}
		// It is shown whatever authorities the server asks for: a server that
		// does not take it says why, one that gets none only that it got none.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return config, nil
}

// systemRoots tells whether this machine has CA certificates. Without any, as
// in an empty container, the library would blame each server's certificate.
func systemRoots() bool {
	pool, err := x509.SystemCertPool()
	return err == nil && !pool.Equal(x509.NewCertPool())
}

// secure makes the TLS handshake.
func (a *attempt) secure(conn net.Conn) (*tls.Conn, *failure) {
	a.phase = check.PhaseTLS
	config := a.shared.tls
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName = a.serverName()
	}
	stream := tls.Client(conn, config)
	// HandshakeContext would close the connection at the deadline, and not by
	// a reset; run ends this one too.
	if err := stream.Handshake(); err != nil { //nolint:noctx // see above
		return nil, a.failed(err)
	}
	return stream, nil
}

// serverName is whom the certificate has to name.
func (a *attempt) serverName() string {
	return cmp.Or(a.shared.tls.ServerName, strings.TrimSuffix(a.target, "."))
}

// failedTLS judges an error of the TLS layer; nil when it is none.
func (a *attempt) failedTLS(err error) *failure {
	var (
		roots   x509.SystemRootsError
		verify  *tls.CertificateVerificationError
		alert   *net.OpError
		garbage tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &roots):
		return unknown(check.PhaseTLS, "no CA certificates on this machine: %v; install them (ca-certificates)", roots)
	case errors.As(err, &verify):
		return a.failedCertificate(verify)
	case errors.As(err, &alert) && alert.Op == "remote error": // how crypto/tls names an alert of the other side
		return a.refused(strings.TrimPrefix(alert.Err.Error(), "tls: "))
	case errors.As(err, &garbage):
		return fail(check.PhaseTLS, check.CauseMismatch, "the server does not speak TLS on this port: expected a handshake, got %s", a.quote(string(garbage.RecordHeader[:])))
	}
	return nil
}

// refused words the alert by which a server refused the handshake.
func (a *attempt) refused(alert string) *failure {
	hint := ""
	switch {
	case strings.Contains(alert, "no application protocol"):
		hint = "; it speaks none of " + strings.Join(a.shared.tls.NextProtos, ", ")
	case strings.Contains(alert, "protocol version"):
		hint = "; it speaks no TLS from 1.2 on"
	case strings.Contains(alert, "certificate") && a.shared.tls.GetClientCertificate == nil:
		hint = "; it asks for a client certificate: give the check cert and key"
	case strings.Contains(alert, "certificate"):
		hint = "; it does not take the check's cert"
	}
	return fail(check.PhaseTLS, check.CauseMismatch, "the server refused the handshake: %s%s", alert, hint)
}

// failedCertificate says what is wrong with the certificate of the server: what
// was expected first, for lists of names are long.
func (a *attempt) failedCertificate(refused *tls.CertificateVerificationError) *failure {
	var (
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		signer  x509.UnknownAuthorityError
		err     = refused.Err
		now     = time.Now()
	)
	text := strings.TrimPrefix(err.Error(), "x509: ")
	errors.As(err, &invalid)
	if cert := a.untimely(refused.UnverifiedCertificates, invalid.Cert, now); cert != nil {
		f := fail(check.PhaseTLS, check.CauseCertificate, "%s", a.expired(cert, now))
		f.clock = true
		return f
	}
	switch {
	case errors.As(err, &host):
		text = fmt.Sprintf("expected a certificate for %s, got one for %s", host.Host, a.quote(names(host.Certificate)))
	case invalid.Cert != nil && invalid.Reason == x509.Expired:
		text = a.expired(invalid.Cert, now)
	case errors.As(err, &signer) && signer.Cert != nil:
		_, why, _ := strings.Cut(text, "unknown authority") // of a candidate that was no good
		expected := "one that this machine knows; to trust it give the check ca: FILE"
		if a.shared.tls.RootCAs != nil {
			expected = "one of the check's ca"
		}
		text = fmt.Sprintf("unknown authority %s: expected %s%s", a.quote(signer.Cert.Issuer.String()), expected, why)
	}
	return fail(check.PhaseTLS, check.CauseCertificate, "%s", a.plain(text))
}

// mostDates is of how many certificates the dates are looked at: chains are
// short, and each costs two verifications.
const mostDates = 8

// untimely finds the certificate because of whose dates alone a server's was
// refused, its own or one that vouches for it: by another clock all would have
// been well. It is nil when none would help. Of several that the server sent,
// its own first, the library may blame another, or blame one for its dates
// although no clock would help; so all is verified anew at the edges of their
// times. blamed may be nil, and may be of this machine.
func (a *attempt) untimely(sent []*x509.Certificate, blamed *x509.Certificate, now time.Time) *x509.Certificate {
	if len(sent) == 0 {
		return nil
	}
	sent = sent[:min(len(sent), mostDates)]
	options := x509.VerifyOptions{Roots: a.shared.tls.RootCAs, DNSName: a.serverName(), Intermediates: x509.NewCertPool()}
	for _, cert := range sent[1:] {
		options.Intermediates.AddCert(cert)
	}
	for _, cert := range slices.Concat(sent, []*x509.Certificate{blamed}) {
		if cert == nil || !now.Before(cert.NotBefore) && !now.After(cert.NotAfter) {
			continue
		}
		for _, options.CurrentTime = range []time.Time{cert.NotBefore, cert.NotAfter} {
			if _, err := sent[0].Verify(options); err == nil {
				return cert
			}
		}
	}
	return nil
}

// names lists whom a certificate is for.
func names(cert *x509.Certificate) string {
	list := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		list = append(list, ip.String())
	}
	return strings.Join(list, ", ")
}

// expired sets the dates of a certificate beside the local clock's: which of
// the two is wrong, only a person or a look at many targets can tell.
func (a *attempt) expired(cert *x509.Certificate, now time.Time) string {
	const layout = "2006-01-02 15:04"
	word := "has expired"
	if now.Before(cert.NotBefore) {
		word = "is not valid yet"
	}
	return fmt.Sprintf("the certificate %s %s: valid from %s to %s, and the clock here says %s (UTC)", a.quote(cmp.Or(cert.Subject.CommonName, names(cert))), word,
		cert.NotBefore.UTC().Format(layout), cert.NotAfter.UTC().Format(layout), now.UTC().Format(layout))
}
