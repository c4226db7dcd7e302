package powerdns

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/vendordata"
	"sidestep/pkg/record"
)

var (
	_ libdns.RecordGetter   = (*Adapter)(nil)
	_ libdns.RecordAppender = (*Adapter)(nil)
	_ libdns.RecordSetter   = (*Adapter)(nil)
	_ libdns.RecordDeleter  = (*Adapter)(nil)
)

// Attributes is what a record has at PowerDNS beside what libdns knows of. It is
// the ProviderData of the records that the methods below return. They keep comments
// where they are, so that nobody needs to hand them back.
type Attributes struct {
	Comments []Comment // of the record's set
}

// Comment is one comment of a record set.
type Comment struct {
	Content, Account string
	Modified         time.Time
}

// GetRecords returns the zone's records but those that are disabled, which no
// resolver sees and libdns has no word for. It is safe for concurrent use.
func (a *Adapter) GetRecords(ctx context.Context, zone string) ([]libdns.Record, error) {
	have, err := a.sets(ctx, "get the records of", zone)
	if err != nil {
		return nil, err
	}
	var records []libdns.Record
	for _, set := range have.sets {
		for _, m := range slices.DeleteFunc(slices.Clone(set.Records), func(m member) bool { return m.Disabled }) {
			records = append(records, a.toLibdns(set, m))
		}
	}
	return records, nil
}

// AppendRecords adds records in one transaction. A record that joins others takes
// their TTL, because a set has only one (RFC 2181 section 5.2) and existing records
// must not change; one that is there already is returned as it is.
func (a *Adapter) AppendRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.rewrite(ctx, zone, "append records to", recs, func(e *edit, want libdns.RR, content string) {
		set := e.touch(want.Name, want.Type)
		if len(set.Records) == 0 {
			set.TTL = ttlOf(want.TTL)
		}
		set.put(content)
		e.done = append(e.done, done{set, content})
	})
}

// SetRecords makes the given records the only live ones of their sets, in one
// transaction. Members that are disabled stay so.
func (a *Adapter) SetRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.rewrite(ctx, zone, "set records of", recs, func(e *edit, want libdns.RR, content string) {
		set := e.touch(want.Name, want.Type)
		if !e.emptied[set] {
			e.emptied[set] = true
			set.Records = slices.DeleteFunc(set.Records, enabled)
			set.TTL = ttlOf(want.TTL)
		}
		set.put(content)
		e.done = append(e.done, done{set, content})
	})
}

// DeleteRecords deletes the live records that match in name, type, TTL and value, an
// empty field matching all, in one transaction, and returns those that it deleted.
func (a *Adapter) DeleteRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	e, err := a.begin(ctx, "delete records of", zone)
	if err != nil {
		return nil, err
	}
	var gone []libdns.Record
	for i := range e.have.sets {
		set := &e.have.sets[i]
		matches := func(m member) bool {
			return !m.Disabled && set.Type != "SOA" && slices.ContainsFunc(recs, func(r libdns.Record) bool { return a.matches(*set, m, r.RR()) })
		}
		for _, m := range set.Records {
			if matches(m) {
				gone = append(gone, a.toLibdns(*set, m))
				e.touched[set] = true
			}
		}
		set.Records = slices.DeleteFunc(slices.Clone(set.Records), matches)
	}
	return gone, a.commit(ctx, e)
}

// whole is every set of the zone.
type whole struct {
	sets []rrset
}

func (w *whole) take(set rrset)        { w.sets = append(w.sets, set) }
func (w *whole) odd(rrset, error)      {}
func (s rrset) is(name, k string) bool { return strings.EqualFold(s.Name, name) && s.Type == k }

func (a *Adapter) sets(ctx context.Context, what, zone string) (*whole, error) {
	op := fmt.Sprintf("%s zone %s", what, a.zone)
	name, err := record.ParseName(zone)
	if err != nil || name != a.zone {
		return nil, provider.Failf(provider.Permanent, op, "", "zone %q: this adapter is bound to zone %s", zone, a.zone)
	}
	var w *whole
	h, err := a.read(ctx, op, func() reader { w = &whole{}; return w })
	if err == nil && h.copied() && what != "get the records of" {
		err = a.isCopy(op, h)
	}
	return w, err
}

