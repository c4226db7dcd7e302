package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	backlog    = 1024 // of each listener: a smaller one drops SYNs of a burst, which then come again after 1 s
	maxTargets = 62_500
)

// Address is the loopback address of target i: 250 in each 127.a.b.0/24, from
// 127.1.0.1 on.
func Address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(1 + i/62_500), byte(i / 250 % 250), byte(1 + i%250)})
}

// indexOf is the other way round; -1 for an address of no target.
func indexOf(a [4]byte) int {
	if a[0] != 127 || a[1] == 0 || a[3] == 0 || a[3] > 250 || a[2] >= 250 {
		return -1
	}
	return int(a[1]-1)*62_500 + int(a[2])*250 + int(a[3]) - 1
}

// Fault is what is wrong with a target.
type Fault string

// The faults. The zero value is a target that works.
const (
	Refuse Fault = "refuse" // no listener: the kernel answers with RST
	Hang   Fault = "hang"   // connections are accepted and never answered
	Err500 Fault = "500"    // the answer has status 500
	Reset  Fault = "rst"    // connections are accepted and reset
)

var reply = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

var reply500 = []byte("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

// Arrival is one connection or echo request that came to a target.
type Arrival struct {
	At    time.Duration // of the target's clock
	Index int32
}

// Target answers probes on many loopback addresses, one listener each, from
// one thread, and notes when each came.
type Target struct {
	port    int
	epoll   int
	echo    int // raw socket, -1 without
	started time.Time
	sockets map[int32]*socket // by descriptor
	buffer  []byte

	mu        sync.Mutex // held by the loop for each batch of events
	listeners []int      // by target; -1 without
	faults    []Fault
	log       []Arrival
}

// socket is a listener or a connection.
type socket struct {
	index  int
	listen bool
}

// NewTarget opens the listeners of n targets at a port and, when echo is set,
// a raw socket that notes echo requests, which the kernel answers.
func NewTarget(n, port int, echo bool) (*Target, error) {
	if n < 1 || n > maxTargets {
		return nil, fmt.Errorf("target: expected 1 to %d addresses, got %d", maxTargets, n)
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	t := &Target{
		port: port, epoll: epoll, echo: -1, started: time.Now(),
		sockets: map[int32]*socket{}, buffer: make([]byte, 64<<10),
		listeners: make([]int, n), faults: make([]Fault, n), log: make([]Arrival, 0, 1<<16),
	}
	for i := range t.listeners {
		t.listeners[i] = -1
	}
	for i := range t.listeners {
		if err := t.listen(i); err != nil {
			t.Close()
			return nil, err
		}
	}
	if echo {
		if err := t.hearEchoes(); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}

// Close frees all sockets. Call it when Serve has ended.
func (t *Target) Close() {
	for fd := range t.sockets {
		_ = unix.Close(int(fd))
	}
	if t.echo >= 0 {
		_ = unix.Close(t.echo)
	}
	_ = unix.Close(t.epoll)
}

func (t *Target) now() time.Duration { return time.Since(t.started) }

func (t *Target) listen(i int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("listen for target %d: %w%s", i, err, hintFiles(err))
	}
	address := Address(i)
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.Bind(fd, &unix.SockaddrInet4{Port: t.port, Addr: address.As4()}))
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err == nil {
		err = t.watch(fd, &socket{index: i, listen: true})
	}
	if err != nil {
		_ = unix.Close(fd)
		return fmt.Errorf("listen on %s:%d: %w", address, t.port, err)
	}
	t.listeners[i] = fd
	return nil
}

func hintFiles(err error) string {
	if !errors.Is(err, unix.EMFILE) {
		return ""
	}
	return fmt.Sprintf("; raise the limit on open files: ulimit -n %d", filesNeeded)
}

func (t *Target) watch(fd int, s *socket) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(fd)}
	if err := unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	t.sockets[int32(fd)] = s
	return nil
}

func (t *Target) hearEchoes() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		return fmt.Errorf("open raw socket for echo requests: %w", err)
	}
	t.echo = fd
	const icmpFilter, echoRequest = 1, 8 // raw(7): ICMP_FILTER; RFC 792
	if err := unix.SetsockoptInt(fd, unix.SOL_RAW, icmpFilter, ^(1 << echoRequest)); err != nil {
		return fmt.Errorf("filter echo requests: %w", err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 8<<20)
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, fd, &event))
}

// Serve answers until ctx ends.
func (t *Target) Serve(ctx context.Context) error {
	events := make([]unix.EpollEvent, 512)
	for ctx.Err() == nil {
		n, err := unix.EpollWait(t.epoll, events, 100)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("epoll_wait", err)
		}
		t.mu.Lock()
		for _, event := range events[:max(n, 0)] {
			t.handle(event)
		}
		t.mu.Unlock()
	}
	return nil
}

func (t *Target) handle(event unix.EpollEvent) {
	if int(event.Fd) == t.echo {
		t.readEchoes()
		return
	}
	s := t.sockets[event.Fd]
	switch {
	case s == nil: // closed by an earlier event of this batch
	case s.listen:
		t.accept(int(event.Fd), s.index)
	case t.answer(int(event.Fd), s.index):
		t.drop(int(event.Fd))
	}
}

func (t *Target) accept(listener, i int) {
	fd, _, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		return
	}
	t.log = append(t.log, Arrival{t.now(), int32(i)})
	if t.faults[i] == Reset {
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		_ = unix.Close(fd)
		return
	}
	if t.watch(fd, &socket{index: i}) != nil {
		_ = unix.Close(fd)
	}
}

// answer reads what came and answers it; true when the connection is over.
func (t *Target) answer(fd, i int) bool {
	n, err := unix.Read(fd, t.buffer)
	if n <= 0 {
		return !errors.Is(err, unix.EAGAIN)
	}
	switch t.faults[i] {
	case Hang:
		return false // until the prober closes
	case Err500:
		_, _ = unix.Write(fd, reply500)
	case Refuse, Reset, "":
		_, _ = unix.Write(fd, reply)
	}
	return true
}

func (t *Target) drop(fd int) {
	delete(t.sockets, int32(fd))
	_ = unix.Close(fd)
}

// readEchoes notes the echo requests that came. A raw socket gives the IP
// header too (raw(7)); the destination stands at its byte 16.
func (t *Target) readEchoes() {
	for {
		n, _, err := unix.Recvfrom(t.echo, t.buffer, 0)
		if err != nil || n < 20 {
			return
		}
		if i := indexOf([4]byte(t.buffer[16:20])); i >= 0 && i < len(t.listeners) {
			t.log = append(t.log, Arrival{t.now(), int32(i)})
		}
	}
}

// Mark forgets the arrivals so far.
func (t *Target) Mark() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = t.log[:0]
}

// Dump gives the arrivals since the last mark, in their order.
func (t *Target) Dump() []Arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Arrival(nil), t.log...)
}

// Set gives targets a fault, or heals them with the empty one.
func (t *Target) Set(fault Fault, targets ...int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, i := range targets {
		if i < 0 || i >= len(t.listeners) {
			return fmt.Errorf("fault: there is no target %d, only 0 to %d", i, len(t.listeners)-1)
		}
		t.faults[i] = fault
		switch fd := t.listeners[i]; {
		case fault == Refuse && fd >= 0:
			t.drop(fd)
			t.listeners[i] = -1
		case fault != Refuse && fd < 0:
			if err := t.listen(i); err != nil {
				return err
			}
		}
	}
	return nil
}
