package rfc2136test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// StartKnot runs knotd (Knot DNS 3) as the primary of one zone.
func StartKnot(t testing.TB, zone Zone) *Server {
	t.Helper()
	return start(t, "knotd", zone, knotFiles)
}

func knotFiles(dir, addr string, zone Zone) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	rights := "action: [transfer, update]"
	switch {
	case zone.NoTransfer && zone.NoUpdate:
		rights = "deny: on"
	case zone.NoTransfer:
		rights = "action: update"
	case zone.NoUpdate:
		rights = "action: transfer"
	}
	config := fmt.Sprintf(`
server:
    rundir: %[1]q
    listen: %[2]s@%[3]s
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
control:
    listen: %[9]q
log:
  - target: stderr
    any: info
database:
    storage: %[1]q
    journal-db-max-size: 16M
    kasp-db-max-size: 16M
    timer-db-max-size: 16M
    catalog-db-max-size: 16M
key:
  - id: %[4]q
    algorithm: %[5]s
    secret: %[6]s
acl:
  - id: writer
    key: %[4]q
    %[7]s
zone:
  - domain: %[8]q
    storage: %[1]q
    file: zone.db
    acl: writer
`, dir, host, port, zone.Key.Name, zone.Key.Algorithm, zone.Key.Secret, rights, zone.Name, filepath.Join(dir, "knot.sock"))
	if err := os.WriteFile(filepath.Join(dir, "zone.db"), []byte(zone.Text), 0o600); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "knot.conf")
	return []string{"-c", file}, os.WriteFile(file, []byte(config), 0o600)
}
