package rfc2136

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// setID names a record set as the server has it.
type setID struct {
	name record.Name
	kind uint16
}

// rrset is a record set as the server has it, the data byte for byte.
type rrset struct {
	ttl  uint32
	data []string // rdata, in the order of the list
}

// view is what a Snapshot keeps for the writes that rest on it: exactly what
// prerequisites have to repeat. It is never changed once it was built.
type view struct {
	soa    string // rdata
	sets   map[setID]rrset
	beside map[record.Name]uint16 // names with a record of another type, and one such type
}

// builder turns the records of a transfer into a Snapshot. No record can make
// it fail: what cannot be read is left out and told.
type builder struct {
	zone record.Name
	snap *provider.Snapshot
	view *view
	live map[setID][]record.Answer
	apex bool // the apex has name servers

	owner string // the last owner name as it came, and what became of it
	name  record.Name
	named error
}

func newBuilder(zone record.Name) *builder {
	return &builder{
		zone: zone, snap: &provider.Snapshot{Zone: zone}, live: map[setID][]record.Answer{},
		view: &view{sets: map[setID]rrset{}, beside: map[record.Name]uint16{}},
	}
}

// add takes one record.
func (b *builder) add(r resource) {
	b.snap.Records++
	if r.class != dns.ClassINET {
		b.skip(r, fmt.Errorf("expected class IN, got class %d", r.class))
		return
	}
	name, err := b.nameOf(r.owner)
	if err == nil && !name.In(b.zone) {
		err = fmt.Errorf("not inside %s", b.zone)
	}
	if err != nil {
		b.unnamed(r, err)
		return
	}
	switch r.kind {
	case dns.TypeA, dns.TypeAAAA, dns.TypeCNAME:
		b.steered(name, r)
	case dns.TypeTXT:
		b.text(name, r)
	case dns.TypeNS:
		b.servers(name)
		b.other(name, r.kind)
	case dns.TypeSOA:
		b.soa(r)
	default:
		b.other(name, r.kind)
	}
}

// nameOf reads an owner name; the records of one name follow each other.
func (b *builder) nameOf(owner string) (record.Name, error) {
	if owner != b.owner || b.owner == "" {
		b.owner = owner
		b.name, b.named = record.ParseName(owner)
	}
	return b.name, b.named
}

// unnamed tells about a record under a name that no config can spell, where
// its type is one that is steered. An ownership mark is read all the same: its
// name may carry a prefix before an asterisk.
func (b *builder) unnamed(r resource, err error) {
	if _, steered := typeOf(r.kind); steered {
		b.skip(r, err)
	}
	if r.kind != dns.TypeTXT {
		return
	}
	if data, err := r.rdata(); err == nil {
		b.claimed(r.owner, data)
	}
}

func (b *builder) skip(r resource, err error) {
	b.snap.Skipped = append(b.snap.Skipped, fmt.Sprintf("%s: %v", r, err))
}

// keep puts a record into the view.
func (b *builder) keep(id setID, ttl uint32, data string) {
	set, found := b.view.sets[id]
	if !found {
		set.ttl = ttl
	}
	set.data = append(set.data, data)
	b.view.sets[id] = set
}

// steered takes an A, AAAA or CNAME. One that cannot be an answer stays in the
// view, so that a write of its siblings puts it back.
func (b *builder) steered(name record.Name, r resource) {
	data, err := r.rdata()
	if err != nil {
		b.other(name, r.kind)
		b.skip(r, err)
		return
	}
	id := setID{name, r.kind}
	b.keep(id, r.ttl, data)
	kind, _ := typeOf(r.kind)
	value, err := valueOf(kind, data)
	if err != nil {
		b.skip(r, err)
		return
	}
	b.live[id] = append(b.live[id], record.Answer{Value: value, TTL: seconds(r.ttl), Weight: 1, Live: true})
}

// text takes a TXT: a stamp, a parked copy, another tool's mark, or nothing
// that concerns us.
func (b *builder) text(name record.Name, r resource) {
	b.other(name, r.kind)
	data, err := r.rdata()
	if err != nil {
		b.skip(r, err)
		return
	}
	if _, parked := provider.ParkedOwner(name); parked || name == stampName(b.zone) {
		b.keep(setID{name, r.kind}, r.ttl, data)
		return
	}
	b.claimed(r.owner, data)
}

// other remembers that a name has a record beside what is steered. The records
// of DNSSEC may stand beside a CNAME (RFC 4034) and do not count.
func (b *builder) other(name record.Name, kind uint16) {
	switch kind {
	case dns.TypeRRSIG, dns.TypeNSEC, dns.TypeNSEC3, dns.TypeDNSKEY, dns.TypeKEY, dns.TypeSIG, dns.TypeNXT:
		return
	}
	b.view.beside[name] = kind
}

