package rfc2136test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider/providertest/realserver"
)

// StartUnbound runs unbound as a resolver that asks one server about example.com, and
// about example.net, which that need not have.
func StartUnbound(t testing.TB, server string) *realserver.Process {
	t.Helper()
	return realserver.Start(t, realserver.Program{
		Name: "unbound", Packages: "unbound",
		Configure: func(dir, addr string) ([]string, error) {
			at := strings.NewReplacer(":", "@")
			config := fmt.Sprintf(`
server:
  directory: %[1]q
  chroot: ""
  username: ""
  pidfile: "unbound.pid"
  use-syslog: no
  interface: %[2]s
  do-ip6: no
  do-not-query-localhost: no
  access-control: 127.0.0.0/8 allow
  module-config: "iterator"
  num-threads: 1
remote-control:
  control-enable: no
stub-zone:
  name: "example.com"
  stub-addr: %[3]s
stub-zone:
  name: "example.net"
  stub-addr: %[3]s
`, dir, at.Replace(addr), at.Replace(server))
			file := filepath.Join(dir, "unbound.conf")
			return []string{"-dd", "-c", file}, os.WriteFile(file, []byte(config), 0o600)
		},
		Ready: resolves,
	})
}

// resolves asks without recursion: the resolver answers out of its cache, or refuses.
func resolves(ctx context.Context, addr string) bool {
	query := new(dns.Msg).SetQuestion("ns.example.com.", dns.TypeA)
	query.RecursionDesired = false
	client := dns.Client{Timeout: time.Second}
	_, _, err := client.ExchangeContext(ctx, query, addr)
	return err == nil
}
