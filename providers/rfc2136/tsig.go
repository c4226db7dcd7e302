package rfc2136

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // HMAC-SHA1 is not broken, and old servers have nothing better
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
)

// algorithms are those of RFC 8945 section 6 that are worth having.
var algorithms = map[string]func() hash.Hash{
	dns.HmacSHA1:   sha1.New,
	dns.HmacSHA224: sha256.New224,
	dns.HmacSHA256: sha256.New,
	dns.HmacSHA384: sha512.New384,
	dns.HmacSHA512: sha512.New,
}

// key signs and checks messages (RFC 8945). It never prints its secret.
type key struct {
	name      string // canonical, with the final dot
	algorithm string // as a domain name: "hmac-sha256."
	newHash   func() hash.Hash
	secret    []byte
}

// String is the key without its secret.
func (k *key) String() string { return strings.TrimSuffix(k.algorithm, ".") + " key " + k.name }

func (k *key) use(algorithm string, secret provider.Secret) error {
	if algorithm == "" {
		algorithm = dns.HmacSHA256
	}
	k.algorithm = dns.CanonicalName(algorithm)
	k.newHash = algorithms[k.algorithm]
	if k.newHash == nil {
		return fmt.Errorf("algorithm %q: expected hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384 or hmac-sha512 (hmac-md5 must not be used: RFC 8945 section 6)", algorithm)
	}
	content, err := base64.StdEncoding.DecodeString(strings.TrimSpace(secret.Reveal()))
	if err != nil || len(content) == 0 {
		return errors.New("secret: expected the key's bytes in base64, as in the server's configuration")
	}
	k.secret = content
	return nil
}

func (k *key) mac(content []byte) []byte {
	h := hmac.New(k.newHash, k.secret)
	h.Write(content)
	return h.Sum(nil)
}

// Generate and Verify make key a dns.TsigProvider, so that the library
// assembles what is signed.
func (k *key) Generate(content []byte, _ *dns.TSIG) ([]byte, error) { return k.mac(content), nil }

// Verify is never used: the library's check reads the system clock and refuses
// to look at a reply whose rcode is NOTAUTH, which is where BADTIME stands.
func (k *key) Verify([]byte, *dns.TSIG) error { return dns.ErrSig }

// sign packs a message with its signature at a time, and returns it with the
// MAC that the reply's signature covers. Without a key it only packs.
func (k *key) sign(m *dns.Msg, at time.Time) (wire, mac []byte, err error) {
	if k == nil {
		wire, err = m.Pack()
		return wire, nil, err
	}
	m.SetTsig(k.name, k.algorithm, uint16(fudge/time.Second), at.Unix())
	wire, text, err := dns.TsigGenerateWithProvider(m, k, "", false)
	if err != nil {
		return nil, nil, err
	}
	mac, err = hex.DecodeString(text)
	return wire, mac, err
}

// errUnsigned is a reply that had to be signed and is not.
var errUnsigned = errors.New("the reply is not signed")

// maxUnsigned is how many messages of a transfer may follow each other without
// a signature of their own (RFC 8945 section 5.3.1).
const maxUnsigned = 99

// chain checks the replies to one signed request: the first is signed over the
// request's MAC, each later one over the MAC before it and every unsigned
// message between (RFC 8945 section 5.3.1).
type chain struct {
	key     *key
	now     func() time.Time
	prior   []byte // MAC of the last signed message, at first the request's
	pending []byte // unsigned messages since then
	waiting int    // how many
	begun   bool   // a signed reply was seen
}

// next checks one reply. last says that no other follows, so that this one has
// to carry a signature.
func (c *chain) next(m *message, last bool) error {
	if c.key == nil {
		return nil
	}
	if m.signature == nil || m.signature.MACSize == 0 {
		c.pending = append(c.pending, m.wire...)
		c.waiting++
		if !c.begun || last || c.waiting > maxUnsigned {
			return errUnsigned
		}
		return nil
	}
	return c.verify(m)
}

