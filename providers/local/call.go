package local

import (
	"fmt"
	"slices"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// textTTL is the TTL in seconds of the stamp and of parked copies, which only
// people ask for.
const textTTL = 60

// checkStamps compares the stamps that a call rests on with those in the file.
func checkStamps(doc *document, seen *provider.Snapshot) error {
	want := make([]string, 0, len(seen.Stamps))
	for _, stamp := range seen.Stamps {
		want = append(want, stamp.String())
	}
	got := stampsOf(doc)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		return failf(provider.FencedOut, "another writer has been here: expected the stamps %q, the file has %q", want, got)
	}
	return nil
}

func stampsOf(doc *document) []string {
	var texts []string
	for _, i := range doc.find(doc.zone.Below(provider.StampLabel), dns.TypeTXT) {
		texts = append(texts, textOf(doc.statements[i].rr))
	}
	return texts
}

// checkSeen compares everything that a call rests on with the file.
func checkSeen(doc *document, call provider.Call) error {
	seen, ok := call.Seen.Native.(*document)
	if !ok || seen.zone != doc.zone {
		return failf(provider.Permanent, "the call rests on a list that another adapter made")
	}
	if err := checkStamps(doc, call.Seen); err != nil {
		return err
	}
	if serial := fmt.Sprint(doc.serial()); !call.Loose && serial != call.Seen.Version {
		return failf(provider.Conflict, "the zone has changed: expected serial %s, the file has %s", call.Seen.Version, serial)
	}
	for _, set := range []struct {
		name record.Name
		kind uint16
	}{{call.Key.Name, rrtype(call.Key.Type)}, {provider.ParkedName(call.Key.Name), dns.TypeTXT}} {
		if want, got := seen.lines(set.name, set.kind), doc.lines(set.name, set.kind); !slices.Equal(want, got) {
			return failf(provider.Conflict, "the records have changed: expected %q, the file has %q", want, got)
		}
	}
	return nil
}

// lines are a set's records in one spelling, TTLs included, sorted.
func (d *document) lines(name record.Name, rrtype uint16) []string {
	var lines []string
	for _, i := range d.find(name, rrtype) {
		lines = append(lines, d.statements[i].rr.String())
	}
	slices.Sort(lines)
	return lines
}

// checkCall refuses what no zone file can hold and what the contract rules out.
func checkCall(zone record.Name, call provider.Call) error {
	switch {
	case call.Seen == nil:
		return failf(provider.Permanent, "a call that rests on no list")
	case call.Key.Zone != zone || !call.Key.Name.In(zone):
		return failf(provider.Permanent, "%s is not of the zone %s", call.Key, zone)
	case call.Key.Variant != "":
		return failf(provider.Permanent, "variant %q: a zone file has one set of a name and type", call.Key.Variant)
	case call.Next.Nonce == "":
		return failf(provider.Permanent, "a call without a stamp")
	}
	for i, c := range slices.Concat(call.Add, call.Away) {
		switch {
		case c.Action.Add() != (i < len(call.Add)):
			return failf(provider.Permanent, "a %s of %s among the wrong kind of changes", c.Action, c.Value)
		case c.Key != call.Key:
			return failf(provider.Permanent, "a change of %s in a call for %s", c.Key, call.Key)
		case c.Action == record.SetWeight:
			return failf(provider.Permanent, "weight of %s: a zone file has no weights", c.Value)
		case c.TTL > maxTTL*time.Second:
			return failf(provider.Permanent, "TTL %s of %s: expected at most %d seconds", c.TTL, c.Value, maxTTL)
		}
	}
	return nil
}

// setEdit changes one record set, and its parked copies, in a draft.
type setEdit struct {
	*draft
	key record.Key
}

// apply writes the changes and the stamp of a call into a draft, and sees that
// the outcome is one that the call allows.
func apply(d *draft, call provider.Call) error {
	e := setEdit{d, call.Key}
	before := e.all()
	for _, value := range call.Survivors {
		if len(e.live(value)) == 0 {
			return failf(provider.Conflict, "%s, which has to stay live, is not", value)
		}
	}
	for _, c := range slices.Concat(call.Add, call.Away) {
		if err := e.change(c); err != nil {
			return err
		}
	}
	if err := e.checkOutcome(call, len(before) > 0); err != nil {
		return err
	}
	return d.stamp(call.Next)
}

