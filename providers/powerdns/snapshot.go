package powerdns

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// builder turns the record sets of a list into a Snapshot. No set can make it
// fail: what cannot be read is left out and told.
type builder struct {
	zone   record.Name
	snap   *provider.Snapshot
	copies []rrset    // parked copies, which are merged in when all sets are known
	left   []leftover // see Remains
	known  pauses
	marks  map[pause]bool // every mark, and whether its value is disabled
}

func newBuilder(zone record.Name, known pauses) *builder {
	return &builder{zone: zone, snap: &provider.Snapshot{Zone: zone}, known: known, marks: map[pause]bool{}}
}

// take takes one set.
func (b *builder) take(set rrset) {
	b.snap.Records += len(set.Records)
	kind, err := record.ParseType(set.Type)
	steered := err == nil && set.Type == string(kind)
	if !steered && set.Type != "TXT" && set.Type != "NS" {
		return
	}
	name, err := record.ParseName(set.Name)
	if err == nil && !name.In(b.zone) {
		err = fmt.Errorf("not inside %s", b.zone)
	}
	switch {
	case err == nil && steered:
		b.steered(record.Key{Zone: b.zone, Name: name, Type: kind}, set)
	case err != nil && steered:
		b.skip(set, err)
	case set.Type == "NS":
		if err == nil && name != b.zone && slices.ContainsFunc(set.Records, enabled) {
			b.snap.Delegations = append(b.snap.Delegations, name)
		}
	default:
		b.text(name, err == nil, set)
	}
}

func enabled(m member) bool { return !m.Disabled }

// odd takes a set that is not of the API's shape.
func (b *builder) odd(set rrset, err error) {
	b.snap.Records += max(1, len(set.Records))
	b.skip(set, err)
}

func (b *builder) skip(set rrset, err error) {
	b.snap.Skipped = append(b.snap.Skipped, fmt.Sprintf("%s %s: %v", set.Name, set.Type, err))
}

// steered takes an A, AAAA or CNAME set, disabled members included.
func (b *builder) steered(key record.Key, set rrset) {
	marks := set.marks()
	stale := slices.Clone(marks)
	for _, m := range marks {
		b.marks[pause{key, m}] = false
	}
	var answers []record.Answer
	for _, m := range set.Records {
		value, err := record.ParseValue(key.Type, m.Content)
		if err != nil {
			b.skip(set, err)
			continue
		}
		answer := record.Answer{Value: value, TTL: seconds(set.TTL), Weight: 1, Live: !m.Disabled}
		if m.Disabled {
			ours, marked := findMark(marks, value)
			answer.Paused = marked && !b.known[pause{key, ours}]
			answer.Held = !answer.Paused
			if marked {
				b.marks[pause{key, ours}] = true
			}
			if answer.Paused {
				stale = slices.DeleteFunc(stale, func(m mark) bool { return m == ours })
			}
		}
		answers = merged(answers, answer)
	}
	if len(answers) > 0 {
		b.snap.Sets = append(b.snap.Sets, record.Set{Key: key, Answers: answers})
	}
	if len(stale) > 0 {
		b.leaves(staleMarks(key, set, stale))
	}
}

// merged adds an answer to others, or to the one of the same value: live and parked
// at once is a legal half-way state, in which what stands in the set itself counts.
func merged(answers []record.Answer, answer record.Answer) []record.Answer {
	for i, have := range answers {
		if have.Value == answer.Value {
			have.Live, have.Paused, have.Held = have.Live || answer.Live, have.Paused || answer.Paused, have.Held || answer.Held
			answers[i] = have
			return answers
		}
	}
	return append(answers, answer)
}

// find is the index of a set among those that are sorted by key.
func (b *builder) find(key record.Key) (int, bool) {
	return slices.BinarySearchFunc(b.snap.Sets, key, func(s record.Set, k record.Key) int { return s.Key.Compare(k) })
}

// sort puts the sets in order, and together those of one key: a database can have a
// name in several spellings.
func (b *builder) sort() {
	slices.SortStableFunc(b.snap.Sets, func(x, y record.Set) int { return x.Key.Compare(y.Key) })
	sets := b.snap.Sets[:0]
	for _, set := range b.snap.Sets {
		if last := len(sets) - 1; last >= 0 && sets[last].Key == set.Key {
			for _, answer := range set.Answers {
				sets[last].Answers = merged(sets[last].Answers, answer)
			}
			continue
		}
		sets = append(sets, set)
	}
	b.snap.Sets = sets
}

