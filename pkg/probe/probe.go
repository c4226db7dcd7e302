package probe

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime/debug"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/probe/ping"
	"sidestep/pkg/resolve"
)

// defaultTimeout stands in for a Spec without a timeout: no probe is endless.
const defaultTimeout = 5 * time.Second

// Func makes one probe of an address as spec says and returns when its outcome
// is known: after spec.Timeout at the latest, or at the deadline of ctx when
// that is earlier. It never fails otherwise than by its Result, and may be
// called by many goroutines at once.
type Func func(ctx context.Context, spec *check.Spec, address string) check.Result

// Clock reads the boot time, which counts suspended time.
type Clock func() time.Duration

// Options are what a Prober can do without. The zero value is good.
type Options struct {
	RootCAs  *x509.CertPool  // authorities that https targets are verified against; nil means the system's
	Logger   *slog.Logger    // told of panics in probes, with their stack; nil means nobody
	Resolver resolve.Options // who is asked for the addresses of a target that is a name
	Steered  Steered         // nil steers nothing
	Loopback func() bool     // whether names may lead to this machine, as in a lab; nil is never; called by many goroutines at once
}

// Steered finds the record set, by its name, with which sidestep itself answers
// for a name: a probe must not rest on that. Names are lower case with a final
// dot. It is called by many goroutines at once.
type Steered func(name string) (set string, found bool)

// Prober makes probes. It keeps what all probes of one Spec share (the request
// in wire form, the TLS config), and nothing about targets.
type Prober struct {
	clock   Clock
	options Options
	shared  cache
	pinger  ping.Pinger
}

// New makes a Prober whose results carry times of clock.
func New(clock Clock, options Options) *Prober {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Prober{clock: clock, options: options}
}

// Probe is a Func. The address may be a name, which is resolved and probed at
// each of its addresses. Specs are told apart by their pointer: share one for
// all probes of a check, and make a new one when it changes.
func (p *Prober) Probe(ctx context.Context, spec *check.Spec, address string) check.Result {
	if _, err := netip.ParseAddr(address); err != nil {
		return p.probeName(ctx, spec, address)
	}
	return p.probeAddress(ctx, spec, address, address)
}

// probeAddress makes one probe of one address of a target, which may be a name.
func (p *Prober) probeAddress(ctx context.Context, spec *check.Spec, target, address string) check.Result {
	result := check.Result{
		Target:  check.Target{Check: spec.Name, Address: address},
		Outcome: check.Pass,
		Start:   p.clock(),
	}
	if spec.Source.IsValid() {
		result.Source = spec.Source.String()
	}
	if f := p.attempt(ctx, spec, target, address, &result.Source); f != nil {
		result.Outcome, result.Phase, result.Cause = f.outcome, f.phase, f.cause
		result.Detail, result.Clock = clean(f.detail), f.clock
	}
	result.End = p.clock()
	return result
}

// attempt goes the way of one probe, and writes the local address into source
// once there is one. A panic becomes an Unknown: one bad answer must not end
// the probing of all others.
func (p *Prober) attempt(ctx context.Context, spec *check.Spec, target, address string, source *string) (f *failure) {
	a := attempt{target: target, phase: check.PhaseResolve, pinger: &p.pinger, spec: spec}
	defer func() {
		if cause := recover(); cause != nil {
			p.options.Logger.Error("probe panicked", "check", spec.Name, "address", address, "stack", string(debug.Stack()))
			f = unknown(a.phase, "probe panicked, please report it: %s", a.quote(fmt.Sprint(cause)))
		}
	}()
	if a.shared, f = p.shared.of(spec, p.options); f != nil {
		return f
	}
	if a.remote, f = literal(address, a.shared.port); f != nil {
		return f
	}
	// A caller that has set the deadline already is spared a second timer.
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > timeout(spec) {
		limited, cancel := context.WithTimeout(ctx, timeout(spec))
		defer cancel()
		ctx = limited
	}
	a.ctx = ctx
	return a.run(source)
}

func timeout(spec *check.Spec) time.Duration {
	if spec.Timeout <= 0 {
		return defaultTimeout
	}
	return spec.Timeout
}

// attempt is one probe under way.
type attempt struct {
	ctx    context.Context
	shared *shared
	target string // an address or a name, as the caller has it
	remote netip.AddrPort
	conn   *net.TCPConn
	pinger *ping.Pinger
	phase  check.Phase // what is being done now
	limit  int64       // bytes that may come in this phase
	spec   *check.Spec
}

// run connects, asks what there is to ask, and closes.
func (a *attempt) run(source *string) *failure {
	if a.shared.icmp != nil {
		return a.ping(source)
	}
	if f := a.connect(); f != nil {
		return f
	}
	defer a.reset()
	if local, ok := a.conn.LocalAddr().(*net.TCPAddr); ok {
		*source = local.AddrPort().Addr().Unmap().String()
	}
	if a.shared.spec == nil && a.shared.tcp == nil {
		return nil // the connection was all that is asked
	}
	// From here on the context ends reads and writes through the deadline of
	// the connection, which costs less than a timer on each.
	stop := context.AfterFunc(a.ctx, func() { _ = a.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if a.shared.tcp != nil {
		return a.talk(a.conn)
	}
	return a.http(a.conn)
}

// literal reads the address under test.
func literal(address string, port uint16) (netip.AddrPort, *failure) {
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.Is4In6() {
		return netip.AddrPort{}, unknown(check.PhaseResolve, "read address %q: expected an IPv4 or IPv6 address", address)
	}
	return netip.AddrPortFrom(addr, port), nil
}
