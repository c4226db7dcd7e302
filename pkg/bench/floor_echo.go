package bench

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// echo is one socket for all echo requests: an unprivileged one where the
// kernel allows it (net.ipv4.ping_group_range), else a raw one.
type echo struct {
	fd     int
	raw    bool
	packet [16]byte
	buffer [1500]byte
}

func openEcho(epoll int) (*echo, error) {
	e := &echo{}
	const flags = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|flags, unix.IPPROTO_ICMP)
	if err != nil {
		e.raw = true
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|flags, unix.IPPROTO_ICMP)
	}
	if err != nil {
		return nil, fmt.Errorf("open a socket for echo requests: %w; be root, or set net.ipv4.ping_group_range", err)
	}
	if e.fd = fd; e.raw {
		const icmpFilter, echoReply = 1, 0 // raw(7); RFC 792
		_ = unix.SetsockoptInt(fd, unix.SOL_RAW, icmpFilter, ^(1 << echoReply))
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1<<20)
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return nil, fmt.Errorf("watch the socket for echo requests: %w", err)
	}
	return e, nil
}

func (e *echo) close() { _ = unix.Close(e.fd) }

// ask sends an echo request (RFC 792: type 8) with the target's number.
func (e *echo) ask(i int32, _ time.Duration) error {
	e.packet = [16]byte{8}
	binary.BigEndian.PutUint16(e.packet[4:], 0x5ade)
	binary.BigEndian.PutUint16(e.packet[6:], uint16(i))
	binary.BigEndian.PutUint32(e.packet[8:], uint32(i))
	binary.BigEndian.PutUint16(e.packet[2:], checksum(e.packet[:]))
	if err := unix.Sendto(e.fd, e.packet[:], 0, &unix.SockaddrInet4{Addr: Address(int(i)).As4()}); err != nil {
		return fmt.Errorf("send to %s: %w", Address(int(i)), err)
	}
	return nil
}

// read counts the replies that came.
func (e *echo) read() (replies int) {
	for {
		n, _, err := unix.Recvfrom(e.fd, e.buffer[:], 0)
		if err != nil {
			return replies
		}
		if n >= len(e.packet) {
			replies++
		}
	}
}

// checksum is that of RFC 1071, of an even number of bytes.
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum>>16 > 0 {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
