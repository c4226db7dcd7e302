package config

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"

	"sidestep/pkg/check"
)

// maxPEM is the size of the largest PEM file; the authorities of a whole system
// have a quarter of it.
const maxPEM = 1 << 20

// TLSFiles are the paths from which the TLS of a check was read, absolute;
// those that were not given are empty. What stands in them is in check.TLS.
type TLSFiles struct{ CA, Cert, Key string }

// tls reads what a check adds to TLS. plain says why the check speaks none, and
// is empty when it does: what would be ignored in silence is refused.
func (b *builder) tls(it *item, plain, remedy string) (check.TLS, TLSFiles) {
	var spec check.TLS
	var files TLSFiles
	if plain != "" {
		for _, f := range certKeys {
			if key := it.at(f.name); it.has(f.name) {
				b.fail(key.keyPos, key.path(), "there is no TLS in this check: "+plain, remedy+", or remove the key")
			}
		}
		return spec, files
	}
	spec.ServerName = get[string](it.at("server_name"))
	ca, cert, key := it.at("ca"), it.at("cert"), it.at("key")
	for _, pair := range [][2]*item{{cert, key}, {key, cert}} {
		if given, other := pair[0], pair[1]; it.has(given.name) && !it.has(other.name) {
			b.fail(given.keyPos, given.path(), fmt.Sprintf("%s without %s: a client shows a certificate and proves it by its key", given.name, other.name), "give both, or neither")
		}
	}
	spec.CA, files.CA = b.certificates(ca)
	spec.Cert, files.Cert = b.certificates(cert)
	spec.Key, files.Key = b.privateKey(key)
	if len(spec.Cert) > 0 && len(spec.Key) > 0 {
		if _, err := tls.X509KeyPair(spec.Cert, spec.Key); err != nil {
			b.fail(key.pos, key.path(), fmt.Sprintf("%s is not the key of %s: %v", quote(files.Key), quote(files.Cert), err), "")
		}
	}
	return spec, files
}

// certificates reads a file of certificates in PEM; nil when it was refused.
func (b *builder) certificates(it *item) (data []byte, path string) {
	data, path, _ = b.pemFile(it)
	count := 0
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		count++
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			b.fail(it.pos, it.path(), fmt.Sprintf("certificate %d in %s cannot be read: %v", count, quote(path), err), "")
			return nil, path
		}
	}
	if data != nil && count == 0 {
		b.fail(it.pos, it.path(), fmt.Sprintf("there is no certificate in %s; expected PEM (-----BEGIN CERTIFICATE-----)", quote(path)), "")
		return nil, path
	}
	return data, path
}

// privateKey reads a file with a key in PEM. Whether it is one shows beside the
// certificate. No message tells anything of what stands in the file.
func (b *builder) privateKey(it *item) (data []byte, path string) {
	data, path, open := b.pemFile(it)
	if open {
		b.warn(it.pos, it.path(), "others can read the key file "+quote(path), "chmod o-r it")
	}
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return data, path
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
			b.fail(it.pos, it.path(), "the key in "+quote(path)+" has a passphrase, which nobody could type in", "openssl pkey -in FILE -out OTHER writes one without")
			return nil, path
		}
	}
}

// pemFile reads the file that an item names, and tells whether others can read
// it; no data when there is none, or it was refused.
func (b *builder) pemFile(it *item) (data []byte, path string, open bool) {
	path = get[string](it)
	if path == "" {
		return nil, "", false
	}
	path = b.absolute(path)
	if b.opts.SkipSecrets {
		return nil, path, false
	}
	f, err := readFile(b.opts, path, maxPEM)
	if err != nil {
		if inner, ok := errors.AsType[*fs.PathError](err); ok {
			err = inner.Err
		}
		b.fail(it.pos, it.path(), fmt.Sprintf("cannot read %s: %v", quote(path), err), "")
		return nil, path, false
	}
	if len(f.data) == 0 {
		b.fail(it.pos, it.path(), "the file "+quote(path)+" is empty", "")
		return nil, path, false
	}
	return f.data, path, f.open()
}
