package cloudflare

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
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

// Attributes is what a record has at Cloudflare beside what libdns knows of. It
// is the ProviderData of the records that the methods below return, and is given
// to a new record that comes with it.
type Attributes struct {
	ID       string // of the record that it was read from; a new one gets its own
	Proxied  bool
	Comment  string
	Tags     json.RawMessage // a list of texts
	Settings json.RawMessage // an object
}

// GetRecords returns the zone's records. One second as a TTL stands for
// automatic, as in the API. It is safe for concurrent use.
func (a *Adapter) GetRecords(ctx context.Context, zone string) ([]libdns.Record, error) {
	_, have, err := a.wires(ctx, zone)
	if err != nil {
		return nil, err
	}
	records := make([]libdns.Record, 0, len(have))
	for _, w := range have {
		records = append(records, a.toLibdns(w))
	}
	return records, nil
}

// AppendRecords makes records in one batch. One that is there already is
// returned as it is.
func (a *Adapter) AppendRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.rewrite(ctx, zone, "append", recs, func(e *edit) {
		for _, w := range e.want {
			if old := e.match(w); old != nil {
				e.same = append(e.same, *old)
			} else {
				e.Posts = append(e.Posts, w.post)
			}
		}
	})
}

// SetRecords makes the given records the only ones of their name and type, in
// one batch. A record that goes gives its place to one that comes, by its id, so
// that its proxy status, comment, tags and settings stay; a further one takes
// them over from it.
func (a *Adapter) SetRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.rewrite(ctx, zone, "set", recs, func(e *edit) {
		sets := map[string][]wanted{}
		var order []string
		for _, w := range e.want {
			if _, found := sets[w.set]; !found {
				order = append(order, w.set)
			}
			sets[w.set] = append(sets[w.set], w)
		}
		for _, set := range order {
			e.replace(set, sets[set])
		}
	})
}

// DeleteRecords deletes the records that match in name, type, TTL and value, an
// empty field matching all, by their ids in one batch, and returns them.
func (a *Adapter) DeleteRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.rewrite(ctx, zone, "delete", nil, func(e *edit) {
		for _, w := range e.have {
			if slices.ContainsFunc(recs, func(r libdns.Record) bool { return a.matches(w, r.RR()) }) {
				e.Deletes = append(e.Deletes, reference{w.ID})
				e.same = append(e.same, w)
			}
		}
	})
}

// wanted is a record that a caller wants to be there.
type wanted struct {
	post

	set   string // its name and type
	value string // its value in the one form that values are compared in
	ttl   bool   // the caller has a wish for its TTL
}

// edit is one libdns write on its way to a batch.
type edit struct {
	batch

	have []wire
	want []wanted
	same []wire // records to return that the batch does not make
}

func setOf(name, kind string) string { return strings.ToLower(name) + " " + kind }

func (e *edit) match(w wanted) *wire {
	i := slices.IndexFunc(e.have, func(h wire) bool { return setOf(h.Name, h.Type) == w.set && compared(h) == w.value })
	if i < 0 {
		return nil
	}
	return &e.have[i]
}

// replace brings one record set to what is wanted.
func (e *edit) replace(set string, want []wanted) {
	var old []wire
	for _, h := range e.have {
		if setOf(h.Name, h.Type) == set {
			old = append(old, h)
		}
	}
	template := slices.Clone(old)
	var fresh []wanted
	for _, w := range want {
		i := slices.IndexFunc(old, func(h wire) bool { return compared(h) == w.value })
		if i < 0 {
			fresh = append(fresh, w)
			continue
		}
		if w.ttl && !old[i].Proxied && old[i].TTL != w.TTL {
			e.Patches = append(e.Patches, patch{ID: old[i].ID, TTL: w.TTL})
		} else {
			e.same = append(e.same, old[i])
		}
		old = slices.Delete(old, i, i+1)
	}
	for i, w := range fresh {
		switch {
		case i < len(old):
			p := patch{ID: old[i].ID, Content: w.Content, Data: w.Data, Priority: w.Priority}
			if w.ttl && !old[i].Proxied {
				p.TTL = w.TTL
			}
			e.Patches = append(e.Patches, p)
		default:
			if len(template) > 0 {
				w.inherit(template[0])
			}
			e.Posts = append(e.Posts, w.post)
		}
	}
	for _, h := range old[min(len(fresh), len(old)):] {
		e.Deletes = append(e.Deletes, reference{h.ID})
	}
}

