package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/libdns/libdns"
	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

var (
	_ libdns.RecordGetter   = (*Adapter)(nil)
	_ libdns.RecordAppender = (*Adapter)(nil)
	_ libdns.RecordSetter   = (*Adapter)(nil)
	_ libdns.RecordDeleter  = (*Adapter)(nil)
)

// GetRecords returns every record of the file that is inside the zone, the SOA
// included. One that libdns has no type for, or cannot read, is a libdns.RR.
func (a *Adapter) GetRecords(ctx context.Context, zone string) ([]libdns.Record, error) {
	if err := a.checkZone(zone); err != nil {
		return nil, a.failed("list", err)
	}
	doc, _, err := a.load(ctx)
	if err != nil {
		return nil, a.failed("list", err)
	}
	var records []libdns.Record
	for _, rr := range doc.records() {
		if dns.IsSubDomain(string(a.zone), rr.Header().Name) {
			records = append(records, a.toLibdns(rr))
		}
	}
	return records, nil
}

// AppendRecords adds records, all or none. A record that joins others takes
// their TTL, because a set has only one (RFC 2181 section 5.2) and existing
// records must not change; one that is there already is returned as it is.
func (a *Adapter) AppendRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.editRecords(ctx, "append to", zone, recs, func(d *draft, want []dns.RR) ([]dns.RR, error) {
		for _, rr := range want {
			if siblings := d.find(nameOf(rr), rr.Header().Rrtype); len(siblings) > 0 {
				rr.Header().Ttl = d.statements[siblings[0]].rr.Header().Ttl
			}
			if err := d.join(rr); err != nil {
				return nil, err
			}
		}
		return want, nil
	})
}

// SetRecords makes the given records the only ones of their sets, all or
// nothing. Where they differ in TTL, a set gets the lowest.
func (a *Adapter) SetRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.editRecords(ctx, "set records in", zone, recs, func(d *draft, want []dns.RR) ([]dns.RR, error) {
		level(want)
		for _, rr := range want {
			if err := d.join(rr); err != nil {
				return nil, err
			}
		}
		for _, rr := range want {
			d.remove(slices.DeleteFunc(d.find(nameOf(rr), rr.Header().Rrtype), func(i int) bool {
				return slices.ContainsFunc(want, func(w dns.RR) bool { return sameRecord(w, d.statements[i].rr) })
			}))
		}
		return want, nil
	})
}

// DeleteRecords removes the records that match, all or none, and returns them.
// An empty type, TTL or value matches any; the SOA is never removed.
func (a *Adapter) DeleteRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	if err := a.checkZone(zone); err != nil {
		return nil, a.failed("delete from", err)
	}
	var gone []dns.RR
	err := a.edit(ctx, "delete from", nil, func(doc *document) (*draft, error) {
		d := doc.draft()
		var indexes []int
		for i := range d.statements {
			rr := d.statements[i].rr
			if rr != nil && rr.Header().Rrtype != dns.TypeSOA && slices.ContainsFunc(recs, func(r libdns.Record) bool { return a.matches(rr, r.RR()) }) {
				indexes, gone = append(indexes, i), append(gone, rr)
			}
		}
		if len(indexes) == 0 {
			return nil, nil
		}
		d.remove(indexes)
		return d, nil
	})
	if err != nil {
		return nil, err
	}
	return a.allToLibdns(gone), nil
}

func (a *Adapter) editRecords(ctx context.Context, op, zone string, recs []libdns.Record, change func(*draft, []dns.RR) ([]dns.RR, error)) ([]libdns.Record, error) {
	err := a.checkZone(zone)
	var want, done []dns.RR
	for _, rec := range recs {
		if err != nil {
			break
		}
		var rr dns.RR
		rr, err = a.fromLibdns(rec.RR())
		want = append(want, rr)
	}
	if err != nil {
		return nil, a.failed(op, err)
	}
	if len(want) == 0 {
		return nil, nil
	}
	err = a.edit(ctx, op, nil, func(doc *document) (*draft, error) {
		d := doc.draft()
		var err error
		done, err = change(d, want)
		for _, rr := range want {
			if err == nil {
				err = setEdit{d, record.Key{Name: nameOf(rr)}}.checkAlias()
			}
		}
		return d, err
	})
	if err != nil {
		return nil, err
	}
	return a.allToLibdns(done), nil
}

// join adds a record to its set; one with its data is given its TTL instead.
func (d *draft) join(rr dns.RR) error {
	name, kind := nameOf(rr), rr.Header().Rrtype
	for _, i := range d.find(name, kind) {
		if sameRecord(d.statements[i].rr, rr) {
			return d.setTTL(i, rr.Header().Ttl)
		}
	}
	key := record.Key{Name: name, Type: record.Type(dns.Type(kind).String())}
	return d.insert(setEdit{d, key}.place(), rr)
}

// sameRecord compares all but TTLs; TXT by content, however it is cut and
// escaped.
func sameRecord(a, b dns.RR) bool {
	x, ok1 := a.(*dns.TXT)
	y, ok2 := b.(*dns.TXT)
	if ok1 && ok2 {
		return nameOf(a) == nameOf(b) && textOf(x) == textOf(y)
	}
	return dns.IsDuplicate(a, b)
}

