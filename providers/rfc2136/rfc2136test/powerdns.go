package rfc2136test

import (
	"testing"

	"sidestep/pkg/provider/providertest/realserver"
)

// StartPowerDNS runs pdns_server (PowerDNS Authoritative) with DNSUPDATE as the
// primary of one zone.
func StartPowerDNS(t testing.TB, zone Zone) *Server {
	t.Helper()
	zone = zone.completed()
	s := &Server{Zone: zone.Name, Key: zone.Key, t: t}
	s.Process = realserver.StartPowerDNS(t, realserver.PowerDNSZone{
		Name: zone.Name, Text: zone.Text, Key: zone.Key.Name, Algorithm: zone.Key.Algorithm, Secret: zone.Key.Secret,
		NoTransfer: zone.NoTransfer, NoUpdate: zone.NoUpdate, Ready: s.answers,
	}).Process
	return s
}
