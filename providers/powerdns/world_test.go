package powerdns

import (
	"testing"

	"go.uber.org/goleak"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/provider/providertest/realserver"
	"sidestep/providers/powerdns/powerdnstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testZone = "example.com."

// settings are those of an adapter to the server behind its proxy.
func settings(f *powerdnstest.Fake) provider.Settings {
	return provider.Settings{
		Zone: f.Zone, Options: map[string]string{"endpoint": f.URL}, Client: "sidestep/test",
		Secrets: map[string]provider.Secret{"api_key": provider.NewSecret(realserver.PowerDNSKey)},
	}
}

func connect(t providertest.TB, f *powerdnstest.Fake) *Adapter {
	t.Helper()
	a, err := build(settings(f))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return a
}

func TestConformance(t *testing.T) {
	f := powerdnstest.Start(t, powerdnstest.Options{})
	providertest.Run(t, providertest.World{
		Zone: f.Zone,
		New: func(t providertest.TB) (provider.Adapter, providertest.Hand) {
			f.Clear()
			return connect(t, f), f.Hand(t, func() provider.Adapter { return connect(t, f) })
		},
	})
}
