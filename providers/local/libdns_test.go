package local

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
)

func rrs(records []libdns.Record) []string {
	var lines []string
	for _, r := range records {
		rr := r.RR()
		lines = append(lines, strings.Join([]string{rr.Name, rr.TTL.String(), rr.Type, rr.Data}, " "))
	}
	slices.Sort(lines)
	return lines
}

func wantRRs(t *testing.T, what string, got []libdns.Record, err error, want ...string) {
	t.Helper()
	slices.Sort(want)
	if err != nil || !slices.Equal(rrs(got), want) {
		t.Errorf("%s: got %v\n%s\nwant\n%s", what, err, strings.Join(rrs(got), "\n"), strings.Join(want, "\n"))
	}
}

func TestLibdnsRoundTrip(t *testing.T) {
	path, a := newZoneFile(t, soaAndNS+"www 60 A 192.0.2.1 ; first\n")
	ctx := t.Context()
	soa := "@ 5m0s SOA ns.example.com. hostmaster.example.com. "
	ns := "@ 5m0s NS ns.example.net."

	got, err := a.AppendRecords(ctx, "example.com.", []libdns.Record{
		libdns.Address{Name: "www", TTL: time.Hour, IP: netip.MustParseAddr("192.0.2.2")},
		libdns.Address{Name: "WWW", TTL: time.Hour, IP: netip.MustParseAddr("192.0.2.1")},
		libdns.MX{Name: "@", TTL: time.Hour, Preference: 10, Target: "mail.example.net."},
		libdns.TXT{Name: "txt", TTL: time.Hour, Text: `a "b" \ ; é` + strings.Repeat("x", 300)},
		libdns.CAA{Name: "@", TTL: time.Hour, Tag: "issue", Value: "letsencrypt.org"},
		libdns.SRV{Service: "sip", Transport: "tcp", Name: "@", TTL: time.Hour, Priority: 1, Weight: 2, Port: 5060, Target: "sip.example.net."},
	})
	appended := []string{
		"www 1m0s A 192.0.2.2", "www 1m0s A 192.0.2.1", "@ 1h0m0s MX 10 mail.example.net.", `@ 1h0m0s CAA 0 issue "letsencrypt.org"`,
		`txt 1h0m0s TXT a "b" \ ; é` + strings.Repeat("x", 300), "_sip._tcp 1h0m0s SRV 1 2 5060 sip.example.net.",
	}
	wantRRs(t, "append", got, err, appended...)
	got, err = a.GetRecords(ctx, "EXAMPLE.com")
	wantRRs(t, "get", got, err, append(appended, soa+"8 3600 600 86400 60", ns)...)

	got, err = a.SetRecords(ctx, "example.com.", []libdns.Record{
		libdns.Address{Name: "www", TTL: 30 * time.Second, IP: netip.MustParseAddr("192.0.2.1")},
		libdns.Address{Name: "www", TTL: 40 * time.Second, IP: netip.MustParseAddr("192.0.2.3")},
		libdns.TXT{Name: "txt", TTL: time.Hour, Text: "short"},
	})
	wantRRs(t, "set", got, err, "www 30s A 192.0.2.1", "www 30s A 192.0.2.3", "txt 1h0m0s TXT short")
	if text := contentOf(t, path); !strings.Contains(text, "www 30 A 192.0.2.1 ; first\n") {
		t.Errorf("the line that stays is not in its place:\n%s", text)
	}

	got, err = a.DeleteRecords(ctx, "example.com.", []libdns.Record{
		libdns.RR{Name: "www", Type: "A", Data: "192.0.2.3"},
		libdns.RR{Name: "txt"},
		libdns.RR{Name: "@", TTL: time.Minute},
		libdns.RR{Name: "none", Type: "A"},
		libdns.RR{Name: "@", Type: "SOA"},
	})
	wantRRs(t, "delete", got, err, "www 30s A 192.0.2.3", "txt 1h0m0s TXT short")
	got, err = a.GetRecords(ctx, "example.com.")
	wantRRs(t, "get", got, err, "www 30s A 192.0.2.1", "@ 1h0m0s MX 10 mail.example.net.", `@ 1h0m0s CAA 0 issue "letsencrypt.org"`,
		"_sip._tcp 1h0m0s SRV 1 2 5060 sip.example.net.", soa+"10 3600 600 86400 60", ns)

	before := contentOf(t, path)
	got, err = a.DeleteRecords(ctx, "example.com.", []libdns.Record{libdns.RR{Name: "none"}})
	if wantRRs(t, "delete of nothing", got, err); contentOf(t, path) != before {
		t.Error("a delete of nothing has written")
	}
}

func TestLibdnsRefuses(t *testing.T) {
	path, a := newZoneFile(t, twoAnswers)
	for name, rr := range map[string]libdns.RR{
		"outside":          {Name: "www.example.net.", Type: "A", Data: "192.0.2.1"},
		"no address":       {Name: "x", Type: "A", Data: "192.0.2.300"},
		"two lines":        {Name: "x", Type: "A", Data: "192.0.2.1\ny 1 A 192.0.2.2"},
		"an open text":     {Name: "x", Type: "A", Data: "( 192.0.2.1"},
		"a comment":        {Name: "x", Type: "A", Data: "192.0.2.1 ; y"},
		"a name in blanks": {Name: "x A 192.0.2.1\ny", Type: "A", Data: "192.0.2.1"},
		"a directive":      {Name: "$ORIGIN", Type: "A", Data: "192.0.2.1"},
		"no final dot":     {Name: "x", Type: "CNAME", Data: "lb.example.net"},
		"a SOA":            {Name: "@", Type: "SOA", Data: "a. b. 1 2 3 4 5"},
		"a negative TTL":   {Name: "x", Type: "A", TTL: -time.Second, Data: "192.0.2.1"},
		"a CNAME beside":   {Name: "www", Type: "CNAME", Data: "x.example.net."},
		"no type":          {Name: "x", Data: "192.0.2.1"},
	} {
		got, err := a.AppendRecords(t.Context(), "example.com.", []libdns.Record{libdns.RR{Name: "fine", Type: "A", Data: "192.0.2.1"}, rr})
		if got != nil || err == nil || provider.ClassOf(err) != provider.Permanent {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	if _, err := a.GetRecords(t.Context(), "example.net."); provider.ClassOf(err) != provider.Permanent {
		t.Errorf("another zone: %v", err)
	}
	if contentOf(t, path) != twoAnswers {
		t.Errorf("the file became\n%s", contentOf(t, path))
	}
}
