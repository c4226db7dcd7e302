package rfc2136

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

// message is a reply of which only the frame was read: its records are bytes
// with an owner, a type and a TTL, so that no rdata can spoil the whole.
type message struct {
	wire      []byte
	id        uint16
	rcode     int
	response  bool
	answer    []resource
	signature *dns.TSIG // nil when the message is not signed
	signedLen int       // octets before the signature
}

// resource is one record of a message.
type resource struct {
	owner string // presentation form, letter case as it came
	kind  uint16
	class uint16
	ttl   uint32
	wire  []byte // the whole message, which compressed names point into
	start int    // of the record
	data  int    // of its rdata
	end   int
}

const headerLen = 12

var errShort = errors.New("the message ends inside a record")

// parseMessage reads the frame of a message (RFC 1035 section 4.1).
func parseMessage(wire []byte) (*message, error) {
	if len(wire) < headerLen {
		return nil, fmt.Errorf("read message: %d octets, fewer than a header's %d", len(wire), headerLen)
	}
	count := func(at int) int { return int(binary.BigEndian.Uint16(wire[at:])) }
	m := &message{wire: wire, id: binary.BigEndian.Uint16(wire), rcode: int(wire[3] & 0xf), response: wire[2]&0x80 != 0}
	off := headerLen
	for range count(4) {
		_, next, err := dns.UnpackDomainName(wire, off)
		if err != nil || next+4 > len(wire) {
			return nil, fmt.Errorf("read message: the question: %w", errors.Join(err, errShort))
		}
		off = next + 4
	}
	var err error
	for range count(6) {
		var r resource
		if r, off, err = parseResource(wire, off); err != nil {
			return nil, fmt.Errorf("read message: answer %d: %w", len(m.answer)+1, err)
		}
		m.answer = append(m.answer, r)
	}
	if off, err = skip(wire, off, count(8)); err != nil {
		return nil, fmt.Errorf("read message: authority section: %w", err)
	}
	return m, m.parseAdditional(off, count(10))
}

// parseAdditional looks for the signature, which is the last record of all.
func (m *message) parseAdditional(off, count int) error {
	if count == 0 {
		return nil
	}
	off, err := skip(m.wire, off, count-1)
	if err != nil {
		return fmt.Errorf("read message: additional section: %w", err)
	}
	last, _, err := parseResource(m.wire, off)
	if err != nil {
		return fmt.Errorf("read message: additional section: %w", err)
	}
	if last.kind != dns.TypeTSIG {
		return nil
	}
	rr, _, err := dns.UnpackRR(m.wire, last.start)
	if err != nil {
		return fmt.Errorf("read message: signature: %w", err)
	}
	sig, ok := rr.(*dns.TSIG)
	if !ok {
		return fmt.Errorf("read message: signature: expected TSIG, got %T", rr)
	}
	m.signature, m.signedLen = sig, last.start
	return nil
}

func skip(wire []byte, off, count int) (int, error) {
	var err error
	for range count {
		if _, off, err = parseResource(wire, off); err != nil {
			return off, err
		}
	}
	return off, nil
}

func parseResource(wire []byte, off int) (resource, int, error) {
	owner, data, err := dns.UnpackDomainName(wire, off)
	if err != nil {
		return resource{}, off, fmt.Errorf("owner name: %w", err)
	}
	if data+10 > len(wire) {
		return resource{}, off, errShort
	}
	r := resource{
		owner: owner,
		kind:  binary.BigEndian.Uint16(wire[data:]),
		class: binary.BigEndian.Uint16(wire[data+2:]),
		ttl:   binary.BigEndian.Uint32(wire[data+4:]),
		wire:  wire, start: off, data: data + 10,
	}
	r.end = r.data + int(binary.BigEndian.Uint16(wire[data+8:]))
	if r.end > len(wire) {
		return resource{}, off, errShort
	}
	return r, r.end, nil
}

// String names the record for people: "www.example.com. A".
func (r resource) String() string { return r.owner + " " + kindName(r.kind) }

func kindName(kind uint16) string {
	if name, known := dns.TypeToString[kind]; known {
		return name
	}
	return fmt.Sprintf("TYPE%d", kind)
}

