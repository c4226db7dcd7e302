package providertest

import "strings"

// Names are those of an API that gives them relative to the zone.
type Names struct {
	Zone string // without a dot at its end
	Apex string // how the API names the zone's own: "@", or ""
}

// Absolute is a name of the API in full, in lower case.
func (n Names) Absolute(name string) string {
	if name == n.Apex {
		return n.Zone + "."
	}
	return strings.ToLower(name) + "." + n.Zone + "."
}

// Relative is Absolute backwards, for a name in the zone.
func (n Names) Relative(name string) string {
	name = strings.TrimSuffix(name, ".")
	if strings.EqualFold(name, n.Zone) {
		return n.Apex
	}
	return name[:len(name)-len(n.Zone)-1]
}
