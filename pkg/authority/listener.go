package authority

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// drainWithin is how long a connection that is to be closed is still read.
const drainWithin = 20 * time.Millisecond

// listener adds to a TCP listener what the DNS library leaves open: a limit on
// connections, a deadline on every write, and a way to cut what is left.
type listener struct {
	net.Listener
	limit   int
	timeout time.Duration

	mu   sync.Mutex
	open map[*conn]struct{}
}

// conn is one connection of a listener, which forgets it on Close.
type conn struct {
	net.Conn
	from *listener
}

func newListener(inner net.Listener, limit int, timeout time.Duration) *listener {
	return &listener{Listener: inner, limit: limit, timeout: timeout, open: map[*conn]struct{}{}}
}

// Accept returns the next connection; those above the limit are closed at once,
// so that a client with many cannot keep the others waiting.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: inner, from: l}
		if l.keep(c) {
			return c, nil
		}
		_ = inner.Close() // nothing was said on it that could be lost
	}
}

func (l *listener) keep(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.limit {
		return false
	}
	l.open[c] = struct{}{}
	return true
}

// cut closes every connection that is open.
func (l *listener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Conn.Close() // the server is stopping; its handler closes it again
	}
}

// Write sends within the listener's timeout.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.from.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Close closes the connection and makes room for another. What has come and was
// not read is read first, for a moment: a close that leaves some of it is a
// reset, which overtakes the answers that were written (RFC 2525 section 2.17).
func (c *conn) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c)
	c.from.mu.Unlock()
	if tcp, is := c.Conn.(*net.TCPConn); is && tcp.CloseWrite() == nil && tcp.SetReadDeadline(time.Now().Add(drainWithin)) == nil {
		_, _ = io.CopyN(io.Discard, tcp, dns.MaxMsgSize) // it ends by the client, the time or the size
	}
	return c.Conn.Close()
}
