package route53

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

const (
	stampTTL   = 60  // of the stamp; it is read through the API and by no cache
	parkedTTL  = 300 // of the parked copies; nobody but a list reads them
	defaultTTL = 300 // of a set for which neither the config, a sibling nor a copy has one
	maxTTL     = 1<<31 - 1
)

// draft is one steered set with its parked copies while the changes of a call
// are put in. It knows nothing of requests.
//
// What is one set to the caller is one set at Route 53 where all values share
// it, and one set for each value where the values have weights of their own:
// the cells.
type draft struct {
	op      string
	key     record.Key
	place   place
	before  []rrset // the cells as they were listed
	cells   []cell
	parked  []parkedText
	swapped string // the value that gave its place to another
	zeroed  bool   // a weight was set to 0
}

// cell is one set of Route 53's.
type cell struct {
	shape  rrset // its attributes; without values and TTL
	ttl    int64
	values []member
}

// member is one value. Its spelling in the zone is kept.
type member struct {
	raw   string
	value string // canonical; empty for one that cannot be an answer, which is carried over
}

// newDraft begins with what was listed.
func newDraft(op string, key record.Key, v *view) (*draft, error) {
	d := &draft{op: op, key: key, place: v.places[key.Name]}
	for i := range d.place.sets {
		s := &d.place.sets[i]
		if record.Type(s.Type) != key.Type || variant(s) != key.Variant {
			continue
		}
		if why := fixed(s); why != "" {
			e := d.refuse(provider.Permanent, "the set is %s, which has no values that could be switched", why)
			e.Hint = "steer another name, or replace it by plain records by hand"
			return nil, e
		}
		d.before = append(d.before, *s)
		d.cells = append(d.cells, cellOf(s, key.Type))
	}
	for i := range d.place.parked {
		d.parked = append(d.parked, copiesOf(&d.place.parked[i])...)
	}
	return d, nil
}

func cellOf(s *rrset, t record.Type) cell {
	c := cell{shape: *s, ttl: aws.ToInt64(s.TTL)}
	c.shape.ResourceRecords, c.shape.TTL = nil, nil
	for _, r := range s.ResourceRecords {
		m := member{raw: aws.ToString(r.Value)}
		if value, err := record.ParseValue(t, m.raw); err == nil {
			m.value = value
		}
		c.values = append(c.values, m)
	}
	return c
}

func (d *draft) refuse(class provider.Class, format string, args ...any) *provider.Error {
	return provider.Failf(class, d.op, "", format, args...)
}

// apply puts one change in.
func (d *draft) apply(c record.Change) error {
	value, err := record.ParseValue(d.key.Type, c.Value)
	switch {
	case err != nil:
		return d.refuse(provider.Permanent, "%s: %w", c.Action, err)
	case c.Key != d.key:
		return d.refuse(provider.Permanent, "a change to %s in a call to %s", c.Key, d.key)
	case c.TTL < 0 || c.TTL > maxTTL*time.Second || c.Action == record.SetTTL && c.TTL < time.Second:
		return d.refuse(provider.Permanent, "%s %s: a TTL of %v; expected 1 to %d seconds", c.Action, value, c.TTL, maxTTL)
	case c.Weight < 0 || c.Weight > maxWeight:
		return d.refuse(provider.Permanent, "%s %s: a weight of %d; expected 0 to %d", c.Action, value, c.Weight, maxWeight)
	}
	c.Value = value
	switch c.Action {
	case record.Create, record.Resume:
		return d.put(c)
	case record.Pause:
		return d.pause(c)
	case record.Swap:
		return d.swap(c)
	case record.SetTTL:
		return d.setTTL(c)
	case record.SetWeight:
		return d.setWeight(c)
	}
	return d.refuse(provider.Permanent, "unknown action %q", c.Action)
}

// at finds the cell and the member of a live value.
func (d *draft) at(value string) (cellAt, memberAt int) {
	for i, c := range d.cells {
		if j := slices.IndexFunc(c.values, func(m member) bool { return m.value == value }); j >= 0 {
			return i, j
		}
	}
	return -1, -1
}

func (d *draft) has(value string) bool { i, _ := d.at(value); return i >= 0 }

func (d *draft) isCopy(p parkedText, value string) bool {
	return p.copy != nil && p.copy.Type == d.key.Type && p.copy.Value == value && p.variant() == d.key.Variant
}

// copyOf is the parked copy of a value.
func (d *draft) copyOf(value string) (provider.Parked, bool) {
	i := slices.IndexFunc(d.parked, func(p parkedText) bool { return d.isCopy(p, value) })
	if i < 0 {
		return provider.Parked{}, false
	}
	return *d.parked[i].copy, true
}

