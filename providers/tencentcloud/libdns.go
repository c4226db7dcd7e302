package tencentcloud

import (
	"context"
	"fmt"
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

// Attributes is what a record has at DNSPod beside what libdns knows of. It is
// the ProviderData of the records that the methods below return. A record that
// comes with it is one of its line; any other is one of the default line.
type Attributes struct {
	ID     uint64 // of the record that it was read from; a new one gets its own
	Line   string // the name of the line
	LineID string // empty for the default line
	Weight int    // 1 to 100; 0 for none
	Remark string
}

// GetRecords returns the records that are answered with, of every line. What is
// paused is left out, since libdns has no word for it. It is safe for concurrent
// use.
func (a *Adapter) GetRecords(ctx context.Context, zone string) ([]libdns.Record, error) {
	have, err := a.items(ctx, zone)
	if err != nil {
		return nil, err
	}
	records := []libdns.Record{}
	for _, i := range have {
		if i.live() {
			records = append(records, a.toLibdns(i))
		}
	}
	return records, nil
}

// AppendRecords creates records one after the other. One that is there already
// is returned as it is. With an error come the records that were created.
func (a *Adapter) AppendRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	e, err := a.edit(ctx, zone, "append", recs)
	if err != nil {
		return nil, err
	}
	for _, w := range e.want {
		if i := e.find(w); i != nil {
			e.done = append(e.done, a.toLibdns(i))
		} else if err := e.create(ctx, w); err != nil {
			return e.done, err
		}
	}
	return e.done, nil
}

// SetRecords makes the given records the only ones of their name and type, one
// request for each. A record that goes gives its place to one that comes, by its
// id, so that weight and remark stay; deletions come last. A name and type that
// has records on a line which the given ones do not name is refused: they could
// be neither kept nor told.
func (a *Adapter) SetRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	e, err := a.edit(ctx, zone, "set", recs)
	if err != nil {
		return nil, err
	}
	for _, i := range e.have {
		on := func(w item) bool { return sameSet(&w, i) && w.LineID == i.LineID }
		if slices.ContainsFunc(e.want, func(w item) bool { return sameSet(&w, i) }) && !slices.ContainsFunc(e.want, on) {
			return nil, provider.Failf(provider.Permanent, e.op, "", "%s %s has a record on the line %s (%s), which the given records do not name", i.Name, i.Type, i.Line, i.LineID)
		}
	}
	for len(e.want) > 0 {
		first := e.want[0]
		in := func(w item) bool { return sameSet(&w, &first) && w.LineID == first.LineID }
		set := slices.DeleteFunc(slices.Clone(e.want), func(w item) bool { return !in(w) })
		e.want = slices.DeleteFunc(e.want, in)
		if err := e.replace(ctx, set); err != nil {
			return e.done, err
		}
	}
	for _, i := range e.gone {
		if err := e.delete(ctx, i); err != nil {
			return e.done, err
		}
	}
	return e.done, nil
}

// DeleteRecords deletes the records that match in name, type, TTL and value, an
// empty field matching all, of the default line or of the line that a record
// comes with, and returns those that it deleted. The vendor's own name servers
// stay.
func (a *Adapter) DeleteRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	e, err := a.edit(ctx, zone, "delete", nil)
	if err != nil {
		return nil, err
	}
	for _, i := range e.have {
		if i.Default || !slices.ContainsFunc(recs, func(r libdns.Record) bool { return a.matches(i, r) }) {
			continue
		}
		if err := e.delete(ctx, i); err != nil {
			return e.done, err
		}
		e.done = append(e.done, a.toLibdns(i))
	}
	return e.done, nil
}

// edit is one libdns write.
type edit struct {
	a    *Adapter
	op   string
	have []*item // that are answered with
	rest []*item // that are paused
	want []item
	gone []*item // to be deleted at the end
	done []libdns.Record
}

func (a *Adapter) edit(ctx context.Context, zone, what string, recs []libdns.Record) (*edit, error) {
	e := &edit{a: a, op: fmt.Sprintf("%s records of zone %s", what, a.zone)}
	for _, r := range recs {
		w, err := a.fromLibdns(r)
		if err != nil {
			return nil, provider.Failf(provider.Permanent, e.op, "", "read record %s %s: %w", r.RR().Name, r.RR().Type, err)
		}
		e.want = append(e.want, w)
	}
	all, err := a.items(ctx, zone)
	for _, i := range all {
		if i.live() {
			e.have = append(e.have, i)
		} else {
			e.rest = append(e.rest, i)
		}
	}
	return e, err
}

