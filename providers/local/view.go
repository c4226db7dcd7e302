package local

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// viewer makes the snapshot of a document.
type viewer struct {
	doc  *document
	snap *provider.Snapshot
	sets map[record.Key]int // the place of each in snap
}

// snapshot lists a document. Its Native is the document itself, which a later
// write is compared with.
func (d *document) snapshot() *provider.Snapshot {
	v := &viewer{
		doc:  d,
		snap: &provider.Snapshot{Zone: d.zone, Version: strconv.FormatUint(uint64(d.serial()), 10), Native: d},
		sets: map[record.Key]int{},
	}
	for i := range d.statements {
		if s := &d.statements[i]; s.rr != nil {
			v.snap.Records++
			if err := v.see(s); err != nil {
				v.snap.Skipped = append(v.snap.Skipped, fmt.Sprintf("line %d: %s: %v", s.line, strings.Join(strings.Fields(s.text), " "), err))
			}
		}
	}
	v.collect()
	return v.snap
}

// see takes one record into the snapshot; its error says why it cannot.
func (v *viewer) see(s *statement) error {
	switch rr := s.rr.(type) {
	case *dns.A, *dns.AAAA, *dns.CNAME:
		return v.seeLive(s)
	case *dns.TXT:
		return v.seeText(s, textOf(rr))
	case *dns.NS:
		if name, err := v.name(s); err == nil && name != v.doc.zone && !slices.Contains(v.snap.Delegations, name) {
			v.snap.Delegations = append(v.snap.Delegations, name)
		}
	}
	return nil
}

func (v *viewer) seeLive(s *statement) error {
	name, err := v.name(s)
	if err != nil {
		return err
	}
	kind := record.Type(dns.TypeToString[s.rr.Header().Rrtype])
	value, err := valueOf(s.rr)
	if err != nil {
		return err
	}
	answer := v.answer(record.Key{Zone: v.doc.zone, Name: name, Type: kind}, value)
	answer.Live, answer.TTL = true, seconds(s.rr.Header().Ttl)
	return nil
}

func (v *viewer) seeText(s *statement, text string) error {
	if s.name == string(v.doc.zone.Below(provider.StampLabel)) {
		v.snap.Stamps = append(v.snap.Stamps, provider.ParseStamp(text))
		return nil
	}
	if owner, ok := provider.ParkedOwner(record.Name(s.name)); ok {
		return v.seeParked(owner, text)
	}
	if name, err := v.name(s); err == nil { // a claim on a name that cannot be steered claims nothing
		v.snap.Owners = append(v.snap.Owners, provider.ParseOwners(name, text)...)
	}
	return nil
}

func (v *viewer) seeParked(owner record.Name, text string) error {
	name, err := readName(string(owner), v.doc.zone)
	if err != nil {
		return err
	}
	parked, err := provider.ParseParked(text)
	if err != nil {
		return err
	}
	answer := v.answer(record.Key{Zone: v.doc.zone, Name: name, Type: parked.Type}, parked.Value)
	answer.Paused = true
	if !answer.Live {
		answer.TTL = parked.TTL
	}
	return nil
}

// answer is the one for a value, made when it is first seen. It is good until the
// next one is asked for.
func (v *viewer) answer(key record.Key, value string) *record.Answer {
	place, known := v.sets[key]
	if !known {
		place = len(v.snap.Sets)
		v.sets[key] = place
		v.snap.Sets = append(v.snap.Sets, record.Set{Key: key})
	}
	set := &v.snap.Sets[place]
	i := slices.IndexFunc(set.Answers, func(a record.Answer) bool { return a.Value == value })
	if i < 0 {
		i = len(set.Answers)
		set.Answers = append(set.Answers, record.Answer{Value: value, Weight: 1})
	}
	return &set.Answers[i]
}

// collect brings the snapshot in order, without the room that its lists were left
// for more: the controller keeps it until the next.
func (v *viewer) collect() {
	for i := range v.snap.Sets {
		v.snap.Sets[i].Answers = slices.Clone(v.snap.Sets[i].Answers)
	}
	record.SortSets(v.snap.Sets)
	slices.Sort(v.snap.Delegations)
	slices.SortFunc(v.snap.Owners, func(a, b provider.Owner) int { return cmp.Compare(a.Name, b.Name) })
}

func (v *viewer) name(s *statement) (record.Name, error) { return readName(s.name, v.doc.zone) }

// readName reads an owner. A name with octets beyond ASCII is not the A-label
// that it would be mapped to, and one with escapes is none of a host.
func readName(owner string, zone record.Name) (record.Name, error) {
	if strings.ContainsFunc(owner, func(r rune) bool { return r > '~' }) {
		return "", fmt.Errorf("name %q: octets beyond ASCII; write the A-label (xn--...)", owner)
	}
	name, err := record.ParseName(owner)
	if err != nil {
		return "", err
	}
	if !name.In(zone) {
		return "", fmt.Errorf("name %s: not inside the zone %s", name, zone)
	}
	return name, nil
}

// valueOf is the canonical value of a record that can be an answer.
func valueOf(rr dns.RR) (string, error) {
	switch rr := rr.(type) {
	case *dns.A:
		return addressOf(record.A, rr.A)
	case *dns.AAAA:
		return addressOf(record.AAAA, rr.AAAA)
	case *dns.CNAME:
		name, err := readName(rr.Target, ".")
		return string(name), err
	}
	return "", errors.New("not a record that can be steered")
}

func addressOf(kind record.Type, ip net.IP) (string, error) {
	addr, ok := netip.AddrFromSlice(ip)
	if !ok {
		return "", fmt.Errorf("not an address: %v", ip)
	}
	if kind == record.A {
		addr = addr.Unmap()
	}
	return record.ParseValue(kind, addr.String())
}

// newRecord makes the live record of a value.
func newRecord(key record.Key, value string, ttl uint32) (dns.RR, error) {
	header := dns.RR_Header{Name: string(key.Name), Class: dns.ClassINET, Ttl: ttl, Rrtype: rrtype(key.Type)}
	if key.Type == record.CNAME {
		return &dns.CNAME{Hdr: header, Target: value}, nil
	}
	addr, err := record.ParseAddress(value)
	if err != nil {
		return nil, err
	}
	if key.Type == record.A {
		return &dns.A{Hdr: header, A: addr.AsSlice()}, nil
	}
	return &dns.AAAA{Hdr: header, AAAA: addr.AsSlice()}, nil
}

func rrtype(kind record.Type) uint16 { return dns.StringToType[string(kind)] }

func seconds(ttl uint32) time.Duration { return time.Duration(ttl) * time.Second }
