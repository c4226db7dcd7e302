package control

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Token is a secret that a client over TCP shows, and what it is good for.
type Token struct {
	Name   string // who its bearer is, in the journal
	Role   Role
	Secret string
}

// Access is who may do what over TCP. It is safe for concurrent use.
type Access struct {
	mu          sync.Mutex
	keys        []key
	certificate *tls.Certificate
	wrong       map[netip.Addr]*wrong
}

// key is a token of which only the hash is kept.
type key struct {
	name string
	role Role
	hash [sha256.Size]byte
}

// NewAccess lets in who bears one of the tokens. The certificate is shown to clients;
// nil speaks no TLS.
func NewAccess(tokens []Token, certificate *tls.Certificate) *Access {
	a := &Access{wrong: map[netip.Addr]*wrong{}}
	a.Set(tokens, certificate)
	return a
}

// Set changes both from now on. An Access that began without TLS does not begin it.
func (a *Access) Set(tokens []Token, certificate *tls.Certificate) {
	keys := make([]key, len(tokens))
	for i, t := range tokens {
		keys[i] = key{t.Name, t.Role, sha256.Sum256([]byte(t.Secret))}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys, a.certificate = keys, certificate
}

// bearer is who bears a token; false when nobody does. All are compared, each in a time
// that tells nothing of where they differ.
func (a *Access) bearer(token string) (key, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	hash := sha256.Sum256([]byte(token))
	var found key
	known := 0
	for _, k := range a.keys {
		if subtle.ConstantTimeCompare(hash[:], k.hash[:]) == 1 {
			found, known = k, 1
		}
	}
	return found, known == 1
}

// holds reports whether a bearer that came in may still do what needs a role.
func (a *Access) holds(k key, needed Role) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.keys, func(now key) bool { return now.hash == k.hash && now.role.covers(needed) })
}

func (a *Access) shown() *tls.Certificate {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.certificate
}

// How many wrong tokens may come from one address in a time, and of how many addresses
// that is counted; all others then share one count.
const (
	wrongMost   = 10
	wrongWithin = time.Minute
	wrongKept   = 1024
)

// wrong counts the wrong tokens of an address.
type wrong struct {
	times int
	until time.Time // when it is counted anew
}

// host is what wrong tokens are counted by: of IPv6 the network, which one host may
// have to itself.
func host(from netip.Addr) netip.Addr {
	from = from.Unmap().WithZone("")
	if from.Is6() {
		if network, err := from.Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return from
}

// blocked is how long an address has to wait after too many wrong tokens, 0 for not at
// all.
func (a *Access) blocked(from netip.Addr, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range []netip.Addr{host(from), {}} {
		if w := a.wrong[at]; w != nil {
			if w.times >= wrongMost && now.Before(w.until) {
				return w.until.Sub(now)
			}
			if at == host(from) {
				break // it is counted by itself
			}
		}
	}
	return 0
}

// failed counts a wrong token.
func (a *Access) failed(from netip.Addr, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := host(from)
	if a.wrong[at] == nil && len(a.wrong) >= wrongKept {
		for addr, w := range a.wrong {
			if !now.Before(w.until) {
				delete(a.wrong, addr)
			}
		}
		if len(a.wrong) >= wrongKept {
			at = netip.Addr{}
		}
	}
	w := a.wrong[at]
	if w == nil || !now.Before(w.until) {
		w = &wrong{until: now.Add(wrongWithin)}
		a.wrong[at] = w
	}
	w.times++
}
