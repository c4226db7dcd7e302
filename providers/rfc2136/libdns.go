package rfc2136

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

// rewrites is how often a libdns write lists and tries again when the zone
// changed between.
const rewrites = 3

// entry is one record of the zone in both forms.
type entry struct {
	id   setID
	ttl  uint32
	data string
	lib  libdns.Record
}

// zoneCopy is the whole zone as libdns sees it, and its SOA.
type zoneCopy struct {
	soa     string
	entries []entry
}

// GetRecords returns the zone's records but those of DNSSEC. A record that the
// library cannot read is left out. It is safe for concurrent use.
func (a *Adapter) GetRecords(ctx context.Context, zone string) ([]libdns.Record, error) {
	copied, err := a.copyZone(ctx, zone)
	if err != nil {
		return nil, err
	}
	var records []libdns.Record
	for _, e := range copied.entries {
		records = append(records, e.lib)
	}
	return records, nil
}

// AppendRecords adds records in one update. A record that joins others takes
// their TTL, because a set has only one (RFC 2181 section 5.2) and existing
// records must not change; one that is there already is returned as it is.
func (a *Adapter) AppendRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.rewrite(ctx, zone, "append", recs, func(u *update, have zoneCopy, want []entry) ([]entry, error) {
		for i, w := range want {
			if ttl, found := have.ttl(w.id); found {
				want[i].ttl = ttl
			}
			if err := have.room(w.id); err != nil {
				return nil, err
			}
			u.insert(w.id, want[i].ttl, w.data)
		}
		return want, nil
	})
}

// SetRecords makes the given records the only ones of their sets, in one
// update: all or nothing.
func (a *Adapter) SetRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.rewrite(ctx, zone, "set", recs, func(u *update, have zoneCopy, want []entry) ([]entry, error) {
		sets := map[setID]rrset{}
		var order []setID
		for _, w := range want {
			set, found := sets[w.id]
			if !found {
				order, set.ttl = append(order, w.id), w.ttl
			}
			set.data = append(set.data, w.data)
			sets[w.id] = set
		}
		for _, id := range order {
			if err := have.room(id); err != nil {
				return nil, err
			}
			u.replace(id, sets[id])
		}
		for i, w := range want {
			want[i].ttl = sets[w.id].ttl
		}
		return want, nil
	})
}

// DeleteRecords deletes the records that match in name, type, TTL and value, an
// empty field matching all, in one update, and returns those that it deleted.
func (a *Adapter) DeleteRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.rewrite(ctx, zone, "delete", nil, func(u *update, have zoneCopy, _ []entry) ([]entry, error) {
		var gone []entry
		for _, e := range have.entries {
			if slices.ContainsFunc(recs, func(r libdns.Record) bool { return a.matches(e, r.RR()) }) {
				u.remove(e.id, e.data)
				gone = append(gone, e)
			}
		}
		return gone, nil
	})
}

// rewrite lists, has the change drawn from the list, and sends it under the
// condition that the zone is still the listed one.
func (a *Adapter) rewrite(ctx context.Context, zone, what string, recs []libdns.Record, draw func(*update, zoneCopy, []entry) ([]entry, error)) ([]libdns.Record, error) {
	op := fmt.Sprintf("%s records of zone %s at %s", what, a.zone, a.server)
	for attempt := 1; ; attempt++ {
		have, err := a.copyZone(ctx, zone)
		if err != nil {
			return nil, err
		}
		want, err := a.entries(op, recs)
		if err != nil {
			return nil, err
		}
		u := new(update)
		u.equals(setID{a.zone, dns.TypeSOA}, []string{have.soa})
		done, err := draw(u, have, want)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		if len(u.change) > 0 {
			err = a.send(ctx, op, u, nil)
		}
		if err == nil {
			return a.returned(done)
		}
		if provider.ClassOf(err) != provider.Conflict || attempt == rewrites {
			return nil, err
		}
	}
}

func (a *Adapter) returned(entries []entry) ([]libdns.Record, error) {
	var records []libdns.Record
	for _, e := range entries {
		lib, err := a.toLibdns(e.id, e.ttl, e.data)
		if err != nil {
			return nil, err
		}
		records = append(records, lib)
	}
	return records, nil
}

// copyZone transfers the zone for the methods above.
func (a *Adapter) copyZone(ctx context.Context, zone string) (zoneCopy, error) {
	name, err := record.ParseName(zone)
	if err != nil || name != a.zone {
		return zoneCopy{}, provider.Failf(provider.Permanent, "use zone "+zone, "", "this adapter is bound to zone %s", a.zone)
	}
	var copied zoneCopy
	err = a.axfr(ctx, func(r resource) {
		if r.kind == dns.TypeSOA {
			copied.soa = soaOf(r)
		}
		if e, ok := a.entryOf(r); ok {
			copied.entries = append(copied.entries, e)
		}
	})
	return copied, err
}

// soaOf is an SOA's rdata; the transfer was refused if it were not readable.
func soaOf(r resource) string {
	data, err := r.rdata()
	if err != nil {
		return ""
	}
	return data
}

// entryOf reads one record; false for one of DNSSEC, or that cannot be read.
func (a *Adapter) entryOf(r resource) (entry, bool) {
	switch r.kind {
	case dns.TypeRRSIG, dns.TypeNSEC, dns.TypeNSEC3, dns.TypeNSEC3PARAM, dns.TypeDNSKEY, dns.TypeCDS, dns.TypeCDNSKEY, 65534:
		return entry{}, false
	}
	parsed, _, err := dns.UnpackRR(r.wire, r.start)
	if err != nil {
		return entry{}, false
	}
	data, err := packed(parsed)
	if err != nil {
		return entry{}, false
	}
	id := setID{record.Name(dns.CanonicalName(r.owner)), r.kind}
	lib, err := a.toLibdns(id, r.ttl, data)
	return entry{id, r.ttl, data, lib}, err == nil
}

