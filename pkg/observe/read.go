package observe

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

// read takes from a reply what it says about a name and type: the CNAMEs that
// lead on from the name, the values at their end, or how it says no. Records of
// other names in it count for nothing.
func read(reply *dns.Msg, name record.Name, t record.Type) Answer {
	a := Answer{Name: name, Type: t, Negative: None, Authoritative: reply.Authoritative}
	a.Rcode = rcodeName(reply.Rcode)
	chain, end := follow(reply.Answer, name, t)
	for _, rr := range chain {
		a.Aliases = append(a.Aliases, canonicalName(rr.(*dns.CNAME).Target))
	}
	values := at(reply.Answer, end, dns.StringToType[string(t)])
	for _, rr := range values {
		a.Values = append(a.Values, value(rr))
	}
	slices.Sort(a.Values)
	a.Values = slices.Compact(a.Values)
	a.TTL = lowest(append(chain, values...))
	if len(values) == 0 {
		a.deny(reply)
	}
	return a
}

// follow walks the CNAMEs of an answer from a name; asking for a CNAME walks
// none. Each name is left once only, so that a loop ends.
func follow(rrs []dns.RR, name record.Name, t record.Type) (chain []dns.RR, end record.Name) {
	seen := map[record.Name]bool{}
	for t != record.CNAME && !seen[name] {
		seen[name] = true
		alias := at(rrs, name, dns.TypeCNAME)
		if len(alias) == 0 {
			break
		}
		chain = append(chain, alias[0])
		name = canonicalName(alias[0].(*dns.CNAME).Target)
	}
	return chain, name
}

// at are the records of a name and type.
func at(rrs []dns.RR, name record.Name, kind uint16) []dns.RR {
	var found []dns.RR
	for _, rr := range rrs {
		h := rr.Header()
		if h.Rrtype == kind && h.Class == dns.ClassINET && canonicalName(h.Name) == name {
			found = append(found, rr)
		}
	}
	return found
}

// deny sorts an answer without values: the name is not there, or the type is
// not, for as long as the SOA says (RFC 2308 section 5), or without one for a
// time that is not told (section 2.2, NODATA of type 3). A referral says
// neither: it has no SOA, and names servers; an alias that leads out of the zone
// says nothing about its target.
func (a *Answer) deny(reply *dns.Msg) {
	soa := soaOf(reply.Ns)
	switch {
	case reply.Rcode == dns.RcodeNameError:
		a.Negative = NXDomain
	case reply.Rcode == dns.RcodeSuccess && (soa != nil || len(a.Aliases) == 0 && (reply.Authoritative || isBare(reply))):
		a.Negative = NoData
	default:
		return
	}
	if a.Untold = soa == nil; !a.Untold {
		ttl := min(seconds(soa.Hdr.Ttl), seconds(soa.Minttl))
		if len(a.Aliases) > 0 {
			ttl = min(ttl, a.TTL)
		}
		a.TTL = ttl
	}
}

// isBare reports whether a reply has nothing to say: no answer, and no name server
// that would make it a referral.
func isBare(reply *dns.Msg) bool {
	return len(reply.Answer) == 0 && !slices.ContainsFunc(reply.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeNS })
}

func soaOf(rrs []dns.RR) *dns.SOA {
	for _, rr := range rrs {
		if soa, ok := rr.(*dns.SOA); ok {
			return soa
		}
	}
	return nil
}

// value is a record's data in the spelling of package record. What a server
// answers is shown even where it could not be configured.
func value(rr dns.RR) string {
	switch rr := rr.(type) {
	case *dns.A:
		if addr, ok := netip.AddrFromSlice(rr.A.To4()); ok {
			return addr.String()
		}
	case *dns.AAAA:
		if addr, ok := netip.AddrFromSlice(rr.AAAA.To16()); ok {
			return addr.String()
		}
	case *dns.CNAME:
		return string(canonicalName(rr.Target))
	case *dns.TXT:
		return joined(rr)
	}
	fields := strings.SplitN(rr.String(), "\t", 5) // owner, TTL, class, type, data
	return fields[len(fields)-1]
}

// joined is the bytes of a TXT record, its strings put together. The library
// keeps them escaped; \DDD stands for one byte and \X for X itself.
func joined(rr *dns.TXT) string {
	var b strings.Builder
	for _, s := range rr.Txt {
		for i := 0; i < len(s); i++ {
			switch {
			case s[i] != '\\':
				b.WriteByte(s[i])
			case i+3 < len(s) && isDigit(s[i+1]) && isDigit(s[i+2]) && isDigit(s[i+3]):
				b.WriteByte((s[i+1]-'0')*100 + (s[i+2]-'0')*10 + s[i+3] - '0')
				i += 3
			case i+1 < len(s):
				i++
				b.WriteByte(s[i])
			}
		}
	}
	return b.String()
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// canonicalName is the spelling of package record, and for a name that is none
// of a host or service, lower case and no more.
func canonicalName(s string) record.Name {
	name, err := record.ParseName(s)
	if err != nil {
		return record.Name(dns.CanonicalName(s))
	}
	return name
}

func lowest(rrs []dns.RR) time.Duration {
	if len(rrs) == 0 {
		return 0
	}
	ttl := seconds(rrs[0].Header().Ttl)
	for _, rr := range rrs {
		ttl = min(ttl, seconds(rr.Header().Ttl))
	}
	return ttl
}

// seconds is a TTL as a server sent it; one with the top bit set counts as 0 (RFC
// 2181 section 8).
func seconds(ttl uint32) time.Duration {
	if ttl > math.MaxInt32 {
		return 0
	}
	return time.Duration(ttl) * time.Second
}

func rcodeName(rcode int) string {
	if name, ok := dns.RcodeToString[rcode]; ok {
		return name
	}
	return "RCODE" + strconv.Itoa(rcode)
}
