package authority

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

// Zone is one zone of data, checked and sorted. It never changes once it was
// made and may be used by any number of goroutines at once.
type Zone struct {
	origin   string
	nodes    map[string]*node // by canonical name, empty non-terminals included
	records  []dns.RR         // in the order of a transfer, the SOA first
	negative []dns.RR         // the SOA as negative answers carry it
}

// node is one name of the tree; without sets it is an empty non-terminal.
type node struct {
	sets map[uint16][]dns.RR
}

// entry is one record on its way into a zone, with the line that it ended on;
// zero when it did not come from a text.
type entry struct {
	rr   dns.RR
	line int
}

// ParseZone makes a zone from the text of a zone file (RFC 1035 section 5, with
// $ORIGIN, $TTL and $GENERATE; not $INCLUDE). The file's name is for error
// messages only, which name the line: nothing is opened.
func ParseZone(origin record.Name, file, text string) (*Zone, error) {
	source := &lineReader{text: text}
	parser := dns.NewZoneParser(source, string(origin), "")
	var entries []entry
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		entries = append(entries, entry{rr: rr, line: source.lines})
	}
	if err := parser.Err(); err != nil {
		return nil, fmt.Errorf("read zone %s from %s: %w", origin, file, err)
	}
	zone, err := build(origin, entries)
	if err != nil {
		return nil, fmt.Errorf("read zone %s from %s: %w", origin, file, err)
	}
	return zone, nil
}

// NewZone makes a zone from records, which are copied: to find out how one is sent
// writes into its header, and others may read it meanwhile.
func NewZone(origin record.Name, rrs []dns.RR) (*Zone, error) {
	entries := make([]entry, 0, len(rrs))
	for _, rr := range rrs {
		if rr != nil {
			rr = dns.Copy(rr)
		}
		entries = append(entries, entry{rr: rr})
	}
	zone, err := build(origin, entries)
	if err != nil {
		return nil, fmt.Errorf("make zone %s: %w", origin, err)
	}
	return zone, nil
}

// Origin is the name of the zone's apex.
func (z *Zone) Origin() record.Name { return record.Name(z.origin) }

// Serial is the serial number of the zone's SOA.
func (z *Zone) Serial() uint32 { return z.soa().Serial }

// Records are copies of all records, the SOA first, the others sorted by name,
// type and data; names of owners are lower case.
func (z *Zone) Records() []dns.RR {
	rrs := make([]dns.RR, 0, len(z.records))
	for _, rr := range z.records {
		rrs = append(rrs, dns.Copy(rr))
	}
	return rrs
}

func (z *Zone) soa() *dns.SOA { return z.records[0].(*dns.SOA) }

func build(origin record.Name, entries []entry) (*Zone, error) {
	z := &Zone{origin: dns.CanonicalName(string(origin)), nodes: map[string]*node{}}
	seen := duplicates{}
	for _, e := range entries {
		if err := z.add(e, seen); err != nil {
			return nil, err
		}
	}
	if err := z.checkApex(); err != nil {
		return nil, err
	}
	for _, n := range z.nodes {
		for _, set := range n.sets {
			if err := settle(set); err != nil {
				return nil, err
			}
		}
	}
	z.records = z.list()
	z.negative = []dns.RR{negativeSOA(z.soa())}
	return z, nil
}

// add puts one record into the tree, and every name between it and the apex,
// because a name below makes them exist (RFC 8020, RFC 4592 section 2.2.2).
func (z *Zone) add(e entry, seen duplicates) error {
	rr, data, err := normal(e.rr)
	if err == nil {
		err = z.admit(rr)
	}
	if err != nil {
		return at(e, err)
	}
	name, kind := rr.Header().Name, rr.Header().Rrtype
	n := z.grow(name)
	if seen.find(rr, data) {
		return nil // a record set has each record once (RFC 2181 section 5)
	}
	if err := n.conflict(name, kind); err != nil {
		return at(e, err)
	}
	n.sets[kind] = append(n.sets[kind], rr)
	return nil
}

func at(e entry, err error) error {
	if e.line == 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", e.line, err)
}

