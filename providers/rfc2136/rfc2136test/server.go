package rfc2136test

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider/providertest/realserver"
)

// Key is a TSIG key (RFC 8945).
type Key struct {
	Name      string // "test." or "test"
	Algorithm string // "hmac-sha256"
	Secret    string // base64
}

// TestKey is a key for tests; it protects nothing.
var TestKey = Key{Name: "test.", Algorithm: "hmac-sha256", Secret: "c2lkZXN0ZXAgdGVzdCBrZXksIHByb3RlY3RzIG5vdGhpbmc="}

// Zone is what a server is started with. The zero values of all but Name and
// Text are what most tests want.
type Zone struct {
	Name       string // "example.com."
	Text       string // in master file form (RFC 1035 section 5), SOA and NS included
	Key        Key    // may transfer and update the zone; the zero value stands for TestKey
	NoTransfer bool   // the key may not transfer the zone
	NoUpdate   bool   // the key may not update the zone
}

// Server is one running name server.
type Server struct {
	*realserver.Process

	Zone string
	Key  Key

	t testing.TB
}

const packages = "bind9 bind9-dnsutils knot " + realserver.PowerDNSPackages

// configure writes a server's files for an address and returns the arguments
// to start it with.
type configure func(dir, addr string, zone Zone) (args []string, err error)

// start runs the program until it answers for its zone.
func start(t testing.TB, program string, zone Zone, files configure) *Server {
	t.Helper()
	zone = zone.completed()
	s := &Server{Zone: zone.Name, Key: zone.Key, t: t}
	s.Process = realserver.Start(t, realserver.Program{
		Name: program, Packages: packages, Ready: s.answers,
		Configure: func(dir, addr string) ([]string, error) { return files(dir, addr, zone) },
	})
	return s
}

// Attach is a server that was started elsewhere, to be asked without a key.
func Attach(t testing.TB, process *realserver.Process, zone string) *Server {
	t.Helper()
	return &Server{Process: process, Zone: zone, t: t}
}

func (z Zone) completed() Zone {
	if z.Key == (Key{}) {
		z.Key = TestKey
	}
	z.Name, z.Key.Name = dns.CanonicalName(z.Name), dns.CanonicalName(z.Key.Name)
	return z
}

// answers asks for the zone's SOA.
func (s *Server) answers(ctx context.Context, addr string) bool {
	query := new(dns.Msg)
	query.SetQuestion(s.Zone, dns.TypeSOA)
	client := dns.Client{Net: "tcp", Timeout: time.Second}
	reply, _, err := client.ExchangeContext(ctx, query, addr)
	return err == nil && reply.Rcode == dns.RcodeSuccess && len(reply.Answer) > 0
}

// Dig asks the server with dig, an independent reader of what is in the zone,
// and returns the lines of its answer, trimmed, none empty. The transport is
// TCP.
func (s *Server) Dig(args ...string) []string {
	s.t.Helper()
	path := realserver.Require(s.t, "dig", packages)
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	full := append([]string{"@" + host, "-p", port, "+tcp", "+time=30", "+tries=1"}, args...)
	if s.Key != (Key{}) {
		full = append(full, "-y", s.Key.Algorithm+":"+s.Key.Name+":"+s.Key.Secret)
	}
	out, err := exec.CommandContext(s.t.Context(), path, full...).CombinedOutput() //nolint:gosec // arguments of the test itself
	if err != nil {
		s.t.Fatalf("dig %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if text := strings.TrimSpace(line); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// Short asks for one name and type, and returns the data alone.
func (s *Server) Short(name, kind string) []string {
	s.t.Helper()
	return s.Dig("+short", name, kind)
}

// Serial asks for the zone's serial.
func (s *Server) Serial() uint32 {
	s.t.Helper()
	lines := s.Short(s.Zone, "SOA")
	if len(lines) != 1 || len(strings.Fields(lines[0])) != 7 {
		s.t.Fatalf("ask for the SOA of %s: got %q", s.Zone, lines)
	}
	serial, err := strconv.ParseUint(strings.Fields(lines[0])[2], 10, 32)
	if err != nil {
		s.t.Fatal(err)
	}
	return uint32(serial)
}
