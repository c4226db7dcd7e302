package ping

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// once asks an address over the kernel's own sockets.
func once(t *testing.T, timeout time.Duration, ask Ask) (Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	return new(Pinger).Ping(ctx, ask)
}

// unhurried makes an Ask that may end by its timeout, a short one at first, but
// not before all requests left. Where the machine stood still for so long that
// some did not, it asks again with a longer one.
func unhurried(t *testing.T, p *Pinger, timeout time.Duration, ask Ask) (Answer, error) {
	t.Helper()
	for ; ; timeout *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		answer, err := p.Ping(ctx, ask)
		ended := ctx.Err()
		cancel()
		if err != nil || ended == nil || answer.Sent == ask.Count || timeout > patience {
			return answer, err
		}
	}
}

// kinds runs a test over both kinds of socket, in a namespace of its own.
func kinds(t *testing.T, test func(t *testing.T)) {
	if !inNamespace(t) {
		return
	}
	for _, datagram := range []bool{true, false} {
		allowDatagrams(t, datagram)
		w, err := openSocket(place{})
		if err != nil {
			t.Fatal(err)
		}
		if w.(*socket).datagram != datagram {
			t.Errorf("a datagram socket is %v, want %v", !datagram, datagram)
		}
		w.close()
		name := "raw"
		if datagram {
			name = "datagram"
		}
		t.Run(name, test)
	}
}

func TestLoopback(t *testing.T) {
	kinds(t, func(t *testing.T) {
		for _, address := range []string{"127.0.0.2", "::1"} {
			to := netip.MustParseAddr(address)
			answer, err := once(t, patience, Ask{Peer: to, Count: 3, Need: 3})
			if err != nil || answer.Came != 3 || answer.Sent != 3 || !answer.Local.IsValid() || answer.Local.Is4() != to.Is4() {
				t.Errorf("%s: got %+v, %v", to, answer, err)
			}
		}
		source := netip.MustParseAddr("127.0.0.77")
		answer, err := once(t, patience, Ask{Peer: netip.MustParseAddr("127.0.0.2"), Source: source, Count: 1, Need: 1})
		if err != nil || answer.Came != 1 || answer.Local != source {
			t.Errorf("from %s: got %+v, %v", source, answer, err)
		}
		_, err = once(t, patience, Ask{Peer: netip.MustParseAddr("127.0.0.2"), Source: netip.MustParseAddr("192.0.2.7"), Count: 1, Need: 1})
		var fault *Error
		if !errors.As(err, &fault) || fault.Op != "bind" || !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Errorf("from an address that is not here: got %v", err)
		}
		for _, nowhere := range []string{"192.0.2.1", "2001:db8::1"} {
			_, err := once(t, patience, Ask{Peer: netip.MustParseAddr(nowhere), Count: 1, Need: 1})
			if !errors.As(err, &fault) || fault.Op != "send" || !errors.Is(err, syscall.ENETUNREACH) {
				t.Errorf("%s without a route: got %v", nowhere, err)
			}
		}
	})
}

// TestFlush: what came is read at the deadline although nobody read before.
func TestFlush(t *testing.T) {
	kinds(t, func(t *testing.T) {
		for _, address := range []string{"127.0.0.2", "::1"} {
			to := netip.MustParseAddr(address)
			p := &Pinger{open: func(at place) (wire, error) {
				w, err := openSocket(at)
				return deafWire{w, make(chan struct{})}, err
			}}
			answer, err := unhurried(t, p, 50*time.Millisecond, Ask{Peer: to, Count: 2, Need: 2})
			if err != nil || answer.Came != 2 {
				t.Errorf("%s: got %+v, %v, want 2 replies", to, answer, err)
			}
		}
	})
}

// deafWire has a reader that never gets a turn.
type deafWire struct {
	wire
	closed chan struct{}
}

func (d deafWire) receive(func(message)) error {
	<-d.closed
	return os.ErrClosed
}

func (d deafWire) close() {
	close(d.closed)
	d.wire.close()
}

