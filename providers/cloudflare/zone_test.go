package cloudflare

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sidestep/pkg/provider"
	"sidestep/providers/cloudflare/cloudflaretest"
)

// with is an adapter with other settings than the usual.
func with(t *testing.T, f *cloudflaretest.Fake, change func(*provider.Settings)) *Adapter {
	t.Helper()
	s := settings(f)
	change(&s)
	a, err := build(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestZoneIsFoundByItsExactName(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	for i := range 45 {
		f.AddZone(fmt.Sprintf("n%d.example.com.", i), "Account One")
	}
	f.AddZone("xexample.com.", "Account One")
	f.AddZone("xn--bcher-kva.example.", "Account One")
	a := connect(t, f)
	for range 3 {
		if _, err := a.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	looked := 0
	for _, r := range f.Server.Requests() {
		if strings.HasSuffix(r.Path, "/zones") {
			looked++
			if !strings.Contains(r.Query, "name=example.com&") {
				t.Errorf("asked for %s", r.Query)
			}
		}
	}
	if looked != 1 {
		t.Errorf("the zone was looked up %d times", looked)
	}
	unicode := with(t, f, func(s *provider.Settings) { s.Zone = "xn--bcher-kva.example." })
	if s, err := unicode.List(t.Context()); err != nil || s.Records != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestTwoZonesOfOneNameAreToldApartByAPerson(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	other := f.AddZone("example.com.", "Account Two")
	_, err := connect(t, f).List(t.Context())
	wantClass(t, "list", err, provider.Permanent, "2 zones", "Account One", "Account Two", f.ZoneID(), other, "zone_id")
	f.Put(t, address("192.0.2.10"))
	for id, want := range map[string]int{f.ZoneID(): 1, other: 0} {
		a := with(t, f, func(s *provider.Settings) { s.Options["zone_id"] = id })
		if s, err := a.List(t.Context()); err != nil || s.Records != want {
			t.Errorf("%s: %+v, %v", id, s, err)
		}
	}
}

func TestZoneTokenFindsTheZone(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{ZoneToken: "finder"})
	f.Put(t, address("192.0.2.10"))
	_, err := connect(t, f).List(t.Context())
	wantClass(t, "without it", err, provider.Permanent, "zone_token")
	a := with(t, f, func(s *provider.Settings) { s.Secrets["zone_token"] = provider.NewSecret("finder") })
	n := (&node{Adapter: a, t: t}).hold()
	if n.list().Records != 2 {
		t.Error("the zone is another one")
	}
	for _, r := range f.Server.Requests() {
		want := "Bearer " + cloudflaretest.DefaultToken
		if strings.HasSuffix(r.Path, "/zones") && len(r.Query) > 0 {
			continue
		}
		if r.Header.Get("Authorization") != want {
			t.Errorf("%s %s goes with another token", r.Method, r.Path)
		}
	}
	lines, err := a.Inspect(t.Context())
	if err != nil || !strings.Contains(strings.Join(lines, "\n"), "first write") {
		t.Errorf("inspect: %q, %v", lines, err)
	}
}

func TestZoneIDOfAnotherZone(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	f.Put(t, address("192.0.2.10"))
	wrong := func(s *provider.Settings) { s.Zone, s.Options["zone_id"] = "example.org.", f.ZoneID() }
	_, err := with(t, f, wrong).List(t.Context())
	wantClass(t, "a zone with records", err, provider.Permanent, "www.example.com", "zone_id")
	_, err = with(t, f, wrong).Inspect(t.Context())
	wantClass(t, "inspect", err, provider.Permanent, "example.com", "zone_id")

	empty := cloudflaretest.Start(t, cloudflaretest.Options{})
	wrong = func(s *provider.Settings) { s.Zone, s.Options["zone_id"] = "example.org.", empty.ZoneID() }
	a := with(t, empty, wrong)
	seen, err := a.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = a.Claim(t.Context(), seen, stampOf(1), nil)
	wantClass(t, "a zone without records", err, provider.Permanent, "_sidestep.example.org.example.com", "zone_id", "deleted again")
	if left := empty.Attributes(); len(left) > 0 {
		t.Errorf("left in the other zone: %v", left)
	}
	empty.Server.Arm(cloudflaretest.IsWrite, 1, empty.Refusal(http.StatusForbidden, 10000, "Authentication error"))
	err = a.Claim(t.Context(), seen, stampOf(1), nil)
	wantClass(t, "a record that cannot be deleted again", err, provider.Permanent, "zone_id", "and delete that record")

	gone := with(t, f, func(s *provider.Settings) { s.Options["zone_id"] = strings.Repeat("0f", 16) })
	_, err = gone.List(t.Context())
	wantClass(t, "an id of nobody", err, provider.Permanent, "9109", "correct zone_id")
	lines, err := gone.Inspect(t.Context())
	wantClass(t, "an id of nobody, inspected", err, provider.Permanent, "correct zone_id")
	if !strings.Contains(strings.Join(lines, "\n"), "or there is no such id") {
		t.Errorf("an id of nobody: inspected as %q", lines)
	}
}

// TestZoneIsLookedUpAgain: a zone that was deleted and made anew has another id.
func TestZoneIsLookedUpAgain(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	a := connect(t, f)
	if _, err := a.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.RemoveZone()
	_, err := a.List(t.Context())
	wantClass(t, "a zone that is gone", err, provider.Permanent, "9109")
	f.AddZone("example.com.", "Account One")
	if _, err := a.List(t.Context()); err != nil {
		t.Errorf("a zone that was made anew: %v", err)
	}
}

func TestInspect(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	f.SetToken(cloudflaretest.DefaultToken, cloudflaretest.Token{Status: "active", ExpiresOn: "2027-01-01T00:00:00Z", ReadZones: true, ReadDNS: true, EditDNS: true})
	told := func(a *Adapter) (string, error) {
		lines, err := a.Inspect(t.Context())
		return strings.Join(lines, "\n"), err
	}
	text, err := told(connect(t, f))
	for _, part := range []string{"active until 2027-01-01", "zone: example.com", "Free Website", "Account One", "records: 0", "may edit DNS records"} {
		if err != nil || !strings.Contains(text, part) {
			t.Errorf("expected %q in %q, %v", part, text, err)
		}
	}
	f.SetToken(cloudflaretest.DefaultToken, cloudflaretest.Token{Status: "active", Account: true, ReadZones: true, ReadDNS: true, EditDNS: true})
	if text, err = told(connect(t, f)); err != nil || !strings.Contains(text, "a token of an account") {
		t.Errorf("an account's token: %q, %v", text, err)
	}
	f.SetToken(cloudflaretest.DefaultToken, cloudflaretest.Token{Status: "active", ReadZones: true, ReadDNS: true})
	_, err = told(connect(t, f))
	wantClass(t, "a token that only reads", err, provider.Permanent, "may not edit", "DNS:Edit")
	f.SetToken(cloudflaretest.DefaultToken, cloudflaretest.Token{Status: "active", ReadDNS: true, EditDNS: true})
	byID := with(t, f, func(s *provider.Settings) { s.Options["zone_id"] = f.ZoneID() })
	if text, err = told(byID); err != nil || !strings.Contains(text, "was not compared") {
		t.Errorf("by id: %q, %v", text, err)
	}
	for _, r := range f.Server.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("inspect writes: %s %s", r.Method, r.Path)
		}
	}
}
