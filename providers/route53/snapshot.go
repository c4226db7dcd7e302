package route53

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// view is what a Snapshot keeps for the writes that rest on it: the sets that
// their DELETEs have to repeat. It is never changed once it was built.
type view struct {
	stamps []rrset // what is at the stamp's name, of type TXT
	places map[record.Name]place
}

// place is one name that can be steered.
type place struct {
	sets   []rrset // its A, AAAA and CNAME sets
	parked []rrset // the TXT sets of its parked copies: usually none or one
}

// builder turns the sets of a list into a Snapshot. No set can make it fail:
// what cannot be read is left out and told.
type builder struct {
	zone  record.Name
	snap  *provider.Snapshot
	view  *view
	sets  int
	paged bool // the list is of more than one page
	soa   bool
	ns    bool
}

func newBuilder(zone record.Name) *builder {
	return &builder{zone: zone, snap: &provider.Snapshot{Zone: zone}, view: &view{places: map[record.Name]place{}}}
}

// add takes one set.
func (b *builder) add(s rrset) {
	b.sets++
	b.snap.Records += max(1, len(s.ResourceRecords))
	name, err := parseName(aws.ToString(s.Name))
	if err == nil && !name.In(b.zone) {
		err = fmt.Errorf("not inside %s", b.zone)
	}
	if err != nil {
		b.unnamed(&s, err)
		return
	}
	switch s.Type {
	case types.RRTypeA, types.RRTypeAaaa, types.RRTypeCname:
		p := b.view.places[name]
		p.sets = append(p.sets, s)
		b.view.places[name] = p
	case types.RRTypeTxt:
		b.text(name, s)
	case types.RRTypeNs:
		b.ns = b.ns || name == b.zone
		if name != b.zone {
			b.snap.Delegations = append(b.snap.Delegations, name)
		}
	case types.RRTypeSoa:
		b.soa = b.soa || name == b.zone
	default: // nothing that could be steered, and nothing that is ours
	}
}

// text takes a TXT set: stamps, parked copies, another tool's marks, or
// nothing that concerns us.
func (b *builder) text(name record.Name, s rrset) {
	if name == stampName(b.zone) {
		b.view.stamps = append(b.view.stamps, s)
		return
	}
	if owner, parked := provider.ParkedOwner(name); parked {
		p := b.view.places[owner]
		p.parked = append(p.parked, s)
		b.view.places[owner] = p
		return
	}
	b.claimed(name, &s)
}

func (b *builder) claimed(name record.Name, s *rrset) {
	for _, r := range s.ResourceRecords {
		if text, err := parseText(aws.ToString(r.Value)); err == nil {
			b.snap.Owners = append(b.snap.Owners, provider.ParseOwners(name, text)...)
		}
	}
}

// unnamed tells about a set under a name that no config can spell, where its
// type is one that is steered. An ownership mark is read all the same: its name
// may carry a prefix before an asterisk.
func (b *builder) unnamed(s *rrset, err error) {
	if _, steered := record.ParseType(string(s.Type)); steered == nil {
		b.snap.Skipped = append(b.snap.Skipped, fmt.Sprintf("%s: %v", line(s), err))
	}
	if s.Type == types.RRTypeTxt {
		b.claimed(record.Name(strings.ToLower(strings.ReplaceAll(aws.ToString(s.Name), `\052`, "*"))), s)
	}
}

// finish sorts what was taken in.
func (b *builder) finish() *provider.Snapshot {
	for name, p := range b.view.places {
		b.snap.Sets = append(b.snap.Sets, p.read(b.zone, name, b.snap)...)
	}
	record.SortSets(b.snap.Sets)
	slices.Sort(b.snap.Delegations)
	b.snap.Delegations = slices.Compact(b.snap.Delegations)
	slices.Sort(b.snap.Skipped)
	slices.SortFunc(b.snap.Fixed, func(x, y provider.Fixed) int { return x.Key.Compare(y.Key) })
	b.snap.Stamps = stampsOf(b.view.stamps)
	b.snap.Native = b.view
	return b.snap
}

func stampsOf(sets []rrset) []provider.Stamp {
	var stamps []provider.Stamp
	for _, s := range sets {
		for _, r := range s.ResourceRecords {
			raw := aws.ToString(r.Value)
			text, err := parseText(raw)
			if err != nil {
				text = raw
			}
			stamps = append(stamps, provider.ParseStamp(text))
		}
	}
	return stamps
}

// read is what a name has to say, live and parked. What it cannot read it tells
// the snapshot.
func (p place) read(zone, name record.Name, snap *provider.Snapshot) []record.Set {
	r := reading{zone: zone, name: name, snap: snap}
	for i := range p.sets {
		r.live(&p.sets[i])
	}
	for i := range p.parked {
		for _, c := range copiesOf(&p.parked[i]) {
			r.paused(c)
		}
	}
	return r.sets
}

// reading collects the sets of one name: there are a few at most.
type reading struct {
	zone, name record.Name
	snap       *provider.Snapshot
	sets       []record.Set
}

func (r *reading) set(t record.Type, variant string) *record.Set {
	key := record.Key{Zone: r.zone, Name: r.name, Type: t, Variant: variant}
	i := slices.IndexFunc(r.sets, func(s record.Set) bool { return s.Key == key })
	if i < 0 {
		r.sets = append(r.sets, record.Set{Key: key})
		i = len(r.sets) - 1
	}
	return &r.sets[i]
}

func (r *reading) live(s *rrset) {
	t := record.Type(s.Type)
	if why := fixed(s); why != "" {
		r.snap.Fixed = append(r.snap.Fixed, provider.Fixed{Key: record.Key{Zone: r.zone, Name: r.name, Type: t, Variant: variant(s)}, What: why})
		return
	}
	for _, v := range s.ResourceRecords {
		value, err := record.ParseValue(t, aws.ToString(v.Value))
		if err != nil {
			r.snap.Skipped = append(r.snap.Skipped, fmt.Sprintf("%s: %v", line(s), err))
			continue
		}
		set := r.set(t, variant(s))
		set.Answers = append(set.Answers, record.Answer{Value: value, TTL: seconds(s.TTL), Weight: weight(s), Live: true})
	}
}

func (r *reading) paused(c parkedText) {
	if c.copy == nil {
		return
	}
	set := r.set(c.copy.Type, c.variant())
	for i := range set.Answers {
		if set.Answers[i].Value == c.copy.Value {
			set.Answers[i].Paused = true
			return
		}
	}
	a := record.Answer{Value: c.copy.Value, TTL: c.copy.TTL, Weight: 1, Paused: true}
	if s, err := shape(c.copy.Extra); err == nil {
		a.Weight = weight(&s)
	}
	set.Answers = append(set.Answers, a)
}

// parkedText is one TXT value at the name of the parked copies. What is none
// of ours, or cannot be read, has no copy and is carried over as it is.
type parkedText struct {
	raw  string
	copy *provider.Parked
}

func copiesOf(s *rrset) []parkedText {
	var copies []parkedText
	for _, r := range s.ResourceRecords {
		c := parkedText{raw: aws.ToString(r.Value)}
		if text, err := parseText(c.raw); err == nil {
			if copied, err := provider.ParseParked(text); err == nil {
				c.copy = &copied
			}
		}
		copies = append(copies, c)
	}
	return copies
}

// variant is that of the set which a copy was taken from.
func (c parkedText) variant() string { return unquote(c.copy.Extra["set"]) }

func seconds(ttl *int64) time.Duration { return time.Duration(aws.ToInt64(ttl)) * time.Second }