// put makes a value live, and takes its copies away in the same call. A value
// that is live already stays as it is.
func (d *draft) put(c record.Change) error {
	copied, found := d.copyOf(c.Value)
	if i, _ := d.at(c.Value); i >= 0 {
		d.dropCopies(c.Value, func(p provider.Parked) bool {
			return int64(p.TTL/time.Second) == d.cells[i].ttl && p.Extra["weight"] == attributes(&d.cells[i].shape)["weight"]
		})
		return nil
	}
	if c.Action == record.Resume && !found {
		return d.refuse(provider.Conflict, "resume %s: the value is neither live nor parked in the list", c.Value)
	}
	kept, err := shape(copied.Extra)
	if err != nil {
		return d.refuse(provider.Permanent, "%s %s: %w", c.Action, c.Value, err)
	}
	if err := d.fitting(c, &kept); err != nil {
		return err
	}
	if err := d.insert(c, kept, copied.TTL); err != nil {
		return err
	}
	d.dropCopies(c.Value, nil)
	return nil
}

// insert puts a new value into its cell: the set's own, or one of its own where
// the values have weights.
func (d *draft) insert(c record.Change, kept rrset, ttl time.Duration) error {
	if d.key.Variant != "" {
		return d.insertVariant(c, kept, ttl)
	}
	if err := d.alone(c, kept); err != nil {
		return err
	}
	if kept.Weight != nil || c.Action == record.Create && c.Weight > 1 {
		d.part()
	}
	m := member{c.Value, c.Value}
	switch {
	case d.parted() || len(d.cells) == 0 && (kept.Weight != nil || c.Weight > 1):
		s := kept
		s.SetIdentifier = aws.String(c.Value)
		if c.Weight > 0 || s.Weight == nil {
			s.Weight = aws.Int64(int64(max(1, c.Weight)))
		}
		d.cells = append(d.cells, cell{shape: s, ttl: d.ttlOf(c, ttl), values: []member{m}})
	case len(d.cells) == 0:
		d.cells = []cell{{shape: rrset{HealthCheckId: kept.HealthCheckId}, ttl: d.ttlOf(c, ttl), values: []member{m}}}
	default:
		d.join(c, m)
	}
	return nil
}

// join adds a value to the one set. The set has one TTL: that of the change
// when it says one, else that of its siblings.
func (d *draft) join(c record.Change, m member) {
	d.cells[0].values = append(d.cells[0].values, m)
	if c.TTL > 0 {
		d.cells[0].ttl = int64(c.TTL / time.Second)
	}
}

// alone refuses a value without a variant beside sets that somebody gave
// identifiers: it would answer in their place, and the API refuses it.
func (d *draft) alone(c record.Change, kept rrset) error {
	if len(d.cells) > 0 || kept.Weight != nil {
		return nil
	}
	for _, s := range d.place.sets {
		if record.Type(s.Type) == d.key.Type && s.SetIdentifier != nil {
			e := d.refuse(provider.Permanent, "%s %s: the name has %s sets, %q is one of them, beside which no plain value can stand", c.Action, c.Value, policy(&s), *s.SetIdentifier)
			e.Hint = "name the set that is meant: variant: " + *s.SetIdentifier
			return e
		}
	}
	return nil
}

// insertVariant adds to the set of an identifier. One that is not there is made
// from what its copy kept; or, beside weighted sets, as another of those. No
// other routing policy could be guessed.
func (d *draft) insertVariant(c record.Change, kept rrset, ttl time.Duration) error {
	m := member{c.Value, c.Value}
	if len(d.cells) > 0 {
		if aws.ToBool(d.cells[0].shape.MultiValueAnswer) {
			return d.refuse(provider.Permanent, "%s %s: a multivalue set has one value, this one has %s", c.Action, c.Value, d.cells[0].values[0].raw)
		}
		d.join(c, m)
		return nil
	}
	if policy(&kept) == "simple" {
		if !d.weighted() {
			e := d.refuse(provider.Permanent, "%s %s: there is no set with the identifier %q, and nothing says which routing policy it should have", c.Action, c.Value, d.key.Variant)
			e.Hint = "make the set once by hand, with its routing policy; sidestep switches its values from then on"
			return e
		}
		kept.Weight = aws.Int64(int64(max(1, c.Weight)))
	}
	kept.SetIdentifier = aws.String(d.key.Variant)
	d.cells = append(d.cells, cell{shape: kept, ttl: d.ttlOf(c, ttl), values: []member{m}})
	return nil
}

// weighted reports whether the name has sets of the type, and all are weighted.
func (d *draft) weighted() bool {
	count := 0
	for _, s := range d.place.sets {
		if record.Type(s.Type) != d.key.Type {
			continue
		}
		if s.Weight == nil {
			return false
		}
		count++
	}
	return count > 0
}

// parted reports whether each value has a set of its own.
func (d *draft) parted() bool {
	return d.key.Variant == "" && len(d.cells) > 0 && d.cells[0].shape.Weight != nil
}

// part gives each value of a plain set a weighted set of its own, all of weight
// 1: each is answered as often as before. What else the plain set had (a health
// check) goes with each.
func (d *draft) part() {
	if d.key.Variant != "" || len(d.cells) == 0 || d.parted() {
		return
	}
	plain := d.cells[0]
	d.cells = nil
	for _, m := range plain.values {
		id := m.value
		if id == "" {
			id = m.raw
		}
		s := plain.shape
		s.SetIdentifier, s.Weight = aws.String(id), aws.Int64(1)
		d.cells = append(d.cells, cell{shape: s, ttl: plain.ttl, values: []member{m}})
	}
}

