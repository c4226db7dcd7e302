package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// certLife is how long a certificate of a lab holds. A lab lives for minutes; the
// rest is for clocks that are set meanwhile.
const certLife = 24 * time.Hour

// CA signs the certificates of a lab. It is made in memory, nothing of it is
// written anywhere, and nobody trusts it who was not given its PEM.
type CA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA makes a CA with a key of its own.
func NewCA() (*CA, error) {
	ca := &CA{}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "sidestep lab"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, raw, err := ca.sign(template)
	if err != nil {
		return nil, fmt.Errorf("make the CA of a lab: %w", err)
	}
	if ca.cert, err = x509.ParseCertificate(raw); err != nil {
		return nil, fmt.Errorf("make the CA of a lab: %w", err)
	}
	ca.key = key
	return ca, nil
}

// PEM is the certificate of the CA, for a client that is to trust it.
func (c *CA) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})
}

// Issue makes a server's certificate for one DNS name.
func (c *CA) Issue(name string) (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	key, raw, err := c.sign(template)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("issue a certificate for %s: %w", name, err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, nil
}

// sign makes a key and a certificate for it, signed by the CA, or by itself when
// there is none yet.
func (c *CA) sign(template *x509.Certificate) (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-certLife), now.Add(certLife)
	parent, signer := c.cert, c.key
	if parent == nil {
		parent, signer = template, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	return key, raw, err
}
