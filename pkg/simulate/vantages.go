package simulate

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/engine"
)

// vantagesOf are the vantages whose word counts somewhere, sorted.
func vantagesOf(c *config.Config) []string {
	names := map[string]bool{}
	for _, rule := range c.Judged() {
		for _, name := range rule.Of {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// addPeers makes the other nodes whose word counts.
func (w *world) addPeers() {
	w.peers = map[string]*node{}
	for _, name := range vantagesOf(w.options.Config) {
		if name != w.decides.Vantage {
			decides := w.decides
			decides.Vantage = name
			w.peers[name] = newNode(decides)
			w.others = append(w.others, w.peers[name])
		}
	}
}

// nodes are all of them, that whose decisions are told last: it knows then what
// the others say.
func (w *world) nodes() []*node { return append(slices.Clone(w.others), w.node) }

// confer lets the other nodes judge, and everybody hear what the others say.
func (w *world) confer() error {
	if len(w.others) == 0 {
		return nil
	}
	for _, n := range w.nodes() {
		if w.clock.Boot() >= n.heard+engine.SilentAfter/3 {
			w.greet(n, w.clock.Boot())
		}
	}
	for _, n := range w.others {
		if err := w.stepAt(n, engine.Tick{}); err != nil {
			return err
		}
	}
	return nil
}

// greet lets a node be heard that has nothing new to say, until a boot time.
func (w *world) greet(n *node, at time.Duration) {
	n.heard = max(n.heard, at)
	w.spread(n, engine.Observed{Vantage: n.decides.Vantage, Blind: n.blind})
}

// spread tells the others what a node says.
func (w *world) spread(n *node, said engine.Observed) {
	n.heard, n.blind = max(n.heard, w.clock.Boot()), said.Blind
	said.At = n.heard
	if n.silent || n.engine == nil {
		return
	}
	for _, other := range w.nodes() {
		if other != n && other.engine != nil {
			_ = w.noteAt(other, said) // there is nothing in it that an engine refuses
		}
	}
}

// tellSaid tells what a node begins to say of what vantages judge: of which nothing
// else may be seen for long.
func (w *world) tellSaid(entries []engine.Entry) {
	for _, e := range entries {
		switch {
		case e.Kind != "vantage" || e.Address == "":
		case e.Phase != "":
			w.tell("vantage %s: %s %s, %s/%s", e.Vantage, e.Target, e.To, e.Phase, e.Cause)
		default:
			w.tell("vantage %s: %s %s", e.Vantage, e.Target, e.To)
		}
	}
}

// meet tells all that all nodes say, to one that begins to listen or of one that
// is heard again.
func (w *world) meet() {
	for _, n := range w.nodes() {
		if n.engine != nil && len(w.others) > 0 {
			w.spread(n, n.engine.Observed(w.now()))
		}
	}
}

// vantage is vantage silent|back NAME: the others do not hear a node any more, or
// do again.
func (p *parser) vantage(_ string, words []string) (action, error) {
	silent, rest, err := oneOf(words, "silent", "back")
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return nil, fmt.Errorf("expected a vantage, got nothing; %s", p.names.nearVantage(""))
	}
	name := rest[0]
	switch {
	case name == p.names.own && slices.Contains(p.names.vantages, name):
		return nil, fmt.Errorf("%s is this node's own vantage: it always hears itself; write unknown TARGET from %s, or canary fail", name, name)
	case !slices.Contains(p.names.vantages, name):
		return nil, fmt.Errorf("expected a vantage of the config, got %s; %s", shown(name), p.names.nearVantage(name))
	}
	return func(w *world) error {
		n := w.peers[name]
		if silent {
			w.greet(n, w.clock.Boot())
			n.silent = true
			return nil
		}
		n.silent = false
		w.meet()
		return nil
	}, nothing(rest[1:])
}

// from reads from VANTAGE at the end of a result, and gives those of the targets
// of which that vantage's word counts; without it the name is empty.
func (p *parser) from(words, targets []string) (name string, of, rest []string, err error) {
	switch {
	case len(words) == 0 || words[0] != "from":
		return "", targets, words, nil
	case len(words) == 1:
		return "", nil, nil, fmt.Errorf("expected a vantage after from, got nothing; %s", p.names.nearVantage(""))
	}
	name = words[1]
	if name != p.names.own && !slices.Contains(p.names.vantages, name) {
		return "", nil, nil, fmt.Errorf("expected a vantage of the config after from, got %s; %s", shown(name), p.names.nearVantage(name))
	}
	for _, id := range targets {
		if p.names.counts(name, id) {
			of = append(of, id)
		}
	}
	if len(of) == 0 {
		return "", nil, nil, fmt.Errorf("%s is not judged from %s; %s", targets[0], name, p.names.judges(targets[0]))
	}
	return name, of, words[2:], nil
}

// counts reports whether a vantage's word on a target counts: this node's own
// counts alone where no vantages are asked.
func (n names) counts(vantage, id string) bool {
	rule := n.judged[n.byID[id]]
	if rule == nil {
		return vantage == n.own
	}
	return slices.Contains(rule.Of, vantage)
}

// judges says who judges a target.
func (n names) judges(id string) string {
	if rule := n.judged[n.byID[id]]; rule != nil {
		return near("", rule.Of)
	}
	return "this node judges it alone: add vantages to its check, or leave from out"
}

func (n names) nearVantage(name string) string {
	if len(n.vantages) == 0 {
		return "the config has none: add vantages: {of: […], down: N} to a check"
	}
	return near(name, n.vantages)
}