// ttlOf is the TTL of a new set: what the change says, else its siblings', else
// the copy's.
func (d *draft) ttlOf(c record.Change, copied time.Duration) int64 {
	switch {
	case c.TTL > 0:
		return int64(c.TTL / time.Second)
	case len(d.cells) > 0:
		return d.cells[0].ttl
	case copied > 0:
		return int64(copied / time.Second)
	}
	return defaultTTL
}

// dropCopies removes the readable copies of a value, or those of them that
// match: others say something that nobody here understands, and stay.
func (d *draft) dropCopies(value string, match func(provider.Parked) bool) {
	d.parked = slices.DeleteFunc(d.parked, func(p parkedText) bool {
		return d.isCopy(p, value) && (match == nil || match(*p.copy))
	})
}

// pause takes a value out and leaves a copy in the place of older ones.
func (d *draft) pause(c record.Change) error {
	i, j := d.at(c.Value)
	if i < 0 {
		if _, copied := d.copyOf(c.Value); copied {
			return nil
		}
		return d.refuse(provider.Conflict, "pause %s: the value is neither live nor parked in the list", c.Value)
	}
	d.park(i, c.Value)
	d.cells[i].values = slices.Delete(d.cells[i].values, j, j+1)
	if len(d.cells[i].values) == 0 {
		d.cells = slices.Delete(d.cells, i, i+1)
	}
	return nil
}

// park leaves a copy of a value with the attributes of its cell.
func (d *draft) park(i int, value string) {
	d.dropCopies(value, nil)
	c := d.cells[i]
	extra := attributes(&c.shape)
	if d.key.Variant == "" {
		delete(extra, "set")
	}
	copied := provider.Parked{Type: d.key.Type, Value: value, TTL: time.Duration(c.ttl) * time.Second, Extra: extra}
	d.parked = append(d.parked, parkedText{raw: formatText(copied.String()), copy: &copied})
}

// swap puts a value in the place of another, which is parked.
func (d *draft) swap(c record.Change) error {
	from, err := record.ParseValue(d.key.Type, c.From)
	if err != nil {
		return d.refuse(provider.Permanent, "swap: %w", err)
	}
	i, j := d.at(from)
	switch {
	case i < 0 && d.has(c.Value):
		return nil
	case i < 0:
		return d.refuse(provider.Conflict, "swap %s for %s: the old value is not live in the list", from, c.Value)
	case d.has(c.Value):
		return d.pause(record.Change{Action: record.Pause, Key: d.key, Value: from})
	}
	d.park(i, from)
	d.dropCopies(c.Value, nil)
	d.cells[i].values[j] = member{c.Value, c.Value}
	if d.parted() {
		d.cells[i].shape.SetIdentifier = aws.String(c.Value)
	}
	if c.TTL > 0 {
		d.cells[i].ttl = int64(c.TTL / time.Second)
	}
	d.swapped = from
	return nil
}

// setTTL changes the TTL of the set that a value is in, and of its copies.
func (d *draft) setTTL(c record.Change) error {
	i, _ := d.at(c.Value)
	_, copied := d.copyOf(c.Value)
	if i < 0 && !copied {
		return d.refuse(provider.Conflict, "ttl %s: the value is neither live nor parked in the list", c.Value)
	}
	if i >= 0 {
		d.cells[i].ttl = int64(c.TTL / time.Second)
	}
	d.rewrite(c.Value, func(p *provider.Parked) { p.TTL = c.TTL })
	return nil
}

// rewrite changes the copies of a value.
func (d *draft) rewrite(value string, change func(*provider.Parked)) {
	for i, p := range d.parked {
		if d.isCopy(p, value) {
			copied := *p.copy
			change(&copied)
			d.parked[i] = parkedText{raw: formatText(copied.String()), copy: &copied}
		}
	}
}

// after is what the cells become.
func (d *draft) after() []rrset {
	var sets []rrset
	for _, c := range d.cells {
		s := c.shape
		if s.Name == nil {
			s.Name = aws.String(string(d.key.Name))
		}
		s.Type, s.TTL = types.RRType(d.key.Type), aws.Int64(c.ttl)
		for _, m := range c.values {
			s.ResourceRecords = append(s.ResourceRecords, types.ResourceRecord{Value: aws.String(m.raw)})
		}
		sets = append(sets, s)
	}
	return sets
}

// parkedAfter is what the set of parked copies becomes.
func (d *draft) parkedAfter() []rrset {
	if len(d.parked) == 0 {
		return nil
	}
	s := rrset{Name: aws.String(string(provider.ParkedName(d.key.Name))), TTL: aws.Int64(parkedTTL)}
	if len(d.place.parked) > 0 {
		s = d.place.parked[0]
		s.ResourceRecords = nil
	}
	s.Type = types.RRTypeTxt
	for _, p := range d.parked {
		s.ResourceRecords = append(s.ResourceRecords, types.ResourceRecord{Value: aws.String(p.raw)})
	}
	return []rrset{s}
}
