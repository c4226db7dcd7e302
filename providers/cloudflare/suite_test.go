package cloudflare

import (
	"testing"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/providers/cloudflare/cloudflaretest"
)

const testZone = "example.com."

// settings are those of a fake's zone.
func settings(f *cloudflaretest.Fake) provider.Settings {
	return provider.Settings{
		Zone:    testZone,
		Options: map[string]string{"endpoint": f.Endpoint()},
		Secrets: map[string]provider.Secret{"api_token": provider.NewSecret(cloudflaretest.DefaultToken)},
	}
}

// connect makes an adapter to a fake.
func connect(tb cloudflaretest.TB, f *cloudflaretest.Fake) *Adapter {
	tb.Helper()
	a, err := build(settings(f))
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return a
}

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.World{
		Zone:    testZone,
		NoTypes: []string{"TYPE65280"},
		New: func(t providertest.TB) (provider.Adapter, providertest.Hand) {
			f := cloudflaretest.Start(t, cloudflaretest.Options{})
			return connect(t, f), f.Hand(t, func() provider.Adapter { return connect(t, f) })
		},
	})
}
