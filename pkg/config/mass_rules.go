package config

import (
	"cmp"
	"fmt"
	"slices"
)

// massRules warns about a guard against mass failures that somebody wrote and that
// can never hold anything: less is probed than has to fail. Where nobody wrote it,
// a config of few addresses is told to have a canary, which serves it better.
func (b *builder) massRules(it *item) {
	if it.shape != mapping {
		return
	}
	mass := b.cfg.Guard.Mass
	if at := it.at("percent"); mass.Percent == 0 {
		b.warn(at.pos, at.path(), fmt.Sprintf("any %d addresses that fail together are more than 0%%: this is the strictest guard, not none", mass.AtLeast),
			"mass: 0 switches the guard off")
	}
	groups := b.massGroups()
	if mass.AtLeast <= groups {
		return
	}
	at, what := it, "addresses"
	if it.has("at_least") {
		at = it.at("at_least")
	}
	if len(b.cfg.Sites) > 0 {
		what = "sites and other addresses"
	}
	b.warn(at.pos, at.path(), fmt.Sprintf("at least %d of all %s have to fail together, and this config probes %d: the guard never holds anything", mass.AtLeast, what, groups),
		"write a smaller at_least, or mass: 0 to say that it is off")
}

// massGroups counts what is probed as the guard does: the addresses of one site,
// those of its answers and of its signals, are one.
func (b *builder) massGroups() int {
	siteOf, probed := map[string]string{}, map[string]bool{}
	for _, site := range slices.Backward(b.cfg.Sites) {
		for _, address := range b.addressesOf(site.Name) {
			siteOf[address] = site.Name
		}
		for _, signal := range site.Signals {
			for _, address := range signal.Targets {
				siteOf[address], probed[address] = site.Name, true
			}
		}
	}
	for _, spec := range b.cfg.Records {
		for i := range spec.Len() {
			probed[spec.At(i).Probe] = probed[spec.At(i).Probe] || len(spec.Checks) > 0
		}
	}
	groups := map[string]bool{}
	for address, is := range probed {
		if is {
			groups[cmp.Or(siteOf[address], address)] = true
		}
	}
	return len(groups)
}

// addressesOf are those that are probed for the answers at a site.
func (b *builder) addressesOf(site string) []string {
	var list []string
	for _, spec := range b.cfg.Records {
		for i := range spec.Len() {
			if a := spec.At(i); a.Site == site {
				list = append(list, a.Probe)
			}
		}
	}
	return list
}
