package local

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

// document is a zone file that was read whole: its bytes in statements, and
// what each of them means. It is never changed; a draft makes the next one.
type document struct {
	zone       record.Name
	text       string // of which the statements are parts
	statements []statement
	soa        *dns.SOA
	eol        string // the file's line end
}

// parse reads a zone file. The text of each line is read by this package; the
// data of the records, laid out one a line with nothing left to inherit, by
// miekg/dns, whose own reading of lines joins words that only a line end parts.
func parse(zone record.Name, text string) (*document, error) {
	statements, err := split(text)
	if err != nil {
		return nil, err
	}
	plain, err := layOut(zone, statements)
	if err != nil {
		return nil, err
	}
	if err := fill(statements, zone, plain); err != nil {
		return nil, err
	}
	doc := &document{zone: zone, text: text, statements: statements, eol: "\n"}
	if len(statements) > 0 && statements[0].eol() != "" {
		doc.eol = statements[0].eol()
	}
	return doc, doc.findSOA()
}

// layOut reads the heads and writes every record in one line, absolute owner,
// TTL, class and type first.
func layOut(zone record.Name, statements []statement) (string, error) {
	var plain strings.Builder
	inherit := inheritance{origin: string(zone)}
	origin := inherit.origin
	for i := range statements {
		s := &statements[i]
		if err := s.read(); err != nil {
			return "", err
		}
		if err := inherit.pass(s); err != nil {
			return "", &lineError{s.line, err}
		}
		if s.kind != entry {
			continue
		}
		if inherit.origin != origin {
			origin = inherit.origin
			fmt.Fprintf(&plain, "$ORIGIN %s\n", origin)
		}
		fmt.Fprintf(&plain, "%s %d IN %s %s\n", inherit.owner, inherit.ttl, s.word(s.kin), s.data())
	}
	return plain.String(), nil
}

// fill reads the records' data, one record for each statement of one.
func fill(statements []statement, zone record.Name, plain string) error {
	parser := dns.NewZoneParser(strings.NewReader(plain), string(zone), "")
	for i := range statements {
		s := &statements[i]
		if s.kind != entry {
			continue
		}
		rr, ok := parser.Next()
		if !ok {
			return &lineError{s.line, reason(parser.Err())}
		}
		s.content = content{rr, dns.CanonicalName(rr.Header().Name)}
	}
	if _, more := parser.Next(); more || parser.Err() != nil {
		return errors.New("the file reads as more records than it has lines of them")
	}
	return nil
}

// reason is a parser's error without its place, which is one in plain.
func reason(err error) error {
	if err == nil {
		return errors.New("not a record")
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "dns: "), " at line: ")
	return errors.New(text)
}

func (d *document) findSOA() error {
	for i := range d.statements {
		soa, ok := d.statements[i].rr.(*dns.SOA)
		switch {
		case !ok:
		case d.statements[i].name != string(d.zone):
			return &lineError{d.statements[i].line, fmt.Errorf("a SOA at %s: this is not the file of the zone %s", soa.Hdr.Name, d.zone)}
		case d.soa != nil:
			return &lineError{d.statements[i].line, errors.New("a second SOA")}
		default:
			d.soa = soa
		}
	}
	if d.soa == nil {
		return fmt.Errorf("no SOA at %s: expected a whole zone", d.zone)
	}
	return nil
}

// signed reports whether the file holds signatures, which an edit would break.
func (d *document) signed() bool {
	return slices.ContainsFunc(d.statements, func(s statement) bool {
		return s.rr != nil && s.rr.Header().Rrtype == dns.TypeRRSIG
	})
}

// serial is the serial number of the zone (RFC 1035 section 3.3.13).
func (d *document) serial() uint32 { return d.soa.Serial }

// find lists the statements with a name's records of a type, in file order.
func (d *document) find(name record.Name, rrtype uint16) []int {
	return find(d.statements, name, rrtype)
}

func find(statements []statement, name record.Name, rrtype uint16) []int {
	var found []int
	for i := range statements {
		if s := &statements[i]; s.rr != nil && s.name == string(name) && s.rr.Header().Rrtype == rrtype {
			found = append(found, i)
		}
	}
	return found
}

// records are what the file holds, in its order.
func (d *document) records() []dns.RR {
	var rrs []dns.RR
	for i := range d.statements {
		if rr := d.statements[i].rr; rr != nil {
			rrs = append(rrs, rr)
		}
	}
	return rrs
}

// inheritance is what a line of a zone file takes from those before it: the
// origin, the owner, and the TTL, of $TTL or else of the last record that had
// one (RFC 1035 section 5.1, RFC 2308 section 4).
type inheritance struct {
	origin, owner string
	ttl           uint32
	known, fixed  bool   // whether there is a default TTL, and whether $TTL set it
	standard      uint32 // what $TTL said
}

// pass goes on to the next statement; for a record owner and ttl are then its.
func (in *inheritance) pass(s *statement) error {
	switch s.kind {
	case directive:
		return in.direct(s)
	case entry:
		return in.record(s)
	}
	return nil
}

func (in *inheritance) direct(s *statement) error {
	name := strings.ToUpper(s.word(0))
	switch name {
	case "$ORIGIN", "$TTL":
	case "$INCLUDE", "$GENERATE":
		return fmt.Errorf("%s is not supported: a file that is edited line by line has to hold its records itself; write them out", name)
	default:
		return fmt.Errorf("unknown directive %s", name)
	}
	if len(s.tokens) != 2 {
		return fmt.Errorf("%s: expected one value, got %d", name, len(s.tokens)-1)
	}
	var err error
	if name == "$ORIGIN" {
		in.origin, err = absolute(s.word(1), in.origin)
		return err
	}
	in.standard, err = parseTTL(s.word(1))
	in.known, in.fixed = true, true
	return err
}

func (in *inheritance) record(s *statement) error {
	if s.owner {
		owner, err := absolute(s.word(0), in.origin)
		if err != nil {
			return err
		}
		in.owner = owner
	}
	if in.owner == "" {
		return errors.New("no owner name here, and none before it")
	}
	switch {
	case s.ttl >= 0:
		ttl, err := parseTTL(s.word(s.ttl))
		in.ttl, in.known = ttl, true
		return err
	case in.fixed:
		in.ttl = in.standard
	case !in.known:
		return errors.New(`no TTL here, and none before it: programs differ in what that means; begin the file with a line like "$TTL 300"`)
	}
	return nil
}

// absolute completes a name with the origin.
func absolute(word, origin string) (string, error) {
	name := word
	switch {
	case word == "@":
		name = origin
	case !dns.IsFqdn(word):
		name = word + "." + strings.TrimPrefix(origin, ".")
	}
	if _, ok := dns.IsDomainName(name); !ok {
		return "", fmt.Errorf("read name %q: not a domain name", word)
	}
	return name, nil
}
