package local

import (
	"context"
	"fmt"
	"slices"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

var _ provider.Releaser = (*Adapter)(nil)

// Remains lists the parked copies of values that are live, and the stamps.
func (a *Adapter) Remains(seen *provider.Snapshot) []string {
	doc, ok := seen.Native.(*document)
	if !ok {
		return nil
	}
	var lines []string
	for _, i := range doc.leftovers() {
		lines = append(lines, fmt.Sprintf("%s TXT %q", doc.statements[i].name, textOf(doc.statements[i].rr)))
	}
	return lines
}

// Release takes all of it out in one edit.
func (a *Adapter) Release(ctx context.Context, seen *provider.Snapshot, gate provider.Gate) (done bool, err error) {
	const op = "release"
	listed, ok := (*document)(nil), false
	if seen != nil {
		listed, ok = seen.Native.(*document)
	}
	if !ok || listed.zone != a.zone {
		return false, a.failed(op, failf(provider.Permanent, "a release that rests on no list of this zone"))
	}
	if len(listed.leftovers()) == 0 {
		return true, nil
	}
	err = a.edit(ctx, op, gate, func(doc *document) (*draft, error) {
		if err := checkStamps(doc, seen); err != nil {
			return nil, err
		}
		if want, got := listed.serial(), doc.serial(); want != got {
			return nil, failf(provider.Conflict, "the zone has changed: expected serial %d, the file has %d", want, got)
		}
		d := doc.draft()
		d.remove(doc.leftovers())
		return d, nil
	})
	return err == nil, err
}

// leftovers are the statements of parked copies whose values are live, then
// those of the stamps.
func (d *document) leftovers() []int {
	live := map[record.Key]map[string]bool{}
	for i := range d.statements {
		if key, value, ok := d.liveAt(i); ok {
			if live[key] == nil {
				live[key] = map[string]bool{}
			}
			live[key][value] = true
		}
	}
	var found []int
	for i := range d.statements {
		rr, ok := d.statements[i].rr.(*dns.TXT)
		if !ok {
			continue
		}
		owner, parked := provider.ParkedOwner(record.Name(d.statements[i].name))
		if !parked {
			continue
		}
		if p, err := provider.ParseParked(textOf(rr)); err == nil && live[record.Key{Zone: d.zone, Name: owner, Type: p.Type}][p.Value] {
			found = append(found, i)
		}
	}
	return slices.Concat(found, d.find(d.zone.Below(provider.StampLabel), dns.TypeTXT))
}

// liveAt is what a statement answers with; false when it is no answer.
func (d *document) liveAt(i int) (key record.Key, value string, ok bool) {
	s := &d.statements[i]
	switch s.rr.(type) {
	case *dns.A, *dns.AAAA, *dns.CNAME:
	default:
		return record.Key{}, "", false
	}
	name, err := readName(s.name, d.zone)
	if err != nil {
		return record.Key{}, "", false
	}
	value, err = valueOf(s.rr)
	kind := record.Type(dns.TypeToString[s.rr.Header().Rrtype])
	return record.Key{Zone: d.zone, Name: name, Type: kind}, value, err == nil
}
