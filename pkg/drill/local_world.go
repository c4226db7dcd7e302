package drill

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"sidestep/pkg/authority"
	"sidestep/pkg/check"
	"sidestep/pkg/lab"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
)

const (
	localZone = record.Name("drill.test.")
	localName = record.Name("www.drill.test.")
	localTTL  = 1 // seconds, of the answer and of a negative answer
	hostA     = "127.0.0.1"
	hostB     = "127.0.0.2"
)

// localWorld is a name server, a cache before it, and two web servers on one port.
type localWorld struct {
	ttl     int
	http2   bool
	refuses bool // B shows a wrong certificate first
	server  *authority.Server
	cache   *lab.Cache
	a, b    *lab.Backend
	ca      []byte // in PEM; nil without TLS
	right   tls.Certificate
	atB     tls.Certificate // at first

	stop    context.CancelFunc
	serving sync.WaitGroup
	mu      sync.Mutex // guards failed
	failed  []error
}

func newLocalWorld(o LocalOptions, ttl int) (*localWorld, error) {
	w := &localWorld{ttl: ttl, http2: o.HTTP2, refuses: o.TLS, server: authority.New(authority.Options{})}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	err := w.startNames(ctx)
	if err == nil {
		err = w.startBackends(o.TLS || o.HTTP2)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *localWorld) startNames(ctx context.Context) error {
	if err := w.server.Listen("127.0.0.1:0"); err != nil {
		return err
	}
	w.serve(ctx, w.server.Serve)
	w.cache = lab.NewCache(w.server.Addr())
	if err := w.cache.Listen("127.0.0.1:0"); err != nil {
		return err
	}
	w.serve(ctx, w.cache.Serve)
	return w.answer(hostA)
}

func (w *localWorld) serve(ctx context.Context, serve func(context.Context) error) {
	w.serving.Go(func() {
		if err := serve(ctx); err != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = append(w.failed, err)
		}
	})
}

// startBackends starts A and B, on other ports where another program took one of
// theirs meanwhile.
func (w *localWorld) startBackends(secure bool) error {
	if secure {
		if err := w.certify(); err != nil {
			return err
		}
	}
	var err error
	for range maxAttempts {
		var addrs []string
		if addrs, err = lab.FreeAddrsOf(hostA, hostB); err != nil {
			return fmt.Errorf("%w; both are loopback addresses, which other systems than Linux have to be given", err)
		}
		if err = w.startAt(addrs[0], addrs[1]); !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
	}
	return err
}

func (w *localWorld) startAt(a, b string) error {
	w.a, w.b = lab.NewBackend("A", a), lab.NewBackend("B", b)
	if w.ca != nil {
		w.a.Secure(w.right, w.http2)
		w.b.Secure(w.atB, w.http2)
	}
	err := errors.Join(w.a.Start(), w.b.Start())
	if err != nil {
		err = errors.Join(err, w.a.Close(), w.b.Close())
	}
	return err
}

// certify makes the servers' certificates, with a CA in memory; that of B is for
// another name where it is to be refused first.
func (w *localWorld) certify() error {
	ca, err := lab.NewCA()
	if err != nil {
		return err
	}
	if w.right, err = ca.Issue(localName.Unrooted()); err != nil {
		return err
	}
	w.ca, w.atB = ca.PEM(), w.right
	if w.refuses {
		w.atB, err = ca.Issue("other." + localZone.Unrooted())
	}
	return err
}

// answer lets the authority answer with an address, or with none: then there is no
// such name.
func (w *localWorld) answer(host string) error {
	line := ""
	if host != "" {
		line = fmt.Sprintf("www %d IN A %s\n", w.ttl, host)
	}
	zone, err := authority.ParseZone(localZone, "the zone of the drill",
		fmt.Sprintf("@ 60 IN SOA ns hostmaster 1 60 60 60 %d\n@ 60 IN NS ns\n%s", w.ttl, line))
	if err != nil {
		return err
	}
	w.server.SetZone(zone)
	return nil
}

// watch is how the world is looked at, as the clients of a zone do.
func (w *localWorld) watch() (observe.Options, error) {
	identity, err := observe.ParseIdentity("header:" + lab.IdentityHeader)
	if err != nil {
		return observe.Options{}, err
	}
	var ends [3]netip.AddrPort
	for i, text := range []string{w.server.Addr(), w.cache.Addr(), w.a.Addr()} {
		if ends[i], err = netip.ParseAddrPort(text); err != nil {
			return observe.Options{}, err
		}
	}
	scheme := "http"
	if w.ca != nil {
		scheme = "https"
	}
	host, port := localName.Unrooted(), ends[2].Port()
	return observe.Options{
		Name: localName, Type: record.A, Loopback: true,
		Servers: []observe.Server{{Addr: ends[0]}}, Resolvers: []netip.AddrPort{ends[1]},
		Request: &observe.Request{Identity: identity, HTTP: check.HTTP{
			Scheme: scheme, Host: host, Port: port, Authority: fmt.Sprintf("%s:%d", host, port), Path: "/healthz",
			HTTP1: !w.http2, TLS: check.TLS{CA: w.ca},
		}},
	}, nil
}

func (w *localWorld) timeline() *Timeline {
	ttl := time.Duration(w.ttl) * time.Second
	return &Timeline{Name: localName, A: hostA, B: hostB, Protocol: w.protocol(), TLS: w.ca != nil, TTL: ttl, Negative: ttl}
}

func (w *localWorld) protocol() string {
	if w.http2 {
		return "HTTP/2.0"
	}
	return "HTTP/1.1"
}

// close ends all of it, and says what failed meanwhile.
func (w *localWorld) close() error {
	w.stop()
	w.serving.Wait()
	for _, b := range []*lab.Backend{w.a, w.b} {
		if b != nil {
			w.failed = append(w.failed, b.Close())
		}
	}
	if w.cache != nil {
		w.failed = append(w.failed, w.cache.Close())
	}
	return errors.Join(append(w.failed, w.server.Close())...)
}
