package generic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
	"sidestep/pkg/record"
)

// view is what a Snapshot keeps for the writes that rest on it. It is never
// changed once it was built.
type view struct {
	live    map[record.Key][]member
	copies  map[record.Key][]parked
	strange map[record.Name][]string // texts where copies are kept that are none
	unclear map[record.Name]string   // names that a record may have, by its name as it was listed
	quoted  bool                     // TXT comes in quotes
}

// member is one live record of a set.
type member struct {
	value  string
	ttl    time.Duration
	record libdns.Record
}

// parked is one copy.
type parked struct {
	provider.Parked

	at     int64 // Unix time of its making, 0 when it has none
	record libdns.Record
}

// atKey is the attribute of a copy that tells the newest one.
const atKey = "at"

// maxAhead is how far ahead of this clock a copy's time may be: that of another
// node whose clock is wrong. One further ahead would stay the newest whatever is
// written after it, and is taken for none.
const maxAhead = 24 * time.Hour

func viewOf(s *provider.Snapshot) *view {
	v, _ := s.Native.(*view)
	return v
}

// find is the live record of a value, the first where it has several.
func (v *view) find(key record.Key, value string) (member, bool) {
	i := slices.IndexFunc(v.live[key], func(m member) bool { return m.value == value })
	if i < 0 {
		return member{}, false
	}
	return v.live[key][i], true
}

// newest is the copy of a value that was made last.
func (v *view) newest(key record.Key, value string) (last parked, found bool) {
	for _, p := range v.copies[key] {
		if p.Value == value && (!found || p.at >= last.at) {
			last, found = p, true
		}
	}
	return last, found
}

// builder turns a list into a Snapshot. No record can make it fail: what cannot
// be read is left out and told.
type builder struct {
	zone  record.Name
	names *names
	snap  *provider.Snapshot
	view  *view
	ahead int64 // the latest time of a copy that is believed, Unix
	texts int   // TXT records
	bare  int   // those without quotes
}

func (a *Adapter) snapshot(entries []entry) *provider.Snapshot {
	b := &builder{
		zone: a.zone, ahead: a.now().Add(maxAhead).Unix(), names: readNames(a.zone, entries), snap: &provider.Snapshot{Zone: a.zone, Records: len(entries)},
		view: &view{live: map[record.Key][]member{}, copies: map[record.Key][]parked{}, strange: map[record.Name][]string{}, unclear: map[record.Name]string{}},
	}
	for _, e := range entries {
		b.add(e)
	}
	b.view.quoted = a.known.Quoted || b.texts > 0 && b.bare == 0
	return b.finish()
}

func (b *builder) add(e entry) {
	kind := strings.ToUpper(strings.TrimSpace(e.rr.Type))
	name, err := b.names.read(e.rr.Name)
	switch {
	case kind == string(record.TXT):
		b.text(name, err, e)
	case kind == "NS" && err == nil && name != b.zone:
		b.snap.Delegations = append(b.snap.Delegations, name)
	default:
		if t, unsteered := record.ParseType(kind); unsteered == nil {
			b.answer(t, name, err, e)
		}
	}
}

// answer takes an A, AAAA or CNAME.
func (b *builder) answer(t record.Type, name record.Name, err error, e entry) {
	if err != nil {
		b.skip(e, err)
		for _, possible := range b.names.possible(e.rr.Name) {
			b.view.unclear[possible] = e.rr.Name
		}
		return
	}
	value, err := record.ParseValue(t, e.rr.Data)
	if err != nil {
		b.skip(e, err)
		return
	}
	key := record.Key{Zone: b.zone, Name: name, Type: t}
	b.view.live[key] = append(b.view.live[key], member{value, e.rr.TTL.Truncate(time.Second), e.record})
}

func (b *builder) skip(e entry, err error) {
	b.snap.Skipped = append(b.snap.Skipped, httpapi.Foreign(fmt.Sprintf("%.100s %.20s %.60q: %v", e.rr.Name, e.rr.Type, e.rr.Data, err)))
}

// text takes a TXT: a stamp, a copy, another tool's mark, or nothing that
// concerns us.
func (b *builder) text(name record.Name, err error, e entry) {
	text, quoted := unquote(e.rr.Data)
	b.texts++
	if !quoted {
		b.bare++
	}
	if err == nil && name == b.zone.Below(provider.StampLabel) {
		b.snap.Stamps = append(b.snap.Stamps, provider.ParseStamp(text))
		return
	}
	if owner, isCopy := provider.ParkedOwner(name); err == nil && isCopy {
		b.copied(owner, text, e)
		return
	}
	for _, claim := range provider.ParseOwners(record.Name(b.names.absolute(e.rr.Name)), text) {
		if name, err := record.ParseName(string(claim.Name)); err == nil && name.In(b.zone) {
			b.snap.Owners = append(b.snap.Owners, provider.Owner{Name: name, Owner: claim.Owner})
		}
	}
}

func (b *builder) copied(owner record.Name, text string, e entry) {
	p, err := provider.ParseParked(text)
	if err != nil {
		b.view.strange[owner] = append(b.view.strange[owner], text)
		b.snap.Skipped = append(b.snap.Skipped, err.Error())
		return
	}
	at, err := strconv.ParseInt(p.Extra[atKey], 10, 64)
	if err != nil || at < 0 || at > b.ahead {
		at = 0 // made by hand, or by an adapter that keeps one copy only
	}
	key := record.Key{Zone: b.zone, Name: owner, Type: p.Type}
	b.view.copies[key] = append(b.view.copies[key], parked{p, at, e.record})
}

// finish puts the sets together and in order.
func (b *builder) finish() *provider.Snapshot {
	b.snap.Sets = make([]record.Set, 0, len(b.view.live)+len(b.view.copies))
	for key, members := range b.view.live {
		b.snap.Sets = append(b.snap.Sets, b.set(key, members))
	}
	for key := range b.view.copies {
		if len(b.view.live[key]) == 0 {
			b.snap.Sets = append(b.snap.Sets, b.set(key, nil))
		}
	}
	record.SortSets(b.snap.Sets)
	slices.Sort(b.snap.Delegations)
	b.snap.Delegations = slices.Compact(b.snap.Delegations)
	b.snap.Native = b.view
	return b.snap
}

// set is a set of live records and of copies, each value once. No wish for
// another TTL is taken: it could be met only by deleting the record.
func (b *builder) set(key record.Key, members []member) record.Set {
	set := record.Set{Key: key, Answers: make([]record.Answer, 0, len(members)+len(b.view.copies[key]))}
	for _, m := range members {
		if !slices.ContainsFunc(set.Answers, func(a record.Answer) bool { return a.Value == m.value }) {
			set.Answers = append(set.Answers, record.Answer{Value: m.value, TTL: m.ttl, OwnTTL: true, Weight: 1, Live: true})
		}
	}
	for _, p := range b.view.copies[key] {
		set.Answers = b.pausedIn(set, p.Value)
	}
	return set
}

// pausedIn marks a value as one that has a copy. Its attributes are those of
// the live record, else of the newest copy.
func (b *builder) pausedIn(set record.Set, value string) []record.Answer {
	if i := slices.IndexFunc(set.Answers, func(a record.Answer) bool { return a.Value == value }); i >= 0 {
		set.Answers[i].Paused = true
		return set.Answers
	}
	p, _ := b.view.newest(set.Key, value)
	return append(set.Answers, record.Answer{Value: value, TTL: p.TTL, OwnTTL: true, Weight: 1, Paused: true})
}
