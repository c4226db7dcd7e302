package authority

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"
)

func ask(name string, kind uint16) *dns.Msg { return new(dns.Msg).SetQuestion(name, kind) }

func TestRespondHeader(t *testing.T) {
	z := exampleZone(t)
	req := ask("WwW.eXample.com.", dns.TypeA)
	req.RecursionDesired = true
	m := respond(z, req, false)
	if !m.Response || !m.Authoritative || m.RecursionAvailable || m.Id != req.Id || !m.RecursionDesired {
		t.Errorf("header %+v", m.MsgHdr)
	}
	if m.Question[0].Name != "WwW.eXample.com." || m.Answer[0].Header().Name != "WwW.eXample.com." {
		t.Errorf("the case of the question is lost: %s", m)
	}
	if m.IsEdns0() != nil {
		t.Error("an OPT record in the answer to a request without one")
	}
}

func TestRespondRcodes(t *testing.T) {
	z := exampleZone(t)
	for name, c := range map[string]struct {
		change func(*dns.Msg)
		want   int
	}{
		"out of zone":   {func(m *dns.Msg) { m.Question[0].Name = "www.example.net." }, dns.RcodeRefused},
		"class chaos":   {func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }, dns.RcodeRefused},
		"class any":     {func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassANY }, dns.RcodeSuccess},
		"notify":        {func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify }, dns.RcodeNotImplemented},
		"update":        {func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate }, dns.RcodeNotImplemented},
		"no question":   {func(m *dns.Msg) { m.Question = nil }, dns.RcodeFormatError},
		"two questions": {func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }, dns.RcodeFormatError},
		"two OPT":       {func(m *dns.Msg) { m.SetEdns0(1232, false).SetEdns0(1232, false) }, dns.RcodeFormatError},
		"EDNS 1":        {func(m *dns.Msg) { m.SetEdns0(1232, false).IsEdns0().SetVersion(1) }, dns.RcodeBadVers},
		"AXFR":          {func(m *dns.Msg) { m.SetAxfr("example.com.") }, dns.RcodeRefused},
	} {
		t.Run(name, func(t *testing.T) {
			req := ask("www.example.com.", dns.TypeA)
			c.change(req)
			m := respond(z, req, false)
			if m.Rcode != c.want {
				t.Errorf("rcode %s, want %s", dns.RcodeToString[m.Rcode], dns.RcodeToString[c.want])
			}
			if c.want != dns.RcodeSuccess && (len(m.Answer) > 0 || m.Authoritative) {
				t.Errorf("an answer beside an error: %s", m)
			}
		})
	}
	if m := respond(nil, ask("www.example.com.", dns.TypeA), false); m.Rcode != dns.RcodeRefused {
		t.Errorf("without a zone: rcode %s, want REFUSED", dns.RcodeToString[m.Rcode])
	}
}

func TestRespondFitsItsTransport(t *testing.T) {
	text := head
	for i := range 100 {
		text += fmt.Sprintf("many 60 IN A 192.0.2.%d\n", i)
	}
	z := parse(t, text)
	for _, c := range []struct {
		edns  uint16 // 0 is none
		tcp   bool
		limit int
		whole bool
	}{
		{0, false, 512, false},
		{100, false, 512, false},
		{800, false, 800, false},
		{4096, false, 1232, false},
		{0, true, dns.MaxMsgSize, true},
	} {
		req := ask("many.example.com.", dns.TypeA)
		if c.edns > 0 {
			req.SetEdns0(c.edns, true)
		}
		m := respond(z, req, c.tcp)
		wire, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if len(wire) > c.limit || m.Truncated == c.whole || c.whole != (len(m.Answer) == 100) {
			t.Errorf("EDNS %d, TCP %v: %d octets of %d, %d records, TC %v", c.edns, c.tcp, len(wire), c.limit, len(m.Answer), m.Truncated)
		}
		opt := m.IsEdns0()
		if (opt != nil) != (c.edns > 0) || opt != nil && (opt.UDPSize() != udpSize || !opt.Do()) {
			t.Errorf("EDNS %d: OPT %v in the answer", c.edns, opt)
		}
	}
	if got := len(respond(z, ask("many.example.com.", dns.TypeA), true).Answer); got != 100 {
		t.Errorf("the zone has %d records left after truncated answers, want 100", got)
	}
}

// FuzzRespond sends any packet that the library can read: there must be an
// answer that can be sent, that fits, and that answers what was asked.
func FuzzRespond(f *testing.F) {
	z := exampleZone(f)
	for _, req := range []*dns.Msg{
		ask("www.example.com.", dns.TypeA),
		ask("hop1.example.com.", dns.TypeANY).SetEdns0(4096, true),
		ask("x.y.wild.example.com.", dns.TypeTXT).SetEdns0(1, false),
		ask("host.sub.example.com.", dns.TypeDS),
		new(dns.Msg).SetAxfr("example.com."),
		new(dns.Msg).SetUpdate("example.com."),
	} {
		wire, err := req.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire, false)
		f.Add(wire, true)
	}
	f.Fuzz(func(t *testing.T, packet []byte, tcp bool) {
		req := new(dns.Msg)
		if req.Unpack(packet) != nil {
			t.Skip("no DNS message")
		}
		m := respond(z, req, tcp)
		wire, err := m.Pack()
		if err != nil {
			t.Fatalf("the answer cannot be sent: %v\n%s", err, m)
		}
		if limit := room(req.IsEdns0(), tcp); len(wire) > limit {
			t.Errorf("answer of %d octets, limit %d", len(wire), limit)
		}
		back := new(dns.Msg)
		if err := back.Unpack(wire); err != nil {
			t.Fatalf("the answer cannot be read: %v", err)
		}
		if back.Id != req.Id || !back.Response {
			t.Errorf("header %+v", back.MsgHdr)
		}
		if len(req.Question) == 1 && (len(back.Question) != 1 || back.Question[0] != req.Question[0]) {
			t.Errorf("question %v, asked %v", back.Question, req.Question)
		}
	})
}
