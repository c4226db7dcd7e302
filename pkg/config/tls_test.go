package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

// pems are the files that stand beside the config of every test.
var pems = sync.OnceValue(func() fstest.MapFS {
	cert, key := pemPair()
	_, stranger := pemPair()
	locked := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("MARKER")})
	old := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}, Bytes: []byte("MARKER")})
	broken := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")})
	return fstest.MapFS{
		"ca.pem":       {Data: cert, Mode: 0o644},
		"bundle.pem":   {Data: append(append([]byte("two of them\n"), cert...), cert...), Mode: 0o644},
		"client.pem":   {Data: cert, Mode: 0o644},
		"client.key":   {Data: key, Mode: 0o600},
		"open.key":     {Data: key, Mode: 0o644},
		"stranger.key": {Data: stranger, Mode: 0o600},
		"locked.key":   {Data: locked, Mode: 0o600},
		"old.key":      {Data: old, Mode: 0o600},
		"text.pem":     {Data: []byte("MARKER, and no PEM at all\n"), Mode: 0o600},
		"empty.pem":    {Data: nil, Mode: 0o600},
		"broken.pem":   {Data: append(append([]byte{}, cert...), broken...), Mode: 0o600},
		"huge.pem":     {Data: make([]byte, maxPEM+1), Mode: 0o600},
	}
})

