package cloudflare

import (
	"fmt"
	"slices"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// entry is one record that sidestep may have to do with: an address, an alias, a
// stamp, a parked copy.
type entry struct {
	wire
	name  record.Name      // canonical
	value string           // canonical, of an address or alias
	text  string           // of a TXT record
	copy  *provider.Parked // of a TXT record that is a parked copy
}

// view is what a list keeps for the writes that rest on it: those entries by
// their name in the zone. It is never changed.
type view struct {
	zoneID string
	names  map[record.Name][]*entry
}

// builder makes a snapshot of a list while it is read.
type builder struct {
	zone    record.Name
	view    *view
	snap    *provider.Snapshot
	outside string // a record that cannot be of this zone
}

func newBuilder(zone record.Name, zoneID string) *builder {
	return &builder{
		zone: zone, view: &view{zoneID: zoneID, names: map[record.Name][]*entry{}},
		snap: &provider.Snapshot{Zone: zone, ID: zoneID},
	}
}

// add files one record under what it is.
func (b *builder) add(w *wire) {
	b.snap.Records++
	mine := w.Type == "A" || w.Type == "AAAA" || w.Type == "CNAME"
	switch {
	case mine, w.Type == "TXT", w.Type == "NS", w.Type == "":
	default:
		return
	}
	name, err := record.ParseName(w.Name)
	switch {
	case err != nil:
		b.skip(w, err.Error())
		return
	case !name.In(b.zone):
		b.outside = w.Name
		return
	case w.Type == "NS" && name != b.zone:
		b.snap.Delegations = append(b.snap.Delegations, name)
	case w.Type == "TXT":
		b.text(w, name)
	case mine:
		b.answer(w, name)
	case w.Type == "":
		b.skip(w, "it has no type")
	}
}

func (b *builder) skip(w *wire, why string) {
	b.snap.Skipped = append(b.snap.Skipped, fmt.Sprintf("%.100s %.20s %.60q: %s", w.Name, w.Type, w.Content, why))
}

// answer files an address or an alias.
func (b *builder) answer(w *wire, name record.Name) {
	e, err := entryOf(w, name)
	if err != nil {
		b.skip(w, err.Error())
		return
	}
	if _, parked := provider.ParkedOwner(name); parked && w.Type == "CNAME" {
		b.skip(w, "an alias at a name of parked copies, where none belongs")
		return
	}
	b.view.names[name] = append(b.view.names[name], e)
}

// entryOf reads what a write has to know of an address or an alias.
func entryOf(w *wire, name record.Name) (*entry, error) {
	if w.odd != "" {
		return nil, fmt.Errorf("%s", w.odd)
	}
	if w.ID == "" || w.TTL < 1 {
		return nil, fmt.Errorf("expected an id and a ttl, got %q and %d", w.ID, w.TTL)
	}
	value, err := record.ParseValue(record.Type(w.Type), w.Content)
	if err != nil {
		return nil, err
	}
	return &entry{wire: *w, name: name, value: value}, nil
}

// text files a TXT record: a stamp, a parked copy, another tool's claim on a
// name, or nothing of interest.
func (b *builder) text(w *wire, name record.Name) {
	_, parked := provider.ParkedOwner(name)
	stamp := name == b.zone.Below(provider.StampLabel)
	text := unquote(w.Content)
	if !parked && !stamp {
		b.snap.Owners = append(b.snap.Owners, provider.ParseOwners(name, text)...)
		return
	}
	if w.ID == "" {
		b.skip(w, "it has no id")
		return
	}
	e := &entry{wire: *w, name: name, text: text}
	if parked {
		copied, err := provider.ParseParked(text)
		if err != nil {
			b.skip(w, err.Error())
			return
		}
		e.copy = &copied
	}
	b.view.names[name] = append(b.view.names[name], e)
}

// finish makes the snapshot of what was added.
func (b *builder) finish() *provider.Snapshot {
	b.snap.Stamps = b.view.stamps(b.zone)
	b.snap.Sets = make([]record.Set, 0, len(b.view.names))
	for name := range b.view.names {
		if owner, parked := provider.ParkedOwner(name); parked {
			if name = owner; b.view.names[owner] != nil {
				continue // its turn comes, or was
			}
		}
		b.sets(name)
	}
	record.SortSets(b.snap.Sets)
	slices.Sort(b.snap.Delegations)
	b.snap.Delegations = slices.Compact(b.snap.Delegations)
	b.snap.Native = b.view
	return b.snap
}

// sets lists what the zone has under a name.
func (b *builder) sets(name record.Name) {
	live, parked := b.view.names[name], b.view.names[provider.ParkedName(name)]
	for _, kind := range []record.Type{record.A, record.AAAA, record.CNAME} {
		if set := setFrom(record.Key{Zone: b.zone, Name: name, Type: kind}, live, parked); len(set.Answers) > 0 {
			b.snap.Sets = append(b.snap.Sets, set)
		}
	}
}

// stamps are those of the zone, each with its record's id.
func (v *view) stamps(zone record.Name) []provider.Stamp {
	var stamps []provider.Stamp
	for _, e := range v.names[zone.Below(provider.StampLabel)] {
		if e.Type != "TXT" {
			continue
		}
		stamp := provider.ParseStamp(e.text)
		stamp.Native = e.ID
		stamps = append(stamps, stamp)
	}
	return stamps
}

// live are the records of a set that resolvers are answered with.
func (v *view) live(key record.Key) []*entry {
	return v.typed(key.Name, key.Type)
}

// renamed are the records of a set that were taken out of the answer.
func (v *view) renamed(key record.Key) []*entry {
	if key.Type.Single() {
		return nil
	}
	return v.typed(provider.ParkedName(key.Name), key.Type)
}

func (v *view) typed(name record.Name, kind record.Type) []*entry {
	var list []*entry
	for _, e := range v.names[name] {
		if e.Type == string(kind) {
			list = append(list, e)
		}
	}
	return list
}

// copies are the readable copies of a set's values.
func (v *view) copies(key record.Key) []*entry {
	var list []*entry
	for _, e := range v.names[provider.ParkedName(key.Name)] {
		if e.copy != nil && e.copy.Type == key.Type {
			list = append(list, e)
		}
	}
	return list
}

// set is what the zone has under a key.
func (v *view) set(key record.Key) record.Set {
	return setFrom(key, v.names[key.Name], v.names[provider.ParkedName(key.Name)])
}

// setFrom makes a set of the records at a name and at that of its parked copies.
// The attributes are those of the live record, else of the paused one.
func setFrom(key record.Key, live, parked []*entry) record.Set {
	set := record.Set{Key: key}
	for _, e := range live {
		if e.Type == string(key.Type) {
			merge(&set, record.Answer{Value: e.value, TTL: ttlOf(e.TTL), OwnTTL: e.Proxied, Proxied: e.Proxied, Weight: 1, Live: true})
		}
	}
	for _, e := range parked {
		switch {
		case e.copy != nil && e.copy.Type == key.Type:
			merge(&set, record.Answer{Value: e.copy.Value, TTL: ttlOf(int(e.copy.TTL / time.Second)), Weight: 1, Paused: true})
		case e.Type == string(key.Type):
			merge(&set, record.Answer{Value: e.value, TTL: ttlOf(e.TTL), OwnTTL: e.Proxied, Proxied: e.Proxied, Weight: 1, Paused: true})
		}
	}
	set.Sort()
	return set
}

// bounded says which TTLs Cloudflare keeps of an answer.
func bounded(a record.Answer) record.Answer {
	a.MinTTL, a.MaxTTL = min(minTTL, a.TTL), maxTTL // an Enterprise zone has smaller ones
	return a
}

func merge(set *record.Set, a record.Answer) {
	a = bounded(a)
	i := slices.IndexFunc(set.Answers, func(b record.Answer) bool { return b.Value == a.Value })
	if i < 0 {
		set.Answers = append(set.Answers, a)
		return
	}
	set.Answers[i].Live = set.Answers[i].Live || a.Live
	set.Answers[i].Paused = set.Answers[i].Paused || a.Paused
}

// ttlOf is how long a resolver keeps an answer.
func ttlOf(seconds int) time.Duration {
	if seconds == automatic {
		return autoTTL
	}
	return time.Duration(seconds) * time.Second
}

// secondsOf is a wished TTL as the API takes it: within what a zone of any plan
// may have, and never the 1 that means automatic.
func secondsOf(ttl time.Duration) int {
	return int(min(max(ttl, minTTL), maxTTL) / time.Second)
}

// equal reports whether two records of one value differ in nothing that a
// person or the API gave them.
func (e *entry) equal(o *entry) bool {
	return e.TTL == o.TTL && e.Proxied == o.Proxied && e.Private == o.Private && e.Comment == o.Comment && e.Tags == o.Tags && e.Settings == o.Settings
}
