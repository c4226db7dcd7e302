package control

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
)

// few is a listener with a bound on the connections that are open. Where there are too
// many, the one that has asked nothing for the longest is cut off for the next: somebody
// who opens many and is silent must not shut out a scrape, or who asks whether the
// daemon is well.
type few struct {
	net.Listener
	most int

	mu     sync.Mutex
	turned *sync.Cond // one of what follows changed
	open   int
	quiet  []net.Conn // those no whole head of a request came on, since they were opened or answered; oldest first
	closed bool
}

func newFew(listener net.Listener, most int) *few {
	f := &few{Listener: listener, most: most}
	f.turned = sync.NewCond(&f.mu)
	return f
}

// Accept waits for an answer to end where all connections are being answered.
func (f *few) Accept() (net.Conn, error) {
	conn, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.open >= f.most && !f.closed {
		if len(f.quiet) > 0 {
			cutOff(f.quiet[0])
			f.quiet = f.quiet[1:]
		}
		f.turned.Wait()
	}
	if f.closed {
		_ = conn.Close() // nobody is answered any more
		return nil, net.ErrClosed
	}
	f.open++
	return conn, nil
}

// Close ends a wait of Accept as well.
func (f *few) Close() error {
	f.mu.Lock()
	f.closed = true
	f.turned.Broadcast()
	f.mu.Unlock()
	return f.Listener.Close()
}

// cutOff closes a connection without a word, which the other side might not take.
func cutOff(conn net.Conn) {
	if secure, is := conn.(*tls.Conn); is {
		conn = secure.NetConn()
	}
	_ = conn.Close() // whoever reads from it hears of it
}

// follow is told by the server what becomes of a connection.
func (f *few) follow(conn net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle:
		f.quiet = append(f.quiet, conn)
	case http.StateClosed:
		f.asked(conn)
		f.open--
	default:
		return
	}
	f.turned.Broadcast()
}

// asked belongs under the lock.
func (f *few) asked(conn net.Conn) {
	f.quiet = slices.DeleteFunc(f.quiet, func(c net.Conn) bool { return c == conn })
}

type connKey struct{}

// withConn remembers the connection, for serve.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// serve keeps a connection from being cut off until its request is answered.
func (f *few) serve(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, is := r.Context().Value(connKey{}).(net.Conn); is {
			f.mu.Lock()
			f.asked(conn)
			f.mu.Unlock()
		}
		handler.ServeHTTP(w, r)
	})
}
