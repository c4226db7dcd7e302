package rfc2136

import (
	"slices"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

const (
	stampTTL   = 60  // of the stamp; a standby asks the primary, no cache
	parkedTTL  = 300 // of the parked copies; nobody but a list reads them
	defaultTTL = 300 // of a set for which neither the config, a sibling nor a copy has one
	maxTTL     = 1<<31 - 1
)

// draft is one record set with its parked copies while the changes of a call
// are put in. It knows nothing of messages.
type draft struct {
	op      string
	key     record.Key
	id      setID
	old     rrset // the live set as it was listed
	live    []member
	said    time.Duration // the TTL that a change asks for; 0 when none does
	swapped string        // the value that gave its place to another
	kept    uint32        // the TTL of the copy that came back last

	oldParked rrset
	parked    []parkedText
}

// member is one record of the set. Names inside rdata keep their letter case in
// the zone, so that members are told apart by what they mean.
type member struct {
	data  string // rdata
	value string // canonical; empty for one that cannot be an answer, which is carried over
}

// parkedText is one TXT record at the name of the parked copies. What is none
// of ours, or cannot be read, has no copy and is carried over as it is.
type parkedText struct {
	data string
	copy *provider.Parked
}

// newDraft begins with what was listed.
func newDraft(op string, key record.Key, v *view) (*draft, error) {
	id := setID{key.Name, kinds[key.Type]}
	d := &draft{op: op, key: key, id: id, old: v.sets[id], oldParked: v.sets[setID{provider.ParkedName(key.Name), dns.TypeTXT}]}
	for _, data := range d.old.data {
		value, err := valueOf(key.Type, data)
		if err != nil {
			value = ""
		}
		d.live = append(d.live, member{data, value})
	}
	for _, data := range d.oldParked.data {
		entry := parkedText{data: data}
		if text, err := textOf(data); err == nil {
			if copied, err := provider.ParseParked(text); err == nil {
				entry.copy = &copied
			}
		}
		d.parked = append(d.parked, entry)
	}
	return d, d.alone(v)
}

// alone refuses a set beside which the server would drop our records without a
// word (RFC 2136 section 3.4.2.2: a CNAME and other data exclude each other).
func (d *draft) alone(v *view) error {
	if d.key.Type == record.CNAME {
		other, found := v.beside[d.key.Name]
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
			if _, has := v.sets[setID{d.key.Name, kind}]; has {
				other, found = kind, true
			}
		}
		if found {
			return provider.Failf(provider.Permanent, d.op, "", "%s has a record of type %s, beside which a CNAME cannot stand", d.key.Name, kindName(other))
		}
		return nil
	}
	if _, found := v.sets[setID{d.key.Name, dns.TypeCNAME}]; found {
		return provider.Failf(provider.Permanent, d.op, "", "%s has a CNAME, beside which a record of type %s cannot stand", d.key.Name, d.key.Type)
	}
	return nil
}

// apply puts one change in.
func (d *draft) apply(c record.Change) error {
	value, err := record.ParseValue(d.key.Type, c.Value)
	if err != nil {
		return provider.Failf(provider.Permanent, d.op, "", "%s: %w", c.Action, err)
	}
	c.Value = value
	if c.TTL < 0 || c.TTL > maxTTL*time.Second || c.Action == record.SetTTL && c.TTL < time.Second {
		return provider.Failf(provider.Permanent, d.op, "", "%s %s: a TTL of %v; expected 1 to %d seconds", c.Action, c.Value, c.TTL, maxTTL)
	}
	switch c.Action {
	case record.Create:
		return d.put(c)
	case record.Resume:
		if !d.has(c.Value) && !d.copied(c.Value) {
			return d.conflict(c, "neither live nor parked")
		}
		return d.put(c)
	case record.Pause:
		return d.pause(c)
	case record.Swap:
		return d.swap(c)
	case record.SetTTL:
		return d.setTTL(c)
	case record.SetWeight:
		return provider.Failf(provider.Permanent, d.op, "", "weight %s: the DNS has no weights for a record of type %s", c.Value, d.key.Type)
	}
	return provider.Failf(provider.Permanent, d.op, "", "unknown action %q", c.Action)
}

func (d *draft) conflict(c record.Change, what string) error {
	return provider.Failf(provider.Conflict, d.op, "", "%s %s: the value is %s in the list", c.Action, c.Value, what)
}

func (d *draft) index(value string) int {
	return slices.IndexFunc(d.live, func(m member) bool { return m.value == value })
}

func (d *draft) has(value string) bool { return d.index(value) >= 0 }

func (d *draft) isCopy(p parkedText, value string) bool {
	return p.copy != nil && p.copy.Type == d.key.Type && p.copy.Value == value
}

func (d *draft) copied(value string) bool {
	return slices.ContainsFunc(d.parked, func(p parkedText) bool { return d.isCopy(p, value) })
}

// put makes a value live and takes its copies away in the same call.
func (d *draft) put(c record.Change) error {
	if err := d.say(c); err != nil {
		return err
	}
	if !d.has(c.Value) {
		data, err := dataOf(d.key.Type, c.Value)
		if err != nil {
			return provider.Failf(provider.Permanent, d.op, "", "%s: %w", c.Action, err)
		}
		d.live = append(d.live, member{data, c.Value})
	}
	d.uncopy(c.Value)
	return nil
}

