package rfc2136

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/providers/rfc2136/rfc2136test"
)

// Without the serial the other prerequisites have to hold alone: whatever a
// call compares, an edit between its list and its sending stops it.
func TestLooseCallsCompareEverythingElse(t *testing.T) {
	alias := record.Key{Zone: testZone, Name: "alias.example.com.", Type: record.CNAME}
	other := provider.Stamp{Holder: "mon-2", Nonce: "00000000000000ee"}
	for _, row := range []struct {
		what string
		edit func(*hand)
		key  record.Key
		want provider.Class
	}{
		{"a value more", func(h *hand) { h.Put(rrOf("www.example.com.", "A", "192.0.2.30")) }, wwwA, provider.Conflict},
		{"a value less", func(h *hand) { h.Remove(rrOf("www.example.com.", "A", "192.0.2.20")) }, wwwA, provider.Conflict},
		{"a copy more", func(h *hand) { h.Put(rrOf("_sidestep-paused.www.example.com.", "TXT", `"a note"`)) }, wwwA, provider.Conflict},
		{"a stamp more", func(h *hand) { h.Put(rrOf("_sidestep.example.com.", "TXT", `"`+other.String()+`"`)) }, wwwA, provider.FencedOut},
		{"a record beside the CNAME", func(h *hand) { h.Put(rrOf("alias.example.com.", "TXT", `"x"`)) }, alias, provider.Conflict},
	} {
		t.Run(row.what, func(t *testing.T) {
			onEach(t, rfc2136test.Zone{Text: wwwZone}, func(t *testing.T, s *rfc2136test.Server) {
				a, h := connect(t, s), &hand{t: t, server: s}
				call := pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")
				if row.key == alias {
					call.Away, call.Survivors = nil, nil
					call.Add = []record.Change{{Action: record.Create, Key: alias, Value: "lb.example.net."}}
				}
				call.Key, call.Loose, call.Gate = row.key, true, func() error { row.edit(h); return nil }
				err := a.TakeAway(t.Context(), call)
				if provider.ClassOf(err) != row.want {
					t.Errorf("expected %v, got %v", row.want, err)
				}
				if stamps := s.Short("_sidestep.example.com.", "TXT"); strings.Contains(fmt.Sprint(stamps), call.Next.Nonce) {
					t.Error("the refused call left its stamp")
				}
			})
		})
	}
}

// A resume takes its copy away, and what else is among the copies keeps its
// text and its TTL.
func TestCopiesComeAndGo(t *testing.T) {
	zone := wwwZone + "_sidestep-paused.www 777 IN TXT \"somebody's note\"\n"
	onEach(t, rfc2136test.Zone{Text: zone}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		copies := func() []string {
			lines := s.Dig("+noall", "+answer", "_sidestep-paused.www.example.com.", "TXT")
			for i, line := range lines {
				fields := strings.Fields(line)
				lines[i] = fields[1] + " " + strings.Join(fields[4:], " ")
			}
			slices.Sort(lines)
			return lines
		}
		if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")); err != nil {
			t.Fatal(err)
		}
		want(t, "copies after the pause", copies(), `777 "somebody's note"`, `777 "v=sidestep1 type=A value=192.0.2.10 ttl=60"`)
		call := provider.Call{Key: wwwA, Seen: listed(t, a), Next: stamp(78), Add: []record.Change{{Action: record.Resume, Key: wwwA, Value: "192.0.2.10"}}}
		if err := a.Add(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		want(t, "copies after the resume", copies(), `777 "somebody's note"`)
	})
}

// Every connection is closed when its call is over.
func TestConnectionsAreClosed(t *testing.T) {
	s := rfc2136test.StartBIND(t, rfc2136test.Zone{Name: testZone, Text: wwwZone})
	proxy := rfc2136test.StartProxy(t, s)
	a := connectTo(t, s, proxy.Addr)
	for range 5 {
		seen := listed(t, a)
		if err := a.Prove(t.Context(), seen, stamp(1), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Stamps(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(time.Minute); proxy.Open() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are still open", proxy.Open())
		}
	}
}

func TestTransferOutOfOrder(t *testing.T) {
	transfer := func(lines ...string) *message {
		m := new(dns.Msg)
		m.SetAxfr(testZone)
		m.Response = true
		for _, line := range lines {
			rr, err := dns.NewRR(line)
			if err != nil {
				t.Fatal(err)
			}
			m.Answer = append(m.Answer, rr)
		}
		wire, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parseMessage(wire)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	const soa, later, a = "example.com. 60 IN SOA a. b. 1 2 3 4 5", "example.com. 60 IN SOA a. b. 2 2 3 4 5", "www.example.com. 60 IN A 192.0.2.1"
	for _, row := range []struct {
		lines []string
		wrong string
		done  bool
	}{
		{[]string{soa, a, soa}, "", true},
		{[]string{soa, a}, "", false},
		{[]string{soa, a, later}, "began with serial 1 and ended with 2", false},
		{[]string{a, soa}, "expected the SOA", false},
		{nil, "empty answer", false},
		{[]string{soa, soa, a}, "nothing after", true},
		{[]string{"example.net. 60 IN SOA a. b. 1 2 3 4 5"}, "expected the SOA", false},
	} {
		s := &sequence{apex: testZone, visit: func(resource) {}}
		err := s.take(transfer(row.lines...))
		if s.done != row.done || (err == nil) != (row.wrong == "") || err != nil && !strings.Contains(err.Error(), row.wrong) {
			t.Errorf("%v: expected done %v and an error about %q, got %v and %v", row.lines, row.done, row.wrong, s.done, err)
		}
	}
	s := &sequence{apex: testZone, visit: func(resource) {}, octets: maxOctets}
	if err := s.take(transfer(soa)); !errors.Is(err, errHuge) {
		t.Errorf("too many octets: got %v", err)
	}
	s = &sequence{apex: testZone, visit: func(resource) {}, records: maxRecords}
	if err := s.take(transfer(soa)); !errors.Is(err, errHuge) {
		t.Errorf("too many records: got %v", err)
	}
}

// A reply that says BADTIME without a good signature settles nothing.
func TestUnsignedBadTimeIsAmbiguousForAWrite(t *testing.T) {
	m := &message{rcode: dns.RcodeNotAuth, signature: &dns.TSIG{Error: dns.RcodeBadTime, OtherLen: 6, OtherData: "000000000001"}}
	for _, row := range []struct {
		write bool
		trust error
		want  provider.Class
	}{
		{true, nil, provider.Retryable}, {true, errUnsigned, provider.Ambiguous}, {false, errUnsigned, provider.Retryable},
	} {
		x := exchange{op: "test", key: &key{name: "k."}, write: row.write, signed: time.Unix(361, 0)}
		err := x.judge(m, row.trust)
		if provider.ClassOf(err) != row.want || !strings.Contains(err.Error(), "about 360 s") {
			t.Errorf("%+v: got %v: %v", row, provider.ClassOf(err), err)
		}
	}
}

func TestUnsignedRepliesEndTheChainAtOnce(t *testing.T) {
	c := chain{key: &key{name: "k."}}
	if err := c.next(&message{}, false); !errors.Is(err, errUnsigned) {
		t.Errorf("unsigned first: got %v", err)
	}
	c = chain{key: &key{name: "k."}, begun: true}
	for i := range maxUnsigned {
		if err := c.next(&message{}, false); err != nil {
			t.Fatalf("unsigned message %d: %v", i+1, err)
		}
	}
	if err := c.next(&message{}, false); !errors.Is(err, errUnsigned) {
		t.Errorf("one too many: got %v", err)
	}
}
