package rfc2136

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libdns/libdns"

	"sidestep/providers/rfc2136/rfc2136test"
)

// lines are records in a form that compares, sorted.
func lines(records []libdns.Record) []string {
	var all []string
	for _, r := range records {
		rr := r.RR()
		all = append(all, strings.Join([]string{rr.Name, rr.TTL.String(), rr.Type, rr.Data}, " | "))
	}
	slices.Sort(all)
	return all
}

// rest is what GetRecords says beside SOA and NS.
func rest(t *testing.T, a *Adapter) []string {
	t.Helper()
	records, err := a.GetRecords(t.Context(), testZone)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(lines(records), func(l string) bool {
		return strings.Contains(l, " | SOA | ") || strings.Contains(l, " | NS | ")
	})
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: expected\n%s\ngot\n%s", what, strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

func TestLibdnsRoundTrip(t *testing.T) {
	onEach(t, rfc2136test.Zone{}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		minute := time.Minute
		added := []libdns.Record{
			libdns.Address{Name: "www", TTL: minute, IP: netip.MustParseAddr("192.0.2.1")},
			libdns.Address{Name: "www", TTL: minute, IP: netip.MustParseAddr("2001:db8::1")},
			libdns.CNAME{Name: "alias", TTL: minute, Target: "lb.example.net."},
			libdns.MX{Name: "@", TTL: minute, Preference: 10, Target: "mail.example.net."},
			libdns.TXT{Name: "txt", TTL: minute, Text: "quote \" and \\ and é and " + strings.Repeat("x", 300)},
			libdns.SRV{Service: "sip", Transport: "tcp", Name: "@", TTL: minute, Priority: 1, Weight: 2, Port: 5060, Target: "sip.example.net."},
			libdns.CAA{Name: "@", TTL: minute, Tag: "issue", Value: "letsencrypt.org"},
		}
		done, err := a.AppendRecords(t.Context(), testZone, added)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "appended", lines(done), lines(added)...)
		want(t, "the zone after that", rest(t, a), lines(added)...)

		// A second member joins at the TTL of the first.
		done, err = a.AppendRecords(t.Context(), "Example.COM", []libdns.Record{libdns.Address{Name: "www", TTL: time.Hour, IP: netip.MustParseAddr("192.0.2.2")}})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "joined", lines(done), "www | 1m0s | A | 192.0.2.2")

		// Two members replace the whole set, other types of the name stay.
		done, err = a.SetRecords(t.Context(), testZone, []libdns.Record{
			libdns.Address{Name: "www", TTL: minute, IP: netip.MustParseAddr("192.0.2.7")},
			libdns.Address{Name: "www", TTL: minute, IP: netip.MustParseAddr("192.0.2.8")},
		})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "set", lines(done), "www | 1m0s | A | 192.0.2.7", "www | 1m0s | A | 192.0.2.8")
		if got := slices.Sorted(slices.Values(s.Short("www.example.com.", "A"))); !slices.Equal(got, []string{"192.0.2.7", "192.0.2.8"}) {
			t.Errorf("www A: got %v", got)
		}
		want(t, "www AAAA", s.Short("www.example.com.", "AAAA"), "2001:db8::1")

		if _, err := a.SetRecords(t.Context(), testZone, []libdns.Record{libdns.CNAME{Name: "www", TTL: minute, Target: "x.example.net."}}); err == nil {
			t.Error("a CNAME beside addresses: expected an error, for the server would ignore it")
		}
		if _, err := a.GetRecords(t.Context(), "example.net."); err == nil {
			t.Error("another zone: expected an error")
		}
	})
}

func TestLibdnsDelete(t *testing.T) {
	zone := bareZone + "www 60 IN A 192.0.2.1\nwww 60 IN A 192.0.2.2\nwww 60 IN TXT \"a\"\nmail 60 IN MX 10 m.example.net.\nmail 60 IN MX 20 n.example.net.\n"
	onEach(t, rfc2136test.Zone{Text: zone}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		for _, row := range []struct {
			what string
			del  libdns.RR
			gone []string
		}{
			{"another TTL", libdns.RR{Name: "www", Type: "A", TTL: time.Hour, Data: "192.0.2.1"}, nil},
			{"absent", libdns.RR{Name: "www", Type: "A", Data: "192.0.2.9"}, nil},
			{"exact", libdns.RR{Name: "www", Type: "A", TTL: time.Minute, Data: "192.0.2.1"}, []string{"www | 1m0s | A | 192.0.2.1"}},
			{"by type", libdns.RR{Name: "mail", Type: "MX"}, []string{"mail | 1m0s | MX | 10 m.example.net.", "mail | 1m0s | MX | 20 n.example.net."}},
			{"by name", libdns.RR{Name: "www"}, []string{"www | 1m0s | A | 192.0.2.2", "www | 1m0s | TXT | a"}},
		} {
			gone, err := a.DeleteRecords(t.Context(), testZone, []libdns.Record{row.del})
			if err != nil {
				t.Fatalf("%s: %v", row.what, err)
			}
			want(t, row.what, lines(gone), row.gone...)
		}
		want(t, "what is left", rest(t, a))
	})
}
