package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/check"
)

func TestTCP(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			p := New(counting(), Options{})
			ended := make(chan error, 1)
			s := serve(t, net.JoinHostPort(host, "0"), func(conn net.Conn) {
				_, err := conn.Read(make([]byte, 1))
				ended <- err
			})
			expect(t, p.Probe(context.Background(), tcpSpec(s.port()), host), "pass")
			select {
			case err := <-ended:
				if !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the server saw %v, want a reset", err)
				}
			case <-time.After(patience):
				t.Error("the connection was not ended")
			}
			got := p.Probe(context.Background(), tcpSpec(reserve(t, host)), host)
			expect(t, got, "fail connect/refused", "refused")
		})
	}
}

// deaf listens with a full queue, so that the kernel drops the SYN of the next
// connection, as a dead host would.
func deaf(t *testing.T) uint16 {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := name.(*unix.SockaddrInet4).Port
	for range 4 {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err != nil {
			return uint16(port)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Skip("the kernel queues connections without bound")
	return 0
}

func TestConnectTimeout(t *testing.T) {
	overdue(t, tcpSpec(deaf(t)), once, "fail connect/timeout")
}

func TestNoTimeWaitIsLeft(t *testing.T) {
	s := answer(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	for range 5 {
		expect(t, once(tcpSpec(s.port())), "pass")
		expect(t, once(httpSpec(s.port(), matching("ok"))), "pass")
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Skip(err)
	}
	remote := fmt.Sprintf("0100007F:%04X", s.port())
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 3 && f[2] == remote && f[3] == "06" {
			t.Errorf("a connection is left in TIME_WAIT: %s", line)
		}
	}
}

func TestSource(t *testing.T) {
	seen := make(chan string, 1)
	s := serve(t, "127.0.0.1:0", func(conn net.Conn) { seen <- conn.RemoteAddr().String() })
	spec := tcpSpec(s.port())
	spec.Source = netip.MustParseAddr("127.0.0.77")
	got := once(spec)
	expect(t, got, "pass")
	if peer := <-seen; !strings.HasPrefix(peer, "127.0.0.77:") || got.Source != "127.0.0.77" {
		t.Errorf("left from %s and said %s, want 127.0.0.77", peer, got.Source)
	}

	spec = tcpSpec(s.port())
	spec.Source = netip.MustParseAddr("192.0.2.7") // reserved for documentation: nobody has it
	got = once(spec)
	expect(t, got, "unknown connect/local", "source address is not on this machine")
	if got.Source != "192.0.2.7" {
		t.Errorf("said source %q, want the bound one", got.Source)
	}

	spec = tcpSpec(s.port())
	spec.Source = netip.MustParseAddr("::1")
	expect(t, once(spec), "unknown connect/local", "different families")
}

func TestSourceLeavesThePortToConnect(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		s := serve(t, net.JoinHostPort(host, "0"), hang)
		d := dialer(netip.MustParseAddr(host))
		conn, err := d.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var set int
		err = raw.Control(func(fd uintptr) { set, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT) })
		if err != nil || set != 1 {
			t.Errorf("%s: IP_BIND_ADDRESS_NO_PORT is %d (%v), want 1", host, set, err)
		}
		_ = conn.Close()
	}
}

// Case: the IPv6 listener of a target has stopped, the IPv4 one is up. Expected:
// the AAAA target fails, the A target passes, and no IPv4 connection is made for
// the first.
func TestCase12IPv6DownIsNotHiddenByIPv4(t *testing.T) {
	port := reserve(t, "::1", "127.0.0.1")
	six := serve(t, fmt.Sprintf("[::1]:%d", port), hang)
	four := serve(t, fmt.Sprintf("127.0.0.1:%d", port), hang)
	p := New(counting(), Options{})
	spec := tcpSpec(six.port())
	expect(t, p.Probe(context.Background(), spec, "::1"), "pass")
	_ = six.Close()
	before := four.accepted.Load()
	expect(t, p.Probe(context.Background(), spec, "::1"), "fail connect/refused")
	if n := four.accepted.Load(); n != before {
		t.Errorf("the IPv6 check made %d IPv4 connections", n-before)
	}
	expect(t, p.Probe(context.Background(), spec, "127.0.0.1"), "pass")
}