// items lists the zone for the methods above.
func (a *Adapter) items(ctx context.Context, zone string) ([]*item, error) {
	name, err := record.ParseName(zone)
	if err != nil || name != a.zone {
		return nil, provider.Failf(provider.Permanent, "use zone "+zone, "", "this adapter is bound to zone %s", a.zone)
	}
	a.resolve(ctx)
	var all []*item
	_, err = a.listAll(ctx, func() { all = nil }, func(page *listReply) {
		for i := range page.Records {
			all = append(all, &page.Records[i])
		}
	})
	return all, err
}

func sameSet(a, b *item) bool { return strings.EqualFold(a.Name, b.Name) && a.Type == b.Type }

func same(a, b *item) bool {
	return sameSet(a, b) && a.LineID == b.LineID && compared(a) == compared(b)
}

// compared is a value in the one form that values are compared in.
func compared(i *item) string {
	value := i.Value
	switch i.Type {
	case "TXT", "SPF":
	case "CNAME", "NS", "MX", "SRV", "PTR":
		value = strings.TrimSuffix(strings.ToLower(strings.Join(strings.Fields(value), " ")), ".")
	default:
		value = strings.Join(strings.Fields(value), " ")
		if canonical, err := record.ParseValue(record.Type(i.Type), value); err == nil {
			value = canonical
		}
	}
	return strconv.Itoa(int(i.MX)) + " " + value
}

func (e *edit) find(w item) *item {
	for _, i := range e.have {
		if same(i, &w) {
			return i
		}
	}
	return nil
}

// paused refuses to write what is there and was taken out of the answer.
func (e *edit) paused(w item) error {
	for _, i := range e.rest {
		if same(i, &w) {
			return provider.Failf(provider.Permanent, e.op, "", "%s is there and paused; resume it", i)
		}
	}
	return nil
}

// replace brings the records of one name, type and line to what is wanted.
func (e *edit) replace(ctx context.Context, want []item) error {
	var old []*item
	for _, i := range e.have {
		if sameSet(i, &want[0]) && i.LineID == want[0].LineID {
			old = append(old, i)
		}
	}
	var fresh []item
	for _, w := range want {
		at := slices.IndexFunc(old, func(i *item) bool { return same(i, &w) })
		switch {
		case at < 0:
			fresh = append(fresh, w)
			continue
		case w.TTL != 0 && w.TTL != old[at].TTL:
			if err := e.modify(ctx, old[at], w); err != nil {
				return err
			}
		default:
			e.done = append(e.done, e.a.toLibdns(old[at]))
		}
		old = slices.Delete(old, at, at+1)
	}
	for _, w := range fresh {
		if len(old) == 0 || old[0].Default {
			if err := e.create(ctx, w); err != nil {
				return err
			}
			continue
		}
		if err := e.modify(ctx, old[0], w); err != nil {
			return err
		}
		old = old[1:]
	}
	e.gone = append(e.gone, slices.DeleteFunc(old, func(i *item) bool { return i.Default })...)
	return nil
}

// full are the parameters that write a record as it is wanted.
func (e *edit) full(w item) fullParams {
	p := fullParams{
		Domain: e.a.name(), RecordID: w.ID, SubDomain: w.Name, RecordType: w.Type, RecordLine: w.Line, RecordLineID: w.LineID,
		Value: w.Value, MX: w.MX, TTL: w.TTL, Weight: w.Weight, Status: enabled, Remark: w.Remark,
	}
	if p.TTL == 0 {
		p.TTL = uint32(defaultTTL / time.Second)
	}
	p.TTL = uint32(e.a.kept(seconds(p.TTL)) / time.Second) //nolint:gosec // no plan's smallest TTL is so large
	return p
}

type idReply struct {
	answer

	ID uint64 `json:"RecordId"`
}

func (e *edit) create(ctx context.Context, w item) error {
	if err := e.paused(w); err != nil {
		return err
	}
	params := e.full(w)
	var out idReply
	if err := e.a.do(ctx, request{op: e.op, action: "CreateRecord", params: params, write: true}, &out); err != nil {
		return err
	}
	w.ID, w.TTL, w.Status = out.ID, params.TTL, enabled
	e.have = append(e.have, &w)
	e.done = append(e.done, e.a.toLibdns(&w))
	return nil
}

