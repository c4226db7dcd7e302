package conformance

import (
	"testing"

	"sidestep/pkg/provider"
	"sidestep/providers/cloudflare"
	"sidestep/providers/cloudflare/cloudflaretest"
)

func TestCloudflare(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	adapter, err := cloudflare.New(provider.Settings{
		Zone:    "example.com.",
		Options: map[string]string{"endpoint": f.Endpoint()},
		Secrets: map[string]provider.Secret{"api_token": provider.NewSecret(cloudflaretest.DefaultToken)},
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, adapter, nil)
}