func (e setEdit) change(c record.Change) error {
	switch c.Action {
	case record.Create, record.Resume:
		return e.putIn(c)
	case record.Pause:
		return e.park(c)
	case record.Swap:
		return e.exchange(c)
	case record.SetTTL:
		return e.rewriteTTL(c)
	}
	return failf(provider.Permanent, "unknown action %q", c.Action)
}

// putIn makes a value live, in the place of its parked copy when it has one,
// else beside its siblings, and gives the whole set one TTL.
func (e setEdit) putIn(c record.Change) error {
	copies, kept := e.copies(c.Value)
	isLive := len(e.live(c.Value)) > 0
	switch {
	case c.Action == record.Resume && len(copies) == 0 && !isLive:
		return failf(provider.Conflict, "%s has no parked copy to resume", c.Value)
	case e.key.Type.Single() && !isLive && len(e.all()) > 0:
		return failf(provider.Permanent, "%s: the name has another %s already; it can only be swapped", c.Value, e.key.Type)
	}
	ttl := e.ttl(c, kept)
	if err := e.level(ttl); err != nil || isLive {
		e.remove(copies)
		return err
	}
	rr, err := newRecord(e.key, c.Value, ttl)
	if err != nil {
		return failf(provider.Permanent, "value %s: %w", c.Value, err)
	}
	if len(copies) > 0 {
		err = e.swap(copies[0], rr)
		e.remove(copies[1:])
		return err
	}
	return e.insert(e.place(), rr)
}

// park takes a value out of the answer; its copy takes its place in the file.
func (e setEdit) park(c record.Change) error {
	live := e.live(c.Value)
	if len(live) == 0 {
		return failf(provider.Conflict, "%s is not live", c.Value)
	}
	copies, kept := e.copies(c.Value)
	if err := e.swap(live[0], e.copyOf(live[0], c.Value, kept)); err != nil {
		return err
	}
	e.remove(slices.Concat(live[1:], copies))
	return nil
}

// exchange puts one value in the place of another and parks that.
func (e setEdit) exchange(c record.Change) error {
	_, old := e.copies(c.From)
	_, kept := e.copies(c.Value)
	for _, value := range []string{c.From, c.Value} {
		copies, _ := e.copies(value)
		e.remove(copies)
	}
	live := e.live(c.From)
	switch {
	case len(live) == 0:
		return failf(provider.Conflict, "%s, which is to be swapped, is not live", c.From)
	case len(e.live(c.Value)) > 0:
		return failf(provider.Conflict, "%s, which is to be swapped in, is live already", c.Value)
	}
	parked := e.copyOf(live[0], c.From, old)
	ttl := e.ttl(c, kept)
	rr, err := newRecord(e.key, c.Value, e.statements[live[0]].rr.Header().Ttl)
	if err != nil {
		return failf(provider.Permanent, "value %s: %w", c.Value, err)
	}
	rr.Header().Name = e.statements[live[0]].rr.Header().Name
	if err := e.setData(live[0], rr, c.Value); err != nil {
		return err
	}
	e.remove(live[1:])
	if err := e.insert(live[0], parked); err != nil {
		return err
	}
	return e.level(ttl)
}

func (e setEdit) rewriteTTL(c record.Change) error {
	if len(e.live(c.Value)) == 0 {
		return failf(provider.Conflict, "%s, whose TTL is to be set, is not live", c.Value)
	}
	return e.level(e.ttl(c, provider.Parked{}))
}

// all are the set's live records.
func (e setEdit) all() []int { return e.find(e.key.Name, rrtype(e.key.Type)) }

// live are the records of one value: more than one when it was written twice.
func (e setEdit) live(value string) []int {
	return slices.DeleteFunc(e.all(), func(i int) bool {
		got, err := valueOf(e.statements[i].rr)
		return err != nil || got != value
	})
}

