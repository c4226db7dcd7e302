package lab

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"testing"
	"time"
)

// over is a client that trusts a CA, takes every server for www.lab.test, and keeps
// its connections.
func over(ca *CA, http2 bool) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.PEM())
	transport := &http.Transport{
		Proxy: nil, ForceAttemptHTTP2: http2,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: "www.lab.test"},
	}
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func TestBackendOverTLS(t *testing.T) {
	ca, err := NewCA()
	if err != nil {
		t.Fatal(err)
	}
	right, err := ca.Issue("www.lab.test")
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := ca.Issue("other.lab.test")
	if err != nil {
		t.Fatal(err)
	}
	for _, http2 := range []bool{false, true} {
		b := NewBackend("b1", "127.0.0.1:0")
		b.Secure(right, http2)
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		kept := over(ca, true)
		r, err := kept.Get("https://" + b.Addr() + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		if finish(t, r); r.ProtoMajor == 2 != http2 || r.Header.Get(IdentityHeader) != "b1" {
			t.Errorf("HTTP/2 %v: %s from %q", http2, r.Proto, r.Header.Get(IdentityHeader))
		}
		b.Show(wrong)
		if r, err = kept.Get("https://" + b.Addr() + "/healthz"); err != nil {
			t.Errorf("HTTP/2 %v: the open connection: %v", http2, err)
		} else {
			finish(t, r)
		}
		fresh := over(ca, true)
		var name x509.HostnameError
		if _, err := fresh.Get("https://" + b.Addr() + "/healthz"); !errors.As(err, &name) {
			t.Errorf("HTTP/2 %v: a wrong certificate was taken: %v", http2, err)
		}
		if err := b.Break(Hang); (err != nil) != http2 {
			t.Errorf("HTTP/2 %v: hang: %v", http2, err)
		}
		kept.CloseIdleConnections()
		fresh.CloseIdleConnections()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