// say notes the TTL that a change asks for. A set has one TTL (RFC 2181 section
// 5.2), so that two wishes are a mistake of the caller.
func (d *draft) say(c record.Change) error {
	if c.TTL == 0 {
		return nil
	}
	if d.said != 0 && d.said != c.TTL {
		return provider.Failf(provider.Permanent, d.op, "", "%s %s: a TTL of %v beside one of %v in one record set", c.Action, c.Value, c.TTL, d.said)
	}
	d.said = c.TTL
	return nil
}

// uncopy takes the copies of a value away and returns the further attributes
// that the last of them had.
func (d *draft) uncopy(value string) map[string]string {
	var extra map[string]string
	rest := d.parked[:0:0]
	for _, p := range d.parked {
		if d.isCopy(p, value) {
			d.kept, extra = uint32(p.copy.TTL/time.Second), p.copy.Extra //nolint:gosec // ParseParked bounds it
			continue
		}
		rest = append(rest, p)
	}
	d.parked = rest
	return extra
}

// pause takes a value out of the answer and leaves a copy with the TTL that it
// had.
func (d *draft) pause(c record.Change) error {
	i := d.index(c.Value)
	if i < 0 {
		if d.copied(c.Value) {
			return nil
		}
		return d.conflict(c, "not live")
	}
	d.live = slices.Delete(d.live, i, i+1)
	d.park(c.Value)
	return nil
}

func (d *draft) park(value string) {
	copied := provider.Parked{Type: d.key.Type, Value: value, TTL: seconds(d.old.ttl), Extra: d.uncopy(value)}
	d.parked = append(d.parked, parkedText{data: textData(copied.String()), copy: &copied})
}

// swap puts a value in the place of another, which is parked.
func (d *draft) swap(c record.Change) error {
	from, err := record.ParseValue(d.key.Type, c.From)
	if err != nil {
		return provider.Failf(provider.Permanent, d.op, "", "swap: %w", err)
	}
	i := d.index(from)
	if i < 0 {
		return provider.Failf(provider.Conflict, d.op, "", "swap %s for %s: the old value is not live in the list", from, c.Value)
	}
	d.live = slices.Delete(d.live, i, i+1)
	d.park(from)
	d.swapped = from
	return d.put(c)
}

// setTTL changes the TTL of the whole set where the value is live, and of its
// copies.
func (d *draft) setTTL(c record.Change) error {
	live := d.has(c.Value)
	if !live && !d.copied(c.Value) {
		return d.conflict(c, "neither live nor parked")
	}
	if live {
		if err := d.say(c); err != nil {
			return err
		}
	}
	for i, p := range d.parked {
		if d.isCopy(p, c.Value) {
			copied := *p.copy
			copied.TTL = c.TTL
			d.parked[i] = parkedText{data: textData(copied.String()), copy: &copied}
		}
	}
	return nil
}

// ttl is the set's TTL after the call: what a change says, else the live
// siblings', else the copy's.
func (d *draft) ttl() uint32 {
	switch {
	case d.said != 0:
		return uint32(d.said / time.Second) //nolint:gosec // apply bounds it
	case len(d.old.data) > 0:
		return d.old.ttl
	case d.kept != 0:
		return d.kept
	}
	return defaultTTL
}

// check refuses a call that the list does not allow: a survivor that is not
// there or is taken away (one that is swapped lives until its place is taken),
// an answer that would be empty, two values where there can be one.
func (d *draft) check(call provider.Call) error {
	for _, text := range call.Survivors {
		value, err := record.ParseValue(d.key.Type, text)
		if err != nil {
			return provider.Failf(provider.Permanent, d.op, "", "survivor: %w", err)
		}
		if !d.listed(value) || !d.has(value) && value != d.swapped {
			return provider.Failf(provider.Conflict, d.op, "", "the survivor %s is not live in the list, or does not stay so", value)
		}
	}
	if len(d.live) == 0 && len(d.old.data) > 0 && !call.Empty {
		return provider.Failf(provider.Conflict, d.op, "", "the call would leave the name without an answer, and does not say that it may")
	}
	if d.key.Type.Single() && len(d.live) > 1 {
		return provider.Failf(provider.Permanent, d.op, "", "%d values; a name can have one %s: swap it", len(d.live), d.key.Type)
	}
	return nil
}

// listed reports whether a value was live before the call.
func (d *draft) listed(value string) bool {
	return slices.ContainsFunc(d.old.data, func(data string) bool {
		have, err := valueOf(d.key.Type, data)
		return err == nil && have == value
	})
}

// after is the live set that the call leaves.
func (d *draft) after() rrset {
	set := rrset{ttl: d.ttl()}
	for _, m := range d.live {
		set.data = append(set.data, m.data)
	}
	return set
}

// parkedAfter is the set of parked copies that the call leaves.
func (d *draft) parkedAfter() rrset {
	set := rrset{ttl: parkedTTL}
	if len(d.oldParked.data) > 0 {
		set.ttl = d.oldParked.ttl
	}
	for _, p := range d.parked {
		set.data = append(set.data, p.data)
	}
	return set
}
