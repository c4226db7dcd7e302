//go:build live

package route53

import (
	"os"
	"slices"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// TestLive plays a failover and its return in a real hosted zone, and takes away
// what it wrote. See doc.go for what it needs.
func TestLive(t *testing.T) {
	name := os.Getenv("SIDESTEP_LIVE_ROUTE53_ZONE")
	if name == "" {
		t.Fatal("SIDESTEP_LIVE_ROUTE53_ZONE is not set: it names a hosted zone that holds nothing of worth")
	}
	zone, err := record.ParseName(name)
	if err != nil {
		t.Fatal(err)
	}
	a := connect(t, provider.Settings{
		Zone: zone, Client: "sidestep/live-test", Limiter: provider.NewLimiter(2, 5, 1),
		Options: map[string]string{"hosted_zone_id": os.Getenv("SIDESTEP_LIVE_ROUTE53_ID")},
	})
	a.poll = pollEvery
	lines, err := a.Inspect(t.Context())
	t.Log(lines, err)
	if err != nil {
		t.Fatal(err)
	}
	stamps := 0
	next := func() provider.Stamp {
		stamps++
		s := stamp(stamps)
		s.At, s.Nonce = time.Now(), s.Nonce[:8]+time.Now().Format("05.000000")
		return s
	}
	if err := a.Claim(t.Context(), list(t, a), next(), nil); err != nil {
		t.Fatal(err)
	}
	if err := a.Prove(t.Context(), list(t, a), next(), nil); err != nil {
		t.Fatal(err)
	}
	www := record.Key{Zone: zone, Name: zone.Below("sidestep-live"), Type: record.A}
	write := func(empty bool, add, away []record.Change) {
		t.Helper()
		call := provider.Call{Key: www, Seen: list(t, a), Next: next(), Add: add, Away: away, Empty: empty}
		if err := a.TakeAway(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if err := a.Confirm(t.Context()); err != nil {
			t.Error(err)
		}
		t.Logf("%+v", list(t, a).Set(www))
	}
	write(false, []record.Change{create(www, "192.0.2.1"), create(www, "192.0.2.2")}, nil)
	write(false, nil, []record.Change{pause(www, "192.0.2.1")})
	if got := list(t, a).Set(www).Live(); !slices.Equal(got, []string{"192.0.2.2"}) {
		t.Errorf("live after the failover: %v", got)
	}
	write(false, []record.Change{resume(www, "192.0.2.1")}, nil)
	write(false, nil, []record.Change{{Action: record.SetWeight, Key: www, Value: "192.0.2.1", Weight: 3}})
	if _, err := a.Release(t.Context(), list(t, a), nil); err != nil {
		t.Error(err)
	}
	b := new(batch)
	b.replace(list(t, a).Native.(*view).places[www.Name].sets, nil)
	if err := a.send(t.Context(), "clean up", b, nil); err != nil {
		t.Error(err)
	}
}
