package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
)

// scenarioRef reads the name of a scenario; empty when there is none such.
// Scenarios themselves are read later, since their terms name targets of record
// sets.
func (b *builder) scenarioRef(it *item) string {
	name := get[string](it)
	if name == "" || b.scenarios.byName[name] != nil {
		return name
	}
	hint := knownOr(name, b.scenarioNames(), "the config has no scenarios")
	if b.siteNamed(name) != nil || b.cfg.Checks[name] != nil {
		hint = fmt.Sprintf("%s is the name of something else: write a scenario of it: scenarios: {NAME: {all: [%s]}}", name, name)
	}
	b.fail(it.pos, it.path(), fmt.Sprintf("there is no scenario %s", quote(name)), hint)
	return ""
}

func (b *builder) scenarioNames() []string {
	var names []string
	for _, it := range b.scenarios.items {
		names = append(names, it.name)
	}
	return names
}

func (b *builder) buildScenarios() {
	targets := b.checkTargets()
	for _, it := range b.scenarios.items {
		if it.shape == mapping && isLabel(it.name) {
			b.cfg.Scenarios = append(b.cfg.Scenarios, scenario.Scenario{Name: it.name, Any: b.groups(it, targets)})
		}
	}
	for _, ring := range scenario.Rings(b.cfg.Scenarios) {
		at := b.scenarios.byName[ring[0]]
		b.fail(at.keyPos, at.path(), "the scenario rests on itself: "+strings.Join(ring, " -> "), "remove one of these terms")
	}
}

// checkTargets are the addresses that each check probes, sorted, each once.
func (b *builder) checkTargets() map[string][]string {
	targets := map[string][]string{}
	for _, site := range b.cfg.Sites {
		for _, signal := range site.Signals {
			targets[signal.Check] = append(targets[signal.Check], signal.Targets...)
		}
	}
	for _, spec := range b.cfg.Records {
		for i := range spec.Len() {
			for _, name := range b.checksOf(spec.Checks, spec.At(i).Site) {
				targets[name] = append(targets[name], spec.At(i).Probe)
			}
		}
	}
	for name, list := range targets {
		slices.Sort(list)
		targets[name] = slices.Compact(list)
	}
	return targets
}

// checksOf adds the check that proves current data at a site.
func (b *builder) checksOf(checks []string, site string) []string {
	if s := b.siteNamed(site); s != nil && s.Return.Check != "" {
		return append(slices.Clone(checks), s.Return.Check)
	}
	return checks
}

func (b *builder) groups(it *item, targets map[string][]string) []scenario.Group {
	all, groups := it.at("all"), it.at("any")
	switch {
	case it.has("all") && it.has("any"):
		b.fail(it.pos, it.path(), "expected one of any and all, got both", "make the terms of all another group of any")
	case it.has("all"):
		return []scenario.Group{b.group(all, targets)}
	case !it.has("any"):
		b.fail(it.pos, it.path(), "expected any or all, got neither", "write all: [TERM, …], or any: [{all: [TERM, …]}, …]")
	case groups.shape == list && len(groups.items) == 0:
		b.fail(groups.pos, groups.path(), "expected at least one group, got an empty list: it could never hold", "write any: [{all: [TERM, …]}]")
	}
	var list []scenario.Group
	for _, group := range groups.items {
		if group.shape == mapping {
			list = append(list, b.group(group.at("all"), targets))
		}
	}
	return list
}

func (b *builder) group(all *item, targets map[string][]string) scenario.Group {
	if all.shape == list && len(all.items) == 0 {
		b.fail(all.pos, all.path(), "expected at least one term, got an empty list: it would always hold", "write all: [TERM, …]")
	}
	var group scenario.Group
	for _, it := range all.items {
		if text := get[string](it); text != "" {
			if term, ok := b.term(it, text, targets); ok {
				group = append(group, term)
			}
		}
	}
	return group
}

// term reads one term, and refuses what it names and is not there.
func (b *builder) term(it *item, text string, targets map[string][]string) (t scenario.Term, ok bool) {
	text, t.Not = cutNot(text)
	if check, address, found := strings.Cut(text, "@"); found {
		t.Kind, t.Name, t.Of = scenario.TargetUp, check, canonicalAddress(address)
		return t, b.targetTerm(it, t, targets)
	}
	if site, signal, found := strings.Cut(text, "."); found {
		t.Kind, t.Name, t.Of = scenario.SignalHolds, site, signal
		if signal == scenario.MaintenanceWord {
			t.Kind, t.Of = scenario.Maintenance, ""
		}
		return t, b.signalTerm(it, t)
	}
	t.Name = text
	switch {
	case b.siteNamed(text) != nil:
		t.Kind = scenario.SiteOK
	case b.scenarios.byName[text] != nil:
		t.Kind = scenario.Holds
	case b.cfg.Checks[text] == nil:
		words := append(append(b.siteNames(), b.scenarioNames()...), b.checkNames()...)
		b.fail(it.pos, it.path(), fmt.Sprintf("there is no site, check or scenario %s", quote(text)), known(text, words))
		return t, false
	default:
		t.Kind = scenario.CheckUp
		if len(targets[text]) == 0 {
			b.fail(it.pos, it.path(), fmt.Sprintf("nothing is probed by the check %s: whether it is up is never known", text), "use it in a record set or in a signal")
			return t, false
		}
	}
	return t, true
}

// cutNot takes "not " or "!" off a term.
func cutNot(text string) (rest string, not bool) {
	for _, word := range []string{"not ", "!"} {
		if rest, found := strings.CutPrefix(text, word); found {
			return strings.TrimSpace(rest), true
		}
	}
	return text, false
}

// canonicalAddress is an address or a name as targets have it.
func canonicalAddress(text string) string {
	if t, err := record.InferType(text); err == nil {
		if value, err := record.ParseValue(t, text); err == nil {
			return value
		}
	}
	return text
}

func (b *builder) targetTerm(it *item, t scenario.Term, targets map[string][]string) bool {
	if b.cfg.Checks[t.Name] == nil {
		b.fail(it.pos, it.path(), fmt.Sprintf("there is no check %s", quote(t.Name)), known(t.Name, b.checkNames()))
		return false
	}
	if slices.Contains(targets[t.Name], t.Of) {
		return true
	}
	var ids []string
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		for _, address := range targets[name] {
			ids = append(ids, name+"@"+address)
		}
	}
	b.fail(it.pos, it.path(), fmt.Sprintf("no record set and no signal has the target %s", quote(t.Plain())), knownOr(t.Plain(), ids, "the config has no targets"))
	return false
}

func (b *builder) signalTerm(it *item, t scenario.Term) bool {
	site := b.siteNamed(t.Name)
	if site == nil {
		b.fail(it.pos, it.path(), fmt.Sprintf("there is no site %s", quote(t.Name)), knownOr(t.Name, b.siteNames(), "the config has no sites"))
		return false
	}
	if t.Kind == scenario.Maintenance {
		return true
	}
	words := []string{scenario.MaintenanceWord}
	for _, signal := range site.Signals {
		if signal.Name == t.Of {
			return true
		}
		words = append(words, signal.Name)
	}
	b.fail(it.pos, it.path(), fmt.Sprintf("the site %s has no signal %s", site.Name, quote(t.Of)), known(t.Of, words))
	return false
}
