package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sidestep/pkg/check"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
)

// Vantages says whose word counts for what is probed, where the file says so. The
// maps are nil where it does not.
type Vantages struct {
	Checks  map[string]*check.Vantages     // by name of the check
	Signals map[string]*check.Vantages     // by SITE.SIGNAL; instead of the check's
	Records map[record.Key]*check.Vantages // instead of the check's
}

// Any reports whether the file asks vantages at all.
func (v Vantages) Any() bool { return len(v.Checks)+len(v.Signals)+len(v.Records) > 0 }

// of is the rule of a check where a signal or record set, whose own is nil when it
// has none, does not say otherwise.
func (v Vantages) of(own *check.Vantages, name string) *check.Vantages {
	if own != nil {
		return own
	}
	return v.Checks[name]
}

// signalKey is what a signal is called in Vantages.
func signalKey(site, signal string) string { return site + "." + signal }

// Judged are the targets that vantages judge, with whose word counts. A target has
// one rule, whatever rests on it.
func (c *Config) Judged() map[check.Target]*check.Vantages {
	if !c.Vantages.Any() {
		return nil
	}
	judged := map[check.Target]*check.Vantages{}
	c.eachTarget(func(target check.Target, rule *check.Vantages, _ string) {
		if rule != nil {
			judged[target] = rule
		}
	})
	return judged
}

// eachTarget tells of every target once for everything that rests on it, with the
// rule that it wants there. by is what that is: a record set by its place in
// Records, a signal, or a site whose return asks the check.
func (c *Config) eachTarget(tell func(target check.Target, rule *check.Vantages, by string)) {
	fresh := map[string]string{}
	for _, site := range c.Sites {
		if site.Return.Mode == scenario.Fresh {
			fresh[site.Name] = site.Return.Check
		}
		for _, signal := range site.Signals {
			key := signalKey(site.Name, signal.Name)
			for _, address := range signal.Targets {
				tell(check.Target{Check: signal.Check, Address: address}, c.Vantages.of(c.Vantages.Signals[key], signal.Check), key)
			}
		}
	}
	for n, spec := range c.Records {
		for i := range spec.Len() {
			a := spec.At(i)
			for _, name := range spec.Checks {
				tell(check.Target{Check: name, Address: a.Probe}, c.Vantages.of(c.Vantages.Records[spec.Key], name), fmt.Sprintf("records[%d]", n))
			}
			if name := fresh[a.Site]; name != "" {
				tell(check.Target{Check: name, Address: a.Probe}, c.Vantages.Checks[name], a.Site)
			}
		}
	}
}

// vantages reads whose word counts; nil where nothing says so, or it is wrong.
func (b *builder) vantages(it *item) *check.Vantages {
	if it.shape != mapping {
		return nil
	}
	b.judges = append(b.judges, it)
	v := &check.Vantages{Down: get[int](it.at("down"))}
	of, first := it.at("of"), map[string]*item{}
	if of.shape == list && len(of.items) == 0 {
		b.fail(of.pos, of.path(), "expected at least one vantage, got an empty list", "list what node.vantage is on each node")
	}
	for _, at := range of.items {
		name := get[string](at)
		switch other := first[name]; {
		case name == "":
			continue
		case other != nil:
			b.fail(at.pos, at.path(), fmt.Sprintf("the vantage %s is there twice, first at %s", name, other.pos), "remove one of them")
			continue
		}
		first[name] = at
		v.Of = append(v.Of, name)
	}
	down := it.at("down")
	switch n := len(of.items); {
	case n == 0 || len(v.Of) < n:
		return nil // reported
	case v.Down > n:
		b.fail(down.pos, down.path(), fmt.Sprintf("expected at most the number of vantages, %d, got %d: nothing could ever be down", n, v.Down), "lower down, or name more vantages")
		return nil
	case v.Down == 1 && n > 1:
		b.warn(it.pos, it.path(), "down is 1: a single vantage that cannot see brings everything down", fmt.Sprintf("write down: 2, so that another one of the %d has to agree", n))
	}
	return v
}

// put keeps a rule by what it is of.
func put[K comparable](into *map[K]*check.Vantages, key K, v *check.Vantages) {
	if v == nil {
		return
	}
	if *into == nil {
		*into = map[K]*check.Vantages{}
	}
	(*into)[key] = v
}

// vantageRules refuses vantages that cannot work: nodes that share nothing, and a
// target that would be up for the one and down for the other.
func (b *builder) vantageRules(root *item) {
	if len(b.judges) == 0 {
		return
	}
	if !root.has("etcd") {
		at := b.judges[0]
		b.fail(at.pos, at.path(), "vantages need etcd, where the nodes tell each other what they see", "add etcd: {endpoints: [URL]}, or remove vantages")
	}
	if len(b.errors) > 0 {
		return // what is wrong would lead to wrong advice
	}
	b.oneRule(root)
	b.ownVantage(root)
}

// oneRule refuses a target that two things want judged in different ways: it is
// probed once, and is up or down for all of them.
func (b *builder) oneRule(root *item) {
	type use struct {
		rule *check.Vantages
		by   string
	}
	first, told := map[check.Target]use{}, map[string]bool{}
	b.cfg.eachTarget(func(target check.Target, rule *check.Vantages, by string) {
		if site := b.siteNamed(by); site != nil && rule != nil && !told[by] {
			told[by] = true
			at := root.at("sites", by, "return", "check")
			b.fail(at.pos, at.path(), fmt.Sprintf("the check %s, which proves current data, is judged by vantages, and each node proves that for itself", target.Check), "name a check without vantages, of the same kind")
		}
		before, known := first[target]
		switch {
		case !known:
			first[target] = use{rule, by}
		case !before.rule.Same(rule) && !told[by]:
			told[by] = true
			at := b.userOf(root, by)
			b.fail(at.pos, at.path(), fmt.Sprintf("%s is judged %s here, and %s for %s", target.ID(), ruleWords(rule), ruleWords(before.rule), before.by), "say the same of both, or give one of them a check of its own")
		}
	})
}

// userOf is where something stands that rests on targets.
func (b *builder) userOf(root *item, by string) *item {
	for i := range b.cfg.Records {
		if by == fmt.Sprintf("records[%d]", i) {
			return b.records[i].at("name")
		}
	}
	if site, signal, found := strings.Cut(by, "."); found {
		return root.at("sites", site, "signals", signal)
	}
	return root.at("sites", by, "return", "check")
}

func ruleWords(v *check.Vantages) string {
	if v == nil {
		return "by this node alone"
	}
	return fmt.Sprintf("by %d of %s", v.Down, strings.Join(v.Of, ", "))
}

// ownVantage warns where this node's word counts nowhere: a vantage may be
// misspelt.
func (b *builder) ownVantage(root *item) {
	names := map[string]bool{}
	b.cfg.eachTarget(func(_ check.Target, rule *check.Vantages, _ string) {
		if rule != nil {
			for _, name := range rule.Of {
				names[name] = true
			}
		}
	})
	if own := b.cfg.Node.Vantage; len(names) > 0 && !names[own] {
		at := root.at("node", "vantage")
		if at.shape == absent {
			at = b.judges[0]
		}
		b.warn(at.pos, at.path(), fmt.Sprintf("this node's vantage, %s, is in no vantages: its word counts nowhere that they judge", quote(own)), known(own, slices.Sorted(maps.Keys(names))))
	}
}

// showVantages writes whose word counts; nil where nothing says so.
func showVantages(v *check.Vantages) any {
	if v == nil {
		return nil
	}
	return shown{{"of", v.Of}, {"down", v.Down}}
}
