package authority

import (
	"strings"

	"github.com/miekg/dns"
)

// maxChain is how many CNAMEs are followed in one answer. Resolvers give up at
// about as many; a longer chain is cut and the client asks on.
const maxChain = 16

// finding is what a zone says to one question.
type finding struct {
	rcode         int
	authoritative bool // about the name that was asked, the first of a chain
	answer        []dns.RR
	authority     []dns.RR
	additional    []dns.RR
}

// lookup answers a question about a name, spelled as it was asked, by the steps
// of RFC 1034 section 4.3.2. A name outside the zone is REFUSED.
func (z *Zone) lookup(name string, kind uint16) finding {
	if !dns.IsSubDomain(z.origin, dns.CanonicalName(name)) {
		return finding{rcode: dns.RcodeRefused}
	}
	var f finding
	for range maxChain {
		target := z.step(&f, name, kind)
		if target == "" || !dns.IsSubDomain(z.origin, dns.CanonicalName(target)) {
			break
		}
		if f.answered(target) {
			f.rcode = dns.RcodeServerFailure // a loop is an error (RFC 1034 section 3.6.2)
			break
		}
		name = target
	}
	return f
}

// step answers for one name of a chain and returns the name to go on with, or
// nothing when the answer is complete.
func (z *Zone) step(f *finding, name string, kind uint16) (next string) {
	key := dns.CanonicalName(name)
	m := z.match(key)
	if m.cut != nil && (kind != dns.TypeDS || m.cut[0].Header().Name != key) { // a DS is the parent's (RFC 4035 section 3.1.4.1)
		z.refer(f, m.cut)
		return ""
	}
	f.authoritative = true
	if m.node == nil {
		f.rcode = dns.RcodeNameError
		f.authority = z.negative
		return ""
	}
	set := m.node.pick(kind)
	if set == nil {
		f.authority = z.negative // NODATA
		return ""
	}
	f.answer = append(f.answer, spelled(set, name)...)
	if alias, ok := set[0].(*dns.CNAME); ok && kind != dns.TypeCNAME && kind != dns.TypeANY {
		return alias.Target
	}
	return ""
}

// match is where the way from the apex down to a name ends.
type match struct {
	cut  []dns.RR // the NS set of the delegation on the way or at the name
	node *node    // the name itself or the wildcard that stands for it; nil when neither exists
}

// match walks down from the apex: a delegation ends the walk, the first missing
// name makes the one above it the closest encloser, whose wildcard counts then
// and no other (RFC 4592 section 3.3.1). A name that exists, empty or not, is
// walked through, and so keeps wildcards above it from what is below it.
func (z *Zone) match(key string) match {
	starts := dns.Split(key)
	encloser := z.origin
	for i := len(starts) - dns.CountLabel(z.origin); i >= 0; i-- {
		name := key[starts[i]:]
		n := z.nodes[name]
		if n == nil {
			return match{node: z.nodes["*."+encloser]}
		}
		if ns := n.sets[dns.TypeNS]; ns != nil && name != z.origin {
			return match{cut: ns, node: n}
		}
		encloser = name
	}
	return match{node: z.nodes[key]}
}

// pick chooses the set that answers a question at a node: the one of the type,
// else the CNAME; for ANY one set only (RFC 8482 section 4.1), the one with the
// lowest type number. Nil means that there is none.
func (n *node) pick(kind uint16) []dns.RR {
	if kind == dns.TypeANY {
		for _, k := range sortedTypes(n.sets) {
			return n.sets[k]
		}
		return nil
	}
	if set := n.sets[kind]; set != nil {
		return set
	}
	return n.sets[dns.TypeCNAME]
}

// refer makes a referral: the NS set of the cut, and the addresses that the
// zone has for the names in it (RFC 9471). The answer so far, if any, stays.
func (z *Zone) refer(f *finding, cut []dns.RR) {
	f.authority = cut
	for _, rr := range cut {
		n := z.nodes[dns.CanonicalName(rr.(*dns.NS).Ns)]
		if n == nil {
			continue
		}
		f.additional = append(f.additional, n.sets[dns.TypeA]...)
		f.additional = append(f.additional, n.sets[dns.TypeAAAA]...)
	}
}

// answered tells whether the chain has been at a name before.
func (f *finding) answered(name string) bool {
	for _, rr := range f.answer {
		if strings.EqualFold(rr.Header().Name, name) {
			return true
		}
	}
	return false
}

// spelled is a set with its owner spelled as it was asked, which also puts the
// name that was asked in the place of a wildcard.
func spelled(set []dns.RR, name string) []dns.RR {
	if set[0].Header().Name == name {
		return set
	}
	out := make([]dns.RR, 0, len(set))
	for _, rr := range set {
		named := dns.Copy(rr)
		named.Header().Name = name
		out = append(out, named)
	}
	return out
}
