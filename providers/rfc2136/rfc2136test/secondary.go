package rfc2136test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/miekg/dns"
)

// StartBINDSecondary runs named (BIND 9) as a secondary of a server's zone. It has
// the zone as it is now, and learns of no change before Notify: the primary sends
// none, and the time after which a secondary looks by itself is that of the SOA.
func StartBINDSecondary(t testing.TB, primary *Server) *Server {
	t.Helper()
	return start(t, "named", Zone{Name: primary.Zone, Key: primary.Key}, func(dir, addr string, zone Zone) ([]string, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		from, fromPort, err := net.SplitHostPort(primary.Addr)
		if err != nil {
			return nil, err
		}
		config := fmt.Sprintf(`
options {
	directory %[1]q; pid-file "named.pid"; session-keyfile "session.key"; managed-keys-directory %[1]q;
	listen-on port %[3]s { %[2]s; }; listen-on-v6 { none; };
	recursion no; notify no; dnssec-validation no; empty-zones-enable no; minimal-responses yes;
};
controls { };
key %[4]q { algorithm %[5]s; secret %[6]q; };
zone %[7]q { type secondary; file "zone.db"; primaries { %[8]s port %[9]s key %[4]q; }; allow-notify { 127.0.0.0/8; }; };
`, dir, host, port, zone.Key.Name, zone.Key.Algorithm, zone.Key.Secret, zone.Name, from, fromPort)
		file := filepath.Join(dir, "named.conf")
		return []string{"-c", file, "-f", "-g", "-n", "1"}, os.WriteFile(file, []byte(config), 0o600)
	})
}

// Notify tells a secondary that its zone has changed (RFC 1996), as its primary
// would.
func (s *Server) Notify() {
	s.t.Helper()
	message := new(dns.Msg).SetNotify(s.Zone)
	reply, err := dns.ExchangeContext(s.t.Context(), message, s.Addr)
	if err != nil || reply.Rcode != dns.RcodeSuccess {
		s.t.Fatalf("notify %s: %v, %v", s.Addr, reply, err)
	}
}