// text takes a TXT set: stamps, parked copies, other tools' marks, or nothing that
// concerns us. A mark's owner name may carry a prefix before an asterisk, which no
// name of a config has.
func (b *builder) text(name record.Name, named bool, set rrset) {
	if _, parked := provider.ParkedOwner(name); named && parked {
		b.copies = append(b.copies, set)
		return
	}
	stamps := named && name == b.zone.Below(provider.StampLabel)
	for _, m := range set.Records {
		if m.Disabled {
			continue
		}
		text, err := provider.ParseText(m.Content)
		switch {
		case err != nil && stamps:
			b.skip(set, err)
		case err != nil:
		case stamps:
			b.snap.Stamps = append(b.snap.Stamps, provider.ParseStamp(text))
		default:
			b.claimed(set.Name, text)
		}
	}
	if stamps && len(b.snap.Stamps) > 0 {
		b.leaves(lastStamp(set))
	}
}

func (b *builder) claimed(owner, text string) {
	for _, claim := range provider.ParseOwners(record.Name(strings.ToLower(owner)), text) {
		if name, err := record.ParseName(string(claim.Name)); err == nil && name.In(b.zone) {
			b.snap.Owners = append(b.snap.Owners, provider.Owner{Name: name, Owner: claim.Owner})
		}
	}
}

func (b *builder) leaves(l leftover) { b.left = append(b.left, l) }

// finish merges the parked copies in and sorts.
func (b *builder) finish(h head) *provider.Snapshot {
	b.sort()
	for _, set := range b.copies {
		b.merge(set)
	}
	for _, set := range b.snap.Sets {
		set.Sort()
	}
	slices.Sort(b.snap.Delegations)
	b.snap.Delegations = slices.Compact(b.snap.Delegations)
	slices.SortFunc(b.snap.Owners, func(x, y provider.Owner) int {
		return strings.Compare(string(x.Name)+" "+x.Owner, string(y.Name)+" "+y.Owner)
	})
	b.snap.Owners = slices.Compact(b.snap.Owners)
	slices.Sort(b.snap.Skipped)
	b.snap.Version = strconv.FormatUint(h.Serial, 10)
	slices.SortStableFunc(b.left, func(x, y leftover) int { return x.order - y.order })
	b.snap.Native = &view{left: b.left}
	return b.snap
}

// merge adds the copies of one name. A copy of a value that is live is half of what
// a person or a cut-off call left, and is listed among what remains.
func (b *builder) merge(set rrset) {
	name, err := record.ParseName(set.Name)
	owner, parked := provider.ParkedOwner(name)
	if err != nil || !parked {
		return // it was read before it was kept
	}
	var doubled []int
	for i, m := range set.Records {
		copied, err := copyOf(m)
		if err != nil {
			b.skip(set, err)
			continue
		}
		key := record.Key{Zone: b.zone, Name: owner, Type: copied.Type}
		at, found := b.find(key)
		if !found {
			b.snap.Sets = slices.Insert(b.snap.Sets, at, record.Set{Key: key})
		}
		set := &b.snap.Sets[at]
		if slices.ContainsFunc(set.Answers, func(a record.Answer) bool { return a.Live && a.Value == copied.Value }) {
			doubled = append(doubled, i)
		}
		set.Answers = merged(set.Answers, record.Answer{Value: copied.Value, TTL: copied.TTL, Weight: 1, Paused: true})
	}
	if len(doubled) > 0 {
		b.leaves(doubledCopies(set, doubled))
	}
}

// copyOf reads a parked copy. A disabled one is somebody else's doing.
func copyOf(m member) (provider.Parked, error) {
	if m.Disabled {
		return provider.Parked{}, fmt.Errorf("a parked copy that is disabled: %s", m.Content)
	}
	text, err := provider.ParseText(m.Content)
	if err != nil {
		return provider.Parked{}, err
	}
	return provider.ParseParked(text)
}

func seconds(ttl uint32) time.Duration { return time.Duration(ttl) * time.Second }
