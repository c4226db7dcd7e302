package tencentcloud

import (
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/tencentcloud/tencentcloudtest"
)

const testZone = "example.com."

// settings are those of the zone of a fake.
func settings(f *tencentcloudtest.Fake) provider.Settings {
	return provider.Settings{
		Zone:    testZone,
		Options: map[string]string{"endpoint": f.Server.URL},
		Secrets: map[string]provider.Secret{
			"secret_id": provider.NewSecret(tencentcloudtest.SecretID), "secret_key": provider.NewSecret(tencentcloudtest.SecretKey),
		},
		Client: "sidestep/test",
	}
}

func connect(t providertest.TB, s provider.Settings) *Adapter {
	t.Helper()
	a, err := build(s)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return a
}

// world is a fake and an adapter to it.
func world(t providertest.TB, o tencentcloudtest.Options) (*Adapter, *tencentcloudtest.Fake) {
	t.Helper()
	f := tencentcloudtest.Start(t, o)
	return connect(t, settings(f)), f
}

// TestConformance holds the adapter to the suite, in both editions, where new
// records are missing from lists until they settle.
func TestConformance(t *testing.T) {
	for edition, variant := range map[string]string{"china": "电信", "international": "10=0"} {
		t.Run(edition, func(t *testing.T) {
			providertest.Run(t, providertest.World{
				Zone:    testZone,
				Variant: variant,
				NoTypes: []string{"TYPE65280"},
				New: func(t providertest.TB) (provider.Adapter, providertest.Hand) {
					f := tencentcloudtest.Start(t, tencentcloudtest.Options{Edition: edition, Lag: time.Hour})
					s := settings(f)
					s.Options["edition"], s.Variants = edition, []string{variant}
					return connect(t, s), f.Hand(t, func() provider.Adapter { return connect(t, s) })
				},
			})
		})
	}
}

func key(label string, kind record.Type) record.Key {
	return record.Key{Zone: testZone, Name: record.Name(label + "." + testZone), Type: kind}
}

func list(t *testing.T, a *Adapter) *provider.Snapshot {
	t.Helper()
	s, err := a.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
