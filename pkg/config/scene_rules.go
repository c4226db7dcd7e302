package config

import (
	"fmt"
	"slices"

	"sidestep/pkg/scenario"
)

// sceneRules warns about sites and scenarios that work and are probably not
// meant.
func (b *builder) sceneRules(sites *item) {
	if len(b.errors) > 0 {
		return // what is wrong would lead to wrong advice
	}
	used := b.usedTerms()
	for _, site := range b.cfg.Sites {
		at := sites.byName[site.Name]
		for _, signal := range site.Signals {
			term := scenario.Term{Kind: scenario.SignalHolds, Name: site.Name, Of: signal.Name}
			if it := at.at("signals", signal.Name); !used[term] && !used[scenario.Term{Kind: scenario.SiteOK, Name: site.Name}] {
				b.warn(it.keyPos, it.path(), "no when uses this signal: it is shown, and takes no answer out", fmt.Sprintf("use %s in a scenario, and name that in the when of an answer", term))
			}
		}
		if it := at.at("return"); site.Return.Waits() && !b.hasAnswer(site.Name) {
			b.warn(it.keyPos, it.path(), "no answer stands at this site, so that it never returns", fmt.Sprintf("add site: %s to its answers", site.Name))
		}
	}
	net := scenario.Compile(b.freeSites(), b.cfg.Scenarios, b.freeTargets())
	for _, s := range b.cfg.Scenarios {
		if it := b.scenarios.byName[s.Name]; neverHolds(net, s) {
			b.warn(it.keyPos, it.path(), "this scenario can never hold: its terms exclude each other", "")
		}
	}
}

// usedTerms are the terms that decide about an answer: those of scenarios that a
// when names, and of the scenarios in those.
func (b *builder) usedTerms() map[scenario.Term]bool {
	used, byName := map[scenario.Term]bool{}, map[string]*scenario.Scenario{}
	for i := range b.cfg.Scenarios {
		byName[b.cfg.Scenarios[i].Name] = &b.cfg.Scenarios[i]
	}
	var use func(name string)
	use = func(name string) {
		for _, term := range byName[name].Terms() {
			term = term.Positive()
			if !used[term] {
				used[term] = true
				if term.Kind == scenario.Holds {
					use(term.Name)
				}
			}
		}
	}
	for _, spec := range b.cfg.Records {
		for _, when := range spec.Whens() {
			use(when)
		}
	}
	return used
}

func (b *builder) hasAnswer(site string) bool {
	for _, spec := range b.cfg.Records {
		for i := range spec.Len() {
			if spec.At(i).Site == site {
				return true
			}
		}
	}
	return false
}

// mostInputs is of how many inputs every combination is tried: 1024 of them.
const mostInputs = 10

// neverHolds reports whether no combination of what a scenario rests on makes it
// hold. Signals and checks count as inputs, as if each could be anything; where
// there are very many inputs, only a term beside its opposite is found.
func neverHolds(net *scenario.Net, s scenario.Scenario) bool {
	at := net.Find(s.Name)
	inputs := net.Below(at)
	if len(inputs) > mostInputs {
		return !slices.ContainsFunc(s.Any, func(g scenario.Group) bool { return !contradicts(g) })
	}
	for combination := range 1 << len(inputs) {
		for i, input := range inputs {
			net.Set(input, scenario.Of(combination>>i&1 == 1))
		}
		net.Settle()
		if net.Value(at) != scenario.False {
			return false
		}
	}
	return true
}

func contradicts(g scenario.Group) bool {
	return slices.ContainsFunc(g, func(t scenario.Term) bool {
		t.Not = !t.Not
		return slices.Contains(g, t)
	})
}

// freeSites are the sites with one target of its own for each signal.
func (b *builder) freeSites() []scenario.Site {
	sites := slices.Clone(b.cfg.Sites)
	for i := range sites {
		sites[i].Signals = slices.Clone(sites[i].Signals)
		for j := range sites[i].Signals {
			signal := &sites[i].Signals[j]
			signal.Check, signal.Targets, signal.Need = sites[i].Name+"."+signal.Name, []string{"any"}, 1
		}
	}
	return sites
}

// freeTargets gives every check one target of its own.
func (b *builder) freeTargets() map[string][]string {
	targets := map[string][]string{}
	for name := range b.cfg.Checks {
		targets[name] = []string{"any"}
	}
	return targets
}
