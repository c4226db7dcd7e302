package config

import (
	"strings"
	"testing"
)

const oneNode = `node: {name: mon-1, vantage: eu}
state: {dir: /var/lib/one}
control: {socket: /run/one.sock}
canary: {targets: [{tcp: "198.51.100.1:53"}]}
leader: {lock: etcd}
etcd: {endpoints: ["http://127.0.0.1:2379"], prefix: /sidestep/prod}
zones:
  - {zone: example.com, provider: cloudflare, api_token: env:ONE}
  - {zone: example.net, provider: rfc2136, server: "127.0.0.1:53"}
checks:
  web: {tcp: {port: 443}, source: 192.0.2.7}
records:
  - {name: www.example.com, check: web, answers: [203.0.113.10, 203.0.113.20]}
`

// Nodes are told apart by what they steer and how, and not by what is each one's own.
func TestWhatNodesHaveInCommon(t *testing.T) {
	env := Options{Getenv: func(name string) string { return "secret-" + name }}
	common := func(edits ...string) string {
		return string(mustParse(t, "c.yaml", strings.NewReplacer(edits...).Replace(oneNode), env).Common().Show())
	}
	one := common()
	other := common(
		"mon-1", "mon-2", "vantage: eu", "vantage: us", "/var/lib/one", "/srv/two", "/run/one.sock", "/run/two.sock", "198.51.100.1:53", "198.51.100.2:53",
		`["http://127.0.0.1:2379"]`, `["https://etcd.example.net:2379"], user: two, password: env:PW`,
		"api_token: env:ONE", "api_token: env:TWO, zone_token: env:FIND, endpoint: https://api.example.net/client/v4", "source: 192.0.2.7", "source: 192.0.2.8",
		`server: "127.0.0.1:53"`, `server: "127.0.0.2:53", verify: {servers: ["127.0.0.3:53"]}`,
	)
	if one != other {
		t.Errorf("what is a node's own tells them apart:\n%s\n%s", one, other)
	}
	for what, different := range map[string]string{
		"an answer": common("203.0.113.20", "203.0.113.21"), "a port": common("443", "444"), "the prefix": common("/sidestep/prod", "/sidestep/test"),
		"the lease": common("lock: etcd", "lock: etcd, lease: 20s"),
	} {
		if different == one {
			t.Errorf("%s does not tell them apart", what)
		}
	}
	if strings.Contains(one, "secret") || strings.Contains(one, "mon-1") {
		t.Errorf("it is a node's own: %s", one)
	}
}