// level gives the records of each set the lowest TTL among them.
func level(rrs []dns.RR) {
	for _, a := range rrs {
		for _, b := range rrs {
			if nameOf(a) == nameOf(b) && a.Header().Rrtype == b.Header().Rrtype {
				a.Header().Ttl = min(a.Header().Ttl, b.Header().Ttl)
			}
		}
	}
}

func nameOf(rr dns.RR) record.Name { return record.Name(dns.CanonicalName(rr.Header().Name)) }

func (a *Adapter) checkZone(zone string) error {
	name, err := record.ParseName(zone)
	if err != nil || name != a.zone {
		return failf(provider.Permanent, "zone %q: this file holds %s", zone, a.zone)
	}
	return nil
}

// fromLibdns makes a record of one of libdns. The text is data of another
// program: it is read as exactly one record or refused.
func (a *Adapter) fromLibdns(r libdns.RR) (dns.RR, error) {
	name := libdns.AbsoluteName(r.Name, string(a.zone))
	if _, ok := dns.IsDomainName(name); !ok || !dns.IsSubDomain(string(a.zone), name) {
		return nil, failf(provider.Permanent, "name %q: not a name inside the zone %s", r.Name, a.zone)
	}
	if r.TTL < 0 || r.TTL > maxTTL*time.Second {
		return nil, failf(provider.Permanent, "TTL %s of %s: expected 0 to %d seconds", r.TTL, name, maxTTL)
	}
	ttl := uint32(r.TTL / time.Second)
	if r.Type == "TXT" {
		return newTXT(record.Name(name), ttl, r.Data), nil
	}
	rr, err := parseOne(a.zone, fmt.Sprintf("%s %d IN %s %s", name, ttl, r.Type, r.Data))
	if err != nil {
		return nil, failf(provider.Permanent, "record %s %s %q: %w", name, r.Type, r.Data, err)
	}
	return rr, nil
}

// parseOne reads a text that is exactly one record, whose targets are absolute:
// one without the final dot is where programs differ in what it means.
func parseOne(zone record.Name, text string) (dns.RR, error) {
	statements, err := split(text)
	if err != nil {
		return nil, err
	}
	if len(statements) != 1 || statements[0].remark() != "" {
		return nil, fmt.Errorf("expected one line without a comment")
	}
	plain, err := layOut(zone, statements)
	if err != nil {
		return nil, err
	}
	if err := fill(statements, zone, plain); err != nil {
		return nil, err
	}
	s := &statements[0]
	last := s.word(len(s.tokens) - 1)
	switch {
	case s.rr == nil:
		return nil, fmt.Errorf("expected a record")
	case s.rr.Header().Rrtype == dns.TypeSOA:
		return nil, fmt.Errorf("the SOA is not set in this way")
	case hasTarget(s.rr) && !dns.IsFqdn(last):
		return nil, fmt.Errorf("target %q: expected a name with the final dot", last)
	}
	return s.rr, nil
}

func hasTarget(rr dns.RR) bool {
	switch rr.(type) {
	case *dns.CNAME, *dns.NS, *dns.MX, *dns.SRV, *dns.PTR, *dns.DNAME:
		return true
	}
	return false
}

func (a *Adapter) allToLibdns(rrs []dns.RR) []libdns.Record {
	var records []libdns.Record
	for _, rr := range rrs {
		records = append(records, a.toLibdns(rr))
	}
	return records
}

func (a *Adapter) toLibdns(rr dns.RR) libdns.Record {
	plain := libdns.RR{
		Name: nameOf(rr).Relative(a.zone),
		TTL:  seconds(rr.Header().Ttl),
		Type: dns.Type(rr.Header().Rrtype).String(),
		Data: dataOf(rr),
	}
	parsed, err := plain.Parse()
	if err != nil {
		return plain // libdns has no better form for it
	}
	return parsed
}

// dataOf is a record's data as libdns has it: TXT without quotes and escapes.
func dataOf(rr dns.RR) string {
	if txt, ok := rr.(*dns.TXT); ok {
		return textOf(txt)
	}
	return strings.TrimPrefix(rr.String(), rr.Header().String())
}

// matches compares a record with a pattern, in which what is empty matches all.
func (a *Adapter) matches(rr dns.RR, pattern libdns.RR) bool {
	name := dns.CanonicalName(libdns.AbsoluteName(pattern.Name, string(a.zone)))
	return string(nameOf(rr)) == name &&
		(pattern.Type == "" || pattern.Type == dns.Type(rr.Header().Rrtype).String()) &&
		(pattern.TTL == 0 || pattern.TTL == seconds(rr.Header().Ttl)) &&
		(pattern.Data == "" || a.sameData(rr, pattern))
}

// sameData compares data by what it means where it can be read, an address in
// another spelling included.
func (a *Adapter) sameData(rr dns.RR, pattern libdns.RR) bool {
	pattern.Name, pattern.Type = "@", dns.Type(rr.Header().Rrtype).String()
	other, err := a.fromLibdns(pattern)
	if err != nil {
		return dataOf(rr) == pattern.Data
	}
	return dataOf(rr) == dataOf(other)
}
