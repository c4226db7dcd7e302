package local

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

// draft is a document on its way to the next one. Statements that no step
// touches keep their bytes.
type draft struct {
	zone       record.Name
	eol        string
	statements []statement
}

func (d *document) draft() *draft {
	return &draft{zone: d.zone, eol: d.eol, statements: slices.Clone(d.statements)}
}

func (d *draft) find(name record.Name, rrtype uint16) []int {
	return find(d.statements, name, rrtype)
}

// insert adds a record after a statement; after the last one when that is -1.
func (d *draft) insert(after int, rr dns.RR) error {
	if after < 0 {
		after = len(d.statements) - 1
	}
	s, err := fresh(rr, "", d.eolAt(after))
	if err != nil {
		return err
	}
	d.statements = slices.Insert(d.statements, after+1, s)
	return nil
}

// eolAt is the line end of a statement, or the file's where it has none.
func (d *draft) eolAt(i int) string {
	if eol := d.statements[i].eol(); eol != "" {
		return eol
	}
	return d.eol
}

// swap puts another record in the place of one, which hands its comment on.
func (d *draft) swap(i int, rr dns.RR) error {
	s, err := fresh(rr, d.statements[i].remark(), d.eolAt(i))
	if err != nil {
		return err
	}
	d.statements[i] = s
	return nil
}

// remove takes statements out. Those that took their owner or TTL from them
// are given it by finish.
func (d *draft) remove(indexes []int) {
	slices.Sort(indexes)
	for _, i := range slices.Backward(indexes) {
		d.statements = slices.Delete(d.statements, i, i+1)
	}
}

// setTTL gives one record another TTL.
func (d *draft) setTTL(i int, ttl uint32) error {
	if d.statements[i].rr.Header().Ttl == ttl {
		return nil
	}
	s, err := d.statements[i].withTTL(ttl)
	if err != nil {
		return err
	}
	d.statements[i] = s
	return nil
}

// setData gives a record whose data is one word another word, in its place;
// a record that is spelled in another way is written anew.
func (d *draft) setData(i int, rr dns.RR, word string) error {
	s := &d.statements[i]
	if len(s.tokens) != s.kin+2 {
		return d.swap(i, rr)
	}
	return d.setWord(i, s.kin+1, word, rr)
}

// setWord gives a record another word in the place of one of its tokens.
func (d *draft) setWord(i, token int, word string, rr dns.RR) error {
	s, err := d.statements[i].replace(token, word, rr)
	if err != nil {
		return err
	}
	d.statements[i] = s
	return nil
}

// serialToken is where a SOA's serial stands, counted from its type.
const serialToken = 3

// setSerial writes the next serial into the SOA.
func (d *draft) setSerial(serial uint32) error {
	i := d.find(d.zone, dns.TypeSOA)[0]
	soa, ok := dns.Copy(d.statements[i].rr).(*dns.SOA)
	if !ok {
		return fmt.Errorf("write the serial: %s is no SOA", d.statements[i].rr)
	}
	soa.Serial = serial
	return d.setWord(i, d.statements[i].kin+serialToken, fmt.Sprint(serial), soa)
}

// finish writes the draft out and reads it back: what is not read as it was
// meant is an error, never a file.
func (d *draft) finish() (*document, error) {
	if err := d.settle(); err != nil {
		return nil, err
	}
	doc, err := d.readBack(d.render())
	if err != nil {
		return nil, fmt.Errorf("read the edited zone back: %w", err)
	}
	return doc, nil
}

// readBack reads a text that has to mean what the draft does.
func (d *draft) readBack(text string) (*document, error) {
	doc, err := parse(d.zone, text)
	if err != nil {
		return nil, err
	}
	return doc, d.compare(doc)
}

// settle spells out what a statement left out and would now take from another
// one than before.
func (d *draft) settle() error {
	inherit := inheritance{origin: string(d.zone)}
	for i := range d.statements {
		s := &d.statements[i]
		if s.kind == entry {
			if err := settleOne(s, inherit); err != nil {
				return err
			}
		}
		if err := inherit.pass(s); err != nil {
			return err
		}
	}
	return nil
}

func settleOne(s *statement, in inheritance) error {
	var err error
	if !s.owner && in.owner != s.rr.Header().Name {
		if *s, err = s.withOwner(); err != nil {
			return err
		}
	}
	if s.ttl >= 0 {
		return nil
	}
	if err := in.record(s); err != nil || in.ttl != s.rr.Header().Ttl {
		*s, err = s.withTTL(s.rr.Header().Ttl)
		return err
	}
	return nil
}

func (d *draft) render() string {
	var text strings.Builder
	for i := range d.statements {
		s := &d.statements[i]
		text.WriteString(s.text)
		if s.eol() == "" && i+1 < len(d.statements) {
			text.WriteString(d.eol)
		}
	}
	return text.String()
}

// compare holds the draft against what its text was read as, record for record.
func (d *draft) compare(doc *document) error {
	got := doc.records()
	for i := range d.statements {
		want := d.statements[i].rr
		if want == nil {
			continue
		}
		if len(got) == 0 {
			return fmt.Errorf("%s is missing", want)
		}
		if got[0].String() != want.String() {
			return fmt.Errorf("expected %s, got %s", want, got[0])
		}
		got = got[1:]
	}
	if len(got) > 0 {
		return fmt.Errorf("%s is too many", got[0])
	}
	return nil
}
