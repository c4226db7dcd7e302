package simulate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/daemon"
	"sidestep/pkg/engine"
	"sidestep/pkg/override"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// names is what a timeline may speak of.
type names struct {
	byID      map[string]check.Target
	meant     map[string][]string // ids of targets, by address, value of an answer, or SITE.SIGNAL
	zones     []record.Name
	hasCanary bool
	own       string   // this node's vantage
	vantages  []string // those whose word counts somewhere, sorted
	judged    map[check.Target]*check.Vantages
	config    *config.Config
	engine    *engine.Engine // of a world in which nothing happens; knows what overrides can be of
}

func namesOf(c *config.Config) names {
	n := names{
		byID: map[string]check.Target{}, meant: map[string][]string{}, hasCanary: len(c.Canary.Targets) > 0,
		config: c, engine: engine.New(daemon.EngineConfig(c), nowAt(0)),
		own: c.Node.Vantage, vantages: vantagesOf(c), judged: c.Judged(),
	}
	for _, t := range n.engine.Judged() {
		n.byID[t.ID()] = t
		n.meant[t.Address] = append(n.meant[t.Address], t.ID())
	}
	n.addAnswers(c)
	for _, site := range c.Sites {
		for _, signal := range site.Signals {
			for _, address := range signal.Targets {
				n.add(site.Name+"."+signal.Name, check.Target{Check: signal.Check, Address: address}.ID())
			}
		}
	}
	for _, z := range c.Zones {
		n.zones = append(n.zones, z.Name)
	}
	return n
}

// addAnswers lets the value of an answer stand for what is probed in its place. What
// is probed under this very address goes before.
func (n names) addAnswers(c *config.Config) {
	probed := maps.Clone(n.meant)
	for _, spec := range c.Records {
		for i := range spec.Len() {
			a := spec.At(i)
			for _, name := range spec.Checks {
				if probed[a.Value] == nil {
					n.add(a.Value, check.Target{Check: name, Address: a.Probe}.ID())
				}
			}
		}
	}
}

func (n names) add(text, id string) {
	if _, known := n.byID[id]; known && !slices.Contains(n.meant[text], id) {
		n.meant[text] = append(n.meant[text], id)
	}
}

// targets are the ids of the targets that a text means.
func (n names) targets(text string) ([]string, error) {
	checkName, address, isID := strings.Cut(text, "@")
	if !isID {
		address = text
	}
	if ids := n.meant[text]; ids != nil {
		return ids, nil
	}
	canonical := address
	if t, err := record.InferType(address); err == nil {
		if value, err := record.ParseValue(t, address); err == nil {
			canonical = value
		}
	}
	ids := n.meant[canonical]
	if isID {
		id := check.Target{Check: checkName, Address: canonical}.ID()
		if _, known := n.byID[id]; known {
			return []string{id}, nil
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return n.byID[id].Check != checkName })
	}
	if len(ids) == 0 {
		known := slices.Sorted(maps.Keys(n.byID))
		if !isID {
			known = slices.Sorted(maps.Keys(n.meant))
		}
		return nil, fmt.Errorf("expected an address, CHECK@ADDRESS or SITE.SIGNAL that the config probes, got %s; %s", shown(text), near(text, known))
	}
	return ids, nil
}

func (n names) zone(text string) (record.Name, error) {
	name, err := record.ParseName(text)
	if err != nil || !slices.Contains(n.zones, name) {
		return "", fmt.Errorf("expected a zone of the config, got %s; %s", shown(text), near(text, n.zoneNames()))
	}
	return name, nil
}

func (n names) zoneNames() []string {
	var list []string
	for _, z := range n.zones {
		list = append(list, z.Unrooted())
	}
	return list
}

// approvable refuses what nobody can say yes to in this config. Whether anything
// waits for it shows only when it is played.
func (n names) approvable(text string, plan bool) error {
	if plan {
		_, err := n.zone(text)
		return err
	}
	if n.complete(text) != text || text == "all" || slices.ContainsFunc(n.config.Records, isOf(text)) {
		return nil
	}
	for _, site := range n.config.Sites {
		if site.Name == text {
			return nil
		}
	}
	if _, err := n.targets(text); err == nil {
		return nil
	}
	return fmt.Errorf("expected a record set, an address, a site or all, got %s; %s", shown(text), near(text, daemon.OverrideTargets(n.config, override.Drain)))
}

// isOf tells the record sets that a text names, or a value of.
func isOf(text string) func(*steer.Spec) bool {
	return func(spec *steer.Spec) bool {
		name, err := record.ParseName(text)
		if err == nil && name == spec.Key.Name {
			return true
		}
		value, err := record.ParseValue(spec.Key.Type, text)
		return err == nil && spec.Names(value)
	}
}

// complete makes a full name of a short one, as the command line does.
func (n names) complete(text string) string {
	for _, spec := range n.config.Records {
		if name, err := record.ParseNameIn(text, spec.Key.Zone); err == nil && name == spec.Key.Name {
			return string(name)
		}
	}
	return text
}

// nearTarget adds to the error of an override of nothing what may have been meant.
func (n names) nearTarget(err error) error {
	unknown, is := errors.AsType[*engine.UnknownTargetError](err)
	if !is {
		return err
	}
	return fmt.Errorf("%w; %s", err, near(unknown.Target, daemon.OverrideTargets(n.config, unknown.Kind)))
}
