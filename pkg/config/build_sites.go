package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/scenario"
)

func (b *builder) buildSites(sites *item) {
	for _, it := range sites.items {
		if it.shape == mapping && isLabel(it.name) {
			b.cfg.Sites = append(b.cfg.Sites, b.site(it))
		}
	}
	slices.SortFunc(b.cfg.Sites, func(a, o scenario.Site) int { return strings.Compare(a.Name, o.Name) })
}

func (b *builder) site(it *item) scenario.Site {
	site := scenario.Site{Name: it.name, Maintenance: get[string](it.at("maintenance"))}
	signals := it.at("signals")
	if signals.shape == mapping && len(signals.items) == 0 {
		b.fail(signals.pos, signals.path(), "expected at least one signal, got none", "write NAME: {check: …, targets: […]}; names such as wan, lan, access, internet")
	}
	for _, signal := range signals.items {
		if signal.shape == mapping && isLabel(signal.name) {
			site.Signals = append(site.Signals, b.signal(signal))
			put(&b.cfg.Vantages.Signals, signalKey(site.Name, signal.name), b.vantages(signal.at("vantages")))
		}
	}
	scenario.SortSignals(site.Signals)
	if it.has("return") {
		site.Return = b.siteReturn(it.at("return"))
	}
	return site
}

func (b *builder) signal(it *item) scenario.Signal {
	if it.name == scenario.MaintenanceWord {
		b.fail(it.keyPos, it.path(), fmt.Sprintf("a signal cannot be called %s: SITE.%s is true while the site is in maintenance", it.name, it.name), "choose another name")
	}
	signal := scenario.Signal{Name: it.name, Check: b.checkRef(it.at("check"))}
	targets, first := it.at("targets"), map[string]*item{}
	if targets.shape == list && len(targets.items) == 0 {
		b.fail(targets.pos, targets.path(), "expected at least one address, got an empty list", "")
	}
	for _, at := range targets.items {
		addr := get[netip.Addr](at)
		switch other := first[addr.String()]; {
		case !addr.IsValid():
			continue
		case other != nil:
			b.fail(at.pos, at.path(), fmt.Sprintf("the address %s is there twice, first at %s", addr, other.pos), "remove one of them")
			continue
		}
		first[addr.String()] = at
		signal.Targets = append(signal.Targets, addr.String())
		b.reachable(at, signal.Check, addr.String())
	}
	signal.Need = b.need(it.at("need"), len(targets.items))
	return signal
}

// need reads how many of a signal's targets have to be up.
func (b *builder) need(it *item, targets int) int {
	switch text := get[string](it); text {
	case "any":
		return 1
	case "all":
		return targets
	default:
		n, err := strconv.Atoi(text)
		if err == nil && n > targets && targets > 0 {
			b.fail(it.pos, it.path(), fmt.Sprintf("expected at most the number of targets, %d, got %d: it could never hold", targets, n), "")
		}
		return n
	}
}

// checkRef reads the name of a check; empty when there is none such.
func (b *builder) checkRef(it *item) string {
	name := get[string](it)
	if name != "" && b.cfg.Checks[name] == nil {
		b.fail(it.pos, it.path(), fmt.Sprintf("there is no check %s", quote(name)), known(name, b.checkNames()))
		return ""
	}
	return name
}

func (b *builder) siteReturn(it *item) scenario.Return {
	if it.shape != mapping {
		return scenario.Return{}
	}
	r := scenario.Return{
		AfterOutage: get[time.Duration](it.at("after_outage")),
		Mode:        scenario.ReturnMode(get[string](it.at("mode"))),
	}
	switch at := it.at("check"); {
	case r.Mode == scenario.Fresh && !it.has("check"):
		b.fail(it.at("mode").pos, it.at("mode").path(), "mode: fresh needs a check that proves current data", "add check: NAME, of a check whose json or body only matches when the data is current")
	case r.Mode == scenario.Fresh:
		r.Check = b.checkRef(at)
	case it.has("check") && (!it.has("mode") || it.at("mode").value != nil):
		b.fail(at.keyPos, at.path(), fmt.Sprintf("only mode: fresh asks a check, and mode is %s", r.Mode), "write mode: fresh, or remove the key")
	}
	return r
}

// siteRef reads the site of an answer; empty when there is none such.
func (b *builder) siteRef(it *item) string {
	name := get[string](it)
	if name != "" && b.siteNamed(name) == nil {
		b.fail(it.pos, it.path(), fmt.Sprintf("there is no site %s", quote(name)), knownOr(name, b.siteNames(), "the config has no sites"))
		return ""
	}
	return name
}

func (b *builder) siteNamed(name string) *scenario.Site {
	i := slices.IndexFunc(b.cfg.Sites, func(s scenario.Site) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &b.cfg.Sites[i]
}

func (b *builder) siteNames() []string {
	var names []string
	for _, s := range b.cfg.Sites {
		names = append(names, s.Name)
	}
	return names
}

// knownOr is known, or a remark where there is nothing to choose from.
func knownOr(word string, words []string, none string) string {
	if len(words) == 0 {
		return none
	}
	return known(word, words)
}