// rdata is the record's data with its names written out, for the types that
// are read here. It is an error when the octets cannot be that type's.
func (r resource) rdata() (string, error) {
	raw := r.wire[r.data:r.end]
	switch r.kind {
	case dns.TypeA:
		return exactly(raw, 4)
	case dns.TypeAAAA:
		return exactly(raw, 16)
	case dns.TypeTXT:
		_, err := textOf(string(raw))
		return string(raw), err
	case dns.TypeCNAME, dns.TypeNS:
		name, end, err := r.name(r.data)
		if err == nil && end != r.end {
			err = fmt.Errorf("expected one name, got %d octets more", r.end-end)
		}
		return name, err
	case dns.TypeSOA:
		return r.soa()
	}
	return string(raw), nil
}

func exactly(raw []byte, n int) (string, error) {
	if len(raw) != n {
		return "", fmt.Errorf("expected %d octets, got %d", n, len(raw))
	}
	return string(raw), nil
}

// name writes out the name at an offset, in wire form, and returns where it
// ends.
func (r resource) name(off int) (string, int, error) {
	text, end, err := dns.UnpackDomainName(r.wire, off)
	if err != nil {
		return "", off, err
	}
	if end > r.end {
		return "", off, errShort
	}
	name, err := packName(text)
	return name, end, err
}

func (r resource) soa() (string, error) {
	primary, off, err := r.name(r.data)
	if err != nil {
		return "", fmt.Errorf("primary server: %w", err)
	}
	mailbox, off, err := r.name(off)
	if err != nil {
		return "", fmt.Errorf("mailbox: %w", err)
	}
	numbers, err := exactly(r.wire[off:r.end], 20)
	return primary + mailbox + numbers, err
}

// serialOf is the serial of an SOA's rdata: the first of its last five numbers.
func serialOf(soa string) uint32 {
	if len(soa) < 20 {
		return 0
	}
	return binary.BigEndian.Uint32([]byte(soa[len(soa)-20:]))
}

// packName is a name in wire form, without compression.
func packName(name string) (string, error) {
	buf := make([]byte, 256)
	n, err := dns.PackDomainName(name, buf, 0, nil, false)
	if err != nil {
		return "", fmt.Errorf("pack name %q: %w", name, err)
	}
	return string(buf[:n]), nil
}

// textOf joins the character strings of a TXT record (RFC 1035 section 3.3.14).
func textOf(data string) (string, error) {
	if data == "" {
		return "", errors.New("a TXT record without a string")
	}
	var text strings.Builder
	for len(data) > 0 {
		n := int(data[0])
		if n >= len(data) {
			return "", errShort
		}
		text.WriteString(data[1 : 1+n])
		data = data[1+n:]
	}
	return text.String(), nil
}

// textData splits a text into character strings of at most 255 octets.
func textData(text string) string {
	var data strings.Builder
	for {
		n := min(len(text), 255)
		data.WriteByte(byte(n))
		data.WriteString(text[:n])
		if text = text[n:]; text == "" {
			return data.String()
		}
	}
}

// kinds are the types that are steered.
var kinds = map[record.Type]uint16{record.A: dns.TypeA, record.AAAA: dns.TypeAAAA, record.CNAME: dns.TypeCNAME}

// typeOf is the inverse of kinds; false for types that are not steered.
func typeOf(kind uint16) (record.Type, bool) {
	switch kind {
	case dns.TypeA:
		return record.A, true
	case dns.TypeAAAA:
		return record.AAAA, true
	case dns.TypeCNAME:
		return record.CNAME, true
	}
	return "", false
}

// valueOf reads a steered record's rdata as the canonical value.
func valueOf(kind record.Type, data string) (string, error) {
	if kind == record.CNAME {
		target, _, err := dns.UnpackDomainName([]byte(data), 0)
		if err != nil {
			return "", err
		}
		return record.ParseValue(kind, target)
	}
	addr, ok := netip.AddrFromSlice([]byte(data))
	if !ok {
		return "", fmt.Errorf("%d octets are no address", len(data))
	}
	return record.ParseValue(kind, addr.String())
}

// dataOf is the rdata of a canonical value.
func dataOf(kind record.Type, value string) (string, error) {
	canonical, err := record.ParseValue(kind, value)
	if err != nil {
		return "", err
	}
	if kind == record.CNAME {
		return packName(canonical)
	}
	addr, err := netip.ParseAddr(canonical)
	if err != nil {
		return "", err
	}
	return string(addr.AsSlice()), nil
}
