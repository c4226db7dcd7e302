package observe

import (
	"net/http"
	"testing"
	"unicode/utf8"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

// FuzzRead reads any message as the answer of a name server.
func FuzzRead(f *testing.F) {
	for _, lines := range [][]string{
		{"www.example.com. 60 IN A 192.0.2.1"},
		{"www.example.com. 60 IN CNAME a.example.com.", "a.example.com. 30 IN CNAME www.example.com."},
		{`www.example.com. 60 IN TXT "a\"b\255"`, "www.example.com. 60 IN AAAA 2001:db8::1"},
		nil,
	} {
		m := new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA)
		m.Response, m.Authoritative = true, true
		for _, line := range lines {
			rr, err := dns.NewRR(line)
			if err != nil {
				f.Fatal(err)
			}
			m.Answer = append(m.Answer, rr)
		}
		soa, err := dns.NewRR("example.com. 300 IN SOA ns.example.com. admin.example.com. 7 1 1 1 60")
		if err != nil {
			f.Fatal(err)
		}
		m.Ns = append(m.Ns, soa)
		packet, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packet)
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		m := new(dns.Msg)
		if m.Unpack(packet) != nil {
			return
		}
		matches(m, new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA))
		for _, kind := range []record.Type{record.A, record.AAAA, record.CNAME, "TXT", "SOA"} {
			a := read(m, "www.example.com.", kind)
			if a.TTL < 0 || len(a.Values) > 0 && a.Negative != None || a.Rcode == "" {
				t.Errorf("%s: %+v", kind, a)
			}
		}
	})
}

// FuzzIdentity looks for the identity of a backend in any body: what is told is short
// and one line.
func FuzzIdentity(f *testing.F) {
	f.Add("json:node.0.name", []byte(`{"node":[{"name":"a"}]}`))
	f.Add("regexp:node ([a-z]+)", []byte("node a\nnode b"))
	f.Add("header:X-Backend", []byte(nil))
	f.Add("json:a", []byte("\xef\xbb\xbf{\"a\":1e400}"))
	f.Add("regexp:(x)|y", []byte("y"))
	f.Fuzz(func(t *testing.T, text string, body []byte) {
		id, err := ParseIdentity(text)
		if err != nil {
			return
		}
		identity, missing := id.of(&http.Response{Header: http.Header{}}, body, true)
		if id.IsZero() != (identity == "" && missing == "") {
			t.Errorf("%q: found %q, missing %q", text, identity, missing)
		}
		if s := short(identity); len(s) > nameLimit || !utf8.ValidString(s) {
			t.Errorf("%q: told as %q", text, s)
		}
	})
}