// inChild probes in a process whose surroundings are bad, and gives its words.
func inChild(t *testing.T, role string, attributes *syscall.SysProcAttr, env ...string) string {
	t.Helper()
	cmd := child(t, role, env...)
	cmd.SysProcAttr = attributes
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		missing(t, fmt.Sprintf("cannot make a namespace: %v", err))
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func say(r check.Result) {
	fmt.Printf("%s %s/%s %s\n", r.Outcome, r.Phase, r.Cause, r.Detail)
}

func probeWithoutDescriptors() {
	_ = once(tcpSpec(1)) // opens what the runtime needs for the network
	limit := unix.Rlimit{Cur: 4, Max: 4}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		fmt.Println(err)
		return
	}
	for range 16 { // take those that are free below the limit
		_, _ = unix.Dup(0)
	}
	say(once(tcpSpec(1)))
}

func TestNoDescriptorsIsUnknown(t *testing.T) {
	got := inChild(t, "no-descriptors", nil)
	if !strings.HasPrefix(got, "unknown connect/local") || !strings.Contains(got, "LimitNOFILE") {
		t.Errorf("got %q, want unknown connect/local and the remedy LimitNOFILE", got)
	}
}

func probeWithoutNetwork() {
	say(once(tcpSpec(1)))
}

func TestNoRouteIsUnknown(t *testing.T) {
	// In a new network namespace even loopback is down.
	namespace := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET}
	got := inChild(t, "no-network", namespace)
	if !strings.HasPrefix(got, "unknown connect/local") || !strings.Contains(got, "no route") {
		t.Errorf("got %q, want unknown connect/local and the missing route", got)
	}
}

func TestErrorNumbers(t *testing.T) {
	call := func(name string, errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError(name, errno)}
	}
	for _, c := range []struct {
		err        error
		want, text string
	}{
		{call("connect", syscall.ECONNREFUSED), "fail connect/refused", ""},
		{call("connect", syscall.ETIMEDOUT), "fail connect/timeout", ""},
		{call("connect", syscall.ECONNRESET), "fail connect/reset", ""},
		{call("connect", syscall.ECONNABORTED), "fail connect/reset", ""},
		{call("write", syscall.EPIPE), "fail connect/reset", ""},
		{call("connect", syscall.EHOSTUNREACH), "fail connect/unreachable", ""},
		{call("connect", syscall.ENETUNREACH), "fail connect/unreachable", ""}, // loopback has a route: the network said it
		{call("connect", syscall.EHOSTDOWN), "fail connect/unreachable", ""},
		{call("socket", syscall.EMFILE), "unknown connect/local", "LimitNOFILE"},
		{call("socket", syscall.ENFILE), "unknown connect/local", "fs.file-max"},
		{call("bind", syscall.EADDRNOTAVAIL), "unknown connect/local", "source address"},
		{call("connect", syscall.EADDRNOTAVAIL), "unknown connect/local", "ip_local_port_range"},
		{call("connect", syscall.EADDRINUSE), "unknown connect/local", "ip_local_port_range"},
		{call("connect", syscall.EAGAIN), "unknown connect/local", "ip_local_port_range"},
		{call("connect", syscall.EACCES), "unknown connect/local", "firewall"},
		{call("connect", syscall.EPERM), "unknown connect/local", "firewall"},
		{call("connect", syscall.ENOBUFS), "unknown connect/local", "memory"},
		{call("connect", syscall.ENOMEM), "unknown connect/local", "memory"},
		{call("socket", syscall.EAFNOSUPPORT), "unknown connect/local", "family"},
		{call("connect", syscall.ENETDOWN), "unknown connect/local", "interface"},
		{call("connect", syscall.EINVAL), "unknown connect/local", "invalid argument"},
		{errors.New("something new"), "unknown connect/local", "something new"},
		{io.ErrUnexpectedEOF, "fail connect/reset", ""},
		{context.DeadlineExceeded, "fail connect/timeout", "no answer from port 9 within the timeout of 3s"},
		{os.ErrDeadlineExceeded, "fail connect/timeout", ""},
	} {
		a := attempt{ctx: context.Background(), shared: &shared{}, spec: &check.Spec{Timeout: 3 * time.Second}, remote: netip.MustParseAddrPort("127.0.0.1:9"), phase: check.PhaseConnect}
		f := a.failed(c.err)
		got := check.Result{Outcome: f.outcome, Phase: f.phase, Cause: f.cause, Detail: clean(f.detail)}
		t.Run(c.err.Error(), func(t *testing.T) { expect(t, got, c.want, c.text) })
	}
}
