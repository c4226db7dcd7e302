package cloudflare

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// batch is the body of a write. Cloudflare carries it out in this order.
type batch struct {
	Deletes []reference `json:"deletes,omitempty"`
	Patches []patch     `json:"patches,omitempty"`
	Posts   []post      `json:"posts,omitempty"`
}

type reference struct {
	ID string `json:"id"`
}

// patch changes the fields that it has and leaves all others as they are.
type patch struct {
	ID       string          `json:"id"`
	Name     string          `json:"name,omitempty"`
	Content  string          `json:"content,omitempty"`
	TTL      int             `json:"ttl,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	Priority json.RawMessage `json:"priority,omitempty"`
}

// post is a new record. The TTL is always said: what the API takes in its absence
// has changed before.
type post struct {
	Type     string          `json:"type"`
	Name     string          `json:"name"`
	Content  string          `json:"content,omitempty"`
	TTL      int             `json:"ttl"`
	Proxied  bool            `json:"proxied,omitempty"`
	Private  bool            `json:"private_routing,omitempty"`
	Comment  string          `json:"comment,omitempty"`
	Tags     json.RawMessage `json:"tags,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	Priority json.RawMessage `json:"priority,omitempty"`
}

func (b *batch) size() int { return len(b.Deletes) + len(b.Patches) + len(b.Posts) }

func (b *batch) remove(e *entry) { b.Deletes = append(b.Deletes, reference{e.ID}) }

func (b *batch) rename(e *entry, to record.Name) {
	b.Patches = append(b.Patches, patch{ID: e.ID, Name: to.Unrooted()})
}

// witness makes a record's presence a condition: a patch that gives it the name
// that it has changes nothing, brings it back when it was renamed, and fails the
// batch when it is gone.
func (b *batch) witness(e *entry) { b.rename(e, e.name) }

// text posts a TXT record.
func (b *batch) text(name record.Name, text string) {
	b.Posts = append(b.Posts, post{Type: "TXT", Name: name.Unrooted(), Content: provider.QuoteText(text), TTL: stampTTL})
}

// stamp replaces the listed stamps by the next one: by their ids, of which none
// comes back, so that a stamp that was posted anew since is another one.
func (b *batch) stamp(zone record.Name, seen []provider.Stamp, next provider.Stamp) {
	for _, s := range seen {
		if id, listed := s.Native.(string); listed {
			b.Deletes = append(b.Deletes, reference{id})
		}
	}
	b.text(zone.Below(provider.StampLabel), next.String())
}

// draft is one record set while the changes of a call are put into a batch.
type draft struct {
	op   string
	key  record.Key
	view *view
	batch
	moved []string // ids of records that the batch changes, which need no witness
}

func (d *draft) conflict(format string, args ...any) error {
	return provider.Failf(provider.Conflict, d.op, "", format, args...)
}

// twice is the error of a value with two records, of which a person has to say
// which is meant: no list and no other try will mend that.
func (d *draft) twice(format string, args ...any) error {
	failed := provider.Failf(provider.Permanent, d.op, "", format, args...)
	failed.Hint = "remove the one that is not wanted in the dashboard; the next try goes on by itself"
	return failed
}

// one is the record of a value among some; nil when there is none. Two of one
// value are for a person to sort out.
func (d *draft) one(list []*entry, value string) (*entry, error) {
	var found *entry
	for _, e := range list {
		if e.value != value {
			continue
		}
		if found != nil {
			return nil, d.twice("%s stands at %s twice, with the ids %s and %s", value, e.name, found.ID, e.ID)
		}
		found = e
	}
	return found, nil
}

// apply puts one change in.
func (d *draft) apply(c record.Change) error {
	live, err := d.one(d.view.live(d.key), c.Value)
	if err != nil {
		return err
	}
	switch c.Action {
	case record.Create:
		if live == nil {
			d.create(c)
		}
		return nil
	case record.Resume:
		return d.resume(c, live)
	case record.Pause:
		return d.pause(c, live)
	case record.Swap:
		return d.swap(c, live)
	case record.SetTTL:
		return d.setTTL(c, live)
	case record.SetWeight:
		return provider.Failf(provider.Permanent, d.op, "", "weight %s: Cloudflare's records have no weights", c.Value)
	}
	return provider.Failf(provider.Permanent, d.op, "", "unknown action %q", c.Action)
}