// normal takes a record through its wire form: the copy that comes back has one
// spelling for each name and string, and could be sent. The owner is lowered,
// so that it can be looked up. The data is returned as it is sent.
func normal(rr dns.RR) (dns.RR, []byte, error) {
	if rr == nil {
		return nil, nil, fmt.Errorf("expected a record, got nil")
	}
	sent, err := wire(rr)
	if err != nil {
		return nil, nil, err
	}
	out, _, err := dns.UnpackRR(sent, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s cannot be read back: %w", rr.Header().Name, typeName(rr.Header().Rrtype), err)
	}
	out.Header().Name = dns.CanonicalName(out.Header().Name)
	return out, data(out, sent), nil
}

// duplicates finds records that a zone has already, in one step also when a set
// is large: only records whose lowered data agree are compared.
type duplicates map[string][]dns.RR

func (d duplicates) find(rr dns.RR, data []byte) bool {
	key := rr.Header().Name + typeName(rr.Header().Rrtype) + strings.ToLower(string(data))
	if slices.ContainsFunc(d[key], func(other dns.RR) bool { return dns.IsDuplicate(rr, other) }) {
		return true
	}
	d[key] = append(d[key], rr)
	return false
}

// admit refuses what a zone cannot hold, or this server not serve truthfully.
func (z *Zone) admit(rr dns.RR) error {
	h := rr.Header()
	what := h.Name + " " + typeName(h.Rrtype)
	switch {
	case !dns.IsSubDomain(z.origin, h.Name):
		return fmt.Errorf("%s is not inside the zone; a name without a final dot is below the origin", what)
	case h.Class != dns.ClassINET:
		return fmt.Errorf("%s has class %s; only IN is served", what, dns.Class(h.Class))
	case h.Ttl > math.MaxInt32:
		return fmt.Errorf("%s has a TTL of %d, more than the %d that RFC 2181 section 8 allows", what, h.Ttl, math.MaxInt32)
	case h.Rdlength == 0 && h.Rrtype != dns.TypeAPL && h.Rrtype != dns.TypeNULL:
		return fmt.Errorf("%s has no data", what)
	case h.Rrtype == dns.TypeOPT || h.Rrtype >= 128 && h.Rrtype <= 255:
		return fmt.Errorf("%s is a type of questions and messages, not of a zone", what)
	case slices.Contains(signatureTypes, h.Rrtype):
		return fmt.Errorf("%s belongs to a signed zone; zones are served unsigned here: take the signatures out, and the DS out of the parent", what)
	case h.Rrtype == dns.TypeDNAME:
		return fmt.Errorf("%s is not supported; name the records below it one by one or by a wildcard", what)
	case h.Rrtype == dns.TypeSOA && h.Name != z.origin:
		return fmt.Errorf("%s is not at the apex %s", what, z.origin)
	case h.Rrtype == dns.TypeNS && strings.HasPrefix(h.Name, "*."):
		return fmt.Errorf("%s delegates a wildcard, which has no meaning (RFC 4592 section 4.2)", what)
	}
	return nil
}

var signatureTypes = []uint16{dns.TypeRRSIG, dns.TypeNSEC, dns.TypeNSEC3, dns.TypeNSEC3PARAM, dns.TypeSIG, dns.TypeNXT}

// grow returns the node of a name, made with all its ancestors if need be.
func (z *Zone) grow(name string) *node {
	for rest := name; ; {
		if z.nodes[rest] == nil {
			z.nodes[rest] = &node{sets: map[uint16][]dns.RR{}}
		}
		if rest == z.origin {
			return z.nodes[name]
		}
		next, _ := dns.NextLabel(rest, 0)
		rest = rest[next:]
	}
}

// conflict tells whether a name cannot take a record of a type: a CNAME stands
// alone (RFC 1034 section 3.6.2), and there is one SOA.
func (n *node) conflict(name string, kind uint16) error {
	if kind == dns.TypeSOA && len(n.sets[kind]) > 0 {
		return fmt.Errorf("%s has a second SOA; a zone has one", name)
	}
	_, alias := n.sets[dns.TypeCNAME]
	if alias || kind == dns.TypeCNAME && len(n.sets) > 0 {
		return fmt.Errorf("%s has a CNAME and another record (%s); a CNAME stands alone (RFC 1034 section 3.6.2)", name, typeName(kind))
	}
	return nil
}