// edit is a write on its way.
type edit struct {
	op      string
	zone    record.Name
	have    *whole
	touched map[*rrset]bool
	emptied map[*rrset]bool
	made    []*rrset // sets that are not in the zone yet
	done    []done
}

// done is a record that the write leaves in the zone.
type done struct {
	set     *rrset
	content string
}

func (a *Adapter) begin(ctx context.Context, what, zone string) (*edit, error) {
	have, err := a.sets(ctx, what, zone)
	if err != nil {
		return nil, err
	}
	return &edit{op: fmt.Sprintf("%s zone %s", what, a.zone), zone: a.zone, have: have, touched: map[*rrset]bool{}, emptied: map[*rrset]bool{}}, nil
}

// touch is the set of a name relative to the zone, made where there is none.
func (e *edit) touch(relative, kind string) *rrset {
	name := string(e.zone)
	if relative != "@" {
		name = strings.ToLower(relative) + "." + name
	}
	for i := range e.have.sets {
		if set := &e.have.sets[i]; set.is(name, kind) {
			if !e.touched[set] {
				set.Records = slices.Clone(set.Records)
			}
			e.touched[set] = true
			return set
		}
	}
	for _, set := range e.made {
		if set.is(name, kind) {
			return set
		}
	}
	set := &rrset{Name: name, Type: kind}
	e.made = append(e.made, set)
	e.touched[set] = true
	return set
}

// put makes a value live.
func (s *rrset) put(content string) {
	for i := range s.Records {
		if same(s.Type, s.Records[i].Content, content) {
			s.Records[i].Disabled = false
			return
		}
	}
	s.Records = append(s.Records, member{Content: content})
}

// rewrite reads the zone, puts each record in, and writes the sets that changed.
func (a *Adapter) rewrite(ctx context.Context, zone, what string, recs []libdns.Record, put func(*edit, libdns.RR, string)) ([]libdns.Record, error) {
	e, err := a.begin(ctx, what, zone)
	if err != nil {
		return nil, err
	}
	for _, r := range recs {
		rr := r.RR()
		rr.Type = strings.ToUpper(rr.Type)
		content, err := contentOf(rr)
		if err != nil {
			return nil, provider.Failf(provider.Permanent, e.op, "", "record %s %s: %w", rr.Name, rr.Type, err)
		}
		put(e, rr, content)
	}
	if err := a.commit(ctx, e); err != nil {
		return nil, err
	}
	records := make([]libdns.Record, len(e.done))
	for i, d := range e.done {
		records[i] = a.toLibdns(*d.set, member{Content: d.content})
	}
	return records, nil
}

func (a *Adapter) commit(ctx context.Context, e *edit) error {
	var patches []patch
	for set := range e.touched {
		p := set.replaced(set.TTL, set.Records)
		p.Comments = nil
		if len(set.Records) == 0 {
			p = patch{Name: set.Name, Type: set.Type, ChangeType: "DELETE"}
		}
		patches = append(patches, p)
	}
	if len(patches) == 0 {
		return nil
	}
	slices.SortFunc(patches, func(x, y patch) int { return strings.Compare(x.Name+" "+x.Type, y.Name+" "+y.Type) })
	return a.send(ctx, e.op, patches, nil)
}

// ttlOf is a TTL of libdns, which takes 0 for none said.
func ttlOf(ttl time.Duration) uint32 {
	if ttl == 0 || ttl > maxTTL*time.Second {
		return defaultTTL
	}
	return uint32(ttl / time.Second) //nolint:gosec // bounded above, and contentOf refuses what is negative
}

