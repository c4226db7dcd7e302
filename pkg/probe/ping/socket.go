package ping

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// bufferSize is asked for in both directions, in bytes. A small packet
	// takes about 800 of them, so this holds thousands; without CAP_NET_ADMIN
	// the kernel cuts it to the sysctls net.core.rmem_max and wmem_max.
	bufferSize = 4 << 20

	// packetSize is more than an ICMP error may have (RFC 1812 section
	// 4.3.2.3, RFC 4443 section 2.4); longer packets are none of ours.
	packetSize = 2048

	controlSize = 256

	// maxFaults is how many errors in a row end a reader, when none of them
	// was the word of an ICMP error that waits in the error queue.
	maxFaults = 16

	// pendingTries is how often a send is tried when errors of other requests
	// come back from it.
	pendingTries = 8
)

// socket is a wire over the kernel.
type socket struct {
	fd       int      // valid until close: who sends has joined the line
	file     *os.File // the same, for the runtime's poller
	v6       bool
	datagram bool
	ident    uint16

	flushing sync.Mutex // guards late
	late     *reader    // for flush; nil until it is needed
}

// Permitted tells whether this process may ping in a family: nil, or what Ping
// would say. Nothing is sent.
func Permitted(v6 bool) error {
	w, err := openSocket(place{v6: v6})
	if err != nil {
		return err
	}
	w.close()
	return nil
}

// openSocket opens a datagram socket, or a raw one where that is refused.
func openSocket(at place) (wire, error) {
	s := &socket{v6: at.v6}
	if err := s.socket(); err != nil {
		return nil, err
	}
	if err := s.prepare(at.source); err != nil {
		_ = unix.Close(s.fd)
		return nil, err
	}
	s.file = os.NewFile(uintptr(s.fd), "icmp")
	return s, nil
}

func (s *socket) socket() error {
	family, protocol := unix.AF_INET, unix.IPPROTO_ICMP
	if s.v6 {
		family, protocol = unix.AF_INET6, unix.IPPROTO_ICMPV6
	}
	const flags = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
	var err error
	if s.fd, err = unix.Socket(family, unix.SOCK_DGRAM|flags, protocol); err == nil {
		s.datagram = true
		return nil
	}
	if !isRefusal(err) {
		return &Error{"socket", err}
	}
	if s.fd, err = unix.Socket(family, unix.SOCK_RAW|flags, protocol); err == nil {
		s.ident = uint16(rand.Uint32())
		return nil
	}
	if isRefusal(err) {
		return ErrNotPermitted
	}
	return &Error{"socket", err}
}

// isRefusal tells whether another kind of socket may still be had: EACCES is
// the word of ping_group_range, EPERM that of a missing capability, and the
// rest that of a kernel without ping sockets.
func isRefusal(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) ||
		errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.ESOCKTNOSUPPORT)
}

// prepare sets what the socket must tell and take, and binds it.
func (s *socket) prepare(source netip.Addr) error {
	for _, option := range [][2]int{{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}} {
		if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, option[0], bufferSize) != nil {
			_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, option[1], bufferSize) // the kernel cuts it and never refuses
		}
	}
	if err := s.options(); err != nil {
		return &Error{"socket", err}
	}
	var at unix.Sockaddr = &unix.SockaddrInet4{}
	switch {
	case s.v6 && source.IsValid():
		at = &unix.SockaddrInet6{Addr: source.As16(), ZoneId: zone(source)}
	case s.v6:
		at = &unix.SockaddrInet6{}
	case source.IsValid():
		at = &unix.SockaddrInet4{Addr: source.As4()}
	}
	if s.datagram || source.IsValid() { // this gives a datagram socket its identifier
		if err := unix.Bind(s.fd, at); err != nil {
			return &Error{"bind", err}
		}
	}
	return s.learnIdent()
}