func (c *chain) verify(m *message) error {
	sig := m.signature
	if dns.CanonicalName(sig.Hdr.Name) != c.key.name || dns.CanonicalName(sig.Algorithm) != c.key.algorithm {
		return fmt.Errorf("the reply is signed with %s %s, expected the %s", sig.Algorithm, sig.Hdr.Name, c.key)
	}
	mac, err := hex.DecodeString(sig.MAC)
	if err != nil {
		return fmt.Errorf("read the reply's signature: %w", err)
	}
	content, err := c.content(m)
	if err != nil {
		return err
	}
	if !hmac.Equal(mac, c.key.mac(content)) {
		return errors.New("the reply's signature is wrong")
	}
	if err := c.fresh(sig); err != nil {
		return err
	}
	c.prior, c.pending, c.waiting, c.begun = mac, nil, 0, true
	return nil
}

// fresh compares the time of a first reply with our clock. Later messages are
// tied to the first by their MACs, and may have waited in a buffer.
func (c *chain) fresh(sig *dns.TSIG) error {
	if c.begun || sig.Error == dns.RcodeBadTime {
		return nil
	}
	apart := c.now().Sub(time.Unix(int64(sig.TimeSigned), 0)) //nolint:gosec // 48 bits
	if allowed := time.Duration(sig.Fudge) * time.Second; apart.Abs() > allowed+time.Second {
		return fmt.Errorf("the reply was signed %v away from our clock, more than its fudge of %v", apart.Round(time.Second), allowed)
	}
	return nil
}

// content is what a reply's MAC is made over (RFC 8945 section 4.3).
func (c *chain) content(m *message) ([]byte, error) {
	sig := m.signature
	var b []byte
	if c.prior != nil {
		b = binary.BigEndian.AppendUint16(b, uint16(len(c.prior))) //nolint:gosec // at most 64 bytes
		b = append(b, c.prior...)
	}
	b = append(b, c.pending...)
	start := len(b)
	b = append(b, m.wire[:m.signedLen]...)
	binary.BigEndian.PutUint16(b[start:], sig.OrigId)
	binary.BigEndian.PutUint16(b[start+10:], binary.BigEndian.Uint16(m.wire[10:])-1) // the count without the signature
	if !c.begun {
		name, err := packName(c.key.name)
		if err != nil {
			return nil, err
		}
		algorithm, err := packName(c.key.algorithm)
		if err != nil {
			return nil, err
		}
		b = append(b, name...)
		b = binary.BigEndian.AppendUint16(b, dns.ClassANY)
		b = binary.BigEndian.AppendUint32(b, sig.Hdr.Ttl)
		b = append(b, algorithm...)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(sig.TimeSigned>>32)) //nolint:gosec // the upper part of 48 bits
	b = binary.BigEndian.AppendUint32(b, uint32(sig.TimeSigned))     //nolint:gosec // the lower part
	b = binary.BigEndian.AppendUint16(b, sig.Fudge)
	if c.begun {
		return b, nil
	}
	other, err := hex.DecodeString(sig.OtherData)
	if err != nil {
		return nil, fmt.Errorf("read the reply's signature: %w", err)
	}
	b = binary.BigEndian.AppendUint16(b, sig.Error)
	b = binary.BigEndian.AppendUint16(b, sig.OtherLen)
	return append(b, other...), nil
}

// serverTime is the clock of a server that answered BADTIME (RFC 8945 section
// 5.2.3: six octets in the other data); false when it did not say.
func serverTime(sig *dns.TSIG) (time.Time, bool) {
	other, err := hex.DecodeString(sig.OtherData)
	if err != nil || len(other) != 6 {
		return time.Time{}, false
	}
	seconds := binary.BigEndian.Uint64(append([]byte{0, 0}, other...))
	return time.Unix(int64(seconds), 0), true //nolint:gosec // 48 bits
}
