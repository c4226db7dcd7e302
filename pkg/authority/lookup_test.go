package authority

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// told renders a finding in one line for each record, without the SOA's rest.
func told(f finding) string {
	var b strings.Builder
	b.WriteString(dns.RcodeToString[f.rcode])
	if f.authoritative {
		b.WriteString(" aa")
	}
	for _, section := range []struct {
		mark string
		rrs  []dns.RR
	}{{"+", f.answer}, {"~", f.authority}, {"&", f.additional}} {
		for _, rr := range section.rrs {
			if rr.Header().Rrtype == dns.TypeSOA {
				fmt.Fprintf(&b, " %sSOA/%d", section.mark, rr.Header().Ttl)
				continue
			}
			data := strings.SplitN(rr.String(), "\t", 5)[4]
			fmt.Fprintf(&b, " %s%s/%s/%s", section.mark, strings.TrimSuffix(rr.Header().Name, ".example.com."), typeName(rr.Header().Rrtype), data)
		}
	}
	return b.String()
}

func TestLookup(t *testing.T) {
	z := exampleZone(t)
	www := "+www/A/192.0.2.1 +www/A/192.0.2.2 +www/A/192.0.2.3"
	referral := "~sub/NS/ns.sub.example.com. ~sub/NS/ns1.example.com. &ns.sub/A/192.0.2.90 &ns.sub/AAAA/2001:db8::90 &ns1/A/192.0.2.53"
	for _, c := range []struct {
		name string
		kind uint16
		want string
	}{
		{"www", dns.TypeA, "NOERROR aa " + www},
		{"WwW", dns.TypeAAAA, "NOERROR aa +WwW/AAAA/2001:db8::1"},
		{"www", dns.TypeTXT, `NOERROR aa +www/TXT/"mixed case owner"`},
		{"www", dns.TypeMX, "NOERROR aa ~SOA/60"},
		{"nothing", dns.TypeA, "NXDOMAIN aa ~SOA/60"},
		{"below.www", dns.TypeA, "NXDOMAIN aa ~SOA/60"},
		{`esc\.aped`, dns.TypeA, `NOERROR aa +esc\.aped/A/192.0.2.99`},
		{"odd", 65400, `NOERROR aa +odd/TYPE65400/\# 3 010203`},

		{"empty", dns.TypeA, "NOERROR aa ~SOA/60"},
		{"deep.empty", dns.TypeANY, "NOERROR aa ~SOA/60"},
		{"y.deep.empty", dns.TypeA, "NXDOMAIN aa ~SOA/60"},

		{"any.wild", dns.TypeA, "NOERROR aa +any.wild/A/192.0.2.77"},
		{"more.labels.wild", dns.TypeA, "NOERROR aa +more.labels.wild/A/192.0.2.77"},
		{"any.wild", dns.TypeAAAA, "NOERROR aa ~SOA/60"},
		{"wild", dns.TypeA, "NOERROR aa ~SOA/60"},
		{"*.wild", dns.TypeA, "NOERROR aa +*.wild/A/192.0.2.77"},
		{"host.wild", dns.TypeTXT, "NOERROR aa ~SOA/60"},
		{"below.host.wild", dns.TypeA, "NXDOMAIN aa ~SOA/60"},
		{"b.wild", dns.TypeA, "NOERROR aa ~SOA/60"},
		{"c.b.wild", dns.TypeA, "NXDOMAIN aa ~SOA/60"},
		{"x.*.wild", dns.TypeA, "NXDOMAIN aa ~SOA/60"},
		{"any.star", dns.TypeA, "NOERROR aa ~SOA/60"},

		{"alias", dns.TypeA, "NOERROR aa +alias/CNAME/www.example.com. " + www},
		{"alias", dns.TypeCNAME, "NOERROR aa +alias/CNAME/www.example.com."},
		{"alias", dns.TypeANY, "NOERROR aa +alias/CNAME/www.example.com."},
		{"alias", dns.TypeMX, "NOERROR aa +alias/CNAME/www.example.com. ~SOA/60"},
		{"hop1", dns.TypeA, "NOERROR aa +hop1/CNAME/hop2.example.com. +hop2/CNAME/alias.example.com. +alias/CNAME/www.example.com. " + www},
		{"far", dns.TypeA, "NOERROR aa +far/CNAME/www.other.test."},
		{"loop1", dns.TypeA, "SERVFAIL aa +loop1/CNAME/loop2.example.com. +loop2/CNAME/loop1.example.com."},
		{"dangling", dns.TypeA, "NXDOMAIN aa +dangling/CNAME/nothing.example.com. ~SOA/60"},
		{"q.calias", dns.TypeA, "NOERROR aa +q.calias/CNAME/www.example.com. " + www},
		{"tosub", dns.TypeA, "NOERROR aa +tosub/CNAME/host.sub.example.com. " + referral},

		{"sub", dns.TypeA, "NOERROR " + referral},
		{"sub", dns.TypeNS, "NOERROR " + referral},
		{"a.b.sub", dns.TypeA, "NOERROR " + referral},
		{"ns.sub", dns.TypeA, "NOERROR " + referral},
		{"host.sub", dns.TypeDS, "NOERROR " + referral},
		{"sub", dns.TypeDS, "NOERROR aa +sub/DS/60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118"},
		{"nods", dns.TypeDS, "NOERROR aa ~SOA/60"},
		{"nods", dns.TypeA, "NOERROR ~nods/NS/ns.other.test."},
	} {
		t.Run(c.name+"/"+typeName(c.kind), func(t *testing.T) {
			if got := told(z.lookup(c.name+".example.com.", c.kind)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestLookupAtTheApexAndOutside(t *testing.T) {
	z := exampleZone(t)
	for _, c := range []struct {
		name string
		kind uint16
		want string
	}{
		{"example.com.", dns.TypeSOA, "NOERROR aa +SOA/3600"},
		{"EXAMPLE.com.", dns.TypeNS, "NOERROR aa +EXAMPLE.com./NS/ns.other.test. +EXAMPLE.com./NS/ns1.example.com."},
		{"example.com.", dns.TypeDS, "NOERROR aa ~SOA/60"},
		{"example.net.", dns.TypeA, "REFUSED"},
		{"com.", dns.TypeA, "REFUSED"},
		{".", dns.TypeNS, "REFUSED"},
		{"badexample.com.", dns.TypeA, "REFUSED"},
	} {
		if got := told(z.lookup(c.name, c.kind)); got != c.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.name, typeName(c.kind), got, c.want)
		}
	}
}

func TestNegativeTTLIsTheLowerOfTwo(t *testing.T) {
	for _, c := range []struct{ ttl, minimum, want uint32 }{{3600, 60, 60}, {30, 60, 30}, {0, 60, 0}} {
		z := parse(t, fmt.Sprintf("@ %d IN SOA ns hostmaster 1 3600 600 86400 %d\n@ IN NS ns\n", c.ttl, c.minimum))
		f := z.lookup("nothing.example.com.", dns.TypeA)
		if got := f.authority[0].Header().Ttl; got != c.want {
			t.Errorf("SOA TTL %d, minimum %d: negative TTL %d, want %d", c.ttl, c.minimum, got, c.want)
		}
		if got := z.lookup("example.com.", dns.TypeSOA).answer[0].Header().Ttl; got != c.ttl {
			t.Errorf("the SOA's own TTL became %d, was %d", got, c.ttl)
		}
	}
}

func TestLongChainsAreCut(t *testing.T) {
	text := head
	for i := range 40 {
		text += fmt.Sprintf("c%d 60 IN CNAME c%d\n", i, i+1)
	}
	if f := parse(t, text).lookup("c0.example.com.", dns.TypeA); len(f.answer) != maxChain || f.rcode != dns.RcodeSuccess {
		t.Errorf("%d records, rcode %d; want %d, NOERROR", len(f.answer), f.rcode, maxChain)
	}
}
