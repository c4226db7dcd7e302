package tencentcloud

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// view is what a Snapshot keeps for the writes that rest on it. It is never
// changed once it was built.
type view struct {
	sets   map[record.Key][]*item
	copies map[record.Key][]parkedCopy
	stamps []*item
	lines  []line // those that have records, the default one left out
}

// parkedCopy is a TXT record that keeps a value.
type parkedCopy struct {
	item *item
	text provider.Parked
}

// builder turns the records of a list into a Snapshot. No record can make it
// fail: what cannot be read is left out and told.
type builder struct {
	a        *Adapter
	snap     *provider.Snapshot
	view     *view
	answers  map[record.Key][]record.Answer
	variants map[string]string // by line id
	parked   []*item           // TXT records that keep a value, filed when every line is known
	problem  error
	now      time.Time
	least    time.Duration // the plan's smallest TTL, as far as it is known
	stale    map[uint64]string
}

func newBuilder(a *Adapter) *builder {
	b := &builder{a: a}
	b.reset()
	return b
}

func (b *builder) reset() {
	*b = builder{
		a: b.a, snap: &provider.Snapshot{Zone: b.a.zone},
		view:    &view{sets: map[record.Key][]*item{}, copies: map[record.Key][]parkedCopy{}},
		answers: map[record.Key][]record.Answer{}, variants: map[string]string{},
		now: b.a.now(), least: b.a.domainKnown().minTTL, stale: map[uint64]string{},
	}
}

func (b *builder) add(page *listReply) {
	b.snap.Skipped = append(b.snap.Skipped, page.unread...)
	for i := range page.Records {
		b.record(&page.Records[i])
	}
}

// record files one record under what it is.
func (b *builder) record(i *item) {
	kind := record.Type(i.Type)
	switch kind {
	case record.A, record.AAAA, record.CNAME:
	case record.TXT, "NS":
		if !i.live() {
			return
		}
	default:
		return
	}
	name, err := b.name(i.Name)
	switch {
	case kind == record.TXT:
		b.text(name, err, i)
	case err != nil:
		b.skip(i, err)
	case kind == "NS":
		if name != b.a.zone {
			b.snap.Delegations = append(b.snap.Delegations, name)
		}
	default:
		b.steered(record.Key{Zone: b.a.zone, Name: name, Type: kind}, i)
	}
}

func (b *builder) skip(i *item, err error) {
	b.snap.Skipped = append(b.snap.Skipped, fmt.Sprintf("%s: %v", i, err))
}

// name is a record's name in full.
func (b *builder) name(text string) (record.Name, error) {
	switch {
	case text == "@" || text == "":
		return b.a.zone, nil
	case plain(text) && len(text)+len(b.a.zone) < 250:
		return record.Name(text + "." + string(b.a.zone)), nil
	}
	return record.ParseName(text + "." + string(b.a.zone))
}

// plain reports whether labels are canonical as they stand, which most are.
func plain(text string) bool {
	length := 0
	for i := range len(text) {
		c := text[i]
		if c == '.' {
			if length == 0 {
				return false
			}
			length = 0
			continue
		}
		if length++; length > 63 || c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false // what has a hyphen may be an A-label
		}
	}
	return length > 0
}

// line gives the variant of a record's line.
func (b *builder) line(l line) string {
	if l.id == defaultLine && len(b.a.variants) == 0 {
		return ""
	}
	id := l.id + " " + l.name
	variant, known := b.variants[id]
	if !known {
		var err error
		if variant, err = b.a.variant(l); err != nil {
			b.problem = err
		}
		b.variants[id] = variant
		if !l.isDefault() {
			b.view.lines = append(b.view.lines, l)
		}
	}
	return variant
}

// steered takes an A, AAAA or CNAME of any state.
func (b *builder) steered(key record.Key, i *item) {
	value, err := record.ParseValue(key.Type, i.Value)
	if err != nil {
		b.skip(i, err)
		return
	}
	key.Variant = b.line(i.line())
	b.view.sets[key] = append(b.view.sets[key], i)
	answer := record.Answer{Value: value, TTL: seconds(i.TTL), Weight: weightOf(i.Weight), MinTTL: b.least, MaxTTL: maxTTL}
	_, mark := splitRemark(i.Remark)
	b.a.settle(i, b.now)
	switch {
	case i.live():
		answer.Live, answer.Paused, answer.Stuck = true, mark != "", i.stuck()
		if mark != "" && dead(mark, b.now) {
			b.stale[i.ID] = mark
		}
	case i.Status == disabled && mark != "" && !b.byHand(i.ID, mark), i.Status == disabled && mark == "" && b.a.unmarked(i.ID):
		answer.Paused = true
	default: // somebody else's doing, or a state that the vendor does not tell of
		answer.Held = true
	}
	b.put(key, answer)
}

// byHand reports whether a record was paused by somebody else although it has
// our mark: the mark was seen on the live record when no pause of ours could
// follow it any more.
func (b *builder) byHand(id uint64, mark string) bool {
	b.a.mu.Lock()
	defer b.a.mu.Unlock()
	if b.a.stale[id] != mark {
		return false
	}
	b.stale[id] = mark
	return true
}

