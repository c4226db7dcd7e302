package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// grid is how often the floor wakes up, as the daemon does.
const grid = 10 * time.Millisecond

// floor is the least that a prober can be: one thread, one epoll, a fixed
// request, a look at the first bytes of the answer, and nothing that is kept.
type floor struct {
	world  World
	epoll  int
	ring   [][]int32         // targets by slot of the interval
	under  map[int32]*flying // by descriptor
	oldest []*flying         // in the order of their starts, finished ones too
	buffer []byte

	passed, failed int
}

// flying is a probe under way.
type flying struct {
	fd      int // -1 when it is over
	asked   bool
	expires time.Duration
}

var request = []byte("GET / HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: floor\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n")

// Floor probes a world until ctx ends, as cheaply as can be, and says how many
// probes passed and failed.
func Floor(ctx context.Context, w World) (string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f := &floor{world: w, under: map[int32]*flying{}, buffer: make([]byte, 4096)}
	f.ring = slots(w)
	var err error
	if f.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return "", os.NewSyscallError("epoll_create1", err)
	}
	defer func() { _ = unix.Close(f.epoll) }()
	begin, probeAll := f.connect, f.events
	if w.Kind == ICMP {
		e, err := openEcho(f.epoll)
		if err != nil {
			return "", err
		}
		defer e.close()
		begin, probeAll = e.ask, func([]unix.EpollEvent) { f.passed += e.read() }
	}
	err = f.run(ctx, begin, probeAll)
	return fmt.Sprintf("%d passed, %d failed", f.passed, f.failed), err
}

// slots spreads the targets over the interval, as a hash does.
func slots(w World) [][]int32 {
	ring := make([][]int32, max(1, w.Interval/grid))
	for i := range w.Targets {
		h := uint64(i+1) * 0x9e3779b97f4a7c15
		h = (h ^ h>>32) * 0xbf58476d1ce4e5b9
		slot := (h ^ h>>29) % uint64(len(ring))
		ring[slot] = append(ring[slot], int32(i))
	}
	return ring
}

// run starts what is due once a tick, and handles events until the next.
func (f *floor) run(ctx context.Context, begin func(i int32, now time.Duration) error, handle func([]unix.EpollEvent)) error {
	events := make([]unix.EpollEvent, 256)
	started := time.Now()
	for tick := 0; ctx.Err() == nil; tick++ {
		due := time.Duration(tick) * grid
		for left := due - time.Since(started); left > 0; left = due - time.Since(started) {
			n, err := unix.EpollWait(f.epoll, events, int((left+time.Millisecond-1)/time.Millisecond))
			if err != nil && !errors.Is(err, unix.EINTR) {
				return os.NewSyscallError("epoll_wait", err)
			}
			if n > 0 {
				handle(events[:n])
			}
		}
		f.expire(due)
		for _, i := range f.ring[tick%len(f.ring)] {
			if err := begin(i, due); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *floor) connect(i int32, now time.Duration) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w%s", err, hintFiles(err))
	}
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: f.world.Port, Addr: Address(int(i)).As4()})
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		f.failed++
		return unix.Close(fd)
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(fd)}
	if err := unix.EpollCtl(f.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	probe := &flying{fd: fd, expires: now + f.world.Timeout()}
	f.under[int32(fd)] = probe
	f.oldest = append(f.oldest, probe)
	return nil
}

func (f *floor) events(events []unix.EpollEvent) {
	for _, event := range events {
		probe := f.under[event.Fd]
		if probe == nil {
			continue
		}
		if !probe.asked {
			f.connected(probe)
		}
		if probe.fd >= 0 && event.Events&(unix.EPOLLIN|unix.EPOLLRDHUP) != 0 {
			f.answered(probe)
		}
	}
}

func (f *floor) connected(probe *flying) {
	probe.asked = true
	if f.world.Kind == TCP {
		status, err := unix.GetsockoptInt(probe.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		f.end(probe, err == nil && status == 0)
		return
	}
	if n, err := unix.Write(probe.fd, request); err != nil || n < len(request) {
		f.end(probe, false)
	}
}

func (f *floor) answered(probe *flying) {
	n, err := unix.Read(probe.fd, f.buffer)
	if errors.Is(err, unix.EAGAIN) {
		return
	}
	f.end(probe, n > 0 && bytes.HasPrefix(f.buffer[:n], []byte("HTTP/1.1 200")))
}

// end closes by RST, as the daemon does.
func (f *floor) end(probe *flying, pass bool) {
	delete(f.under, int32(probe.fd))
	_ = unix.SetsockoptLinger(probe.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	_ = unix.Close(probe.fd)
	probe.fd = -1
	if pass {
		f.passed++
	} else {
		f.failed++
	}
}

// expire ends the probes that took too long.
func (f *floor) expire(now time.Duration) {
	for len(f.oldest) > 0 && (f.oldest[0].fd < 0 || f.oldest[0].expires <= now) {
		if f.oldest[0].fd >= 0 {
			f.end(f.oldest[0], false)
		}
		f.oldest = f.oldest[1:]
	}
}
