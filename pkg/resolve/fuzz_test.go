package resolve

import (
	"errors"
	"testing"

	"github.com/miekg/dns"
)

// FuzzResolve feeds arbitrary bytes as a resolver's answer. Whatever they are,
// reading ends with addresses of the type, a no, or an error, and the chain
// begins with the name and is bounded.
func FuzzResolve(f *testing.F) {
	const name = "www.example.com."
	for _, text := range [][]string{
		{"www.example.com. 60 A 192.0.2.10"},
		{"www.example.com. 60 CNAME edge.example.net.", "edge.example.net. 60 A 192.0.2.10", "edge.example.net. 60 AAAA 2001:db8::1"},
		{"www.example.com. 60 CNAME www.example.com."},
		{"WWW.example.com. 60 CNAME a\\.b.example.", "a\\.b.example. 60 CNAME \\000.example."},
	} {
		reply := new(dns.Msg).SetQuestion(name, dns.TypeA)
		reply.Response, reply.RecursionAvailable = true, true
		for _, line := range text {
			rr, err := dns.NewRR(line)
			if err != nil {
				f.Fatal(err)
			}
			reply.Answer = append(reply.Answer, rr)
		}
		packed, err := reply.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed, true)
	}
	f.Fuzz(func(t *testing.T, packet []byte, v6 bool) {
		reply := new(dns.Msg)
		if reply.Unpack(packet) != nil {
			return
		}
		kind := dns.TypeA
		if v6 {
			kind = dns.TypeAAAA
		}
		v, err := read(reply, name, kind)
		if err != nil {
			if v.names != nil || v.addresses != nil || v.negative != nil {
				t.Errorf("an error (%v) with an answer: %+v", err, v)
			}
			return
		}
		if (v.negative == nil) != (len(v.addresses) > 0) {
			t.Errorf("neither addresses nor a no: %+v", v)
		}
		if v.names[0] != name || len(v.names) > maxChain+1 {
			t.Errorf("bad chain %q", v.names)
		}
		for _, addr := range v.addresses {
			if !addr.IsValid() || addr.Is4() == v6 {
				t.Errorf("%s is no address of the type", addr)
			}
		}
		a, err := merge(name, []view{v, {kind: kind, names: []string{name}, err: errors.New("x")}})
		if negative, ok := errors.AsType[*NoAddressError](err); ok {
			t.Errorf("a no from half a view: %v (%+v)", negative, a)
		}
	})
}