// rewrite lists, has the change drawn from the list, and sends it once.
func (a *Adapter) rewrite(ctx context.Context, zone, what string, recs []libdns.Record, draw func(*edit)) ([]libdns.Record, error) {
	op := fmt.Sprintf("%s records of zone %s at Cloudflare", what, a.zone)
	zoneID, have, err := a.wires(ctx, zone)
	if err != nil {
		return nil, err
	}
	e := &edit{have: have}
	for _, r := range recs {
		w, err := a.wanted(r)
		if err != nil {
			return nil, provider.Failf(provider.Permanent, op, "", "read record %s %s: %w", r.RR().Name, r.RR().Type, err)
		}
		e.want = append(e.want, w)
	}
	draw(e)
	if e.size() > batchLimit {
		return nil, provider.Failf(provider.Permanent, op, "", "%d changes at once, more than the %d that every plan allows in one batch", e.size(), batchLimit)
	}
	out := new(reply)
	if e.size() > 0 {
		if out, err = a.send(ctx, op, zoneID, &e.batch, nil); err != nil {
			return nil, err
		}
	}
	var records []libdns.Record
	for _, w := range e.same {
		records = append(records, a.toLibdns(w))
	}
	for _, m := range slices.Concat(out.Patches, out.Posts) {
		records = append(records, a.toLibdns(m.wire()))
	}
	return records, nil
}

// wires lists the zone for the methods above.
func (a *Adapter) wires(ctx context.Context, zone string) (string, []wire, error) {
	name, err := record.ParseName(zone)
	if err != nil || name != a.zone {
		return "", nil, provider.Failf(provider.Permanent, "use zone "+zone, "", "this adapter is bound to zone %s", a.zone)
	}
	id, err := a.findZone(ctx)
	if err != nil {
		return "", nil, err
	}
	var have []wire
	err = a.stream(ctx, fmt.Sprintf("list zone %s at Cloudflare", a.zone), "/zones/"+id+"/dns_records",
		url.Values{"per_page": {strconv.Itoa(pageSize)}}, func(w *wire) {
			if w.ID != "" && w.Type != "" && w.odd == "" {
				have = append(have, *w)
			}
		})
	return id, have, err
}

// toLibdns is a record in libdns's vocabulary. One that libdns cannot parse
// stays opaque rather than lost.
func (a *Adapter) toLibdns(w wire) libdns.Record {
	name := record.Name(strings.ToLower(w.Name) + ".")
	rr := libdns.RR{Name: name.Relative(a.zone), TTL: time.Duration(w.TTL) * time.Second, Type: w.Type, Data: dataOf(w)}
	parsed, err := rr.Parse()
	if err != nil {
		return rr
	}
	attributes := Attributes{ID: w.ID, Proxied: w.Proxied, Comment: w.Comment, Tags: json.RawMessage(w.Tags), Settings: json.RawMessage(w.Settings)}
	return vendordata.Put(parsed, attributes)
}

// wanted reads what a caller wants to write.
func (a *Adapter) wanted(r libdns.Record) (wanted, error) {
	rr := r.RR()
	name, err := a.absolute(rr.Name)
	if err != nil {
		return wanted{}, err
	}
	if rr.TTL < 0 || rr.TTL > maxTTL {
		return wanted{}, fmt.Errorf("a TTL of %v; expected up to %v", rr.TTL, maxTTL)
	}
	w := wanted{post: post{Type: strings.ToUpper(rr.Type), Name: name.Unrooted(), TTL: automatic}, ttl: rr.TTL > 0}
	if rr.TTL > time.Second {
		w.TTL = secondsOf(rr.TTL)
	}
	if err := w.fill(rr.Data); err != nil {
		return wanted{}, err
	}
	if attributes, found := vendordata.Of(r).(Attributes); found {
		w.inherit(wire{Proxied: attributes.Proxied, Comment: attributes.Comment, Tags: string(attributes.Tags), Settings: string(attributes.Settings)})
	}
	w.set = setOf(w.Name, w.Type)
	w.value = compared(wire{Type: w.Type, Content: w.Content, Data: string(w.Data), Priority: string(w.Priority)})
	return w, nil
}

func (a *Adapter) absolute(name string) (record.Name, error) {
	switch name {
	case "":
		return "", fmt.Errorf("no name; expected one relative to the zone, or @")
	case "@":
		return a.zone, nil
	}
	return record.ParseName(strings.TrimSuffix(name, ".") + "." + string(a.zone))
}

// matches is libdns's rule for deletions.
func (a *Adapter) matches(w wire, r libdns.RR) bool {
	name, err := a.absolute(r.Name)
	if err != nil || !strings.EqualFold(name.Unrooted(), w.Name) || r.Type != "" && !strings.EqualFold(r.Type, w.Type) {
		return false
	}
	if r.TTL != 0 && r.TTL != time.Duration(w.TTL)*time.Second {
		return false
	}
	if r.Data == "" {
		return true
	}
	p := post{Type: w.Type}
	if err := p.fill(r.Data); err != nil {
		return false
	}
	return compared(wire{Type: p.Type, Content: p.Content, Data: string(p.Data), Priority: string(p.Priority)}) == compared(w)
}
