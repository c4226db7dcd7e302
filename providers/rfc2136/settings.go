package rfc2136

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

const (
	// fudge is how far a signature's time may differ from the server's clock.
	// RFC 8945 section 10 recommends 300 s; this is far less, because it bounds
	// how late an update can be applied.
	fudge = 10 * time.Second

	// lateSigned bounds a late update. A server whose clock is slow by almost
	// the fudge takes our message at first as one from the future, and goes on
	// taking it until the fudge has passed on its own clock: twice the fudge,
	// and a little for the server's own queue.
	lateSigned = 2*fudge + 5*time.Second

	// lateUnsigned is assumed where no signature bounds anything.
	lateUnsigned = time.Minute

	// lagSecondary is assumed of a list from another server than the one that
	// takes the updates: NOTIFY and a transfer lie between them (RFC 1996).
	lagSecondary = 5 * time.Second

	// callDeadline bounds one update, from the connection to the reply.
	callDeadline = 10 * time.Second
)

// Adapter edits one zone by zone transfer and dynamic update. Make one with
// New. List may be called by several goroutines at once.
type Adapter struct {
	zone     record.Name
	server   string // HOST:PORT, for updates and single queries
	transfer string // HOST:PORT, for zone transfers
	key      *key   // nil signs nothing
	late     time.Duration
	lag      time.Duration
	limiter  *provider.Limiter
	log      *slog.Logger
	now      func() time.Time
	unfenced atomic.Bool // Prove found a server that does not compare
}

// New makes the adapter of one zone. Its options are server (ADDR or
// ADDR:PORT, port 53 when none is given), transfer_from (the same; the server
// when empty), tsig.name and tsig.algorithm (hmac-sha256 when empty); its secret
// is tsig.secret in base64. Without a key only a server on loopback is taken,
// or any with Settings.Insecure. It opens no connection.
func New(s provider.Settings) (provider.Adapter, error) {
	a, err := build(s)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func build(s provider.Settings) (*Adapter, error) {
	op := fmt.Sprintf("configure rfc2136 for zone %s", s.Zone)
	server, err := address(s.Options["server"])
	if err != nil {
		return nil, provider.Failf(provider.Permanent, op, "", "server: %w", err)
	}
	source := server
	if text := s.Options["transfer_from"]; text != "" {
		if source, err = address(text); err != nil {
			return nil, provider.Failf(provider.Permanent, op, "", "transfer_from: %w", err)
		}
	}
	k, err := parseKey(s.Options["tsig.name"], s.Options["tsig.algorithm"], s.Secrets["tsig.secret"])
	if err != nil {
		return nil, provider.Failf(provider.Permanent, op, "", "tsig: %w", err)
	}
	if k == nil && !s.Insecure && (!loopback(server) || !loopback(source)) {
		failed := provider.Failf(provider.Permanent, op, "", "no tsig key, and the server is not on loopback: anybody on the way could change the zone")
		failed.Hint = "set tsig: {name, secret}, or insecure: true when the plain connection is meant"
		return nil, failed
	}
	a := &Adapter{zone: s.Zone, server: server, transfer: source, key: k, late: lateSigned, lag: s.Lag, limiter: s.Limiter, log: s.Logger, now: time.Now}
	a.bound(s)
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	return a, nil
}

// bound sets how late an update and how old a list can be.
func (a *Adapter) bound(s provider.Settings) {
	if a.key == nil {
		a.late = lateUnsigned
	}
	if s.Late > 0 {
		a.late = s.Late
	}
	if a.lag == 0 && a.transfer != a.server {
		a.lag = lagSecondary
	}
}

// address completes ADDR or ADDR:PORT with the port of the DNS.
func address(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", fmt.Errorf("expected ADDR or ADDR:PORT, got nothing")
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), "53"
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return "", fmt.Errorf("%q: expected a port from 1 to 65535, got %q", text, port)
	}
	if _, err := netip.ParseAddr(host); err != nil {
		if _, err := record.ParseName(host); err != nil {
			return "", fmt.Errorf("%q: neither an address nor a host name", text)
		}
	}
	return net.JoinHostPort(host, port), nil
}

func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return false
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback()
	}
	return strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}

// parseKey reads a TSIG key; nil when none is configured.
func parseKey(name, algorithm string, secret provider.Secret) (*key, error) {
	switch {
	case name == "" && secret.Empty() && algorithm == "":
		return nil, nil
	case name == "":
		return nil, fmt.Errorf("name: expected the key's name as the server has it, got nothing")
	case secret.Empty():
		return nil, fmt.Errorf("secret: expected the key %s in base64, got nothing", name)
	}
	if _, ok := dns.IsDomainName(name); !ok {
		return nil, fmt.Errorf("name %q: not a domain name", name)
	}
	k := &key{name: dns.CanonicalName(name)}
	return k, k.use(algorithm, secret)
}
