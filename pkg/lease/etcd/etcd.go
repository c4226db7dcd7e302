package etcd

import (
	"context"
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

// Options are what a lease works with. Way, Prefix, Node and TTL are needed.
type Options struct {
	Way    *Way     // to the etcd
	Prefix string   // in front of every key
	Node   string   // who we are
	Zones  []string // what this node steers, to tell another deployment by
	TTL    time.Duration
	Clock  clock.Clock  // nil means clock.System
	Logger *slog.Logger // nil logs nothing
}

// Lease is a place under a prefix of etcd that one node at a time can hold. It
// may be used from many goroutines; one Acquire runs at a time.
type Lease struct {
	opts Options
	host string

	mu        sync.Mutex
	client    *clientv3.Client
	version   string                   // of a member; empty until it was found to be new enough
	cluster   uint64                   // id of the etcd that was asked last
	place     *place                   // in the queue; nil while there is none
	counter   uint64                   // id of the etcd whose revision it is
	revision  int64                    // that was seen last; 0 before the first
	rewound   bool                     // it was seen to go back
	leftovers []clientv3.LeaseID       // that could not be revoked
	namesakes map[string]time.Duration // by key: boot time after which one that is still there is alive
}

// New is a lease in an etcd. Nothing is dialled before the first Acquire. Close
// it in the end, before its way.
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

// Leave implements lease.Queue. It waits for an Acquire that runs. What cannot be
// revoked now is with the next Acquire, or runs out.
func (l *Lease) Leave(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	l.leave(ctx)
}

// Close leaves the queue. A lease that is held is released before.
func (l *Lease) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	l.leave(ctx)
	l.client = nil
	return nil
}

// connect takes the client from the way.
func (l *Lease) connect() (err error) {
	l.client, err = l.opts.Way.Client()
	return err
}

func (l *Lease) explain(what string, err error) error { return l.opts.Way.Explain(what, err) }

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
	if l.version != "" {
		return nil
	}
	version := ""
	err := ask(ctx, answerWithin, func(ctx context.Context) error {
		status, err := pb.NewMaintenanceClient(l.client.ActiveConnection()).Status(ctx, &pb.StatusRequest{})
		version = status.GetVersion()
		return clientv3.ContextError(ctx, err)
	})
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		version = "of a version that this user may not see"
	case err != nil:
		return l.explain("ask for its version", err)
	case tooOld(version):
		return fmt.Errorf("etcd at %s has version %s; expected 3.4 or later; update it", l.opts.Way.at(), version)
	}
	l.version = version
	return nil
}

func tooOld(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return true
	}
	return major < 3 || major == 3 && minor < 4
}
