package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/etcd"
	"sidestep/pkg/provider"
)

// fencedSafety is how long a new leader waits by default at a provider that
// compares and swaps, should its first claim not be accepted before: from then on
// every older call is refused.
const fencedSafety = 15 * time.Second

// etcdWay is the way to the etcd of a config; nil without one. It dials nothing yet.
func etcdWay(e config.Etcd, log *slog.Logger) (*etcd.Way, error) {
	if len(e.Endpoints) == 0 {
		return nil, nil //nolint:nilnil // no etcd is no error
	}
	secure, err := etcdTLS(e)
	if err != nil {
		return nil, err
	}
	return etcd.NewWay(etcd.Settings{
		Endpoints: e.Endpoints, Prefix: e.Prefix, TLS: secure, User: e.User, Password: e.Password.Reveal(),
		Logger: log,
	}), nil
}

// etcdLease is the lease in the etcd of a config.
func etcdLease(c *config.Config, way *etcd.Way, clk clock.Clock, log *slog.Logger) *etcd.Lease {
	var zones []string
	for _, zone := range zonesOf(c) {
		zones = append(zones, string(zone))
	}
	return etcd.New(etcd.Options{
		Way: way, Prefix: c.Etcd.Prefix, Node: c.Node.Name, Zones: zones, TTL: c.Leader.Lease, Clock: clk, Logger: log,
	})
}

// SharedLock is what an etcd is as a lock, and who leads.
type SharedLock = etcd.Description

// DescribeEtcd asks the etcd what it is and who leads; nil where it holds no lease. The
// error is told in full: it is what shorter ones refer to.
func DescribeEtcd(ctx context.Context, c *config.Config, log *slog.Logger) (shared *SharedLock, err error) {
	if len(c.Etcd.Endpoints) == 0 {
		return nil, nil //nolint:nilnil // no etcd is no error
	}
	way, err := etcdWay(c.Etcd, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, way.Close()) }()
	said, err := etcdLease(c, way, clock.System(), log).Describe(ctx)
	if short, is := errors.AsType[*etcd.Error](err); is {
		err = errors.New(short.Advice)
	}
	if err != nil || c.Leader.Lock != config.LockEtcd {
		return nil, err
	}
	return &said, nil
}

// etcdTLS is how TLS is spoken with etcd; nil leaves that to the client.
func etcdTLS(e config.Etcd) (*tls.Config, error) {
	if len(e.TLS.CA) == 0 && len(e.TLS.Cert) == 0 {
		return nil, nil //nolint:nilnil // no wish is no error
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(e.TLS.CA) > 0 {
		out.RootCAs = x509.NewCertPool()
		out.RootCAs.AppendCertsFromPEM(e.TLS.CA) // the config has parsed it
	}
	if len(e.TLS.Cert) > 0 {
		pair, err := tls.X509KeyPair(e.TLS.Cert, e.TLS.Key)
		if err != nil {
			return nil, fmt.Errorf("etcd.tls: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// longestCall is the longest deadline of a call that the lock lets a leader be sure
// of; 0 is no limit.
func longestCall(l config.Leader) time.Duration {
	if l.Lock != config.LockEtcd {
		return 0
	}
	return lease.LongestCall(l.Lease)
}

// takeover is what the bounds of a zone ask of the wait of a new leader.
func takeover(l config.Leader, p provider.Promises) lease.Wait {
	return lease.Wait{TTL: l.Lease, Call: min(p.Call, longestCall(l)), Late: p.Late, Signed: p.Signed}
}

// safety is how long a new leader takes nothing away from a zone; 0 where the lock
// never leaves two processes in doubt of each other.
func safety(l config.Leader, p provider.Promises) time.Duration {
	switch {
	case l.Lock != config.LockEtcd:
		return 0
	case l.SafetyGiven:
		return l.Safety
	case p.Fenced:
		return fencedSafety
	}
	return lease.Seconds(takeover(l, p).Least())
}

// suitsSafety refuses a wait that is given and not safe in a zone.
func suitsSafety(c *config.Config, z *config.Zone, p provider.Promises) error {
	if c.Leader.Lock != config.LockEtcd || !c.Leader.SafetyGiven || p.Fenced {
		return nil
	}
	wait := takeover(c.Leader, p)
	if least := lease.Seconds(wait.Least()); c.Leader.Safety < least {
		return &control.Error{
			Message: fmt.Sprintf("%s: leader.safety: %s is too short for zone %s, where a call of the leader before can take effect later: %s",
				c.Sources.Safety, lease.Short(c.Leader.Safety), z.Name, wait.Words()),
			Hint: fmt.Sprintf("write %s or more, or auto", lease.Short(least)), Exit: control.ExitUsage,
		}
	}
	return nil
}

// handover says in words how long a new leader waits in a zone, and why; empty
// where the lock is not shared.
func handover(l config.Leader, p provider.Promises) string {
	if l.Lock != config.LockEtcd {
		return ""
	}
	wait := takeover(l, p)
	dead := fmt.Sprintf("; a leader that dies is replaced within %s", lease.Short(lease.Seconds(l.Lease+lease.Interval(l.Lease))))
	if p.Fenced {
		return dead + ", and the next one writes at once: its claim makes every older call refused"
	}
	pause := lease.Short(max(safety(l, p)+p.Lag, p.Quiet()))
	creates := "creates nothing"
	if !p.Whole {
		creates += " beside a live answer"
	}
	return fmt.Sprintf("%s; the next one resumes at once, and takes nothing away and %s for %s, where at least %s is safe: %s; for %s more where its etcd shows no leadership before, as one that was built anew",
		dead, creates, pause, lease.Short(lease.Seconds(wait.Least())), wait.Words(), lease.Short(lease.Belief(l.Lease)))
}
