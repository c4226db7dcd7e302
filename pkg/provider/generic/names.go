package generic

import (
	"fmt"
	"strings"

	"sidestep/pkg/record"
)

// names reads the names of one list. libdns has them relative to the zone, "@"
// for the apex; some modules give absolute ones all the same, with or without
// the final dot, in any letter case, in Unicode or A-labels.
type names struct {
	zone     record.Name
	relative bool // names that are relative for certain are in the list

	text string // the last name as it was listed, and what became of it: those of a set follow each other
	name record.Name
	err  error
}

// readNames looks through a whole list for what its names are.
func readNames(zone record.Name, entries []entry) *names {
	n := &names{zone: zone}
	for _, e := range entries {
		text := strings.TrimSpace(e.rr.Name)
		if _, inside := n.inside(text); !inside && !strings.HasSuffix(text, ".") {
			n.relative = true
			break
		}
	}
	return n
}

// inside is a name as an absolute one, when it lies in the zone.
func (n *names) inside(text string) (record.Name, bool) {
	if ascii(text) && !hasSuffixFold(strings.TrimSuffix(text, "."), n.zone.Unrooted()) {
		return "", false // most names of most lists: not worth more
	}
	name, err := record.ParseName(text)
	return name, err == nil && name.In(n.zone)
}

// read is the absolute name that a listed one means.
func (n *names) read(text string) (record.Name, error) {
	if text != n.text || n.name == "" && n.err == nil {
		n.text = text
		n.name, n.err = n.parse(strings.TrimSpace(text))
	}
	return n.name, n.err
}

func (n *names) parse(text string) (record.Name, error) {
	if text == "" || text == "@" {
		return n.zone, nil
	}
	name, inside := n.inside(text)
	switch {
	case strings.HasSuffix(text, ".") && inside:
		return name, nil
	case strings.HasSuffix(text, "."):
		return "", fmt.Errorf("the name %q is not inside %s", text, n.zone)
	case inside && n.relative:
		return "", fmt.Errorf("the name %q may be meant relative to the zone or absolute: rename the record at the provider", text)
	case inside:
		return name, nil
	}
	return record.ParseName(text + "." + string(n.zone))
}

// possible lists what a name may mean that has two readings.
func (n *names) possible(text string) []record.Name {
	name, inside := n.inside(text)
	if !inside || strings.HasSuffix(strings.TrimSpace(text), ".") {
		return nil
	}
	both := []record.Name{name}
	if long, err := record.ParseName(strings.TrimSpace(text) + "." + string(n.zone)); err == nil {
		both = append(both, long)
	}
	return both
}

// absolute is a name that may be no host name, for marks of other tools.
func (n *names) absolute(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	switch {
	case text == "" || text == "@":
		return string(n.zone)
	case strings.HasSuffix(text, "."):
		return text
	case !n.relative && (text == n.zone.Unrooted() || strings.HasSuffix(text, "."+n.zone.Unrooted())):
		return text + "."
	}
	return text + "." + string(n.zone)
}

func ascii(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return c > '~' }) < 0
}

func hasSuffixFold(text, suffix string) bool {
	return len(text) >= len(suffix) && strings.EqualFold(text[len(text)-len(suffix):], suffix)
}
