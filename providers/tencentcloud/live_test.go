//go:build live

package tencentcloud

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// TestLive goes once through create, pause, resume and swap on a domain of a real
// account, as doc.go says. It takes about five minutes, because new records may
// be missing from lists for half a minute.
func TestLive(t *testing.T) {
	s := provider.Settings{
		Zone:    record.Name(os.Getenv("SIDESTEP_TENCENTCLOUD_ZONE") + "."),
		Options: map[string]string{"edition": os.Getenv("SIDESTEP_TENCENTCLOUD_EDITION")},
		Secrets: map[string]provider.Secret{
			"secret_id": provider.NewSecret(os.Getenv("TENCENTCLOUD_SECRET_ID")), "secret_key": provider.NewSecret(os.Getenv("TENCENTCLOUD_SECRET_KEY")),
		},
		Limiter: provider.NewLimiter(5, 5, 2),
	}
	if s.Zone == "." || s.Secrets["secret_key"].Empty() {
		t.Skip("SIDESTEP_TENCENTCLOUD_ZONE, TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY name no domain to try")
	}
	a := connect(t, s)
	for _, line := range must(a.Inspect(t.Context()))(t) {
		t.Log(line)
	}
	k := record.Key{Zone: s.Zone, Name: "sidestep-live." + s.Zone, Type: record.A}
	alias := record.Key{Zone: s.Zone, Name: "sidestep-live-alias." + s.Zone, Type: record.CNAME}
	t.Cleanup(func() {
		gone, err := a.DeleteRecords(context.WithoutCancel(t.Context()), string(s.Zone), []libdns.Record{
			libdns.RR{Name: "sidestep-live"}, libdns.RR{Name: "sidestep-live-alias"}, libdns.RR{Name: provider.ParkedName(alias.Name).Relative(s.Zone)},
		})
		t.Logf("deleted %d records, %v", len(gone), err)
	})
	settle := func() *provider.Snapshot {
		t.Helper()
		time.Sleep(listLag)
		return list(t, a)
	}
	a.mustAdd(t, provider.Call{Key: k, Seen: list(t, a), Add: []record.Change{
		{Action: record.Create, Key: k, Value: one, TTL: 10 * time.Minute}, {Action: record.Create, Key: k, Value: two, TTL: 10 * time.Minute},
	}})
	away := []record.Change{{Action: record.Pause, Key: k, Value: one}}
	a.mustTakeAway(t, provider.Call{Key: k, Seen: settle(), Away: away, Survivors: []string{two}})
	if got, _ := settle().Set(k).Find(one); got.Live || !got.Paused {
		t.Errorf("paused, and listed as %+v", got)
	}
	a.mustAdd(t, provider.Call{Key: k, Seen: list(t, a), Add: []record.Change{{Action: record.Resume, Key: k, Value: one}}})
	if got, _ := settle().Set(k).Find(one); !got.Live || got.Paused {
		t.Errorf("resumed, and listed as %+v", got)
	}
	a.mustAdd(t, provider.Call{Key: alias, Seen: list(t, a), Add: []record.Change{{Action: record.Create, Key: alias, Value: "dc1.example.net.", TTL: 10 * time.Minute}}})
	swap := []record.Change{{Action: record.Swap, Key: alias, From: "dc1.example.net.", Value: "dc2.example.net.", TTL: 10 * time.Minute}}
	for range 2 {
		a.mustTakeAway(t, provider.Call{Key: alias, Seen: settle(), Away: swap})
	}
	if got, _ := settle().Set(alias).Find("dc2.example.net."); !got.Live {
		t.Errorf("swapped, and listed as %+v", got)
	}
}

// must ends the test with an error that came beside a result.
func must[T any](result T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}
