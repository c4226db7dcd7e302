package hetzner

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/hetzner/hetznertest"
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
			fake := hetznertest.Start(t, zone)
			connect := func() provider.Adapter { return connect(t, hetznertest.Token) }
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

// What can go wrong with a list is told, and names the next step where a person
// has to take it.
func TestBadAnswers(t *testing.T) {
	fake := hetznertest.Start(t, zone)
	_, err := connect(t, "wrong").List(t.Context())
	wantError(t, err, provider.Permanent, "HTTP 401", "validate --online")
	if strings.Contains(err.Error(), "wrong") {
		t.Errorf("the error shows the credential: %v", err)
	}
	a := connect(t, hetznertest.Token)
	for _, row := range []struct {
		body string
		want string
	}{
		{"<html><body>Bad gateway</body></html>", "invalid character"},
		{`{"zones":[]}`, "no zone example.com of this credential"},
		{`{}`, "not moved to the Cloud Console"},
		{"", "unexpected end"},
	} {
		fake.Server.Arm(httpfake.Any, 0, httpfake.Fault{Status: 200, Body: row.body})
		_, err := a.List(t.Context())
		wantError(t, err, provider.Retryable, row.want)
	}
	fake.Server.Arm(httpfake.Any, 0, httpfake.Fault{Status: 502, Body: "<html></html>"})
	_, err = a.List(t.Context())
	wantError(t, err, provider.Retryable, "HTTP 502")
}

// A pause deletes the one record by its id, and costs what it has to.
func TestPauseDeletesByID(t *testing.T) {
	fake := hetznertest.Start(t, zone)
	a := connect(t, hetznertest.Token)
	hand := fake.Hand(nil)
	for _, value := range []string{"192.0.2.1", "192.0.2.2"} {
		hand.Put(providertest.RR{Name: "www.example.com.", Type: "A", TTL: 5 * time.Minute, Data: value})
	}
	for range 2 { // the copy, then the record; the second of the two by value
		seen, err := a.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		call := provider.Call{Key: www, Seen: seen, Survivors: []string{"192.0.2.1"}, Away: []record.Change{{Action: record.Pause, Key: www, Value: "192.0.2.2"}}}
		if err := a.TakeAway(t.Context(), call); err != nil {
			t.Fatal(err)
		}
	}
	if got := hand.Live(www); !slices.Equal(got, []string{"192.0.2.1"}) {
		t.Errorf("live: %v", got)
	}
	var writes []string
	for _, r := range fake.Server.Requests() {
		if r.Method != http.MethodGet {
			writes = append(writes, r.Method+" "+r.Path)
		}
	}
	if want := []string{"POST /api/v1/records", "DELETE /api/v1/records/4"}; !slices.Equal(writes, want) {
		t.Errorf("got the writes %q, want %q", writes, want)
	}
}