// options ask for our address with every packet, and for ICMP errors: a
// datagram socket keeps them in its error queue, a raw one gets them as packets,
// with a filter that keeps away what is of no use.
func (s *socket) options() error {
	level, info, errorQueue := unix.IPPROTO_IP, unix.IP_PKTINFO, unix.IP_RECVERR
	if s.v6 {
		level, info, errorQueue = unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, unix.IPV6_RECVERR
	}
	if err := unix.SetsockoptInt(s.fd, level, info, 1); err != nil {
		return err
	}
	switch {
	case s.datagram:
		return unix.SetsockoptInt(s.fd, level, errorQueue, 1)
	case s.v6:
		var filter unix.ICMPv6Filter // a bit that is set keeps a type away
		for i := range filter.Data {
			filter.Data[i] = ^uint32(0)
		}
		for _, kind := range []int{unreachable6, tooBig6, exceeded6, parameter6, echoReply6} {
			filter.Data[kind/32] &^= 1 << (kind % 32)
		}
		return unix.SetsockoptICMPv6Filter(s.fd, unix.IPPROTO_ICMPV6, unix.ICMPV6_FILTER, &filter)
	}
	const icmpFilter = 1 // ICMP_FILTER, raw(7)
	wanted := 1<<echoReply4 | 1<<unreachable4 | 1<<exceeded4 | 1<<parameter4
	return unix.SetsockoptInt(s.fd, unix.SOL_RAW, icmpFilter, int(^uint32(wanted)))
}

// learnIdent asks for the identifier that the kernel gave a datagram socket.
func (s *socket) learnIdent() error {
	if !s.datagram {
		return nil
	}
	name, err := unix.Getsockname(s.fd)
	if err != nil {
		return &Error{"socket", err}
	}
	switch at := name.(type) {
	case *unix.SockaddrInet4:
		s.ident = uint16(at.Port)
	case *unix.SockaddrInet6:
		s.ident = uint16(at.Port)
	}
	return nil
}

// zone is the number of the interface that a link-local address names; 0 when
// there is none.
func zone(addr netip.Addr) uint32 {
	if addr.Zone() == "" {
		return 0
	}
	link, err := net.InterfaceByName(addr.Zone())
	if err != nil {
		return 0
	}
	return uint32(link.Index)
}

func (s *socket) id() uint16 { return s.ident }

func (s *socket) close() { _ = s.file.Close() }

// send lets a packet out. On a datagram socket an ICMP error that came for
// another request is given back by the next call, whatever that does; it is
// taken as the news it is, and the packet tried again.
func (s *socket) send(packet []byte, to netip.Addr) error {
	var at unix.Sockaddr
	if s.v6 {
		at = &unix.SockaddrInet6{Addr: to.As16(), ZoneId: zone(to)}
	} else {
		at = &unix.SockaddrInet4{Addr: to.As4()}
	}
	var err error
	for range pendingTries {
		err = unix.Sendto(s.fd, packet, unix.MSG_DONTWAIT, at)
		if err == nil || isFull(err) || !s.datagram {
			return err
		}
	}
	return err
}

// receive reads until the socket is closed. One wake-up by the poller reads all
// that is there.
func (s *socket) receive(take func(message)) error {
	conn, err := s.file.SyscallConn()
	if err != nil {
		return err
	}
	r := s.reader(take)
	if err := conn.Read(r.readAll); err != nil {
		return err
	}
	return r.failed
}

// flush reads what is there, beside the reader.
func (s *socket) flush(take func(message)) {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if s.late == nil {
		s.late = s.reader(take)
	}
	s.late.take = take
	s.late.readAll(0)
}

func (s *socket) reader(take func(message)) *reader {
	return &reader{socket: s, take: take, packet: make([]byte, packetSize), control: make([]byte, controlSize)}
}

// reader is the reading half of a socket.
type reader struct {
	*socket
	take    func(message)
	packet  []byte
	control []byte
	faults  int
	failed  error
}

