package route53

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/route53/route53test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testZone = "example.com."

// settings are those of the fake's zone.
func settings(f *route53test.Fake) provider.Settings {
	return provider.Settings{
		Zone:    testZone,
		Options: map[string]string{"endpoint": f.Server.URL, "hosted_zone_id": route53test.ZoneID},
		Secrets: map[string]provider.Secret{
			"access_key_id":     provider.NewSecret(route53test.AccessKey),
			"secret_access_key": provider.NewSecret(route53test.SecretKey),
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
	a.poll = time.Millisecond
	t.Cleanup(func() { a.replace(nil) })
	return a
}

// start is a fake, an adapter to it, and its console.
func start(t providertest.TB, o route53test.Options) (*Adapter, *route53test.Fake, *route53test.Hand) {
	t.Helper()
	f := route53test.Start(t, o)
	return connect(t, settings(f)), f, f.Hand(func() provider.Adapter { return connect(t, settings(f)) })
}

func world(o route53test.Options) providertest.World {
	return providertest.World{
		Zone: testZone,
		New: func(t providertest.TB) (provider.Adapter, providertest.Hand) {
			a, _, h := start(t, o)
			return a, h
		},
		Skip:    map[string]string{},
		NoTypes: []string{"TYPE65280"},
	}
}

// TestConformance is the suite where what an operator puts are plain sets.
func TestConformance(t *testing.T) {
	w := world(route53test.Options{})
	w.Skip["variant/apart"] = "no set with an identifier can stand beside a plain one; TestConformanceWeighted has sets that can"
	providertest.Run(t, w)
}

// TestConformanceWeighted is the suite where every address that an operator puts
// is a weighted set of its own.
func TestConformanceWeighted(t *testing.T) {
	providertest.Run(t, world(route53test.Options{Weighted: true}))
}

// TestConformancePaged is the suite in a zone that takes many pages.
func TestConformancePaged(t *testing.T) {
	w := world(route53test.Options{PageSize: 2, Messages: true})
	w.Skip["variant/apart"] = "no set with an identifier can stand beside a plain one; TestConformanceWeighted has sets that can"
	providertest.Run(t, w)
}

func stamp(n int) provider.Stamp {
	return provider.Stamp{Holder: "node-1", At: time.Unix(1764460800, 0).UTC(), Epoch: 1, Seq: uint64(n), Nonce: fmt.Sprintf("%016x", 0xabc0000+n)} //nolint:gosec // small
}

// holder lists the zone and becomes its holder.
func holder(t testing.TB, a *Adapter) *provider.Snapshot {
	t.Helper()
	seen := list(t, a)
	if err := a.Claim(t.Context(), seen, stamp(1), nil); err != nil {
		t.Fatal(err)
	}
	return list(t, a)
}

func list(t testing.TB, a *Adapter) *provider.Snapshot {
	t.Helper()
	s, err := a.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func key(label string, kind record.Type) record.Key {
	return record.Key{Zone: testZone, Name: record.Name(label + "." + testZone), Type: kind}
}
