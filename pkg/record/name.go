package record

import (
	"fmt"
	"strings"

	"golang.org/x/net/idna"
)

// Name is a canonical absolute domain name: lower case, A-labels, final dot.
// Make one with ParseName or ParseNameIn; the zero value is no name at all.
type Name string

// MaxName is the longest name in presentation form that still fits 255 octets
// on the wire (RFC 1035 section 2.3.4): one length octet a label and the root.
const MaxName = 254

// profile maps Unicode to A-labels as browsers and registrars do (UTS 46,
// non-transitional), and lets the underscore and the asterisk of service and
// wildcard names pass.
var profile = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(false),
	idna.VerifyDNSLength(false),
)

// ParseName reads an absolute name, with or without the final dot, in any
// letter case, in Unicode or A-labels.
func ParseName(s string) (Name, error) {
	text := strings.TrimSuffix(strings.TrimSpace(s), ".")
	if text == "" {
		return "", fmt.Errorf("read name %q: expected a domain name, got nothing", s)
	}
	if plain(text) && len(text) < MaxName {
		return Name(text + "."), nil
	}
	labels := strings.Split(text, ".")
	for i, label := range labels {
		canonical, err := parseLabel(label, i == 0)
		if err != nil {
			return "", fmt.Errorf("read name %q: %w", s, err)
		}
		labels[i] = canonical
	}
	name := strings.Join(labels, ".") + "."
	if len(name) > MaxName {
		return "", fmt.Errorf("read name %q: %d octets, more than the %d that a name may have", s, len(name), MaxName)
	}
	return Name(name), nil
}

func parseLabel(label string, first bool) (string, error) {
	switch {
	case label == "":
		return "", fmt.Errorf("an empty label")
	case label == "*" && first:
		return label, nil
	case strings.Contains(label, "*"):
		return "", fmt.Errorf("label %q: an asterisk stands only alone and first", label)
	}
	canonical, err := profile.ToASCII(label)
	if err != nil {
		return "", fmt.Errorf("label %q: %w", label, err)
	}
	canonical = strings.ToLower(canonical)
	if canonical == "" || strings.Contains(canonical, ".") {
		return "", fmt.Errorf("label %q: not one label once it is mapped", label)
	}
	if len(canonical) > 63 {
		return "", fmt.Errorf("label %q: %d octets, more than 63", label, len(canonical))
	}
	for _, c := range canonical {
		if !plainLabelRune(c) {
			return "", fmt.Errorf("label %q: %q is no character of a host or service name", label, c)
		}
	}
	// Bytes that are no text have A-labels that nobody can read back.
	if again, err := profile.ToASCII(canonical); err != nil || again != canonical {
		return "", fmt.Errorf("label %q: its A-label %q does not lead back to it", label, canonical)
	}
	return canonical, nil
}

// plain reports whether a name is canonical on the face of it, as almost all are
// in a zone of many: it spares them the tables of Unicode. A label that has two
// hyphens in a row, or one at an end, may have rules to obey.
func plain(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.Contains(label, "--") {
			return false
		}
		for _, c := range []byte(label) {
			if !plainLabelRune(rune(c)) {
				return false
			}
		}
	}
	return true
}

func plainLabelRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// ParseNameIn reads a name as people write it in the config of a zone: "@" or
// nothing for the apex, an absolute name inside the zone with or without the
// final dot, or a short name of labels below it. A name with a final dot is
// never short. "a.example.net" in zone "example.com." has no final dot and
// does not end in the zone: it is refused rather than guessed, because both
// readings have burnt people; write "a.example.net.example.com." for it.
// A single label without a dot is always short.
func ParseNameIn(s string, zone Name) (Name, error) {
	text := strings.TrimSpace(s)
	if text == "" || text == "@" {
		return zone, nil
	}
	name, err := ParseName(text)
	if err != nil {
		return "", err
	}
	if name.In(zone) {
		return name, nil
	}
	if strings.Contains(text, ".") {
		return "", fmt.Errorf("read name %q: it is not inside the zone %s", s, zone)
	}
	return ParseName(text + "." + string(zone))
}

// In reports whether the name is the zone's apex or below it, by whole labels.
func (n Name) In(zone Name) bool {
	return n == zone || zone == "." || strings.HasSuffix(string(n), "."+string(zone))
}

// Relative is the name without the zone, "@" for the apex: the form that
// libdns and most providers' APIs use.
func (n Name) Relative(zone Name) string {
	if n == zone {
		return "@"
	}
	return strings.TrimSuffix(string(n), "."+string(zone))
}

// Below puts a label in front of the name.
func (n Name) Below(label string) Name { return Name(label + "." + string(n)) }

// Parent is the name without its first label; false at the root.
func (n Name) Parent() (Name, bool) {
	_, rest, found := strings.Cut(string(n), ".")
	if !found || rest == "" {
		return "", false
	}
	return Name(rest), true
}

// Wildcard reports whether the first label is an asterisk (RFC 4592).
func (n Name) Wildcard() bool { return strings.HasPrefix(string(n), "*.") }

// Unrooted is the name without the final dot, as URLs and certificates have it.
func (n Name) Unrooted() string { return strings.TrimSuffix(string(n), ".") }

// Shown is the name for people: as it is, and when it has A-labels also as it
// reads in Unicode.
func (n Name) Shown() string {
	if !strings.Contains(string(n), "xn--") {
		return string(n)
	}
	text, err := profile.ToUnicode(string(n))
	if err != nil || text == string(n) {
		return string(n)
	}
	return string(n) + " (" + text + ")"
}
