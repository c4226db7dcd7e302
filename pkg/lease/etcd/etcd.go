package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"sidestep/pkg/clock"
)

// MinTTL is the shortest lease: etcd keeps none that is shorter than one and a
// half times the election time-out of its members, by default a second.
const MinTTL = 2 * time.Second

const (
	answerWithin = 3 * time.Second        // for one request to etcd, with its retries
	retryAfter   = 200 * time.Millisecond // the pause after an error
	slowestRetry = 2 * time.Second        // between two dials of a member that is gone
)

// Options are what a lease works with. Endpoints, Prefix, Node and TTL are needed.
type Options struct {
	Endpoints []string    // URLs of members, all http or all https
	Prefix    string      // in front of every key
	TLS       *tls.Config // for https; nil trusts the system's authorities
	User      string      // who signs in; empty for nobody
	Password  string      // its password; in no message
	Node      string      // who we are
	Zones     []string    // what this node steers, to tell another deployment by
	TTL       time.Duration
	Clock     clock.Clock  // nil means clock.System
	Logger    *slog.Logger // nil logs nothing
}

// Lease is a place under a prefix of etcd that one node at a time can hold. It
// may be used from many goroutines; one Acquire runs at a time.
type Lease struct {
	opts Options
	host string

	mu        sync.Mutex
	client    *clientv3.Client
	checked   bool                     // that the members are new enough
	place     *place                   // in the queue; nil while there is none
	leftovers []clientv3.LeaseID       // that could not be revoked
	namesakes map[string]time.Duration // by key: boot time after which one that is still there is alive
}

// New is a lease in an etcd. Nothing is dialled before the first Acquire. Close
// it in the end.
func New(o Options) *Lease {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Prefix = strings.TrimRight(o.Prefix, "/")
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Lease{opts: o, host: host, namesakes: map[string]time.Duration{}}
}

// Close leaves the queue and ends the connection. A lease that is held is
// released before.
func (l *Lease) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	l.leave(ctx)
	err := l.client.Close()
	l.client = nil
	if errors.Is(err, context.Canceled) {
		return nil // the client says so of its own end
	}
	return err
}

// connect makes the client. That dials nothing yet, unless there is a password
// to be checked.
func (l *Lease) connect() error {
	if l.client != nil {
		return nil
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: l.opts.Endpoints, TLS: l.opts.TLS,
		Username: l.opts.User, Password: l.opts.Password,
		DialTimeout: answerWithin, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: answerWithin,
		MaxUnaryRetries: 2,
		Logger:          zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(failFast), grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryAfter, Multiplier: 2, Jitter: 0.2, MaxDelay: slowestRetry},
			MinConnectTimeout: answerWithin,
		})},
	})
	if err != nil {
		return err
	}
	l.client = client
	return nil
}

// failFast lets a call fail when no member can be reached, with the reason. The
// client's calls would wait for one until their time is over, and then know only
// that.
func failFast(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return call(ctx, method, request, reply, conn, append(opts, grpc.WaitForReady(false))...)
}

// ask sends a request, again when one member does not answer: the next try goes
// to another one.
func ask(ctx context.Context, within time.Duration, request func(context.Context) error) error {
	const tries = 3
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		one, done := context.WithTimeout(ctx, within/tries)
		err := request(one)
		done()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// checkVersion refuses members that are too old, or are none.
func (l *Lease) checkVersion(ctx context.Context) error {
	if l.checked {
		return nil
	}
	version := ""
	err := ask(ctx, answerWithin, func(ctx context.Context) error {
		status, err := pb.NewMaintenanceClient(l.client.ActiveConnection()).Status(ctx, &pb.StatusRequest{})
		version = status.GetVersion()
		return clientv3.ContextError(ctx, err)
	})
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied): // it is none of this user's business
	case err != nil:
		return l.explain("ask for its version", err)
	case tooOld(version):
		return fmt.Errorf("etcd at %s has version %s; expected 3.4 or later; update it", strings.Join(l.opts.Endpoints, ", "), version)
	}
	l.checked = true
	return nil
}

func tooOld(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return true
	}
	return major < 3 || major == 3 && minor < 4
}