func (b *builder) servers(name record.Name) {
	if name == b.zone {
		b.apex = true
		return
	}
	if !slices.Contains(b.snap.Delegations[max(0, len(b.snap.Delegations)-1):], name) {
		b.snap.Delegations = append(b.snap.Delegations, name)
	}
}

func (b *builder) soa(r resource) {
	data, err := r.rdata()
	if err != nil {
		b.skip(r, err)
		return
	}
	b.view.soa = data
	b.snap.Version = strconv.FormatUint(uint64(serialOf(data)), 10)
}

// finish merges live and parked and sorts. A zone without a name server at its
// apex is no zone (RFC 1034 section 4.2.1): such a list is half of one.
func (b *builder) finish() (*provider.Snapshot, error) {
	if !b.apex {
		return nil, fmt.Errorf("the list has %d records and no NS at the apex: it cannot be the whole zone", b.snap.Records)
	}
	sets := map[record.Key]map[string]record.Answer{}
	for id, answers := range b.live {
		for _, answer := range answers {
			b.put(sets, id.name, kindOf(id.kind), answer)
		}
	}
	for id, set := range b.view.sets {
		if id.kind == dns.TypeTXT {
			b.marks(sets, id.name, set)
		}
	}
	for key, answers := range sets {
		set := record.Set{Key: key}
		for _, answer := range answers {
			set.Answers = append(set.Answers, answer)
		}
		b.snap.Sets = append(b.snap.Sets, set)
	}
	record.SortSets(b.snap.Sets)
	slices.Sort(b.snap.Delegations)
	b.snap.Delegations = slices.Compact(b.snap.Delegations)
	slices.SortFunc(b.snap.Owners, compareOwners)
	b.snap.Owners = slices.Compact(b.snap.Owners)
	slices.Sort(b.snap.Skipped)
	b.snap.Native = b.view
	return b.snap, nil
}

func kindOf(kind uint16) record.Type {
	t, _ := typeOf(kind)
	return t
}

// put merges an answer with the one of the same value: live and parked at once
// is a legal half-way state, in which the live record's TTL counts.
func (b *builder) put(sets map[record.Key]map[string]record.Answer, name record.Name, kind record.Type, answer record.Answer) {
	key := record.Key{Zone: b.zone, Name: name, Type: kind}
	if sets[key] == nil {
		sets[key] = map[string]record.Answer{}
	}
	have, found := sets[key][answer.Value]
	if found {
		answer.Live, answer.Paused, answer.TTL = answer.Live || have.Live, answer.Paused || have.Paused, have.TTL
	}
	sets[key][answer.Value] = answer
}

// marks reads the stamps or the parked copies of one name, in the order of
// their texts, so that of two copies of one value the same one counts always.
func (b *builder) marks(sets map[record.Key]map[string]record.Answer, name record.Name, set rrset) {
	for _, data := range slices.Sorted(slices.Values(set.data)) {
		text, err := textOf(data)
		if err != nil {
			continue // it was read before it was kept
		}
		owner, parked := provider.ParkedOwner(name)
		if !parked {
			stamp := provider.ParseStamp(text)
			stamp.Native = data
			b.snap.Stamps = append(b.snap.Stamps, stamp)
			continue
		}
		copied, err := provider.ParseParked(text)
		if err != nil {
			b.snap.Skipped = append(b.snap.Skipped, fmt.Sprintf("%s TXT: %v", name, err))
			continue
		}
		b.put(sets, owner, copied.Type, record.Answer{Value: copied.Value, TTL: copied.TTL, Weight: 1, Paused: true})
	}
}

// claimed reads another tool's mark of ownership. The owner name is taken as it
// came: a mark of a wildcard may carry a prefix before the asterisk.
func (b *builder) claimed(owner, data string) {
	text, err := textOf(data)
	if err != nil {
		return // it was read before
	}
	for _, claim := range provider.ParseOwners(record.Name(strings.ToLower(owner)), text) {
		if name, err := record.ParseName(string(claim.Name)); err == nil && name.In(b.zone) {
			b.snap.Owners = append(b.snap.Owners, provider.Owner{Name: name, Owner: claim.Owner})
		}
	}
}

func compareOwners(a, b provider.Owner) int {
	return strings.Compare(string(a.Name)+" "+a.Owner, string(b.Name)+" "+b.Owner)
}

func stampName(zone record.Name) record.Name { return zone.Below(provider.StampLabel) }

func seconds(ttl uint32) time.Duration { return time.Duration(ttl) * time.Second }