// readAll reads until nothing is there, which is false, or until the socket
// turns out to be broken.
func (r *reader) readAll(uintptr) bool {
	if r.datagram {
		r.readErrors()
	}
	for {
		n, controls, flags, from, err := syscall.Recvmsg(r.fd, r.packet, r.control, 0)
		switch {
		case err == nil:
			r.faults = 0
			if flags&unix.MSG_TRUNC == 0 {
				r.reply(r.packet[:n], from, r.control[:controls])
			}
		case errors.Is(err, syscall.EAGAIN):
			return false
		case errors.Is(err, syscall.EINTR):
		case r.datagram && r.readErrors() > 0:
			r.faults = 0
		default:
			if r.faults++; r.faults > maxFaults {
				r.failed = err
				return true
			}
		}
	}
}

// reply reads an ordinary packet.
func (r *reader) reply(packet []byte, from syscall.Sockaddr, control []byte) {
	peer := addrOf(from)
	if !r.datagram && !r.v6 {
		icmp, sender, ok := strip4(packet)
		if !ok {
			return
		}
		packet, peer = icmp, sender
	}
	if m, ok := parse(r.v6, peer, packet); ok {
		m.local = arrivedAt(control)
		r.take(m)
	}
}

// readErrors reads the error queue of a datagram socket, and tells how much was
// in it.
func (r *reader) readErrors() int {
	for count := 0; ; count++ {
		n, controls, _, from, err := syscall.Recvmsg(r.fd, r.packet, r.control, unix.MSG_ERRQUEUE)
		if err != nil {
			return count
		}
		if m, ok := parseQueued(r.v6, addrOf(from), r.packet[:n], r.control[:controls]); ok {
			r.take(m)
		}
	}
}

// parseQueued reads an entry of the error queue: the quoted request, whom it
// was for, and what the kernel made of the error (ip(7), IP_RECVERR).
func parseQueued(v6 bool, peer netip.Addr, echo, control []byte) (message, bool) {
	m, ok := parseRequest(v6, peer, echo)
	if !ok || !peer.IsValid() {
		return message{}, false
	}
	for len(control) > 0 {
		header, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return message{}, false
		}
		control = rest
		known := header.Level == unix.IPPROTO_IP && header.Type == unix.IP_RECVERR || header.Level == unix.IPPROTO_IPV6 && header.Type == unix.IPV6_RECVERR
		if !known || len(data) < 16 {
			continue
		}
		origin := data[4]
		m.kind, m.code, m.by = data[5], data[6], offender(data[16:])
		return m, (origin == unix.SO_EE_ORIGIN_ICMP || origin == unix.SO_EE_ORIGIN_ICMP6) && isProblem(v6, m.kind)
	}
	return message{}, false
}

// offender is the address behind an extended error, as a struct sockaddr.
func offender(name []byte) netip.Addr {
	if len(name) < 2 {
		return netip.Addr{}
	}
	switch family := binary.NativeEndian.Uint16(name); {
	case family == unix.AF_INET && len(name) >= 8:
		return netip.AddrFrom4([4]byte(name[4:8]))
	case family == unix.AF_INET6 && len(name) >= 24:
		return netip.AddrFrom16([16]byte(name[8:24]))
	}
	return netip.Addr{}
}

// arrivedAt is the address that a packet was for.
func arrivedAt(control []byte) netip.Addr {
	for len(control) > 0 {
		header, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			break
		}
		switch {
		case header.Level == unix.IPPROTO_IP && header.Type == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
			return netip.AddrFrom4([4]byte(data[8:12]))
		case header.Level == unix.IPPROTO_IPV6 && header.Type == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo:
			return netip.AddrFrom16([16]byte(data[:16]))
		}
		control = rest
	}
	return netip.Addr{}
}

// addrOf is the address of a socket address, without a zone.
func addrOf(name syscall.Sockaddr) netip.Addr {
	switch at := name.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrFrom4(at.Addr)
	case *syscall.SockaddrInet6:
		return netip.AddrFrom16(at.Addr)
	}
	return netip.Addr{}
}
