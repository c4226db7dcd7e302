package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/observe"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
	"sidestep/pkg/resolve"
)

// negatives is for how long negative answers of each zone may be cached, as far as
// one was seen.
type negatives struct {
	mu sync.Mutex
	of map[record.Name]time.Duration
}

func (n *negatives) see(zone record.Name, ttl time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of[zone] = ttl
}

func (n *negatives) seen(zone record.Name) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.of[zone]
}

// askServer is how the reconciler asks a name server.
func (d *Daemon) askServer(ctx context.Context, server string, key record.Key) ([]string, error) {
	answer, err := observe.Ask(ctx, server, key.Name, key.Type)
	if err == nil && answer.Authoritative && answer.Negative != observe.None && answer.TTL > 0 {
		d.negatives.see(key.Zone, answer.TTL)
	}
	if noWay(err) {
		return nil, fmt.Errorf("%w: %w", reconcile.ErrNoWay, err)
	}
	if err != nil {
		return nil, err
	}
	if answer.Rcode != "NOERROR" && answer.Rcode != "NXDOMAIN" {
		return nil, fmt.Errorf("it answered %s", answer.Rcode)
	}
	return answer.Values, nil
}

// noWay reports whether an error says that this machine cannot send there at all:
// it has no route, or no address of that family.
func noWay(err error) bool {
	return errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)
}

// findServers finds the name servers of a zone as its users find them.
func (d *Daemon) findServers(ctx context.Context, zone record.Name) ([]reconcile.Server, error) {
	resolvers := d.options.Resolver.Servers
	if len(resolvers) == 0 {
		var err error
		if resolvers, err = resolve.Servers(resolve.DefaultFile); err != nil {
			return nil, err
		}
	}
	found, err := observe.FindServers(ctx, resolvers, zone)
	var servers []reconcile.Server
	for _, s := range found {
		servers = append(servers, reconcile.Server{Name: s.Name.Unrooted(), Addr: s.Addr.String()})
	}
	return servers, err
}

// hasWorld reports whether the NS records of a zone lead to the name servers of
// this very zone. They do not in a lab on this machine; where the API or the
// primary is on loopback, or the primary at another port than name servers have;
// and where sidestep serves the zone itself.
func hasWorld(c *config.Config, z *config.Zone, adapter provider.Adapter) bool {
	if _, serves := adapter.(provider.Server); serves || IsLab(c) {
		return false
	}
	if endpoint, err := url.Parse(z.Settings.Options["endpoint"]); err == nil && isLoopbackHost(endpoint.Hostname()) {
		return false
	}
	if own, ok := adapter.(provider.Authoritative); ok {
		for _, server := range own.Servers() {
			host, port, err := net.SplitHostPort(server)
			if err != nil || port != "53" || isLoopbackHost(host) {
				return false
			}
		}
	}
	return true
}

func isLoopbackHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// heardLine is what one name server said after a write, as the journal has it.
type heardLine struct {
	Server   string  `json:"server"`
	Verified bool    `json:"verified"`
	TookMS   float64 `json:"took_ms,omitempty"` // from the provider's answer to that of the server
	Detail   string  `json:"detail,omitempty"`

	Unmoved    bool    `json:"unmoved,omitempty"`       // it was not seen to move, so that nothing was measured
	AtLeast    float64 `json:"at_least_ms,omitempty"`   // for so long it was seen without this write
	Superseded float64 `json:"superseded_ms,omitempty"` // for so long it was seen without an earlier one, until this took its place
}

// verifyLine is one verification, as the journal has it.
type verifyLine struct {
	Zone     string      `json:"zone"`
	Verified bool        `json:"verified"`
	Detail   string      `json:"detail,omitempty"`
	Servers  []heardLine `json:"servers,omitempty"`
	Negative float64     `json:"negative_ttl_ms,omitempty"` // for how long a resolver may keep that a name has no answer (RFC 2308 section 5), where one was left without
}

func heardLines(list []reconcile.Heard) []heardLine {
	var lines []heardLine
	for _, h := range list {
		line := heardLine{Server: h.Server.String(), Verified: h.Agrees, Detail: h.Why, Unmoved: h.Unmoved}
		line.AtLeast, line.Superseded = inMilliseconds(h.AtLeast), inMilliseconds(h.Superseded)
		if h.Agrees && !h.Unmoved {
			line.TookMS = inMilliseconds(h.Took)
		}
		lines = append(lines, line)
	}
	return lines
}

// verified takes what the name servers said at the end of a round.
func (d *Daemon) verified(r reconcile.Report) {
	if !r.Asked {
		return
	}
	line := verifyLine{Zone: string(r.Zone), Verified: r.Verified, Detail: r.Detail, Servers: heardLines(r.Heard)}
	until := d.wallOf(r.AskedUntil)
	d.keepVerified(line, until)
	if !r.Verified {
		d.logUnverified(r.Zone, r.Detail, until)
		return
	}
	d.log.Info("verified", "zone", string(r.Zone), "changes", len(r.Applied))
}

// verifiedAfter takes what the name servers said after a round that was told of.
func (d *Daemon) verifiedAfter(v reconcile.Verification) {
	until := d.wallOf(v.AskedUntil)
	d.keepVerified(verifyLine{Zone: string(v.Zone), Verified: v.Verified, Detail: v.Detail, Servers: heardLines(v.Heard)}, until)
	if !v.Verified {
		d.logUnverified(v.Zone, v.Detail, until)
		return
	}
	slowest := reconcile.Heard{}
	for _, h := range v.Heard {
		if h.Took >= slowest.Took {
			slowest = h
		}
	}
	d.log.Info("verified", "zone", string(v.Zone), "last", slowest.Server.String(), "after", slowest.Took.Round(time.Millisecond).String())
}

// wallOf is a boot time that is not far off on the wall clock; nil for 0.
func (d *Daemon) wallOf(boot time.Duration) *time.Time {
	if boot == 0 {
		return nil
	}
	return new(d.clock.Wall().Add(boot - d.clock.Boot()))
}

// logUnverified names the servers that have not what was written: a warning only once
// they are not asked on, since most that lag come round within seconds.
func (d *Daemon) logUnverified(zone record.Name, detail string, until *time.Time) {
	if until != nil {
		d.log.Info("written, but not at all name servers yet", "zone", string(zone), "detail", detail, "asked_until", until.Format(time.RFC3339))
		return
	}
	d.log.Warn("written, but not verified", "zone", string(zone), "detail", detail)
}

// keepVerified puts a verification into the journal, and before the eyes of status,
// with until when servers that lag are asked on, which ends with this process.
func (d *Daemon) keepVerified(line verifyLine, until *time.Time) {
	line.Negative = inMilliseconds(d.negatives.seen(record.Name(line.Zone)))
	d.journal("verify", line)
	d.meterVerified(line)
	at := d.clock.Wall()
	d.ask(func(*engine.Engine) {
		v := line.shape(at)
		v.AskedUntil = until
		d.checked[record.Name(line.Zone)] = v
	})
}

func (l verifyLine) shape(at time.Time) control.Verification {
	v := control.Verification{At: at, Verified: l.Verified, Detail: l.Detail, Servers: []control.VerifiedServer{}}
	for _, s := range l.Servers {
		one := control.VerifiedServer{Server: s.Server, Verified: s.Verified, Detail: s.Detail}
		if s.Verified && !s.Unmoved {
			one.TookMS = &s.TookMS
		}
		v.Servers = append(v.Servers, one)
	}
	return v
}
