package cloudflare

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/cloudflare/cloudflaretest"
)

// twice is a zone in which one value is live and parked with the same attributes.
func twice(t *testing.T) (*cloudflaretest.Fake, *node) {
	t.Helper()
	f, n := world(t)
	parked := address("192.0.2.10")
	parked.Name = "_sidestep-paused.www"
	f.Put(t, parked)
	return f, n
}

// parkedIn lists what is under the names of parked copies.
func parkedIn(f *cloudflaretest.Fake) []string {
	return slices.DeleteFunc(f.Attributes(), func(line string) bool { return !strings.HasPrefix(line, "_sidestep-paused.") })
}

func TestResumeTakesTheEqualCopyAway(t *testing.T) {
	f, n := twice(t)
	id := f.Records()[0].ID
	n.must(wwwA, nil, record.Change{Action: record.Resume, Value: "192.0.2.10"})
	if left := parkedIn(f); len(left) > 0 || f.Records()[0].ID != id {
		t.Errorf("parked: %v; the live record should keep its id %s: %+v", left, id, f.Records()[0])
	}
}

// TestLastCopyStays: between list and call the live record is deleted, and what
// is parked is all there is of the value.
func TestLastCopyStays(t *testing.T) {
	gone := func(f *cloudflaretest.Fake) provider.Gate {
		return func() error {
			f.Hand(t, nil).Remove(providertest.RR{Name: "www.example.com.", Type: "A", Data: "192.0.2.10"})
			return nil
		}
	}
	f, n := twice(t)
	call := provider.Call{
		Key: wwwA, Seen: n.list(), Next: n.next(), Gate: gone(f),
		Add: []record.Change{{Action: record.Resume, Key: wwwA, Value: "192.0.2.10"}},
	}
	wantClass(t, "resume", n.Add(t.Context(), call), provider.Conflict, "81044")
	if left := parkedIn(f); len(left) != 1 {
		t.Errorf("after a resume: %v", left)
	}
	f, n = twice(t)
	_, err := n.Release(t.Context(), n.list(), gone(f))
	wantClass(t, "release", err, provider.Conflict, "81044")
	if left := parkedIn(f); len(left) != 1 {
		t.Errorf("after a release: %v", left)
	}
}

func TestNoPatchForATTLThatIsNotKept(t *testing.T) {
	f, n := world(t)
	f.Patch(t, "www.example.com", "A", "192.0.2.10", func(r *cloudflaretest.Record) { r.Proxied, r.TTL = true, 1 })
	f.Server.Forget()
	n.must(wwwA, []string{"192.0.2.20"}, record.Change{Action: record.SetTTL, Value: "192.0.2.10", TTL: time.Minute})
	if got := bodies(f); len(got) != 1 || strings.Contains(got[0], `"ttl":60,`) || strings.Count(got[0], `"ttl"`) != 1 {
		t.Errorf("sent %v", got)
	}
}

func TestNoSecondAlias(t *testing.T) {
	f, n := world(t)
	f.Put(t, cloudflaretest.Record{Name: "alias", Type: "CNAME", Content: "a.example.net", TTL: 300})
	f.Server.Forget()
	err := n.write(aliasC, nil, record.Change{Action: record.Create, Value: "b.example.net.", TTL: time.Minute})
	wantClass(t, "a second alias", err, provider.Conflict, "swap it")
	if got := bodies(f); len(got) > 0 {
		t.Errorf("sent %v", got)
	}
}

func TestLibdnsDeletesOnlyWhatMatches(t *testing.T) {
	f, n := world(t)
	for _, rr := range []libdns.RR{
		{Name: "www", Type: "A", TTL: time.Hour},
		{Name: "www", Type: "AAAA"},
		{Name: "www", Type: "A", Data: "192.0.2.1"},
		{Name: "ww"},
		{Name: "@"},
		{},
	} {
		if gone, err := n.DeleteRecords(t.Context(), testZone, []libdns.Record{rr}); err != nil || len(gone) > 0 {
			t.Errorf("%+v: deleted %v, %v", rr, gone, err)
		}
	}
	gone, err := n.DeleteRecords(t.Context(), "Example.com", []libdns.Record{libdns.RR{Name: "WWW", TTL: 5 * time.Minute, Data: "192.0.2.10"}})
	if err != nil || len(gone) != 1 || len(f.Records()) != 2 {
		t.Errorf("deleted %v, %v", gone, err)
	}
	if got, ok := gone[0].(libdns.Address).ProviderData.(Attributes); !ok || got.ID == "" {
		t.Errorf("without its attributes: %+v", gone[0])
	}
	if _, err := n.GetRecords(t.Context(), "example.org."); provider.ClassOf(err) != provider.Permanent {
		t.Errorf("another zone: %v", err)
	}
}
