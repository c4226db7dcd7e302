package record

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Type is a resource record type by its mnemonic, upper case.
type Type string

// The types that sidestep steers or writes itself.
const (
	A     Type = "A"
	AAAA  Type = "AAAA"
	CNAME Type = "CNAME"
	TXT   Type = "TXT"
)

// Single reports whether a name can have only one value of this type
// (RFC 1034 section 3.6.2 for CNAME): such a set is swapped, never added to.
func (t Type) Single() bool { return t == CNAME }

// ParseType reads the type of a record set that can be steered.
func ParseType(s string) (Type, error) {
	switch t := Type(strings.ToUpper(s)); t {
	case A, AAAA, CNAME:
		return t, nil
	}
	return "", fmt.Errorf("read type %q: expected A, AAAA or CNAME", s)
}

// ParseValue makes the canonical form of a value. Addresses in a spelling that
// programs read differently (leading zeros, IPv4 mapped into IPv6, a zone) are
// refused, as are those that no public name can mean.
func ParseValue(t Type, s string) (string, error) {
	text := strings.TrimSpace(s)
	switch t {
	case A, AAAA:
		addr, err := ParseAddress(text)
		if err != nil {
			return "", err
		}
		if addr.Is4() != (t == A) {
			return "", fmt.Errorf("read value %q: expected an address for %s, got one of the other family", s, t)
		}
		return addr.String(), nil
	case CNAME:
		name, err := ParseName(text)
		if err != nil {
			return "", err
		}
		return string(name), nil
	}
	return s, nil
}

// InferType tells the type that a value must belong to: A or AAAA for an
// address, CNAME for a name.
func InferType(s string) (Type, error) {
	addr, err := ParseAddress(strings.TrimSpace(s))
	if err == nil {
		if addr.Is4() {
			return A, nil
		}
		return AAAA, nil
	}
	if looksLikeAddress(s) {
		return "", err
	}
	if _, nameErr := ParseName(s); nameErr != nil {
		return "", fmt.Errorf("read value %q: neither an address nor a name: %w", s, nameErr)
	}
	return CNAME, nil
}

// looksLikeAddress keeps "192.0.2.010" or "300.1.1.1" from being taken for a
// host name: no top-level domain is all digits (RFC 3696 section 2).
func looksLikeAddress(s string) bool {
	text := strings.TrimSuffix(strings.TrimSpace(s), ".")
	last := text[strings.LastIndex(text, ".")+1:]
	return strings.Contains(text, ":") || last != "" && strings.Trim(last, "0123456789") == ""
}

// expectedAddress says what an address looks like of the family that was tried.
func expectedAddress(s string) string {
	octets := strings.Split(s, ".")
	padded := func(o string) bool { return len(o) > 1 && o[0] == '0' }
	switch {
	case strings.Contains(s, ":"):
		return "expected an IPv6 address such as 2001:db8::10"
	case !looksLikeAddress(s):
		return "expected an IPv4 or IPv6 address"
	case len(octets) == 4 && slices.ContainsFunc(octets, padded):
		return "expected numbers without leading zeros, which some programs read as octal"
	}
	return "expected four numbers from 0 to 255 with dots between them"
}

// ParseAddress reads an address that a name may answer with.
func ParseAddress(s string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(s)
	if err != nil {
		if _, err := netip.ParseAddrPort(s); err == nil {
			return netip.Addr{}, fmt.Errorf("read address %q: an address has no port here", s)
		}
		return netip.Addr{}, fmt.Errorf("read address %q: %s", s, expectedAddress(s))
	}
	what := ""
	switch {
	case addr.Zone() != "":
		what = "an address with a zone"
	case addr.Is4In6():
		what = "an IPv4 address mapped into IPv6"
	case addr.IsUnspecified():
		what = "the unspecified address"
	case addr.IsMulticast():
		what = "a multicast address"
	case addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		what = "the broadcast address"
	case addr.IsLinkLocalUnicast():
		what = "a link-local address"
	}
	if what != "" {
		return netip.Addr{}, fmt.Errorf("read address %q: %s cannot be an answer", s, what)
	}
	return addr, nil
}