// copies are the parked copies of one value, and what the last of them says.
func (e setEdit) copies(value string) ([]int, provider.Parked) {
	var last provider.Parked
	found := slices.DeleteFunc(e.find(provider.ParkedName(e.key.Name), dns.TypeTXT), func(i int) bool {
		parked, err := provider.ParseParked(textOf(e.statements[i].rr))
		if err != nil || parked.Type != e.key.Type || parked.Value != value {
			return true // an unreadable copy is nobody's, and stays
		}
		last = parked
		return false
	})
	return found, last
}

// copyOf is the parked copy of a live record, with the attributes of an older
// copy that a zone file cannot hold.
func (e setEdit) copyOf(i int, value string, older provider.Parked) dns.RR {
	name, ttl := provider.ParkedName(e.key.Name), uint32(textTTL)
	if siblings := e.find(name, dns.TypeTXT); len(siblings) > 0 {
		ttl = e.statements[siblings[0]].rr.Header().Ttl
	}
	parked := provider.Parked{Type: e.key.Type, Value: value, TTL: seconds(e.statements[i].rr.Header().Ttl), Extra: older.Extra}
	return newTXT(name, ttl, parked.String())
}

// ttl is the one of the whole set after a change: as the change says, else as
// the live siblings have it, the lowest where they differ (RFC 2181 section
// 5.2), else as the parked copy says, else the SOA's.
func (e setEdit) ttl(c record.Change, kept provider.Parked) uint32 {
	if c.TTL >= time.Second {
		return uint32(c.TTL / time.Second)
	}
	if siblings := e.all(); len(siblings) > 0 {
		lowest := e.statements[siblings[0]].rr.Header().Ttl
		for _, i := range siblings {
			lowest = min(lowest, e.statements[i].rr.Header().Ttl)
		}
		return lowest
	}
	if kept.Value != "" {
		return uint32(kept.TTL / time.Second)
	}
	return e.statements[e.find(e.zone, dns.TypeSOA)[0]].rr.Header().Ttl
}

// level gives every live record of the set one TTL.
func (e setEdit) level(ttl uint32) error {
	for _, i := range e.all() {
		if err := e.setTTL(i, ttl); err != nil {
			return err
		}
	}
	return nil
}

// place is where a new record of the set goes: behind its last sibling, else
// behind the last record of its name, else at the end.
func (e setEdit) place() int {
	if siblings := e.all(); len(siblings) > 0 {
		return siblings[len(siblings)-1]
	}
	last := -1
	for i := range e.statements {
		if e.statements[i].name == string(e.key.Name) {
			last = i
		}
	}
	return last
}

// checkOutcome sees that a call leaves behind what it may.
func (e setEdit) checkOutcome(call provider.Call, wasLive bool) error {
	if wasLive && len(e.all()) == 0 && !call.Empty {
		return failf(provider.Conflict, "the call leaves %s without an answer, and does not say that this is meant", e.key)
	}
	return e.checkAlias()
}

// checkAlias refuses a CNAME beside anything else (RFC 2181 section 10.1).
func (e setEdit) checkAlias() error {
	aliases, others := len(e.find(e.key.Name, dns.TypeCNAME)), 0
	for i := range e.statements {
		if s := &e.statements[i]; s.rr != nil && s.name == string(e.key.Name) && s.rr.Header().Rrtype != dns.TypeCNAME {
			others++
		}
	}
	if aliases > 1 || aliases == 1 && others > 0 {
		return failf(provider.Permanent, "%s would have a CNAME beside another record", e.key.Name)
	}
	return nil
}

// stamp puts one stamp in the place of all that are there.
func (d *draft) stamp(next provider.Stamp) error {
	name := d.zone.Below(provider.StampLabel)
	rr := newTXT(name, textTTL, next.String())
	old := d.find(name, dns.TypeTXT)
	if len(old) == 0 {
		return d.insert(-1, rr)
	}
	err := d.swap(old[0], rr)
	d.remove(old[1:])
	return err
}
