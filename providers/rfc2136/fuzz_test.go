package rfc2136

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
)

// FuzzSnapshot feeds messages to the reader of transfers: no message may make
// it panic, and what it lists can be written back.
func FuzzSnapshot(f *testing.F) {
	for _, text := range []string{
		"www 60 IN A 192.0.2.1", "www 60 IN AAAA 2001:db8::1", "a 60 IN CNAME b.example.net.", "@ 60 IN NS ns.example.net.",
		"_sidestep 60 IN TXT \"v=1 holder=a at=1 epoch=1 seq=1 nonce=ff\"",
		"_sidestep-paused.www 60 IN TXT \"v=sidestep1 type=A value=192.0.2.2 ttl=60\"",
		"a-www 60 IN TXT \"heritage=external-dns,external-dns/owner=k8s\"", "x 60 IN TYPE65280 \\# 1 00",
	} {
		m := new(dns.Msg)
		m.SetAxfr(testZone)
		m.Response, m.Compress = true, true
		for _, line := range []string{"@ 60 IN SOA a. b. 1 2 3 4 5", text, "@ 60 IN NS ns.example.net.", "@ 60 IN SOA a. b. 1 2 3 4 5"} {
			parser := dns.NewZoneParser(strings.NewReader(line+"\n"), testZone, "")
			rr, ok := parser.Next()
			if !ok {
				f.Fatalf("%s: %v", line, parser.Err())
			}
			m.Answer = append(m.Answer, rr)
		}
		wire, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		m, err := parseMessage(wire)
		if err != nil {
			return
		}
		b := newBuilder(testZone)
		seen := &sequence{apex: testZone, visit: b.add}
		if err := seen.take(m); err != nil || !seen.done {
			return
		}
		snap, err := b.finish()
		if err != nil {
			return
		}
		a := &Adapter{zone: testZone}
		for _, set := range snap.Sets {
			call := provider.Call{Key: set.Key, Seen: snap, Next: stamp(1)}
			u, err := a.draw("fuzz", call, b.view)
			if err != nil {
				continue
			}
			if _, err := u.message(testZone).Pack(); err != nil {
				t.Fatalf("%v was listed and cannot be written: %v", set, err)
			}
		}
	})
}
