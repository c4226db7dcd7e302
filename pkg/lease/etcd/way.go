package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Settings are how an etcd is reached. Endpoints are needed.
type Settings struct {
	Endpoints []string    // URLs of members, all http or all https
	Prefix    string      // in front of every key, for messages
	TLS       *tls.Config // for https; nil trusts the system's authorities
	User      string      // who signs in; empty for nobody
	Password  string      // its password; in no message

	Logger *slog.Logger // nil logs nothing

	Dial []grpc.DialOption // further options of the connection: how a test stands in for the network
}

// Way is the way to an etcd: one connection for everybody in this process. It may
// be used from many goroutines.
type Way struct {
	settings Settings

	mu     sync.Mutex
	client *clientv3.Client
}

// NewWay is a way to an etcd. Nothing is dialled before the client is asked for.
func NewWay(s Settings) *Way {
	s.Prefix = strings.TrimRight(s.Prefix, "/")
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	return &Way{settings: s}
}

// Client makes the client, once. That dials nothing yet, unless there is a password
// to be checked.
func (w *Way) Client() (*clientv3.Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client != nil {
		return w.client, nil
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: w.settings.Endpoints, TLS: w.settings.TLS,
		Username: w.settings.User, Password: w.settings.Password,
		DialTimeout: answerWithin, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: answerWithin,
		MaxUnaryRetries: 2,
		Logger:          zap.NewNop(),
		DialOptions: append([]grpc.DialOption{grpc.WithChainUnaryInterceptor(failFast), grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryAfter, Multiplier: 2, Jitter: 0.2, MaxDelay: slowestRetry},
			MinConnectTimeout: answerWithin,
		})}, w.settings.Dial...),
	})
	if err != nil {
		return nil, err
	}
	w.client = client
	return client, nil
}

// Close ends the connection.
func (w *Way) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client == nil {
		return nil
	}
	err := w.client.Close()
	w.client = nil
	if errors.Is(err, context.Canceled) {
		return nil // the client says so of its own end
	}
	return err
}

func (w *Way) at() string { return strings.Join(w.settings.Endpoints, ", ") }

// first names an etcd by one of its members.
func (w *Way) first() string {
	_, host, _ := strings.Cut(w.settings.Endpoints[0], "://")
	if more := len(w.settings.Endpoints) - 1; more > 0 {
		return fmt.Sprintf("%s (+%d)", host, more)
	}
	return host
}

// failFast lets a call fail when no member can be reached, with the reason. The
// client's calls would wait for one until their time is over, and then know only
// that.
func failFast(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return call(ctx, method, request, reply, conn, append(opts, grpc.WaitForReady(false))...)
}
