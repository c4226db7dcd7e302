//go:build live

package cloudflare

import (
	"os"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// TestLive takes the walk at the real API, in the zone that the environment
// names.
func TestLive(t *testing.T) {
	token, name := os.Getenv("SIDESTEP_LIVE_CLOUDFLARE_TOKEN"), os.Getenv("SIDESTEP_LIVE_CLOUDFLARE_ZONE")
	if token == "" || name == "" {
		t.Fatal("set SIDESTEP_LIVE_CLOUDFLARE_TOKEN and SIDESTEP_LIVE_CLOUDFLARE_ZONE: see the package's documentation")
	}
	zone, err := record.ParseName(name)
	if err != nil {
		t.Fatal(err)
	}
	a, err := build(provider.Settings{
		Zone: zone, Secrets: map[string]provider.Secret{"api_token": provider.NewSecret(token)},
		Limiter: provider.NewLimiter(2, 10, 1), Client: "sidestep/live-test",
	})
	if err != nil {
		t.Fatal(err)
	}
	walk(&node{Adapter: a, t: t, seq: int(time.Now().Unix() % 1e9)}) // its nonces are new in each run
}