// put merges what several records say of one value. The attributes are those of
// the live one.
func (b *builder) put(key record.Key, answer record.Answer) {
	set := b.answers[key]
	at := slices.IndexFunc(set, func(have record.Answer) bool { return have.Value == answer.Value })
	if at < 0 {
		b.answers[key] = append(set, answer)
		return
	}
	have := set[at]
	if have.Live || !answer.Live {
		answer.TTL, answer.Weight = have.TTL, have.Weight
	}
	answer.Live, answer.Paused = answer.Live || have.Live, answer.Paused || have.Paused
	answer.Held, answer.Stuck = answer.Held || have.Held, cmp.Or(answer.Stuck, have.Stuck)
	set[at] = answer
}

// text takes a TXT: a stamp, a parked copy, another tool's mark, or nothing
// that concerns us.
func (b *builder) text(name record.Name, unnamed error, i *item) {
	text := strings.Trim(i.Value, `"`)
	_, parked := provider.ParkedOwner(name)
	switch {
	case unnamed == nil && name == b.a.zone.Below(provider.StampLabel):
		stamp := provider.ParseStamp(text)
		stamp.Native = i.ID
		b.snap.Stamps = append(b.snap.Stamps, stamp)
		b.view.stamps = append(b.view.stamps, i)
	case unnamed == nil && parked:
		b.parked = append(b.parked, i)
	case strings.Contains(text, "heritage="):
		b.claimed(i.Name, text)
	}
}

// copied files a parked copy under the set that it belongs to.
func (b *builder) copied(i *item) {
	copied, err := provider.ParseParked(strings.Trim(i.Value, `"`))
	if err != nil {
		b.skip(i, err)
		return
	}
	name, err := b.name(i.Name)
	if err != nil {
		return // it was read before
	}
	owner, _ := provider.ParkedOwner(name)
	key := record.Key{Zone: b.a.zone, Name: owner, Type: copied.Type, Variant: b.line(b.lineOf(copied))}
	b.view.copies[key] = append(b.view.copies[key], parkedCopy{i, copied})
	answer := record.Answer{Value: copied.Value, TTL: copied.TTL, Weight: 1, Paused: true, MinTTL: b.least, MaxTTL: maxTTL}
	if weight := copied.Extra["weight"]; weight != "" {
		answer.Weight = weightOf(parseWeight(weight))
	}
	b.put(key, answer)
}

// lineOf is the line of a copy: it has only the id, and the record that was
// swapped is on that line still.
func (b *builder) lineOf(copied provider.Parked) line {
	field := copied.Extra["line"]
	if field == "" {
		return line{defaultLine, b.a.edition.line}
	}
	l := line{id: lineOfField(field)}
	for _, known := range b.view.lines {
		if known.id == l.id {
			return known
		}
	}
	return l
}

// claimed reads another tool's mark of ownership. The name is taken as it came:
// a mark of a wildcard may carry a prefix before the asterisk.
func (b *builder) claimed(name, text string) {
	full := string(b.a.zone)
	if name != "@" && name != "" {
		full = strings.ToLower(name) + "." + full
	}
	for _, claim := range provider.ParseOwners(record.Name(full), text) {
		if parsed, err := record.ParseName(string(claim.Name)); err == nil && parsed.In(b.a.zone) {
			b.snap.Owners = append(b.snap.Owners, provider.Owner{Name: parsed, Owner: claim.Owner})
		}
	}
}

// finish sorts what was filed.
func (b *builder) finish(total int) (*provider.Snapshot, error) {
	for _, i := range b.parked {
		b.copied(i)
	}
	if b.problem != nil {
		return nil, &provider.Error{Class: provider.Permanent, Op: b.a.listOp(), Err: b.problem}
	}
	s := b.snap
	s.Records, s.Native, s.ID = total, b.view, b.a.domainKnown().id
	s.Sets = make([]record.Set, 0, len(b.answers))
	for key, answers := range b.answers {
		s.Sets = append(s.Sets, record.Set{Key: key, Answers: answers})
	}
	record.SortSets(s.Sets)
	slices.Sort(s.Delegations)
	s.Delegations = slices.Compact(s.Delegations)
	slices.SortFunc(s.Owners, func(x, y provider.Owner) int {
		return strings.Compare(string(x.Name)+" "+x.Owner, string(y.Name)+" "+y.Owner)
	})
	s.Owners = slices.Compact(s.Owners)
	b.a.mu.Lock()
	b.a.stale = b.stale
	b.a.mu.Unlock()
	return s, nil
}

func seconds(ttl uint32) time.Duration { return time.Duration(ttl) * time.Second }

// weightOf is a weight as sets have it: a record without one, or with the 0
// that stands for none, counts as one.
func weightOf(w *uint32) int {
	if w == nil || *w == 0 {
		return 1
	}
	return int(min(*w, 255))
}

func parseWeight(text string) *uint32 {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return nil
	}
	weight := uint32(n)
	return &weight
}
