package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"sidestep/pkg/check"
)

// probeFromAVanishingSource runs in a network namespace of its own: it probes
// from an address, takes that away as somebody might with `ip addr del`, and
// probes again.
func probeFromAVanishingSource() {
	ip := func(args ...string) {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			fmt.Printf("ip %s: %v: %s\n", strings.Join(args, " "), err, out)
			os.Exit(0)
		}
	}
	ip("link", "set", "lo", "up")
	for _, addr := range []string{"203.0.113.5/32", "203.0.113.10/32", "2001:db8::5/128", "2001:db8::10/128"} {
		args := []string{"addr", "add", addr, "dev", "lo"}
		if strings.Contains(addr, ":") {
			args = append(args, "nodad")
		}
		ip(args...)
	}
	for _, pair := range [][2]string{{"203.0.113.5", "203.0.113.10"}, {"2001:db8::5", "2001:db8::10"}} {
		probeFromTo(pair[0], pair[1], func() { ip("addr", "del", pair[0], "dev", "lo") })
	}
}

// probeFromTo probes from one address to another, makes it vanish, and tells
// what was seen of each probe.
func probeFromTo(source, target string, vanish func()) {
	listener, err := net.Listen("tcp", net.JoinHostPort(target, "0"))
	if err != nil {
		fmt.Println(err)
		return
	}
	peers := make(chan string, 1)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			readRequest(conn)
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
			peers <- conn.RemoteAddr().(*net.TCPAddr).IP.String()
			_ = conn.Close()
		}
	}()
	spec := httpSpec(uint16(listener.Addr().(*net.TCPAddr).Port))
	spec.Source = netip.MustParseAddr(source)
	p := New(counting(), Options{})
	r := p.Probe(context.Background(), spec, target)
	fmt.Printf("%s from %s, seen from ", r.Outcome, r.Source)
	if r.Outcome == check.Pass {
		fmt.Print(<-peers)
	}
	fmt.Println()
	vanish()
	for range 3 {
		say(p.Probe(context.Background(), spec, target))
	}
}

// Case: checks have to leave from 203.0.113.5, which targets admit; later that
// address is taken from the host. Expected: probes leave from exactly that
// address, and once it is gone they are unknown with the remedy, never failures
// and never sent from another address. The other half, a source of another
// family than the target, is refused by the config's loader.
func TestCase20SourceThatVanishes(t *testing.T) {
	if _, err := exec.LookPath("ip"); err != nil {
		missing(t, "needs ip, of Debian's iproute2")
	}
	namespace := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		missing(t, "needs root, for a network namespace")
	}
	got := inChild(t, "vanishing-source", namespace)
	gone := strings.Repeat("unknown connect/local connect: cannot assign requested address; the check's source address is not on this machine: add it, or change the check's source\n", 3)
	want := "pass from 203.0.113.5, seen from 203.0.113.5\n" + gone + "pass from 2001:db8::5, seen from 2001:db8::5\n" + gone
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// missing skips a test for what this machine lacks, or fails it where nothing
// may be lacking.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("SIDESTEP_TEST_REAL") == "require" {
		t.Fatal(what)
	}
	t.Skip(what)
}
