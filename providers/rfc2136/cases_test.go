package rfc2136

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/rfc2136/rfc2136test"
)

func rrOf(name, kind, data string) providertest.RR {
	return providertest.RR{Name: name, Type: kind, TTL: 300 * time.Second, Data: data}
}

// Names and addresses in other spellings are the same set: nothing to change.
func TestCase41Spellings(t *testing.T) {
	zone := bareZone + "WwW 60 IN AAAA 2001:DB8:0:0::10\nALIAS 60 IN CNAME LB.Example.NET.\n"
	onEach(t, rfc2136test.Zone{Text: zone}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		seen := listed(t, a)
		key := record.Key{Zone: testZone, Name: "alias.example.com.", Type: record.CNAME}
		if got := seen.Set(key).Live(); !slices.Equal(got, []string{"lb.example.net."}) {
			t.Fatalf("CNAME: got %v", got)
		}
		if got := seen.Set(record.Key{Zone: testZone, Name: "www.example.com.", Type: record.AAAA}).Live(); !slices.Equal(got, []string{"2001:db8::10"}) {
			t.Fatalf("AAAA: got %v", got)
		}
		// The prerequisite repeats the letters of the zone, the swap goes by
		// what they mean.
		err := a.TakeAway(t.Context(), provider.Call{
			Key: key, Seen: seen, Next: stamp(3),
			Away: []record.Change{{Action: record.Swap, Key: key, From: "lb.example.net.", Value: "lb2.example.net.", TTL: time.Minute}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Short("alias.example.com.", "CNAME"); !slices.Equal(got, []string{"lb2.example.net."}) {
			t.Errorf("CNAME after the swap: got %v", got)
		}
	})
}

// What is written is exactly the absolute name that was meant.
func TestCase43AbsoluteNames(t *testing.T) {
	onEach(t, rfc2136test.Zone{}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		for _, name := range []string{"@", "www", "www2.example.com", "www3.example.com.", "*"} {
			parsed, err := record.ParseNameIn(name, testZone)
			if err != nil {
				t.Fatal(err)
			}
			key := record.Key{Zone: testZone, Name: parsed, Type: record.A}
			err = a.Add(t.Context(), provider.Call{
				Key: key, Seen: listed(t, a), Next: stamp(4),
				Add: []record.Change{{Action: record.Create, Key: key, Value: "192.0.2.1", TTL: time.Minute}},
			})
			if err != nil {
				t.Fatalf("create %s: %v", name, err)
			}
		}
		outside := record.Key{Zone: testZone, Name: "notexample.com.", Type: record.A}
		failed(t, a.Add(t.Context(), provider.Call{Key: outside, Seen: listed(t, a), Next: stamp(5)}), provider.Permanent, "", "not in the zone")
		var names []string
		for _, rr := range (&hand{t: t, server: s}).Dump() {
			if rr.Type == "A" {
				names = append(names, rr.Name)
			}
			if strings.Contains(rr.Name, "example.com.example.com") {
				t.Errorf("a doubled name: %v", rr)
			}
		}
		slices.Sort(names)
		want := []string{"*.example.com.", "example.com.", "www.example.com.", "www2.example.com.", "www3.example.com."}
		if !slices.Equal(names, want) {
			t.Errorf("expected %v, got %v", want, names)
		}
	})
}

// The bytes of a TXT are the same in the list as on the wire, and those that
// somebody put beside our copies stay as they are.
func TestCase44TextIsBytes(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone}, func(t *testing.T, s *rfc2136test.Server) {
		h := &hand{t: t, server: s}
		texts := map[string]string{
			`"` + strings.Repeat("a", 255) + `" "` + strings.Repeat("a", 45) + `"`: strings.Repeat("a", 300),
			`"with \" and \\ and ; and (x)"`:                                       `with " and \ and ; and (x)`,
			`" leading and trailing "`:                                             " leading and trailing ",
			`"\195\169"`:                                                           "é",
			`"ab" "cd"`:                                                            "abcd",
			`""`:                                                                   "",
			`"\000\255"`:                                                           "\x00\xff",
		}
		for shown := range texts {
			h.Put(rrOf("_sidestep.example.com.", "TXT", shown))
			h.Put(rrOf("_sidestep-paused.www.example.com.", "TXT", shown))
		}
		a := connect(t, s)
		seen, err := a.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, st := range seen.Stamps {
			got = append(got, st.Raw)
		}
		for _, text := range texts {
			want = append(want, text)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("expected the bytes\n%q, got\n%q", want, got)
		}
		before := s.Short("_sidestep-paused.www.example.com.", "TXT")
		if err := a.TakeAway(t.Context(), pauseOf(seen, "192.0.2.10", "192.0.2.20")); err != nil {
			t.Fatalf("every stamp is compared byte for byte and replaced: %v", err)
		}
		after := s.Short("_sidestep-paused.www.example.com.", "TXT")
		for _, text := range before {
			if !slices.Contains(after, text) {
				t.Errorf("lost beside our copy: %s", text)
			}
		}
		if len(after) != len(before)+1 {
			t.Errorf("expected one copy more than %d texts, got %v", len(before), after)
		}
	})
}