// router makes a second namespace, joined by veth, that routes for this one:
// 10.0.0.2 and fd00::2 answer, and what lies behind them is refused, each
// network with the error of its name.
func router(t *testing.T) {
	t.Helper()
	child, end, err := sleeper(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	there := func(args ...string) {
		t.Helper()
		command(t, "nsenter", append([]string{"-t", fmt.Sprint(child), "-n"}, args...)...)
	}
	command(t, "ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", fmt.Sprint(child))
	for _, a := range []string{"10.0.0.1/24", "fd00::1/64"} {
		command(t, "ip", "addr", "add", a, "dev", "near", "nodad")
	}
	command(t, "ip", "link", "set", "near", "up")
	for _, a := range []string{"10.0.0.2/24", "fd00::2/64"} {
		there("ip", "addr", "add", a, "dev", "far", "nodad")
	}
	there("ip", "link", "set", "lo", "up")
	there("ip", "link", "set", "far", "up")
	for _, setting := range []string{"1 > ipv4/ip_forward", "1 > ipv6/conf/all/forwarding", "0 > ipv4/icmp_ratelimit", "0 > ipv6/icmp/ratelimit"} {
		value, file, _ := strings.Cut(setting, " > ")
		there("sh", "-c", "echo "+value+" > /proc/sys/net/"+file)
	}
	for _, r := range []string{"unreachable 203.0.113.0/24", "prohibit 198.51.100.0/24", "blackhole 192.0.2.0/24", "unreachable 2001:db8:1::/48", "prohibit 2001:db8:2::/48"} {
		kind, network, _ := strings.Cut(r, " ")
		there("ip", "route", "add", kind, network)
	}
	command(t, "ip", "route", "add", "default", "via", "10.0.0.2")
	command(t, "ip", "-6", "route", "add", "default", "via", "fd00::2")
	for _, a := range []string{"10.0.0.2", "fd00::2"} { // until the neighbours know each other
		if answer, err := once(t, patience, Ask{Peer: netip.MustParseAddr(a), Count: 50, Need: 1}); err != nil || answer.Came == 0 {
			t.Fatalf("%s does not answer: %+v, %v", a, answer, err)
		}
	}
}

// TestErrorsOfARouter asks addresses that a router refuses, beside such as
// answer or are silent.
func TestErrorsOfARouter(t *testing.T) {
	kinds(t, func(t *testing.T) {
		router(t)
		p := new(Pinger)
		var all sync.WaitGroup
		for _, c := range []struct {
			to, report string
			times      int
		}{
			{"10.0.0.2", "", 20},
			{"fd00::2", "", 20},
			{"203.0.113.1", "host unreachable, says 10.0.0.2", 1}, // Linux sends no more than 5 of these two at once, and 50 errors in all
			{"198.51.100.1", "administratively prohibited, says 10.0.0.2", 1},
			{"2001:db8:1::1", "no route to destination, says fd00::2", 5},
			{"2001:db8:2::1", "administratively prohibited, says fd00::2", 5},
			{"192.0.2.1", "silence", 20},
		} {
			for range c.times {
				all.Go(func() {
					answer, err := unhurried(t, p, 4*time.Second, Ask{Peer: netip.MustParseAddr(c.to), Count: 3, Need: 2})
					want := Answer{Sent: answer.Sent, Refused: 2, Report: c.report}
					switch c.report {
					case "":
						want = Answer{Sent: answer.Sent, Came: max(2, answer.Came), Local: answer.Local}
					case "silence":
						want = Answer{Sent: 3}
					}
					if err != nil || answer != want {
						t.Errorf("%s: got %+v, %v, want %+v", c.to, answer, err, want)
					}
				})
			}
		}
		all.Wait()
		command(t, "ip", "link", "del", "near")
	})
}

// sleeper starts a process in a namespace of its own, and tells how to end it.
func sleeper(t *testing.T) (pid int, end func(), err error) {
	t.Helper()
	process, err := os.StartProcess("/bin/sleep", []string{"sleep", "3600"}, &os.ProcAttr{
		Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, nil, err
	}
	return process.Pid, func() { _ = process.Kill(); _, _ = process.Wait() }, nil
}

// blackhole leads 192.0.2.0/24 to a neighbour that takes packets and says
// nothing: the other end of a veth, by a hardware address that is not its own.
func blackhole(t *testing.T) {
	t.Helper()
	command(t, "ip", "link", "add", "near", "type", "veth", "peer", "name", "far")
	command(t, "ip", "addr", "add", "10.0.0.1/24", "dev", "near")
	command(t, "ip", "link", "set", "near", "up")
	command(t, "ip", "link", "set", "far", "up")
	command(t, "ip", "neigh", "add", "10.0.0.2", "lladdr", "02:00:00:00:00:09", "dev", "near")
	command(t, "ip", "route", "add", "192.0.2.0/24", "via", "10.0.0.2")
	t.Cleanup(func() { _ = exec.Command("ip", "link", "del", "near").Run() })
}

// TestForgedReplies sends replies for a silent address from a raw socket of
// another process's kind: right identifier and sequence number, and a wrong
// source or a wrong token.
func TestForgedReplies(t *testing.T) {
	kinds(t, func(t *testing.T) {
		silent := netip.MustParseAddr("192.0.2.9")
		blackhole(t)
		out, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(out)
		us := netip.MustParseAddr("10.0.0.1")
		forge := func(from netip.Addr, id, seq uint16, token uint64) {
			packet := reply4(from, appendRequest(nil, false, id, seq, token))
			copy(packet[16:], us.AsSlice())
			if err := unix.Sendto(out, packet, 0, &unix.SockaddrInet4{Addr: us.As4()}); err != nil {
				t.Error(err)
			}
		}
		p := &Pinger{open: func(at place) (wire, error) {
			w, err := openSocket(at)
			if err != nil {
				return nil, err
			}
			return &spied{w, func(id, seq uint16, token uint64) {
				forge(silent.Next(), id, seq, token) // wrong source
				forge(silent, id, seq, token+1)      // wrong token
				forge(silent, id, seq+1, token)      // wrong sequence number
				forge(silent, id+1, seq, token)      // another pinger
			}}, nil
		}}
		answer, err := unhurried(t, p, 500*time.Millisecond, Ask{Peer: silent, Count: 3, Need: 1})
		if err != nil || answer.Came != 0 || answer.Sent != 3 {
			t.Errorf("got %+v, %v, want silence", answer, err)
		}
		// The forger is good enough: with everything right its reply counts.
		w, err := openSocket(place{})
		if err != nil {
			t.Fatal(err)
		}
		p = &Pinger{open: func(place) (wire, error) {
			return &spied{w, func(id, seq uint16, token uint64) { forge(silent, id, seq, token) }}, nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if answer, err := p.Ping(ctx, Ask{Peer: silent, Count: 1, Need: 1}); err != nil || answer.Came != 1 {
			t.Errorf("got %+v, %v, want the reply that is right", answer, err)
		}
	})
}

// spied is a wire that tells what was sent over it.
type spied struct {
	wire
	sent func(id, seq uint16, token uint64)
}

func (s *spied) send(packet []byte, to netip.Addr) error {
	err := s.wire.send(packet, to)
	m, _ := parseEcho(packet)
	s.sent(s.id(), m.seq, m.token)
	return err
}
