package conformance

import (
	"testing"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest/realserver"
	"sidestep/providers/powerdns"
	"sidestep/providers/powerdns/powerdnstest"
	"sidestep/providers/rfc2136/rfc2136test"
)

// PowerDNS' DNSUPDATE finds no SVCB and no HTTPS record to delete by its value.
func TestRFC2136AtPowerDNS(t *testing.T) {
	runRFC2136(t, rfc2136test.StartPowerDNS, "SVCB", "HTTPS")
}

func TestPowerDNS(t *testing.T) {
	server := powerdnstest.Start(t, powerdnstest.Options{Text: zoneText})
	adapter, err := powerdns.New(provider.Settings{
		Zone:    "example.com.",
		Options: map[string]string{"endpoint": server.URL},
		Secrets: map[string]provider.Secret{"api_key": provider.NewSecret(realserver.PowerDNSKey)},
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, adapter, nil)
}