// packed is a record's rdata without compression: what follows the owner and
// the ten octets of type, class, TTL and length.
func packed(parsed dns.RR) (string, error) {
	owner, err := packName(parsed.Header().Name)
	if err != nil {
		return "", err
	}
	buf := make([]byte, dns.Len(parsed)+1)
	n, err := dns.PackRR(parsed, buf, 0, nil, false)
	if err != nil {
		return "", err
	}
	return string(buf[len(owner)+10 : n]), nil
}

// toLibdns is a record in libdns's vocabulary. One that libdns cannot parse
// stays opaque rather than lost.
func (a *Adapter) toLibdns(id setID, ttl uint32, data string) (libdns.Record, error) {
	rr := libdns.RR{Name: id.name.Relative(a.zone), TTL: seconds(ttl), Type: kindName(id.kind)}
	if ttl == 0 {
		rr.TTL = time.Nanosecond // a TTL of 0 itself: libdns reads plain 0 as unset
	}
	if id.kind == dns.TypeTXT {
		text, err := textOf(data)
		if err != nil {
			return nil, err
		}
		rr.Data = text
	} else {
		shown, err := shown(id, data)
		if err != nil {
			return nil, err
		}
		rr.Data = shown
	}
	parsed, err := rr.Parse()
	if err != nil {
		return rr, nil //nolint:nilerr // an opaque record is better than none
	}
	return parsed, nil
}

// shown is rdata in presentation form, without the header before it.
func shown(id setID, data string) (string, error) {
	buf := make([]byte, 300+len(data))
	n, err := dns.PackRR(rr(id, 0, data), buf, 0, nil, false)
	if err != nil {
		return "", err
	}
	parsed, _, err := dns.UnpackRR(buf[:n], 0)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(parsed.String(), parsed.Header().String()), nil
}

// entries reads what a caller wants to write.
func (a *Adapter) entries(op string, recs []libdns.Record) ([]entry, error) {
	var entries []entry
	for _, r := range recs {
		e, err := a.entry(r.RR())
		if err != nil {
			return nil, provider.Failf(provider.Permanent, op, "", "read record %s %s: %w", r.RR().Name, r.RR().Type, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (a *Adapter) entry(r libdns.RR) (entry, error) {
	id, err := a.idOf(r)
	if err != nil {
		return entry{}, err
	}
	if id.kind == 0 {
		return entry{}, fmt.Errorf("unknown type %q", r.Type)
	}
	if r.TTL < 0 || r.TTL > maxTTL*time.Second {
		return entry{}, fmt.Errorf("a TTL of %v; expected 0 to %d seconds", r.TTL, maxTTL)
	}
	ttl := uint32(r.TTL / time.Second)
	if r.TTL == 0 {
		ttl = defaultTTL
	}
	data, err := a.dataOf(id, r.Data)
	return entry{id: id, ttl: ttl, data: data}, err
}

func (a *Adapter) idOf(r libdns.RR) (setID, error) {
	if r.Name == "" {
		return setID{}, fmt.Errorf("no name; expected one relative to the zone, or @")
	}
	name := string(a.zone)
	if r.Name != "@" {
		name = strings.TrimSuffix(r.Name, ".") + "." + string(a.zone)
	}
	if _, ok := dns.IsDomainName(name); !ok {
		return setID{}, fmt.Errorf("not a domain name")
	}
	return setID{record.Name(dns.CanonicalName(name)), dns.StringToType[strings.ToUpper(r.Type)]}, nil
}

// dataOf reads a value in presentation form, a TXT as the bytes that it is.
// Names in it are absolute: one without the final dot gets it.
func (a *Adapter) dataOf(id setID, text string) (string, error) {
	if id.kind == dns.TypeTXT {
		return textData(text), nil
	}
	parsed, err := dns.NewRR(fmt.Sprintf("%s 0 IN %s %s", id.name, kindName(id.kind), text))
	if err != nil {
		return "", err
	}
	if parsed == nil {
		return "", fmt.Errorf("no value")
	}
	return packed(parsed)
}

// matches is libdns's rule for deletions.
func (a *Adapter) matches(e entry, r libdns.RR) bool {
	id, err := a.idOf(r)
	if err != nil || id.name != e.id.name || r.Type != "" && id.kind != e.id.kind || e.id.kind == dns.TypeSOA {
		return false
	}
	if r.TTL != 0 && uint32(r.TTL/time.Second) != e.ttl { //nolint:gosec // compared, not used
		return false
	}
	if r.Data == "" {
		return true
	}
	data, err := a.dataOf(e.id, r.Data)
	return err == nil && data == e.data
}

func (c zoneCopy) ttl(id setID) (uint32, bool) {
	for _, e := range c.entries {
		if e.id == id {
			return e.ttl, true
		}
	}
	return 0, false
}

// room refuses a set beside which the server would drop it without a word: a
// CNAME stands alone (RFC 2136 section 3.4.2.2).
func (c zoneCopy) room(id setID) error {
	for _, e := range c.entries {
		if e.id.name == id.name && e.id.kind != id.kind && (e.id.kind == dns.TypeCNAME || id.kind == dns.TypeCNAME) {
			return fmt.Errorf("%s has type %s, beside which type %s cannot stand", id.name, kindName(e.id.kind), kindName(id.kind))
		}
	}
	return nil
}
