package generic

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Add appends records, one call of the library for each.
func (a *Adapter) Add(ctx context.Context, call provider.Call) error {
	w, err := a.prepare("add to", call)
	if err != nil {
		return err
	}
	if len(call.Away) > 0 {
		return w.refuse(provider.Permanent, "expected adds only, got take-aways")
	}
	var records []libdns.Record
	for _, c := range call.Add {
		if _, live := w.view.find(call.Key, c.Value); live {
			continue
		}
		r, err := w.answer(c)
		if err != nil {
			return err
		}
		records = append(records, r)
	}
	for i, r := range records {
		err := a.append(ctx, w.op, r, call.Gate)
		if err != nil && i > 0 && provider.ClassOf(err) != provider.Ambiguous {
			return &provider.Error{Class: provider.Ambiguous, Op: fmt.Sprintf("%s, record %d of %d", w.op, i+1, len(records)), Err: err}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TakeAway makes a copy of a live record, or, when the call's list shows the
// copy, deletes the live record.
func (a *Adapter) TakeAway(ctx context.Context, call provider.Call) error {
	w, err := a.prepare("take away from", call)
	if err != nil {
		return err
	}
	c, err := w.away()
	if err != nil {
		return err
	}
	m, live := w.view.find(call.Key, c.Value)
	p, copied := w.view.newest(call.Key, c.Value)
	switch {
	case !live && copied:
		return nil
	case !live:
		return w.refuse(provider.Conflict, "%s is not there", c.Value)
	case m.ttl <= 0:
		return w.refuse(provider.Permanent, "%s has the zone's default TTL and would come back with another: give the record a TTL of its own at the provider", c.Value)
	case !copied || p.TTL != m.ttl:
		text, err := w.copyOf(m, p.at, a.now())
		if err != nil {
			return err
		}
		return a.append(ctx, w.op, text, call.Gate)
	}
	return a.remove(ctx, w, c.Value)
}

// append makes one record.
func (a *Adapter) append(ctx context.Context, op string, r libdns.Record, gate provider.Gate) error {
	made, err := guarded(ctx, a, attempt{op, true, gate}, func(ctx context.Context) ([]entry, error) {
		made, err := a.library.AppendRecords(ctx, string(a.zone), []libdns.Record{r})
		if err != nil {
			return nil, err
		}
		return entriesOf(made)
	})
	if err != nil {
		return err
	}
	return a.expect(op, "append", r.RR(), made)
}

// remove looks at the zone once more and deletes the live record of a value.
func (a *Adapter) remove(ctx context.Context, w *work, value string) error {
	entries, err := a.fetch(ctx)
	if err != nil {
		return err
	}
	current := a.snapshot(entries)
	live := current.Set(w.call.Key).Live()
	for _, survivor := range w.call.Survivors {
		if !slices.Contains(live, survivor) {
			return w.refuse(provider.Conflict, "%s is no longer live", survivor)
		}
	}
	m, found := viewOf(current).find(w.call.Key, value)
	p, copied := viewOf(current).newest(w.call.Key, value)
	switch {
	case !copied:
		return w.refuse(provider.Conflict, "the copy of %s is gone", value)
	case !found:
		return nil
	case p.TTL != m.ttl:
		return w.refuse(provider.Conflict, "the TTL of %s is %v now, and its copy has %v", value, m.ttl, p.TTL)
	case len(live) == 1 && !w.call.Empty:
		return w.refuse(provider.Conflict, "nothing would be left live")
	}
	return a.delete(ctx, w.op, m.record, w.call.Gate)
}

// delete hands the library one record as it was listed. Its name, type and
// value are all there, so that none of them reads as "any".
func (a *Adapter) delete(ctx context.Context, op string, r libdns.Record, gate provider.Gate) error {
	gone, err := guarded(ctx, a, attempt{op, true, gate}, func(ctx context.Context) ([]entry, error) {
		gone, err := a.library.DeleteRecords(ctx, string(a.zone), []libdns.Record{r})
		if err != nil {
			return nil, err
		}
		return entriesOf(gone)
	})
	if err != nil {
		return err
	}
	a.forgetOne()
	return a.expect(op, "delete", r.RR(), gone)
}

// expect holds what a library says that it did against what it was asked for.
// One that says nothing is believed: the next list tells.
func (a *Adapter) expect(op, what string, asked libdns.RR, did []entry) error {
	for _, e := range did {
		if e.rr.Data != "" && strings.EqualFold(e.rr.Type, asked.Type) && !sameData(asked, e.rr) {
			return &provider.Error{
				Class: provider.Ambiguous, Op: op, Code: "another record", Err: fmt.Errorf("asked to %s %q, the library answers with %q", what, asked.Data, e.rr.Data),
				Hint: "see the zone at the provider; this library may not be safe to use",
			}
		}
	}
	return nil
}

func sameData(a, b libdns.RR) bool {
	if strings.EqualFold(a.Type, string(record.TXT)) {
		plainA, _ := unquote(a.Data)
		plainB, _ := unquote(b.Data)
		return plainA == plainB
	}
	addrA, errA := netip.ParseAddr(a.Data)
	addrB, errB := netip.ParseAddr(b.Data)
	return a.Data == b.Data || errA == nil && errB == nil && addrA == addrB
}

// work is a call on its way to the library.
type work struct {
	call  provider.Call
	op    string
	view  *view
	known Known
}

// prepare checks what can be seen before anything is sent: that it is a call
// that can be carried out here, to a name that can be read in one way only.
func (a *Adapter) prepare(what string, call provider.Call) (*work, error) {
	w := &work{call: call, op: a.op(what, call.Key.String()), known: a.known}
	if call.Seen != nil && call.Seen.Zone == a.zone {
		w.view = viewOf(call.Seen)
	}
	switch {
	case w.view == nil:
		return nil, w.refuse(provider.Permanent, "the call rests on no list of this adapter")
	case call.Key.Zone != a.zone || !call.Key.Name.In(a.zone):
		return nil, w.refuse(provider.Permanent, "the name is not in the zone %s", a.zone)
	case call.Key.Variant != "":
		return nil, w.refuse(provider.Permanent, "there are no variants of a set here")
	case call.Key.Type != record.A && call.Key.Type != record.AAAA:
		return nil, w.refuse(provider.Permanent, "%s cannot be switched here: without a write in place the name would have no answer for a moment; use A or AAAA, or a provider with more promises", call.Key.Type)
	case w.view.unclear[call.Key.Name] != "":
		return nil, w.refuse(provider.Permanent, "the zone has a record %q, which may mean this name: rename or remove it at the provider", w.view.unclear[call.Key.Name])
	case len(w.view.live[record.Key{Zone: a.zone, Name: call.Key.Name, Type: record.CNAME}]) > 0:
		return nil, w.refuse(provider.Permanent, "the name is a CNAME, beside which nothing else can stand")
	}
	for _, c := range slices.Concat(call.Add, call.Away) {
		if c.Key != call.Key {
			return nil, w.refuse(provider.Permanent, "expected changes to one set, got one to %s", c.Key)
		}
	}
	for _, c := range call.Add {
		if !c.Action.Add() {
			return nil, w.refuse(provider.Permanent, "%s is no add", c.Action)
		}
	}
	return w, nil
}

func (w *work) refuse(class provider.Class, format string, args ...any) error {
	return provider.Failf(class, w.op, "", format, args...)
}

// away is the one take-away of a call, which leaves something live by its own
// list.
func (w *work) away() (record.Change, error) {
	if len(w.call.Away) != 1 || len(w.call.Add) > 0 {
		return record.Change{}, w.refuse(provider.Permanent, "expected one take-away and nothing else, got %d and %d adds: there is no transaction here", len(w.call.Away), len(w.call.Add))
	}
	c := w.call.Away[0]
	if c.Action != record.Pause {
		return c, w.refuse(provider.Permanent, "nothing can be changed in place here, %s included: change it at the provider", c.Action)
	}
	live := w.call.Seen.Set(w.call.Key).Live()
	for _, survivor := range w.call.Survivors {
		if survivor == c.Value || !slices.Contains(live, survivor) {
			return c, w.refuse(provider.Conflict, "%s does not survive: it is not live, or is taken away itself", survivor)
		}
	}
	if slices.Equal(live, []string{c.Value}) && !w.call.Empty {
		return c, w.refuse(provider.Conflict, "nothing would be left live")
	}
	return c, nil
}

// answer is the record that an add makes. Its TTL is the call's, else the
// copy's; where a set has one TTL, its siblings' comes before the copy's. The provider
// would refuse one below the smallest that it keeps, so it is raised to that.
func (w *work) answer(c record.Change) (libdns.Record, error) {
	p, copied := w.view.newest(c.Key, c.Value)
	if c.Action == record.Resume && !copied {
		return nil, w.refuse(provider.Conflict, "there is no copy of %s", c.Value)
	}
	addr, err := netip.ParseAddr(c.Value)
	if err != nil {
		return nil, w.refuse(provider.Permanent, "%q is no address: %w", c.Value, err)
	}
	ttl := c.TTL
	if siblings := w.view.live[c.Key]; ttl == 0 && len(siblings) > 0 && (w.known.OneTTL || !copied) {
		ttl = siblings[0].ttl
	}
	return libdns.Address{Name: c.Key.Name.Relative(c.Key.Zone), TTL: max(cmp.Or(ttl, p.TTL, createTTL), w.known.MinTTL), IP: addr}, nil
}

// copyOf is the copy of a live record, newer than the last one. A provider that
// changed an earlier copy until it could not be read is given no other.
func (w *work) copyOf(m member, last int64, now time.Time) (libdns.Record, error) {
	key := w.call.Key
	for _, text := range w.view.strange[key.Name] {
		if strings.Contains(text, "sidestep1") && strings.Contains(text, m.value) {
			return nil, w.refuse(provider.Permanent, "a copy of %s cannot be read back: this provider made %q of it", m.value, text)
		}
	}
	p := provider.Parked{
		Type: key.Type, Value: m.value, TTL: m.ttl,
		Extra: map[string]string{atKey: strconv.FormatInt(max(now.Unix(), last+1), 10)},
	}
	text := p.String()
	if w.view.quoted {
		text = quote(text)
	}
	return libdns.TXT{Name: provider.ParkedName(key.Name).Relative(key.Zone), TTL: max(copyTTL, w.known.MinTTL), Text: text}, nil
}
