package config

import (
	"maps"
	"net/netip"
	"slices"

	"sidestep/pkg/check"
	"sidestep/pkg/provider"
)

// ownKeys are the keys of a zone's entry that say how a node reaches it, and by whose
// right, and not what is steered: those of two nodes may differ.
var ownKeys = []string{
	"endpoint", "file", "listen", "profile", "region", "role_arn", "server", "transfer_from", "tsig.algorithm", "tsig.name",
}

// Common is a config without what may differ between nodes that steer the same: who a
// node is, where it keeps its state and who may talk to it, its canary, the address
// that probes leave from, whom it tells, secrets, and how it reaches the etcd and the
// providers. It is to be shown and compared, and to nothing else.
func (c *Config) Common() *Config {
	out := *c
	out.Node, out.State, out.Control, out.Canary = Node{}, State{}, Control{}, Canary{}
	out.Notify, out.Ping = nil, Ping{}
	out.Etcd = Etcd{Prefix: c.Etcd.Prefix}
	if len(c.Etcd.Endpoints) > 0 {
		out.Etcd.Endpoints = []string{"http://127.0.0.1:2379"} // there is one
	}
	out.TLSFiles = map[string]TLSFiles{}
	out.Checks = map[string]*check.Spec{}
	for name, spec := range c.Checks {
		common := *spec
		common.Source = netip.Addr{}
		out.Checks[name] = &common
	}
	out.Zones = slices.Clone(c.Zones)
	for i := range out.Zones {
		z := &out.Zones[i]
		z.Settings.Secrets, z.Settings.Insecure, z.Verify.Servers = map[string]provider.Secret{}, false, nil
		z.Settings.Options = maps.Clone(z.Settings.Options)
		maps.DeleteFunc(z.Settings.Options, func(key, _ string) bool { return slices.Contains(ownKeys, key) })
	}
	return &out
}
