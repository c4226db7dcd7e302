package config

import (
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// crossRules checks what only shows when all record sets are seen together.
// Each rule is linear in the number of values.
func (b *builder) crossRules() {
	byName, claimed := map[record.Name][]int{}, map[record.Key]Position{}
	for i, spec := range b.cfg.Records {
		if b.claim(i, spec, claimed) {
			byName[spec.Key.Name] = append(byName[spec.Key.Name], i)
		}
	}
	for i, spec := range b.cfg.Records {
		b.ownNames(i, spec)
		b.deeperZone(i, spec)
		if spec.Key.Type == record.CNAME {
			b.cnameAlone(i, spec, byName)
			b.cnameTargets(i, spec, byName)
		}
	}
}

// claim takes a name, type and variant for a record set, whatever its zone;
// false when another one has them.
func (b *builder) claim(i int, spec *steer.Spec, claimed map[record.Key]Position) bool {
	at, key := b.records[i].at("name"), spec.Key
	key.Zone = ""
	if first, taken := claimed[key]; taken {
		b.fail(at.pos, at.path(), fmt.Sprintf("%s is claimed by two record sets, first at %s", spec.Key, first), "merge their answers into one of them")
		return false
	}
	claimed[key] = at.pos
	b.cfg.Sources.Records[spec.Key] = at.pos
	return true
}

// ownNames refuses the names where sidestep keeps its own records, and those for
// which it could keep none: the copies of paused values stand below the name, and
// those of a wildcard below a label that stands for its asterisk.
func (b *builder) ownNames(i int, spec *steer.Spec) {
	at, name := b.records[i].at("name"), spec.Key.Name
	parked := provider.ParkedName(name)
	first, _, _ := strings.Cut(string(name), ".")
	if owner, _ := provider.ParkedOwner(parked); first == provider.StampLabel || first == provider.ParkedLabel || owner != name {
		b.fail(at.pos, at.path(), fmt.Sprintf("the name %s belongs to sidestep itself", name), "choose another name")
		return
	}
	if _, err := record.ParseName(string(parked)); err != nil {
		b.fail(at.pos, at.path(), fmt.Sprintf("the name has %d octets: its paused values are kept below it, at %s.…, and a name can have %d", len(name), provider.ParkedLabel, record.MaxName), fmt.Sprintf("choose a name that is shorter by %d", len(parked)-record.MaxName))
	}
}

// deeperZone warns about a name that resolvers look for in another zone.
func (b *builder) deeperZone(i int, spec *steer.Spec) {
	it := b.records[i]
	if !it.has("zone") {
		return // the deepest zone was taken
	}
	if deepest := get[record.Name](b.zoneOf(spec.Key.Name).at("zone")); deepest != spec.Key.Zone {
		at := it.at("name")
		b.warn(at.pos, at.path(), fmt.Sprintf("%s is in the zone %s, too: resolvers do not look for it in %s", spec.Key.Name, deepest, spec.Key.Zone), "leave zone: out")
	}
}

// cnameAlone refuses what cannot stand beside a CNAME (RFC 1034 section 3.6.2).
func (b *builder) cnameAlone(i int, spec *steer.Spec, byName map[record.Name][]int) {
	it := b.records[i]
	at := it.at("name")
	if spec.Key.Name == spec.Key.Zone {
		b.fail(at.pos, at.path(), fmt.Sprintf("a CNAME cannot stand at the apex of the zone %s", spec.Key.Zone), "answer with addresses there")
	}
	for _, other := range byName[spec.Key.Name] {
		if t := b.cfg.Records[other].Key.Type; t != record.CNAME {
			b.fail(at.pos, at.path(), fmt.Sprintf("a CNAME cannot stand beside the %s record set of %s at %s", t, spec.Key.Name, b.records[other].at("name").pos), "use one type for the name")
		}
	}
	switch policy := it.at("policy"); {
	case spec.Policy != steer.Priority && spec.Policy != "":
		b.fail(policy.pos, policy.path(), fmt.Sprintf("a name has only one CNAME at a time, policy %s could give it more", spec.Policy), "write policy: priority")
	case spec.MaxLive > 1:
		b.fail(it.at("max_live").pos, it.at("max_live").path(), fmt.Sprintf("a name has only one CNAME at a time, got max_live %d", spec.MaxLive), "remove max_live")
	}
	if len(spec.Fallback) > 1 {
		b.fail(it.at("fallback").pos, it.at("fallback").path(), "a name has only one CNAME at a time, got a fallback list of more", "leave one value")
	}
	if spec.OnAllDown == steer.Open && len(spec.Answers) > 1 {
		at := it.at("on_all_down")
		b.fail(at.pos, at.path(), "a name has only one CNAME at a time, on_all_down: open would give it every answer", "use keep or fallback")
	}
}

// cnameTargets refuses a target whose own answer sidestep decides on: the two
// decisions would follow each other in circles.
func (b *builder) cnameTargets(i int, spec *steer.Spec, byName map[record.Name][]int) {
	it := b.records[i]
	for _, e := range slices.Concat(entries(it.at("answers")), entries(it.at("dr", "answers")), entries(it.at("fallback"))) {
		target, err := record.ParseName(e.at.text)
		if err != nil {
			continue // reported where the value was read
		}
		if steered, found := b.steeredAbove(target, byName); found {
			b.fail(e.at.pos, e.at.path(), fmt.Sprintf("the target %s lies inside the steered name %s", target, steered), "name a target that is not steered")
		}
	}
}

// steeredAbove finds the steered name that a target lies inside: the name
// itself, one above it, or a wildcard that covers it. An apex that is steered
// does not count as above: every name of the zone is below it, and a host of
// the zone is an ordinary target.
func (b *builder) steeredAbove(target record.Name, byName map[record.Name][]int) (record.Name, bool) {
	for at, ok := target, true; ok; at, ok = at.Parent() {
		if len(byName[at]) > 0 && (at == target || b.zones[at] == nil) {
			return at, true
		}
		if wild := at.Below("*"); at != target && len(byName[wild]) > 0 {
			return wild, true
		}
	}
	return "", false
}
