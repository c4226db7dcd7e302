package probe

import (
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"sidestep/pkg/check"
)

// dialer makes the dialer of a check. Keep-alive probes are off: no connection
// lives long enough for one, and setting them up costs four system calls.
func dialer(source netip.Addr) net.Dialer {
	d := net.Dialer{KeepAlive: -1}
	if source.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: source.AsSlice(), Zone: source.Zone()}
		d.Control = bindWithoutPort
	}
	return d
}

// bindWithoutPort leaves the choice of the local port to connect, where it must
// be free for one destination only. A plain bind takes it for all of them, and
// the ports run out after some 28,000 probes (ip(7), IP_BIND_ADDRESS_NO_PORT).
func bindWithoutPort(_, _ string, conn syscall.RawConn) error {
	var failed error
	err := conn.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	})
	if err != nil {
		return err
	}
	return failed
}

// connect opens the connection, to this address and in this family alone.
func (a *attempt) connect() *failure {
	a.phase = check.PhaseConnect
	network := "tcp6"
	if a.remote.Addr().Is4() {
		network = "tcp4"
	}
	if f := a.sameFamily(); f != nil {
		return f
	}
	conn, err := a.shared.dialer.DialContext(a.ctx, network, a.remote.String())
	if err != nil {
		return a.failed(err)
	}
	a.conn = conn.(*net.TCPConn) // what the networks tcp4 and tcp6 give
	return nil
}

// sameFamily sees to it that the source, if the check has one, can be used.
func (a *attempt) sameFamily() *failure {
	source := a.shared.source
	if source.IsValid() && source.Is4() != a.remote.Addr().Is4() {
		return unknown(a.phase, "connect from %s to %s: the two are of different families; give the check a source of the other one", source, a.remote.Addr())
	}
	return nil
}

// reset ends the connection by RST: no TIME_WAIT is left behind, and unread
// data is dropped. Errors would tell nothing about the target any more.
func (a *attempt) reset() {
	_ = a.conn.SetLinger(0)
	_ = a.conn.Close()
}

// routed tells whether this machine knows a way to the address.
func (a *attempt) routed() bool { return a.wayOut().IsValid() }