// contentOf spells a value as PowerDNS wants it. Names in it are absolute: one
// without the final dot gets it.
func contentOf(r libdns.RR) (string, error) {
	switch {
	case r.Name == "":
		return "", fmt.Errorf("expected a name relative to the zone, or @")
	case r.TTL < 0:
		return "", fmt.Errorf("a TTL of %v", r.TTL)
	case r.Type == "" || r.Type == "SOA":
		return "", fmt.Errorf("a record of type %q is not set in this way", r.Type)
	case r.Type == "TXT":
		return provider.QuoteText(r.Data), nil
	case strings.TrimSpace(r.Data) == "":
		return "", fmt.Errorf("no value")
	}
	return spelled(r.Type, r.Data), nil
}

// spelled is data in the one spelling that is compared.
func spelled(kind, data string) string {
	fields := strings.Fields(data)
	target := -1
	switch kind {
	case "A", "AAAA":
		if addr, err := netip.ParseAddr(strings.TrimSpace(data)); err == nil {
			return addr.String()
		}
	case "CNAME", "NS", "PTR", "DNAME", "MX", "SRV":
		target = len(fields) - 1
	case "SVCB", "HTTPS":
		target = min(1, len(fields)-1)
	}
	if target < 0 {
		return data
	}
	if !strings.HasSuffix(fields[target], ".") {
		fields[target] += "."
	}
	if kind == "SVCB" || kind == "HTTPS" {
		slices.SortStableFunc(fields[target+1:], func(x, y string) int { return paramOf(x) - paramOf(y) })
	}
	return strings.Join(fields, " ")
}

// params are the keys of service parameters in the order of their numbers, in which
// PowerDNS insists on having them (RFC 9460 section 14.3.2).
var params = []string{"mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint", "dohpath", "ohttp"}

// paramOf is the number of a parameter; those without a name here keep their order.
func paramOf(field string) int {
	key, _, _ := strings.Cut(field, "=")
	if i := slices.Index(params, key); i >= 0 {
		return i
	}
	return len(params)
}

// same compares two values by what they mean: a text by its octets, names without
// regard to letter case.
func same(kind, x, y string) bool {
	if kind == "TXT" {
		a, err1 := provider.ParseText(x)
		b, err2 := provider.ParseText(y)
		return err1 == nil && err2 == nil && a == b
	}
	return strings.EqualFold(spelled(kind, x), spelled(kind, y)) && (kind != "CAA" || x == y)
}

// matches is libdns's rule for deletions.
func (a *Adapter) matches(set rrset, m member, r libdns.RR) bool {
	name := string(a.zone)
	if r.Name != "@" {
		name = r.Name + "." + name
	}
	switch {
	case !strings.EqualFold(set.Name, name), r.Type != "" && !strings.EqualFold(r.Type, set.Type):
		return false
	case r.TTL != 0 && r.TTL != seconds(set.TTL):
		return false
	case r.Data == "":
		return true
	case set.Type == "TXT":
		return same("TXT", m.Content, provider.QuoteText(r.Data))
	}
	return same(set.Type, m.Content, r.Data)
}

// toLibdns is a record in libdns's vocabulary. One that libdns cannot parse stays
// opaque rather than lost.
func (a *Adapter) toLibdns(set rrset, m member) libdns.Record {
	rr := libdns.RR{Name: record.Name(strings.ToLower(set.Name)).Relative(a.zone), TTL: seconds(set.TTL), Type: set.Type, Data: m.Content}
	if set.TTL == 0 {
		rr.TTL = time.Nanosecond // a TTL of 0 itself: libdns reads plain 0 as unset
	}
	if set.Type == "TXT" {
		if text, err := provider.ParseText(m.Content); err == nil {
			rr.Data = text
		}
	}
	parsed, err := rr.Parse()
	if err != nil {
		return rr
	}
	var data Attributes
	for _, c := range set.Comments {
		data.Comments = append(data.Comments, Comment{c.Content, c.Account, time.Unix(c.Modified, 0).UTC()})
	}
	return vendordata.Put(parsed, data)
}
