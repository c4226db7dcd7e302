package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"syscall"
)

const (
	firstHost = 11 // FreeAddrs gives 127.0.0.11 to 127.0.0.254
	lastHost  = 254
	firstPort = 10000
	lastPort  = 32767 // Linux gives 32768 to 60999 to connections, others 49152 and up (RFC 6335 section 6)
	attempts  = 64    // how many ports are tried until all addresses have it free
)

// FreeAddrs finds n loopback addresses, 127.0.0.11 and up, with one common TCP
// port that is free on all of them, as ADDRESS:PORT: a check has one port for
// all addresses that it probes. Nothing holds them until the caller listens.
// Systems other than Linux have to be given the addresses first.
func FreeAddrs(n int) ([]string, error) {
	if n < 1 || n > lastHost-firstHost+1 {
		return nil, fmt.Errorf("find free addresses: expected 1 to %d, got %d", lastHost-firstHost+1, n)
	}
	hosts := make([]string, n)
	for i := range hosts {
		hosts[i] = "127.0.0." + strconv.Itoa(firstHost+i)
	}
	return FreeAddrsOf(hosts...)
}

// FreeAddrsOf finds one TCP port that is free on all of some addresses, and gives
// each with it, as ADDRESS:PORT. Nothing holds them until the caller listens.
func FreeAddrsOf(hosts ...string) ([]string, error) {
	var err error
	for range attempts {
		var addrs []string
		if addrs, err = tryAddrs(hosts); err == nil {
			return addrs, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, fmt.Errorf("find a port that is free on %s: %w", strings.Join(hosts, ", "), err)
}

// tryAddrs listens on all addresses at once, on some port below those that
// systems give to connections that go out: one of these would take the port while
// nobody listens, as between a backend's death and its return.
func tryAddrs(hosts []string) (addrs []string, err error) {
	port := strconv.Itoa(firstPort + rand.IntN(lastPort-firstPort+1))
	for _, host := range hosts {
		listener, listenErr := net.Listen("tcp", net.JoinHostPort(host, port))
		if listenErr != nil {
			return nil, listenErr
		}
		defer func() { err = errors.Join(err, listener.Close()) }()
		addrs = append(addrs, listener.Addr().String())
	}
	return addrs, nil
}
