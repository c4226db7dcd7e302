package rfc2136test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// StartBIND runs named (BIND 9) as the primary of one zone.
func StartBIND(t testing.TB, zone Zone) *Server {
	t.Helper()
	return start(t, "named", zone, bindFiles)
}

func bindFiles(dir, addr string, zone Zone) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	transfer, update := fmt.Sprintf("{ key %q; }", zone.Key.Name), fmt.Sprintf("{ grant %q zonesub ANY; }", zone.Key.Name)
	if zone.NoTransfer {
		transfer = "{ none; }"
	}
	if zone.NoUpdate {
		update = `{ grant "nobody." zonesub ANY; }`
	}
	config := fmt.Sprintf(`
options {
	directory %[1]q; pid-file "named.pid"; session-keyfile "session.key"; managed-keys-directory %[1]q;
	listen-on port %[3]s { %[2]s; }; listen-on-v6 { none; };
	recursion no; notify no; dnssec-validation no; empty-zones-enable no; minimal-responses yes;
};
controls { };
key %[4]q { algorithm %[5]s; secret %[6]q; };
key "nobody." { algorithm hmac-sha256; secret "bm9ib2R5"; };
zone %[7]q { type primary; file "zone.db"; check-integrity no; check-names ignore; allow-transfer %[8]s; update-policy %[9]s; };
`, dir, host, port, zone.Key.Name, zone.Key.Algorithm, zone.Key.Secret, zone.Name, transfer, update)
	if err := os.WriteFile(filepath.Join(dir, "zone.db"), []byte(zone.Text), 0o600); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "named.conf")
	return []string{"-c", file, "-f", "-g", "-n", "1"}, os.WriteFile(file, []byte(config), 0o600)
}
