package config

import (
	"fmt"
	"net/netip"
	"slices"

	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// entry is one value of a record set as the file has it.
type entry struct {
	at    *item // the value itself, where messages point
	whole *item // the mapping that it is in; nil for a plain value
	probe *item // nil where none is given
}

// values reads the answers, those for disasters and the fallback list, and the
// type they share.
func (b *builder) values(it *item, spec *steer.Spec) {
	answers, fallback := entries(it.at("answers")), entries(it.at("fallback"))
	if it.at("answers").shape == list && len(it.at("answers").items) == 0 {
		b.fail(it.at("answers").pos, it.at("answers").path(), "expected at least one answer, got an empty list", "")
	}
	spec.Key.Type = get[record.Type](it.at("type"))
	if spec.Key.Type == "" && it.at("type").shape == absent {
		spec.Key.Type = inferType(answers)
	}
	first := map[string]*item{}
	spec.Answers = slices.Grow(spec.Answers, len(answers))
	for _, e := range answers {
		if value := b.value(e.at, spec.Key.Type, it.has("type"), first); value != "" {
			spec.Answers = append(spec.Answers, b.answer(e, value))
		}
	}
	b.disaster(it, spec, first)
	for _, e := range fallback {
		if value := b.value(e.at, spec.Key.Type, it.has("type"), first); value != "" {
			spec.Fallback = append(spec.Fallback, value)
		}
	}
	b.warnReach(first)
}

// answer is one answer with what the config says of it beside its value.
func (b *builder) answer(e entry, value string) steer.Answer {
	a := steer.Answer{Value: value, Probe: probed(e, value)}
	if it := e.whole; it != nil {
		a.Site, a.When = b.siteRef(it.at("site")), b.scenarioRef(it.at("when"))
		a.Mode = steer.Mode(get[string](it.at("mode")))
	}
	return a
}

// entries lists the values of a list, plain ones and mappings alike, without
// those that were refused.
func entries(values *item) []entry {
	var all []entry
	for _, it := range values.each() {
		e := entry{at: it}
		if it.shape == mapping {
			e.at, e.whole, e.probe = it.at("value"), it, it.byName["probe"]
		}
		if e.at.value != nil {
			all = append(all, e)
		}
	}
	return all
}

// inferType is the type of the first value that has one.
func inferType(answers []entry) record.Type {
	for _, e := range answers {
		if t, err := record.InferType(e.at.text); err == nil {
			return t
		}
	}
	return ""
}

// value reads one value; empty when it was refused. first holds the values of
// the record set so far.
func (b *builder) value(at *item, want record.Type, given bool, first map[string]*item) string {
	t, err := record.InferType(at.text)
	if err != nil {
		b.fail(at.pos, at.path(), err.Error(), "")
		return ""
	}
	if want == "" {
		return ""
	}
	if t != want {
		problem, hint := misfit(at.text, t, want, given)
		b.fail(at.pos, at.path(), problem, hint)
		return ""
	}
	value, err := record.ParseValue(t, at.text)
	if err != nil {
		b.fail(at.pos, at.path(), err.Error(), "")
		return ""
	}
	if other := first[value]; other != nil {
		b.fail(at.pos, at.path(), fmt.Sprintf("the value %s is there twice, first at %s", value, other.pos), "remove one of them")
		return ""
	}
	first[value] = at
	return value
}

// misfit says why a value of one type cannot stand in a set of another.
func misfit(text string, got, want record.Type, given bool) (problem, hint string) {
	what := map[record.Type]string{record.A: "an IPv4 address", record.AAAA: "an IPv6 address", record.CNAME: "a name"}
	if given {
		return fmt.Sprintf("type %s takes %s, got %s", want, what[want], quote(text)), ""
	}
	problem = fmt.Sprintf("%s, %s, among values of type %s", what[got], quote(text), want)
	if got != record.CNAME && want != record.CNAME {
		return problem, "write two record sets of this name, one for A and one for AAAA"
	}
	return problem, "a name answers with addresses or with one name, not with both"
}

// warnReach warns about addresses that the internet cannot reach: once for all
// of a kind in one record set, at the first of them, since a list of private
// addresses is one decision and no mistake in each line.
func (b *builder) warnReach(values map[string]*item) {
	for _, kind := range []struct {
		is        func(netip.Addr) bool
		one, many string
	}{
		{netip.Addr.IsLoopback, "is a loopback address: every client would ask itself", "are loopback addresses: every client would ask itself"},
		{netip.Addr.IsPrivate, "is a private address: the internet cannot reach it", "are private addresses: the internet cannot reach them"},
	} {
		count, first := 0, ""
		for value, at := range values {
			if addr, err := netip.ParseAddr(value); err != nil || !kind.is(addr) {
				continue
			}
			if count++; count == 1 || at.pos.compare(values[first].pos) < 0 {
				first = value
			}
		}
		if count == 0 {
			continue
		}
		problem := first + " " + kind.one
		if count > 1 {
			problem = fmt.Sprintf("%s and %d more %s", first, count-1, kind.many)
		}
		at := values[first]
		b.warn(at.pos, at.path(), problem, "")
	}
}

// probed is the address that is probed for a value, or the name.
func probed(e entry, value string) string {
	if e.probe != nil {
		if addr := get[netip.Addr](e.probe); addr.IsValid() {
			return addr.String()
		}
	}
	return value
}