// create posts a value that the zone has none of. It takes after a sibling: of
// several addresses of one name Cloudflare treats all as proxied when one is
// ("Batch record changes"), and a new one that is not would show what the proxy
// hides.
func (d *draft) create(c record.Change) {
	p := post{Type: string(d.key.Type), Name: d.key.Name.Unrooted(), Content: content(d.key.Type, c.Value), TTL: automatic}
	if c.TTL > 0 {
		p.TTL = secondsOf(c.TTL)
	}
	if s := d.sibling(); s != nil {
		p.inherit(s.wire)
		if c.TTL == 0 {
			p.TTL = s.TTL
		}
	}
	d.Posts = append(d.Posts, p)
}

// sibling is a record of the set that a new one takes after: a live one, else a
// paused one, a proxied one before others.
func (d *draft) sibling() *entry {
	list := d.view.live(d.key)
	if len(list) == 0 {
		list = d.view.renamed(d.key)
	}
	if i := slices.IndexFunc(list, func(e *entry) bool { return e.Proxied }); i >= 0 {
		return list[i]
	}
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// inherit gives a new record what people gave another.
func (p *post) inherit(w wire) {
	p.Proxied, p.Private, p.Comment = w.Proxied, w.Private, w.Comment
	p.Tags, p.Settings = json.RawMessage(w.Tags), json.RawMessage(w.Settings)
	if p.Proxied {
		p.TTL = automatic
	}
}

// content is a value as the API keeps it.
func content(kind record.Type, value string) string {
	if kind == record.CNAME {
		return record.Name(value).Unrooted()
	}
	return value
}

// pause takes a value out of the answer. Where a record is under the parked name
// already it has to go first, and may only when it says the same.
func (d *draft) pause(c record.Change, live *entry) error {
	parked, err := d.one(d.view.renamed(d.key), c.Value)
	if err != nil {
		return err
	}
	copied := d.newestCopy(c.Value)
	switch {
	case live == nil && (parked != nil || copied != nil):
		return nil
	case live == nil:
		return d.conflict("pause %s: it is not live in the list", c.Value)
	case d.key.Type.Single():
		d.keep(live)
		d.remove(live)
		return nil
	case parked != nil && !parked.equal(live):
		return d.twice("pause %s: it is live and, with other attributes, paused (ids %s and %s)", c.Value, live.ID, parked.ID)
	case parked != nil:
		d.remove(parked)
	}
	d.moved = append(d.moved, live.ID)
	d.rename(live, provider.ParkedName(d.key.Name))
	return nil
}

// resume puts a value back. Where it is live already the parked record goes when
// it says the same, and stays when it does not.
func (d *draft) resume(c record.Change, live *entry) error {
	parked, err := d.one(d.view.renamed(d.key), c.Value)
	if err != nil {
		return err
	}
	copied := d.newestCopy(c.Value)
	switch {
	case live != nil && parked != nil && parked.equal(live):
		d.remove(parked)
		d.witness(live)
		d.moved = append(d.moved, live.ID)
	case live != nil:
	case parked != nil:
		// The content goes with it: only the value that is named goes live, whatever
		// somebody wrote into the parked record since the list.
		p := patch{ID: parked.ID, Name: d.key.Name.Unrooted(), Content: content(d.key.Type, c.Value)}
		if c.TTL > 0 && !parked.Proxied {
			p.TTL = secondsOf(c.TTL)
		}
		d.Patches = append(d.Patches, p)
	case copied != nil:
		d.restore(c, copied)
	default:
		return d.conflict("resume %s: the list has no record or copy of it", c.Value)
	}
	return nil
}

// restore posts a value anew from its readable copy. A copy that does not say
// whether the record was proxied leaves that to a sibling, as with a new one.
func (d *draft) restore(c record.Change, copied *entry) {
	p := post{Type: string(d.key.Type), Name: d.key.Name.Unrooted(), Content: content(d.key.Type, c.Value), TTL: int(copied.copy.TTL / time.Second)}
	if c.TTL > 0 {
		p.TTL = secondsOf(c.TTL)
	}
	had := attributesOf(copied.copy.Extra)
	if s := d.sibling(); s != nil && copied.copy.Extra["proxied"] == "" {
		had.Proxied = s.Proxied
	}
	p.inherit(had)
	d.Posts = append(d.Posts, p)
	d.dropCopies(c.Value)
}

// swap puts a value in the place of another by the record's id, so that all else
// of the record stays, and keeps the old value as a readable copy.
func (d *draft) swap(c record.Change, live *entry) error {
	if !d.key.Type.Single() {
		return provider.Failf(provider.Permanent, d.op, "", "swap %s: only single-valued types are swapped", c.Value)
	}
	if live != nil {
		return nil
	}
	from, err := record.ParseValue(d.key.Type, c.From)
	if err != nil {
		return provider.Failf(provider.Permanent, d.op, "", "swap: %w", err)
	}
	old, err := d.one(d.view.live(d.key), from)
	switch {
	case err != nil:
		return err
	case old == nil:
		return d.conflict("swap %s for %s: the old value is not live in the list", from, c.Value)
	}
	d.keep(old)
	d.dropCopies(c.Value)
	p := patch{ID: old.ID, Name: old.name.Unrooted(), Content: content(d.key.Type, c.Value)}
	if c.TTL > 0 && !old.Proxied && ttlOf(old.TTL) != bounded(record.Answer{TTL: ttlOf(old.TTL)}).Kept(c.TTL) {
		p.TTL = secondsOf(c.TTL)
	}
	d.Patches = append(d.Patches, p)
	d.moved = append(d.moved, old.ID)
	return nil
}

// setTTL patches the TTL of a live record. One that is proxied has none of its
// own.
func (d *draft) setTTL(c record.Change, live *entry) error {
	if live == nil {
		return d.conflict("ttl %s: it is not live in the list", c.Value)
	}
	if live.Proxied {
		return nil
	}
	d.moved = append(d.moved, live.ID)
	d.Patches = append(d.Patches, patch{ID: live.ID, Name: live.name.Unrooted(), TTL: secondsOf(c.TTL)})
	return nil
}

// newestCopy is the readable copy of a value that the API lists last.
func (d *draft) newestCopy(value string) *entry {
	for _, e := range slices.Backward(d.view.copies(d.key)) {
		if e.copy.Value == value {
			return e
		}
	}
	return nil
}

// keep posts the copy of a record in the place of older ones.
func (d *draft) keep(e *entry) {
	d.dropCopies(e.value)
	p := provider.Parked{Type: d.key.Type, Value: e.value, TTL: time.Duration(e.TTL) * time.Second, Extra: extraOf(e.wire)}
	d.text(provider.ParkedName(d.key.Name), p.String())
}

func (d *draft) dropCopies(value string) {
	for _, e := range d.view.copies(d.key) {
		if e.copy.Value == value {
			d.remove(e)
		}
	}
}

// extraOf are the attributes of a record that its readable copy keeps beside
// those that all providers have, each in one word.
func extraOf(w wire) map[string]string {
	extra := map[string]string{}
	for key, text := range map[string]string{"comment": w.Comment, "tags": w.Tags, "settings": w.Settings} {
		if text != "" {
			extra[key] = url.QueryEscape(text)
		}
	}
	for key, holds := range map[string]bool{"proxied": w.Proxied, "private_routing": w.Private} {
		if holds {
			extra[key] = strconv.FormatBool(holds)
		}
	}
	return extra
}

// attributesOf reads what extraOf wrote. What somebody wrote by hand and cannot
// be read is left out.
func attributesOf(extra map[string]string) wire {
	text := func(key string) string {
		s, err := url.QueryUnescape(extra[key])
		if err != nil {
			return ""
		}
		return s
	}
	valid := func(s string) string {
		if !json.Valid([]byte(s)) {
			return ""
		}
		return s
	}
	return wire{
		Comment: text("comment"), Tags: valid(text("tags")), Settings: valid(text("settings")),
		Proxied: extra["proxied"] == "true", Private: extra["private_routing"] == "true",
	}
}
