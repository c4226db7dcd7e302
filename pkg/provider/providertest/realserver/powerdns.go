package realserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// PowerDNSPackages is what Debian has PowerDNS in.
	PowerDNSPackages = "pdns-server pdns-backend-sqlite3 sqlite3"

	// PowerDNSKey is the key of the HTTP API. It protects nothing.
	PowerDNSKey = "key-of-a-test"

	powerDNSSchema = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"
)

// PowerDNS is a running pdns_server (PowerDNS Authoritative) with one native zone in
// an SQLite database, its HTTP API and DNSUPDATE switched on, its caches off.
type PowerDNS struct {
	*Process

	API  string // http://127.0.0.1:PORT, the key is PowerDNSKey
	Zone string

	database string
}

// PowerDNSZone is the zone that a PowerDNS is started with.
type PowerDNSZone struct {
	Name       string // "example.com."
	Text       string // in master file form (RFC 1035 section 5), SOA and NS included
	Key        string // name of a TSIG key that may transfer and update the zone; empty for none
	Algorithm  string
	Secret     string // base64
	NoTransfer bool
	NoUpdate   bool

	// Ready reports whether the server answers for the zone.
	Ready func(ctx context.Context, addr string) bool
}

// StartPowerDNS runs pdns_server until the test ends.
func StartPowerDNS(t testing.TB, zone PowerDNSZone) *PowerDNS {
	t.Helper()
	s := &PowerDNS{Zone: zone.Name}
	Require(t, "sqlite3", PowerDNSPackages)
	Require(t, "pdnsutil", PowerDNSPackages)
	if _, err := os.Stat(powerDNSSchema); err != nil {
		missing(t, powerDNSSchema, PowerDNSPackages)
	}
	s.Process = Start(t, Program{
		Name: "pdns_server", Packages: PowerDNSPackages,
		Ready: func(ctx context.Context, addr string) bool {
			return zone.Ready(ctx, addr) && s.serves(ctx, filepath.Dir(s.database))
		},
		Configure: func(dir, addr string) ([]string, error) {
			api := FreeAddr(t)
			s.API, s.database = "http://"+api, filepath.Join(dir, "pdns.db")
			return []string{"--config-dir=" + dir}, s.configure(dir, addr, api, zone)
		},
	})
	return s
}

// serves reports whether the API is there: without its port, which somebody else
// may have taken meanwhile, the server goes on and answers the DNS alone. Who has
// the port may be another PowerDNS of a test, with the same key and zone: its
// settings tell them apart.
func (s *PowerDNS) serves(ctx context.Context, dir string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.API+"/api/v1/servers/localhost/config", http.NoBody)
	if err != nil {
		return false
	}
	request.Header.Set("X-API-Key", PowerDNSKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	settings, err := io.ReadAll(response.Body)
	return errors.Join(err, response.Body.Close()) == nil && strings.Contains(string(settings), dir)
}

func (s *PowerDNS) configure(dir, addr, api string, zone PowerDNSZone) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	_, apiPort, err := net.SplitHostPort(api)
	if err != nil {
		return err
	}
	config := fmt.Sprintf(`launch=gsqlite3
gsqlite3-database=%s
gsqlite3-dnssec=yes
gsqlite3-pragma-synchronous=0
local-address=%s
local-port=%s
api=yes
api-key=%s
webserver=yes
webserver-address=127.0.0.1
webserver-port=%s
socket-dir=%s
daemon=no
guardian=no
disable-syslog=yes
dnsupdate=yes
allow-dnsupdate-from=127.0.0.0/8
allow-axfr-ips=
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
receiver-threads=1
distributor-threads=1
signing-threads=1
retrieval-threads=1
`, s.database, host, port, PowerDNSKey, apiPort, dir)
	if err := os.WriteFile(filepath.Join(dir, "pdns.conf"), []byte(config), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "zone.db"), []byte(zone.Text), 0o600); err != nil {
		return err
	}
	if _, err := s.SQL(".read " + powerDNSSchema); err != nil {
		return err
	}
	for _, args := range zone.commands(dir) {
		if out, err := exec.Command("pdnsutil", append([]string{"--config-dir=" + dir}, args...)...).CombinedOutput(); err != nil { //nolint:noctx,gosec // short, and arguments of the test itself
			return fmt.Errorf("pdnsutil %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// commands are pdnsutil's that make the zone and give the key its rights.
func (z PowerDNSZone) commands(dir string) [][]string {
	name := strings.TrimSuffix(z.Name, ".")
	commands := [][]string{{"load-zone", name, filepath.Join(dir, "zone.db")}}
	if z.Key == "" {
		return commands
	}
	key := strings.TrimSuffix(z.Key, ".")
	transfer, update := key, key
	if z.NoTransfer {
		transfer = "nobody"
	}
	if z.NoUpdate {
		update = "nobody"
	}
	return append(commands,
		[]string{"import-tsig-key", key, z.Algorithm, z.Secret},
		[]string{"set-meta", name, "TSIG-ALLOW-AXFR", transfer},
		[]string{"set-meta", name, "TSIG-ALLOW-DNSUPDATE", update},
	)
}

// SQL runs statements on the server's database, behind its back, and returns
// what they print, a line for each row, the columns parted by tabs.
func (s *PowerDNS) SQL(statements string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "sqlite3", "-batch", "-bail", "-cmd", ".timeout 30000", "-separator", "\t", s.database)
	command.Stdin = strings.NewReader(statements + "\n")
	out, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("sqlite3: %w\n%s\n%s", err, out, statements)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	return lines, nil
}
