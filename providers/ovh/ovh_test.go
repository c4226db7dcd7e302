package ovh

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
	"sidestep/providers/ovh/ovhtest"
)

const zone = "example.com."

var www = record.Key{Zone: zone, Name: "www.example.com.", Type: record.A}

func settings(fake *ovhtest.Fake, consumer string) provider.Settings {
	return provider.Settings{
		Zone:    zone,
		Options: map[string]string{"endpoint": fake.Endpoint()},
		Secrets: map[string]provider.Secret{
			"application_key": provider.NewSecret(ovhtest.ApplicationKey), "application_secret": provider.NewSecret(ovhtest.ApplicationSecret),
			"consumer_key": provider.NewSecret(consumer),
		},
	}
}

func connect(t providertest.TB, fake *ovhtest.Fake, consumer string) provider.Adapter {
	t.Helper()
	a, err := New(settings(fake, consumer))
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
			fake := ovhtest.Start(t, zone)
			connect := func() provider.Adapter { return connect(t, fake, ovhtest.ConsumerKey) }
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

func TestSettings(t *testing.T) {
	fake := ovhtest.Start(t, zone)
	for endpoint, want := range map[string]string{
		"ovh-eu": "", "": "", "ovh-mars": "expected ovh-eu", "http://192.0.2.1/1.0": "in the clear", "ftp://x/": "expected a URL",
	} {
		s := settings(fake, "c")
		s.Options["endpoint"] = endpoint
		_, err := New(s)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("endpoint %q: expected %q, got %v", endpoint, want, err)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	fake := ovhtest.Start(t, zone)
	_, err := connect(t, fake, "wrong").List(t.Context())
	wantError(t, err, provider.Permanent, "HTTP 403", "validate --online")
	a := connect(t, fake, ovhtest.ConsumerKey)
	list := func(r *http.Request, _ []byte) bool { return strings.HasSuffix(r.URL.Path, "/record") }
	for _, row := range []struct {
		status int
		body   string
		class  provider.Class
		want   string
	}{
		{200, "<html><body>Bad gateway</body></html>", provider.Retryable, "invalid character"},
		{502, "<html></html>", provider.Retryable, "HTTP 502"},
		{404, `{"message":"This service does not exist"}`, provider.Permanent, "account that has it"},
		{429, `{"message":"slow down"}`, provider.Retryable, "HTTP 429"},
	} {
		for range maxLists {
			fake.Server.Arm(list, 0, httpfake.Fault{Status: row.status, Body: row.body})
		}
		_, err := a.List(t.Context())
		wantError(t, err, row.class, row.want)
		fake.Server.Disarm()
	}
	// A record that goes away between its id and itself is no short list.
	fake.Hand(nil).Put(providertest.RR{Name: "www.example.com.", Type: "A", TTL: time.Minute, Data: "192.0.2.1"})
	one := func(r *http.Request, _ []byte) bool { return strings.HasSuffix(r.URL.Path, "/record/2") }
	fake.Server.Arm(one, 0, httpfake.Fault{Status: 500, Body: `{"message":"oops"}`})
	_, err = a.List(t.Context())
	wantError(t, err, provider.Retryable, "HTTP 500")
}

// A change whose reply is lost half way is published before it is listed.
func TestLostReplyIsPublished(t *testing.T) {
	fake := ovhtest.Start(t, zone)
	a, hand := connect(t, fake, ovhtest.ConsumerKey), fake.Hand(nil)
	hand.Put(providertest.RR{Name: "www.example.com.", Type: "A", TTL: 5 * time.Minute, Data: "192.0.2.1"})
	seen, err := a.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	post := func(r *http.Request, _ []byte) bool { return r.Method == http.MethodPost }
	fake.Server.Arm(post, 0, httpfake.Fault{Apply: true, Drop: true})
	err = a.Add(t.Context(), provider.Call{Key: www, Seen: seen, Add: []record.Change{{Action: record.Create, Key: www, Value: "192.0.2.2", TTL: time.Minute}}})
	wantError(t, err, provider.Ambiguous)
	if seen, err = a.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"192.0.2.1", "192.0.2.2"}
	if got := seen.Set(www).Live(); !slices.Equal(got, want) {
		t.Errorf("listed: %v", got)
	}
	if got := hand.Live(www); !slices.Equal(got, want) {
		t.Errorf("published: %v", got)
	}
}

// A refusal to publish comes after the change: nobody may take it for "nothing
// happened", and what is listed is published first.
func TestRefusedRefreshIsAmbiguous(t *testing.T) {
	fake := ovhtest.Start(t, zone)
	a, hand := connect(t, fake, ovhtest.ConsumerKey), fake.Hand(nil)
	hand.Put(providertest.RR{Name: "www.example.com.", Type: "A", TTL: 5 * time.Minute, Data: "192.0.2.1"})
	refresh := func(r *http.Request, _ []byte) bool { return strings.HasSuffix(r.URL.Path, "/refresh") }
	fake.Server.Arm(refresh, 0, httpfake.Fault{Status: 403, Body: `{"message":"This call has not been granted"}`})
	add := func(value string) error {
		seen, err := a.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return a.Add(t.Context(), provider.Call{Key: www, Seen: seen, Add: []record.Change{{Action: record.Create, Key: www, Value: value, TTL: time.Minute}}})
	}
	wantError(t, add("192.0.2.2"), provider.Ambiguous, "HTTP 403")
	if got := hand.Live(www); !slices.Equal(got, []string{"192.0.2.1"}) {
		t.Fatalf("published without a refresh: %v", got)
	}
	fake.Server.Arm(refresh, 0, httpfake.Fault{Status: 403, Body: `{"message":"This call has not been granted"}`})
	_, err := a.List(t.Context())
	wantError(t, err, provider.Permanent, "publish the zone", "HTTP 403")
	if _, err := a.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := hand.Live(www); !slices.Equal(got, []string{"192.0.2.1", "192.0.2.2"}) {
		t.Fatalf("listed and not published: %v", got)
	}
	if err := add("192.0.2.3"); err != nil {
		t.Fatal(err)
	}
	if got := hand.Live(www); !slices.Equal(got, []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}) {
		t.Errorf("live: %v", got)
	}
}
