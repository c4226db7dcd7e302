package daemon

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// least is an adapter whose provider keeps no TTL below a minute.
type least struct{ provider.Adapter }

func (l least) Promises() provider.Promises {
	p := l.Adapter.Promises()
	p.MinTTL = time.Minute
	return p
}

// TestCase50TTLBelowTheProvidersMinimum warns before the first write that a TTL is
// not kept as given, with place, name and both numbers, and of no other.
func TestCase50TTLBelowTheProvidersMinimum(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Records[0].TTL = 30 * time.Second
		w.config.Sources.Records = map[record.Key]config.Position{www: {File: "sidestep.yaml", Line: 12, Column: 5}}
		w.addSet(&steer.Spec{Key: record.Key{Zone: home, Name: "api.example.com.", Type: record.A}, TTL: time.Minute, Policy: steer.All, MinLive: 1}, a, b)
		registry := provider.Registry{"memory": func(s provider.Settings) (provider.Adapter, error) {
			return least{w.zones[s.Zone].Adapter("mon-1")}, nil
		}}
		zones, err := Validate(t.Context(), w.config, registry, slog.New(slog.DiscardHandler))
		want := "sidestep.yaml:12:5: www.example.com. A: the provider keeps no TTL below 1m0s, and the config says 30s: name servers answer with 1m0s"
		if err != nil || len(zones[0].Warnings) != 1 || zones[0].Warnings[0] != want {
			t.Errorf("got %q, %v", zones[0].Warnings, err)
		}
	})
}

// TestTTLAboveTheProvidersMaximum warns likewise.
func TestTTLAboveTheProvidersMaximum(t *testing.T) {
	c := &config.Config{Records: []*steer.Spec{{Key: www, TTL: 48 * time.Hour}}}
	c.Sources.Records = map[record.Key]config.Position{www: {File: "sidestep.yaml", Line: 12, Column: 5}}
	got := oddTTLs(c, home, provider.Promises{MaxTTL: 24 * time.Hour})
	want := "sidestep.yaml:12:5: www.example.com. A: the provider keeps no TTL above 24h0m0s, and the config says 48h0m0s: name servers answer with 24h0m0s"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q", got)
	}
	if got := oddTTLs(c, home, provider.Promises{}); len(got) > 0 {
		t.Errorf("without a bound: %q", got)
	}
}

// What a zone costs is told where calls are counted, and a warning comes when
// there are more zones of one credential than can be listed in time.
func TestValidateTellsCosts(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		for class, want := range map[memory.Class]string{
			memory.Rename: "a switch of one record set takes a list, two writes and a list; while nothing changes it is listed every 5m0s",
			memory.Exact:  "takes a list, one write and a list",
			memory.Status: "takes a list and a write for each record, and a list at the end",
			memory.Append: "takes three writes, with a list before and after each",
		} {
			zone := memory.NewZone(home, memory.Options{Class: class})
			rate := provider.TraitsOf("cloudflare").Rate
			if text := costs(zone.Adapter("mon-1"), rate, 5*time.Minute); !strings.Contains(text, want) {
				t.Errorf("%s: %q", class, text)
			}
			if text := costs(zone.Adapter("mon-1"), provider.Rate{}, 5*time.Minute); text != "" {
				t.Errorf("%s without a limit: %q", class, text)
			}
		}
	})
	c := &config.Config{Reconcile: config.Reconcile{Every: 5 * time.Minute}}
	for i := range 452 {
		token := "one"
		if i == 0 {
			token = "another"
		}
		c.Zones = append(c.Zones, config.Zone{
			Name: record.Name(fmt.Sprintf("z%d.example.", i)), Provider: "cloudflare", Position: config.Position{File: "c.yaml", Line: i + 1, Column: 3},
			Settings: provider.Settings{Secrets: map[string]provider.Secret{"api_token": provider.NewSecret(token)}},
		})
	}
	got := crowded(c)
	want := "c.yaml:2:3: reconcile.every: 451 zones share this credential, and listing each every 5m0s takes more than half of its 3 calls a second; use 6m0s"
	if len(got) != 1 || got[1] != want {
		t.Errorf("got %v", got)
	}
	c.Zones = c.Zones[:451]
	if got := crowded(c); len(got) != 0 {
		t.Errorf("450 zones are half: %v", got)
	}
	c.Leader.Lock = config.LockZone
	want = "c.yaml:2:3: leader.lock: 450 zones share this credential, and their stamps as locks take 30 calls a second of the leader and 45 of a standby, more than half of the 3 that it makes; use longer heartbeat, takeover and poll, or a lock that all zones share"
	if got := crowded(c); len(got) != 1 || got[1] != want {
		t.Errorf("with a lock in each zone: %v", got)
	}
	c.Zones = c.Zones[:16]
	if got := crowded(c); len(got) != 0 {
		t.Errorf("15 zones are half: %v", got)
	}
}