// pemPair makes a certificate and its key.
func pemPair() (cert, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		panic(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// openPEM opens one of pems in the config's folder, or else a real file.
func openPEM(path string) (fs.File, error) {
	if name, beside := strings.CutPrefix(path, "/etc/sidestep/"); beside && pems()[name] != nil {
		file, err := pems().Open(name)
		return owned{file, 0}, err
	}
	return os.Open(path)
}

// checking is a config of one check.
func checking(text string) string {
	return "zones: [{zone: example.com, provider: local, file: /z}]\nrecords: [{name: www, check: c, answers: [192.0.2.1]}]\nchecks: {c: {" + text + "}}\n"
}

const (
	overTLS = `http: {url: "https://www.example.com/", `
	inClear = `http: {url: "http://www.example.com/", `
	tcpTLS  = `tcp: {port: 465, server_name: mail.example.com, tls: true, `
	tcp     = `tcp: {port: 25, `
)

func TestCertificatesOfChecksAreRefusedInTheseWords(t *testing.T) {
	for text, want := range map[string]string{
		overTLS + "ca: no.pem}":                              `http.ca: cannot read "/etc/sidestep/no.pem": no such file or directory`,
		overTLS + "ca: huge.pem}":                            `http.ca: cannot read "/etc/sidestep/huge.pem": /etc/sidestep/huge.pem has more than 1048576 bytes`,
		overTLS + "ca: text.pem}":                            `http.ca: there is no certificate in "/etc/sidestep/text.pem"; expected PEM (-----BEGIN CERTIFICATE-----)`,
		overTLS + "ca: empty.pem}":                           `http.ca: the file "/etc/sidestep/empty.pem" is empty`,
		overTLS + "ca: client.key}":                          `http.ca: there is no certificate in "/etc/sidestep/client.key"; expected PEM (-----BEGIN CERTIFICATE-----)`,
		overTLS + "ca: broken.pem}":                          `http.ca: certificate 2 in "/etc/sidestep/broken.pem" cannot be read: x509: malformed certificate`,
		overTLS + "cert: client.pem}":                        "http.cert: cert without key: a client shows a certificate and proves it by its key; give both, or neither",
		overTLS + "key: client.key}":                         "http.key: key without cert: a client shows a certificate and proves it by its key; give both, or neither",
		overTLS + "cert: client.pem, key: no.key}":           `http.key: cannot read "/etc/sidestep/no.key": no such file or directory`,
		overTLS + "cert: client.pem, key: stranger.key}":     `http.key: "/etc/sidestep/stranger.key" is not the key of "/etc/sidestep/client.pem": tls: private key does not match public key`,
		overTLS + "cert: client.pem, key: text.pem}":         `http.key: "/etc/sidestep/text.pem" is not the key of "/etc/sidestep/client.pem": tls: failed to find any PEM data in key input`,
		overTLS + "cert: client.pem, key: empty.pem}":        `http.key: the file "/etc/sidestep/empty.pem" is empty`,
		overTLS + "cert: client.key, key: client.pem}":       `http.cert: there is no certificate in "/etc/sidestep/client.key"; expected PEM (-----BEGIN CERTIFICATE-----)`,
		overTLS + "cert: client.pem, key: locked.key}":       `http.key: the key in "/etc/sidestep/locked.key" has a passphrase, which nobody could type in; openssl pkey -in FILE -out OTHER writes one without`,
		overTLS + "cert: client.pem, key: old.key}":          `http.key: the key in "/etc/sidestep/old.key" has a passphrase, which nobody could type in; openssl pkey -in FILE -out OTHER writes one without`,
		overTLS + "server_name: a b}":                        `http.server_name: expected a host name or an address: `,
		inClear + "ca: ca.pem}":                              "http.ca: there is no TLS in this check: the url begins with http://; write https://, or remove the key",
		inClear + "cert: client.pem, key: client.key}":       "http.cert: there is no TLS in this check: the url begins with http://; write https://, or remove the key",
		inClear + "server_name: www.example.com}":            "http.server_name: there is no TLS in this check: the url begins with http://; write https://, or remove the key",
		inClear + "http2: true}":                             "http.http2: HTTP/2 is agreed on in the handshake of TLS, and the url begins with http://; write https://, or remove the key",
		overTLS + "http2: 1}":                                `http.http2: expected true or false, got "1"`,
		tcpTLS + "ca: no.pem}":                               `tcp.ca: cannot read "/etc/sidestep/no.pem": no such file or directory`,
		tcpTLS + "cert: client.pem}":                         "tcp.cert: cert without key: a client shows a certificate and proves it by its key; give both, or neither",
		tcp + "ca: ca.pem}":                                  "tcp.ca: there is no TLS in this check: tls is false; add tls: true, or remove the key",
		tcp + "tls: false, server_name: www.example.com}":    "tcp.server_name: there is no TLS in this check: tls is false; add tls: true, or remove the key",
		tcp + `expect: "("}`:                                 "tcp.expect: expected a regular expression (RE2)",
		tcp + `send: ""}`:                                    "tcp.send: expected a text, got an empty text",
		tcpTLS + "cert: client.pem, key: client.key, ca: a}": `tcp.ca: cannot read "/etc/sidestep/a": no such file or directory`,
	} {
		_, err := Parse("t.yaml", []byte(checking(text)), world())
		if err == nil || !strings.HasPrefix(err.Error(), "t.yaml:3:") || !strings.Contains(err.Error(), ": checks.c."+want) {
			t.Errorf("check %s: got %v, want …%s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "MARKER") {
			t.Errorf("check %s: %v shows what stands in a file", text, err)
		}
	}
}

func TestCertificatesOfChecksAreRead(t *testing.T) {
	for _, text := range []string{
		overTLS + "ca: bundle.pem, cert: /etc/sidestep/client.pem, key: ./client.key}",
		overTLS + "http2: false}",
		inClear + "http2: false}",
		tcpTLS + "ca: ca.pem, cert: client.pem, key: client.key}",
	} {
		c := mustParse(t, "t.yaml", checking(text), world())
		if w := warnings(c); w != "" {
			t.Errorf("check %s: warnings %s", text, w)
		}
		checkRoundTrip(t, c, world())
		if shown := string(c.Show()); strings.Contains(shown, "PRIVATE KEY") || strings.Contains(shown, "CERTIFICATE") {
			t.Errorf("check %s: Show shows what stands in the files:\n%s", text, shown)
		}
	}
	c := mustParse(t, "t.yaml", checking(overTLS+"ca: bundle.pem}"), world())
	if got := c.Checks["c"].HTTP.TLS.CA; string(got) != string(pems()["bundle.pem"].Data) {
		t.Errorf("CA is %q, want the whole file", got)
	}
}

func TestCertificatesOfChecksWarn(t *testing.T) {
	for text, want := range map[string]string{
		overTLS + "cert: client.pem, key: open.key}": `t.yaml:3:77: checks.c.http.key: others can read the key file "/etc/sidestep/open.key"; chmod o-r it`,
		"tcp: {port: 465, tls: true}":                "t.yaml:3:36: checks.c.tcp.tls: without server_name the certificate has to name every address that is probed (or the name, where a name is the target); add server_name: HOST",
		"tcp: {port: 443, expect: ok}":               "",
	} {
		c := mustParse(t, "t.yaml", checking(text), world())
		if got := warnings(c); got != want {
			t.Errorf("check %s: warning %q, want %q", text, got, want)
		}
	}
}

// TestCertificatesOfARealFolder reads them as they lie on a disk: relative to
// the config, not to the folder of the process.
func TestCertificatesOfARealFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string][]byte{
		"c.yaml":     []byte(checking(overTLS + "ca: tls/ca.pem}")),
		"tls/ca.pem": pems()["ca.pem"].Data,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(filepath.Join(dir, "c.yaml"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.TLSFiles["c"].CA, filepath.Join(dir, "tls/ca.pem"); got != want || len(c.Checks["c"].HTTP.TLS.CA) == 0 {
		t.Errorf("CA from %s with %d bytes, want %s", got, len(c.Checks["c"].HTTP.TLS.CA), want)
	}
}

func TestSkippedSecretsReadNoCertificate(t *testing.T) {
	opts := world()
	opts.SkipSecrets = true
	opts.Open = func(path string) (fs.File, error) { t.Errorf("opened %s", path); return nil, fs.ErrNotExist }
	mustParse(t, "t.yaml", checking(overTLS+"ca: a, cert: b, key: c}"), opts)
}
