package rfc2136

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// idle is how long a server may be silent inside an exchange, whatever the
// context allows.
const idle = 30 * time.Second

// conn is a DNS connection over TCP (RFC 1035 section 4.2.2) that the end of
// its context closes.
type conn struct {
	net.Conn
	ctx  context.Context //nolint:containedctx // the connection lives no longer than the call
	stop func() bool
}

func dial(ctx context.Context, addr string) (*conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	// An error of this close has nobody to go to: the read or write that it
	// interrupts reports the context's.
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	return &conn{Conn: raw, ctx: ctx, stop: stop}, nil
}

// end closes the connection. Everything that it was opened for was received by
// then, or has failed already, so that an error of the close means nothing.
func (c *conn) end() {
	c.stop()
	_ = c.Close()
}

// send writes one message and reports whether all of it left: a server cannot
// act on a part of one.
func (c *conn) send(wire []byte) (left bool, err error) {
	if len(wire) > 0xffff {
		return false, fmt.Errorf("the message has %d octets, more than 65535", len(wire))
	}
	framed := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(wire)), uint16(len(wire))) //nolint:gosec // just checked
	framed = append(framed, wire...)
	n, err := c.Write(framed)
	return n == len(framed), c.because(err)
}

// receive reads one message.
func (c *conn) receive() ([]byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(idle)); err != nil {
		return nil, c.because(err)
	}
	var length [2]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return nil, c.because(err)
	}
	wire := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(c, wire); err != nil {
		return nil, c.because(err)
	}
	return wire, nil
}

// because prefers the context's reason over "use of closed connection".
func (c *conn) because(err error) error {
	if err != nil && c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return err
}