// Odd records neither break the list nor the failover of www.
func TestCase63OddRecords(t *testing.T) {
	zone := wwwZone + `@ IN LOC 52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m
naptr IN NAPTR 100 10 "U" "E2U+sip" "!^.*$!sip:info@example.com!" .
odd IN TYPE65280 \# 3 abcdef
caa IN TYPE257 \# 2 0000
@ IN CAA 0 issue "letsencrypt.org"
@ IN MX 10 mail.example.net.
http IN HTTPS 1 . alpn=h2
uri IN URI 10 1 "https://example.net/"
space\032and\.dot IN A 192.0.2.77
zero IN A 0.0.0.0
www IN TXT "beside"
`
	onEach(t, rfc2136test.Zone{Text: strings.Replace(zone, "caa IN TYPE257 \\# 2 0000\n", "", 1)}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		seen := listed(t, a)
		if err := a.TakeAway(t.Context(), pauseOf(seen, "192.0.2.10", "192.0.2.20")); err != nil {
			t.Fatalf("failover of www: %v", err)
		}
		told := strings.Join(seen.Skipped, "\n")
		for _, part := range []string{"space", "zero.example.com. A"} {
			if !strings.Contains(told, part) {
				t.Errorf("expected a line about %s, got %q", part, seen.Skipped)
			}
		}
		if len(seen.Skipped) != 2 {
			t.Errorf("expected two lines, got %q", seen.Skipped)
		}
	})
}

// A sibling that cannot be an answer of ours is put back by every write.
func TestCase63OddSiblingStays(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone + "www 60 IN A 0.0.0.0\n"}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")); err != nil {
			t.Fatal(err)
		}
		got := s.Short("www.example.com.", "A")
		slices.Sort(got)
		if !slices.Equal(got, []string{"0.0.0.0", "192.0.2.20"}) {
			t.Errorf("www: got %v", got)
		}
	})
}

// TTLs are the set's: a sibling keeps its own unless the config says one.
func TestSetHasOneTTL(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		ttls := func() string {
			var all []string
			for _, line := range s.Dig("+noall", "+answer", "www.example.com.", "A") {
				fields := strings.Fields(line)
				all = append(all, fields[4]+"/"+fields[1])
			}
			slices.Sort(all)
			return strings.Join(all, " ")
		}
		steps := []struct {
			change record.Change
			want   string
		}{
			{record.Change{Action: record.Pause, Value: "192.0.2.10"}, "192.0.2.20/60"},
			{record.Change{Action: record.SetTTL, Value: "192.0.2.20", TTL: 120 * time.Second}, "192.0.2.20/120"},
			{record.Change{Action: record.Resume, Value: "192.0.2.10"}, "192.0.2.10/120 192.0.2.20/120"},
			{record.Change{Action: record.Create, Value: "192.0.2.30"}, "192.0.2.10/120 192.0.2.20/120 192.0.2.30/120"},
			{record.Change{Action: record.Create, Value: "192.0.2.40", TTL: 30 * time.Second}, "192.0.2.10/30 192.0.2.20/30 192.0.2.30/30 192.0.2.40/30"},
		}
		for i, step := range steps {
			step.change.Key = wwwA
			call := provider.Call{Key: wwwA, Seen: listed(t, a), Next: stamp(100 + i)}
			write := a.TakeAway
			if step.change.Action.Add() {
				call.Add, write = []record.Change{step.change}, a.Add
			} else {
				call.Away = []record.Change{step.change}
			}
			if err := write(t.Context(), call); err != nil {
				t.Fatalf("%s %s: %v", step.change.Action, step.change.Value, err)
			}
			if got := ttls(); got != step.want {
				t.Errorf("%s %s: expected %s, got %s", step.change.Action, step.change.Value, step.want, got)
			}
		}
	})
}

// The server would drop records beside a CNAME without a word.
func TestNothingStandsBesideACNAME(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone + "alias IN CNAME lb.example.net.\n"}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		for _, row := range []struct{ name, kind, value string }{
			{"alias", "A", "192.0.2.1"}, {"www", "CNAME", "lb.example.net."}, {"alias", "CNAME", "lb2.example.net."},
		} {
			key := record.Key{Zone: testZone, Name: record.Name(row.name + ".example.com."), Type: record.Type(row.kind)}
			err := a.Add(t.Context(), provider.Call{
				Key: key, Seen: listed(t, a), Next: stamp(8),
				Add: []record.Change{{Action: record.Create, Key: key, Value: row.value, TTL: time.Minute}},
			})
			if provider.ClassOf(err) != provider.Permanent {
				t.Errorf("%v: expected Permanent, got %v", row, err)
			}
		}
		// In the gap between list and write.
		h := &hand{t: t, server: s}
		key := record.Key{Zone: testZone, Name: "fresh.example.com.", Type: record.A}
		call := provider.Call{
			Key: key, Seen: listed(t, a), Next: stamp(9), Loose: true,
			Add: []record.Change{{Action: record.Create, Key: key, Value: "192.0.2.1", TTL: time.Minute}},
		}
		h.Put(rrOf("fresh.example.com.", "CNAME", "lb.example.net."))
		failed(t, a.Add(t.Context(), call), provider.Conflict, "YXRRSET", "")
		if got := s.Short("_sidestep.example.com.", "TXT"); strings.Contains(fmt.Sprint(got), stamp(9).Nonce) {
			t.Error("the refused write left its stamp")
		}
	})
}