func (z *Zone) checkApex() error {
	apex := z.nodes[z.origin]
	if apex == nil || len(apex.sets[dns.TypeSOA]) == 0 {
		return fmt.Errorf("no SOA at %s; expected one, for instance: @ 3600 IN SOA ns hostmaster 1 3600 600 86400 60", z.origin)
	}
	if len(apex.sets[dns.TypeNS]) == 0 {
		return fmt.Errorf("no NS at %s; expected one at least, for instance: @ 3600 IN NS ns", z.origin)
	}
	return nil
}

// settle gives the records of a set one TTL, the lowest (RFC 2181 section 5.2),
// and one order, that of their data on the wire (RFC 4034 section 6.3).
func settle(set []dns.RR) error {
	ttl := set[0].Header().Ttl
	for _, rr := range set {
		ttl = min(ttl, rr.Header().Ttl)
	}
	keys := make(map[dns.RR][]byte, len(set))
	for _, rr := range set {
		rr.Header().Ttl = ttl
		sent, err := wire(rr)
		if err != nil {
			return err
		}
		keys[rr] = data(rr, sent)
	}
	slices.SortFunc(set, func(a, b dns.RR) int { return bytes.Compare(keys[a], keys[b]) })
	return nil
}

// wire is a record as it is sent, without compression.
func wire(rr dns.RR) ([]byte, error) {
	buf := make([]byte, dns.Len(rr)+1)
	end, err := dns.PackRR(rr, buf, 0, nil, false)
	if err != nil {
		return nil, fmt.Errorf("%s %s cannot be sent: %w", rr.Header().Name, typeName(rr.Header().Rrtype), err)
	}
	return buf[:end], nil
}

// data is the part of a sent record behind its header.
func data(rr dns.RR, sent []byte) []byte { return sent[len(sent)-int(rr.Header().Rdlength):] }

// list puts all records in the order of a transfer.
func (z *Zone) list() []dns.RR {
	var all []dns.RR
	for _, name := range z.names() {
		sets := z.nodes[name].sets
		for _, kind := range sortedTypes(sets) {
			all = append(all, sets[kind]...)
		}
	}
	slices.SortStableFunc(all, func(a, b dns.RR) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

// rank brings the SOA to the front.
func rank(rr dns.RR) int {
	if rr.Header().Rrtype == dns.TypeSOA {
		return 0
	}
	return 1
}

// names are the names of the tree, parents before children (RFC 4034 section 6.1).
func (z *Zone) names() []string {
	byKey := make(map[string]string, len(z.nodes))
	keys := make([]string, 0, len(z.nodes))
	for name := range z.nodes {
		labels := dns.SplitDomainName(name)
		slices.Reverse(labels)
		key := strings.Join(labels, "\x00")
		byKey[key] = name
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for i, key := range keys {
		keys[i] = byKey[key]
	}
	return keys
}

func sortedTypes(sets map[uint16][]dns.RR) []uint16 {
	kinds := make([]uint16, 0, len(sets))
	for kind := range sets {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// negativeSOA is the SOA with the TTL of a negative answer: the lower of its
// own TTL and its last field (RFC 2308 section 5).
func negativeSOA(soa *dns.SOA) dns.RR {
	out := *soa
	out.Hdr.Ttl = min(soa.Hdr.Ttl, soa.Minttl)
	return &out
}

func typeName(kind uint16) string { return dns.Type(kind).String() }

// lineReader counts the lines of a text as the parser takes its bytes: the
// parser itself tells lines in its own errors only.
type lineReader struct {
	text  string
	next  int
	lines int
}

// Read takes one byte at most, so that the count stays true.
func (r *lineReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b, err := r.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = b
	return 1, nil
}

// ReadByte takes the next byte.
func (r *lineReader) ReadByte() (byte, error) {
	if r.next == len(r.text) {
		return 0, io.EOF
	}
	b := r.text[r.next]
	r.next++
	if b == '\n' || r.next == len(r.text) {
		r.lines++
	}
	return b, nil
}
