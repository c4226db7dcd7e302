package daemon

import (
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/config"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// RecordSets finds the record sets of a config that a name means, whole or
// without its zone, of every type or of one, in the order of the config. Where
// there is none the error says which name is near.
func RecordSets(c *config.Config, name, kind string) ([]*steer.Spec, error) {
	var wanted record.Type
	if kind != "" {
		var err error
		if wanted, err = record.ParseType(kind); err != nil {
			return nil, err
		}
	}
	var sets []*steer.Spec
	var types []string
	for _, spec := range c.Records {
		if whole, err := record.ParseNameIn(name, spec.Key.Zone); err != nil || whole != spec.Key.Name {
			continue
		}
		types = append(types, string(spec.Key.Type))
		if wanted == "" || wanted == spec.Key.Type {
			sets = append(sets, spec)
		}
	}
	switch {
	case len(types) == 0:
		return nil, fmt.Errorf("the config has no record set of that name%s", meant(c, name))
	case len(sets) == 0:
		return nil, fmt.Errorf("the config has no record set of that name and type %s; it has %s", wanted, strings.Join(types, ", "))
	}
	return sets, nil
}

// meant is what a text may have been meant for that names no record set, as the
// end of a sentence: what else it is and which names rest on it, or the nearest
// name. It is empty when nothing is near.
func meant(c *config.Config, text string) string {
	what := ""
	var names []string
	rest := func(kind string, rests func(*steer.Spec, steer.Answer) bool) {
		for _, spec := range c.Records {
			for i := range spec.Len() {
				if name := spec.Key.Name.Unrooted(); rests(spec, spec.At(i)) && !slices.Contains(names, name) {
					what, names = kind, append(names, name)
				}
			}
		}
	}
	if slices.ContainsFunc(c.Sites, func(s scenario.Site) bool { return s.Name == text }) {
		what = "a site"
	}
	rest("a site", func(_ *steer.Spec, a steer.Answer) bool { return text != "" && a.Site == text })
	if what == "" {
		rest("an address", func(spec *steer.Spec, a steer.Answer) bool { return atAddress(spec, a, text) })
	}
	if what == "" {
		rest("a target", func(spec *steer.Spec, a steer.Answer) bool {
			check, address, found := strings.Cut(text, "@")
			return found && slices.Contains(spec.Checks, check) && atAddress(spec, a, address)
		})
	}
	switch {
	case len(names) > 0:
		return fmt.Sprintf("; it is %s, and on it rest: %s", what, someOf(names))
	case what != "":
		return fmt.Sprintf("; it is %s, and no name has an answer there", what)
	}
	return nearName(c, text)
}

func atAddress(spec *steer.Spec, a steer.Answer, text string) bool {
	for _, t := range []record.Type{spec.Key.Type, record.A, record.AAAA} {
		if value, err := record.ParseValue(t, text); err == nil && (value == a.Value || value == a.Probe) {
			return true
		}
	}
	return false
}

// nearName suggests a name of the config, whole or without its zone.
func nearName(c *config.Config, text string) string {
	whole := map[string]string{}
	var known []string
	for _, spec := range c.Records {
		name := spec.Key.Name.Unrooted()
		for _, way := range []string{name, strings.TrimSuffix(name, "."+spec.Key.Zone.Unrooted())} {
			if whole[way] == "" {
				whole[way], known = name, append(known, way)
			}
		}
	}
	if near := config.Nearest(strings.TrimSuffix(text, "."), known); near != "" {
		return "; perhaps " + whole[near]
	}
	return ""
}

// someOf is a list that stays short.
func someOf(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
