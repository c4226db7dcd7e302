package powerdns

import (
	"slices"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

const (
	parkedTTL  = 300 // of the parked copies; nobody but a list reads them
	defaultTTL = 300 // of a set for which neither the config, a sibling nor a copy has one
	maxTTL     = 1<<31 - 1
)

// draft is one record set with its parked copies while the changes of a call are
// put in. It knows nothing of requests.
type draft struct {
	op      string
	key     record.Key
	at      time.Time
	old     rrset // the set as it was just before
	members []entry
	said    time.Duration // the TTL that a change asks for; 0 when none does
	kept    time.Duration // the TTL of the copy that came back last
	swapped string        // the value that gave its place to another

	oldParked rrset
	parked    []parkedText
}

// entry is one record of the set.
type entry struct {
	member

	value string // canonical; empty for one that cannot be an answer, which is carried over
	mark  mark   // of sidestep's pause; its zero value where sidestep did not disable it
}

// marked reports whether sidestep disabled the value.
func (e entry) marked() bool { return e.mark != mark{} }

// parkedText is one record at the name of the parked copies. What is none of ours,
// or cannot be read, has no copy and is carried over as it is.
type parkedText struct {
	member

	copy *provider.Parked
}

// newDraft begins with what was read. Pauses are marked with the time that it is.
func newDraft(op string, key record.Key, now *sight, at time.Time) (*draft, error) {
	d := &draft{op: op, key: key, at: at, old: now.set, oldParked: now.parked}
	marks := now.set.marks()
	for _, m := range now.set.Records {
		e := entry{member: m}
		if value, err := record.ParseValue(key.Type, m.Content); err == nil {
			e.value = value
		}
		if ours, marked := findMark(marks, e.value); m.Disabled && marked && !now.builder.known[pause{key, ours}] {
			e.mark = ours
		}
		d.members = append(d.members, e)
	}
	for _, m := range now.parked.Records {
		text := parkedText{member: m}
		if copied, err := copyOf(m); err == nil {
			text.copy = &copied
		}
		d.parked = append(d.parked, text)
	}
	if now.beside != "" && (key.Type == record.CNAME || now.beside == string(record.CNAME)) {
		return nil, provider.Failf(provider.Permanent, op, "", "%s has a record set of type %s, beside which one of type %s cannot stand", key.Name, now.beside, key.Type)
	}
	return d, nil
}

// apply puts one change in.
func (d *draft) apply(c record.Change) error {
	value, err := record.ParseValue(d.key.Type, c.Value)
	if err != nil {
		return d.refuse(provider.Permanent, c, "%w", err)
	}
	c.Value = value
	if c.TTL < 0 || c.TTL > maxTTL*time.Second || c.Action == record.SetTTL && c.TTL < time.Second {
		return d.refuse(provider.Permanent, c, "a TTL of %v; expected 1 to %d seconds", c.TTL, maxTTL)
	}
	if c.Key != d.key {
		return d.refuse(provider.Permanent, c, "the change is of another set: %s", c.Key)
	}
	switch c.Action {
	case record.Create:
		return d.create(c)
	case record.Resume:
		return d.resume(c)
	case record.Pause:
		return d.pause(c)
	case record.Swap:
		return d.swap(c)
	case record.SetTTL:
		return d.setTTL(c)
	case record.SetWeight:
		return d.refuse(provider.Permanent, c, "PowerDNS has no weights for a record of type %s", d.key.Type)
	}
	return d.refuse(provider.Permanent, c, "unknown action")
}

func (d *draft) refuse(class provider.Class, c record.Change, format string, args ...any) error {
	return provider.Failf(class, d.op, "", string(c.Action)+" "+c.Value+": "+format, args...)
}

// find gives the member of a value, the one that is answered where a database has
// it twice; nil when there is none.
func (d *draft) find(value string) *entry {
	var found *entry
	for i := range d.members {
		if m := &d.members[i]; m.value == value && (found == nil || found.Disabled && !m.Disabled) {
			found = m
		}
	}
	return found
}

// once refuses to put back a set in which a value stands twice, which PowerDNS
// would not take.
func (d *draft) once() error {
	seen := map[string]bool{}
	for _, m := range d.members {
		if m.value != "" && seen[m.value] {
			failed := provider.Failf(provider.Permanent, d.op, "", "%s is there twice, which PowerDNS takes in no write", m.value)
			failed.Hint = "delete one of the two in the database; one may be disabled"
			return failed
		}
		seen[m.value] = true
	}
	return nil
}

func (d *draft) isCopy(p parkedText, value string) bool {
	return p.copy != nil && p.copy.Type == d.key.Type && p.copy.Value == value
}

func (d *draft) copied(value string) bool {
	return slices.ContainsFunc(d.parked, func(p parkedText) bool { return d.isCopy(p, value) })
}

// uncopy takes the copies of a value away.
func (d *draft) uncopy(value string) {
	var rest []parkedText
	for _, p := range d.parked {
		if d.isCopy(p, value) {
			d.kept = p.copy.TTL
			continue
		}
		rest = append(rest, p)
	}
	d.parked = rest
}

// create puts in a value that is not there. One that is there disabled was paused:
// bringing it back is another change.
func (d *draft) create(c record.Change) error {
	switch have := d.find(c.Value); {
	case have != nil && have.Disabled:
		return d.refuse(provider.Conflict, c, "the value is there and disabled")
	case have != nil:
		return nil
	}
	return d.put(c)
}

// resume brings a value back where it is, or from its copy.
func (d *draft) resume(c record.Change) error {
	have := d.find(c.Value)
	switch {
	case have == nil && !d.copied(c.Value):
		return d.refuse(provider.Conflict, c, "the value is neither in the set nor parked")
	case have == nil:
		return d.put(c)
	case have.Disabled:
		have.Disabled, have.mark = false, mark{}
	}
	d.uncopy(c.Value)
	return d.say(c)
}

// put makes a new member, and takes its copies away in the same call.
func (d *draft) put(c record.Change) error {
	if err := d.room(c); err != nil {
		return err
	}
	d.members = append(d.members, entry{member: member{Content: c.Value}, value: c.Value})
	d.uncopy(c.Value)
	return d.say(c)
}

// room makes the place for a value of a single-valued type: what sidestep disabled
// in it becomes a copy.
func (d *draft) room(c record.Change) error {
	if !d.key.Type.Single() || len(d.members) == 0 {
		return nil
	}
	have := d.members[0]
	switch {
	case !have.Disabled:
		return d.refuse(provider.Conflict, c, "%s is live, and a name can have one %s: swap it", have.Content, d.key.Type)
	case !have.marked():
		return d.refuse(provider.Conflict, c, "somebody else disabled %s, and a name can have one %s", have.Content, d.key.Type)
	}
	d.park(have.value)
	d.members = nil
	return nil
}

// say notes the TTL that a change asks for. A set has one TTL (RFC 2181 section
// 5.2), so that two wishes are a mistake of the caller.
func (d *draft) say(c record.Change) error {
	if c.TTL == 0 {
		return nil
	}
	if d.said != 0 && d.said != c.TTL {
		return d.refuse(provider.Permanent, c, "a TTL of %v beside one of %v in one record set", c.TTL, d.said)
	}
	d.said = c.TTL
	return nil
}

// pause disables a value where it is. A copy of it says nothing more, and goes.
func (d *draft) pause(c record.Change) error {
	have := d.find(c.Value)
	switch {
	case have == nil && d.copied(c.Value), have != nil && have.Disabled:
		return nil
	case have == nil:
		return d.refuse(provider.Conflict, c, "the value is not live")
	}
	have.Disabled, have.mark = true, newMark(have.value, d.at)
	d.uncopy(c.Value)
	return nil
}

func (d *draft) park(value string) {
	d.uncopy(value)
	copied := provider.Parked{Type: d.key.Type, Value: value, TTL: seconds(d.old.TTL)}
	d.parked = append(d.parked, parkedText{member{Content: provider.QuoteText(copied.String())}, &copied})
}

// swap puts a value in the place of another, which is parked.
func (d *draft) swap(c record.Change) error {
	from, err := record.ParseValue(d.key.Type, c.From)
	if err != nil {
		return d.refuse(provider.Permanent, c, "%w", err)
	}
	old := d.find(from)
	switch {
	case !d.key.Type.Single():
		return d.refuse(provider.Permanent, c, "only single-valued types are swapped, %s is not", d.key.Type)
	case old == nil || old.Disabled:
		return d.refuse(provider.Conflict, c, "%s is not live", from)
	}
	d.park(from)
	d.swapped = from
	d.uncopy(c.Value)
	d.members = []entry{{member: member{Content: c.Value}, value: c.Value}}
	return d.say(c)
}

// setTTL changes the TTL of the whole set where the value is in it, and of its
// copies.
func (d *draft) setTTL(c record.Change) error {
	have := d.find(c.Value)
	if have == nil && !d.copied(c.Value) {
		return d.refuse(provider.Conflict, c, "the value is neither in the set nor parked")
	}
	for i, p := range d.parked {
		if d.isCopy(p, c.Value) {
			copied := *p.copy
			copied.TTL = c.TTL
			d.parked[i] = parkedText{member{Content: provider.QuoteText(copied.String())}, &copied}
		}
	}
	if have == nil {
		return nil
	}
	return d.say(c)
}

// ttl is the set's TTL after the call: what a change says, else its own, else the
// copy's.
func (d *draft) ttl() uint32 {
	switch {
	case d.said != 0:
		return uint32(d.said / time.Second) //nolint:gosec // apply bounds it
	case len(d.old.Records) > 0:
		return d.old.TTL
	case d.kept != 0:
		return uint32(d.kept / time.Second) //nolint:gosec // ParseParked bounds it
	}
	return defaultTTL
}

// check refuses a call that the zone does not allow: a survivor that is not there
// or is taken away (one that is swapped lives until its place is taken), an answer
// that would be empty.
func (d *draft) check(call provider.Call) error {
	was := d.old.live(d.key.Type)
	for _, text := range call.Survivors {
		value, err := record.ParseValue(d.key.Type, text)
		if err != nil {
			return provider.Failf(provider.Permanent, d.op, "", "survivor: %w", err)
		}
		have := d.find(value)
		stays := have != nil && !have.Disabled || value == d.swapped
		if !slices.Contains(was, value) || !stays {
			return provider.Failf(provider.Conflict, d.op, "", "the survivor %s is not live, or does not stay so", value)
		}
	}
	left := slices.ContainsFunc(d.members, func(e entry) bool { return !e.Disabled })
	if !left && slices.ContainsFunc(d.old.Records, enabled) && !call.Empty {
		return provider.Failf(provider.Conflict, d.op, "", "the call would leave the name without an answer, and does not say that it may")
	}
	return nil
}

// live lists the values that a set answers with.
func (s rrset) live(kind record.Type) []string {
	var values []string
	for _, m := range s.Records {
		if value, err := record.ParseValue(kind, m.Content); err == nil && !m.Disabled {
			values = append(values, value)
		}
	}
	return values
}

// patches are the sets that the call changes, whole; none where the zone is
// already what the call asks for.
func (d *draft) patches() ([]patch, error) {
	var patches []patch
	var members []member
	var ours []mark
	for _, e := range d.members {
		members = append(members, e.member)
		if e.marked() {
			ours = append(ours, e.mark)
		}
	}
	if len(members) > 0 && d.ttl() != d.old.TTL || !slices.Equal(members, d.old.Records) {
		if err := d.once(); err != nil {
			return nil, err
		}
		p := d.old.replaced(d.ttl(), members)
		slices.SortFunc(ours, compareMarks)
		if !slices.Equal(ours, d.old.marks()) || d.old.markComments() > 1 {
			comments := d.old.remarked(ours)
			p.Comments = &comments
		}
		patches = append(patches, p)
	}
	var texts []member
	for _, p := range d.parked {
		texts = append(texts, p.member)
	}
	if !slices.Equal(texts, d.oldParked.Records) {
		ttl := d.oldParked.TTL
		if len(d.oldParked.Records) == 0 {
			ttl = parkedTTL
		}
		patches = append(patches, d.oldParked.replaced(ttl, texts))
	}
	return patches, d.unharmed(patches)
}

// unharmed refuses to put back what the API's JSON could not carry: octets that are
// no UTF-8 come as U+FFFD.
func (d *draft) unharmed(patches []patch) error {
	for _, p := range patches {
		for _, m := range *p.Records {
			if strings.ContainsRune(m.Content, '\uFFFD') {
				return provider.Failf(provider.Permanent, d.op, "", "%s %s has a record with octets that are no UTF-8, which the API cannot write back: %s", p.Name, p.Type, m.Content)
			}
		}
		if p.Comments == nil {
			continue
		}
		for _, c := range *p.Comments {
			if strings.ContainsRune(c.Content+c.Account, '\uFFFD') {
				return provider.Failf(provider.Permanent, d.op, "", "%s %s has a comment with octets that are no UTF-8, which the API cannot write back: %s", p.Name, p.Type, c.Content)
			}
		}
	}
	return nil
}
