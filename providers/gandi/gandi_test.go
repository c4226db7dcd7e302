package gandi

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/gandi/ganditest"
)

const zone = "example.com."

var www = record.Key{Zone: zone, Name: "www.example.com.", Type: record.A}

func connect(t providertest.TB, token string) provider.Adapter {
	t.Helper()
	a, err := New(provider.Settings{Zone: zone, Secrets: map[string]provider.Secret{"api_token": provider.NewSecret(token)}})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return a
}

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.World{
		Zone:    zone,
		NoTypes: []string{"TYPE65280"},
		New: func(t providertest.TB) (provider.Adapter, providertest.Hand) {
			fake := ganditest.Start(t, zone)
			connect := func() provider.Adapter { return connect(t, ganditest.Token) }
			return connect(), fake.Hand(connect)
		},
	})
}

func wantError(t *testing.T, err error, class provider.Class, words ...string) {
	t.Helper()
	if err == nil || provider.ClassOf(err) != class {
		t.Fatalf("expected an error of class %v, got %v", class, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("expected %q in: %v", word, err)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	fake := ganditest.Start(t, zone)
	_, err := connect(t, "wrong").List(t.Context())
	wantError(t, err, provider.Permanent, "HTTP 401", "validate --online")
	if strings.Contains(err.Error(), "wrong") {
		t.Errorf("the error shows the credential: %v", err)
	}
	for _, row := range []struct {
		status int
		body   string
		class  provider.Class
		want   string
	}{
		{200, "<html><body>Bad gateway</body></html>", provider.Retryable, "invalid character"},
		{502, "<html></html>", provider.Retryable, "invalid character"},
		{200, "", provider.Retryable, "EOF"},
		{404, `{"code":404,"message":"The domain doesn't exist"}`, provider.Permanent, "account that has it"},
		{429, `{"code":429,"message":"slow down"}`, provider.Retryable, "HTTP 429"},
	} {
		a := connect(t, ganditest.Token) // the module remembers a domain
		fake.Server.Arm(httpfake.Any, 0, httpfake.Fault{Status: row.status, Body: row.body})
		_, err := a.List(t.Context())
		wantError(t, err, row.class, row.want)
	}
}

// A set has one TTL: what comes back takes that of its siblings, and does not
// change it.
func TestResumeTakesTheTTLOfItsSiblings(t *testing.T) {
	fake := ganditest.Start(t, zone)
	a, hand := connect(t, ganditest.Token), fake.Hand(nil)
	hand.Put(providertest.RR{Name: "www.example.com.", Type: "A", TTL: 15 * time.Minute, Data: "192.0.2.2"})
	hand.Put(providertest.RR{Name: "_sidestep-paused.www.example.com.", Type: "TXT", TTL: 5 * time.Minute, Data: `"v=sidestep1 type=A value=192.0.2.1 ttl=300"`})
	seen, err := a.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add := provider.Call{Key: www, Seen: seen, Add: []record.Change{{Action: record.Resume, Key: www, Value: "192.0.2.1"}}}
	if err := a.Add(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, rr := range hand.Dump() {
		if rr.Type == "A" {
			got = append(got, rr.String())
		}
	}
	slices.Sort(got)
	if want := []string{"www.example.com. 900 A 192.0.2.1", "www.example.com. 900 A 192.0.2.2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A TTL of the config that LiveDNS does not take is raised to the smallest.
func TestSmallTTLIsRaised(t *testing.T) {
	fake := ganditest.Start(t, zone)
	a, hand := connect(t, ganditest.Token), fake.Hand(nil)
	hand.Put(providertest.RR{Name: "www.example.com.", Type: "A", TTL: 5 * time.Minute, Data: "192.0.2.2"})
	seen, err := a.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add := provider.Call{Key: www, Seen: seen, Add: []record.Change{{Action: record.Create, Key: www, Value: "192.0.2.1", TTL: time.Minute}}}
	if err := a.Add(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	if got := hand.Live(www); len(got) != 2 {
		t.Errorf("live: %v", got)
	}
}