// modify gives a record another value or TTL, and keeps its weight and remark
// where the wanted one has none.
func (e *edit) modify(ctx context.Context, i *item, w item) error {
	if err := e.paused(w); err != nil {
		return err
	}
	w.ID = i.ID
	if w.TTL == 0 {
		w.TTL = i.TTL
	}
	if w.Weight == nil {
		w.Weight = i.Weight
	}
	if w.Remark == "" {
		w.Remark = i.Remark
	}
	params := e.full(w)
	if err := e.a.do(ctx, request{op: e.op, action: "ModifyRecord", params: params, write: true}, &answer{}); err != nil {
		return err
	}
	w.TTL = params.TTL
	e.done = append(e.done, e.a.toLibdns(&w))
	return nil
}

func (e *edit) delete(ctx context.Context, i *item) error {
	return e.a.do(ctx, request{op: e.op, action: "DeleteRecord", params: recordParams{e.a.name(), i.ID}, write: true}, &answer{})
}

// prioritised are the types whose first field is a parameter of its own.
var prioritised = []string{"MX", "HTTPS", "SVCB"}

// toLibdns is a record in libdns's vocabulary. One that libdns cannot parse
// stays opaque rather than lost.
func (a *Adapter) toLibdns(i *item) libdns.Record {
	rr := libdns.RR{Name: i.Name, TTL: seconds(i.TTL), Type: i.Type, Data: i.Value}
	if slices.Contains(prioritised, i.Type) {
		rr.Data = strconv.Itoa(int(i.MX)) + " " + i.Value
	}
	attributes := Attributes{ID: i.ID, Line: i.Line, LineID: i.LineID, Remark: i.Remark}
	if i.LineID == defaultLine {
		attributes.LineID = ""
	}
	if i.Weight != nil {
		attributes.Weight = int(*i.Weight)
	}
	parsed, err := rr.Parse()
	if err != nil {
		return rr
	}
	return vendordata.Put(parsed, attributes)
}

// fromLibdns reads a record that a caller wants to be there.
func (a *Adapter) fromLibdns(r libdns.Record) (item, error) {
	rr := r.RR()
	data, _ := vendordata.Of(r).(Attributes)
	i := item{Name: strings.TrimSuffix(rr.Name, "."), Type: strings.ToUpper(rr.Type), Value: rr.Data, Status: enabled, Line: a.edition.line, LineID: defaultLine, Remark: data.Remark}
	switch {
	case i.Name == "":
		return i, fmt.Errorf("no name; expected one relative to the zone, or @")
	case i.Type == "" || i.Value == "":
		return i, fmt.Errorf("no type or no value")
	case rr.TTL < 0 || rr.TTL > maxTTL:
		return i, fmt.Errorf("a TTL of %v; expected 1 to %d seconds", rr.TTL, maxTTL/time.Second)
	case data.Weight < 0 || data.Weight > 100:
		return i, fmt.Errorf("a weight of %d; expected 0 to 100", data.Weight)
	}
	i.TTL = uint32(rr.TTL / time.Second) //nolint:gosec // bounded above
	if data.LineID != "" {
		i.Line, i.LineID = data.Line, data.LineID
	}
	if data.Weight > 0 {
		weight := uint32(data.Weight)
		i.Weight = &weight
	}
	if slices.Contains(prioritised, i.Type) {
		priority, rest, _ := strings.Cut(i.Value, " ")
		n, err := strconv.ParseUint(priority, 10, 16)
		if err != nil {
			return i, fmt.Errorf("value %q: expected a priority first", i.Value)
		}
		i.MX, i.Value = uint16(n), strings.TrimSpace(rest)
	}
	return i, nil
}

// matches is libdns's rule for deletions, within one line.
func (a *Adapter) matches(i *item, r libdns.Record) bool {
	rr := r.RR()
	data, _ := vendordata.Of(r).(Attributes)
	line := data.LineID
	if line == "" {
		line = defaultLine
	}
	if !strings.EqualFold(i.Name, strings.TrimSuffix(rr.Name, ".")) || i.LineID != line || rr.Type != "" && i.Type != strings.ToUpper(rr.Type) {
		return false
	}
	if rr.TTL != 0 && rr.TTL/time.Second != seconds(i.TTL)/time.Second {
		return false
	}
	if rr.Data == "" {
		return true
	}
	if rr.Type == "" {
		rr.Type = i.Type
	}
	want, err := a.fromLibdns(libdns.RR{Name: rr.Name, Type: rr.Type, Data: rr.Data})
	return err == nil && compared(&want) == compared(i)
}
