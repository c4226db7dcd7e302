package scenario

import "slices"

// Net is a definition at work: the values that its terms have now. Make one
// with Compile.
type Net struct {
	nodes   []node
	byText  map[string]int // by the plain text of a term
	waiting [][]int32      // nodes to be looked at again, by level
	moved   []int          // nodes whose value changed since Settle was last asked
}

// node is an input, or a gate that holds when at least need of its inputs do.
// A gate is above all of its inputs by level.
type node struct {
	own      Truth // an input's value, or what the inputs of a gate add up to
	word     Truth // instead of own, while forced
	value    Truth // what counts, as far as it was settled
	forced   bool
	queued   bool
	level    int32
	need     int32
	trues    int32
	unknowns int32
	out      []edge
}

// edge leads from a node to a gate that it is an input of.
type edge struct {
	to  int32
	not bool
}

// Compile makes a Net of sites and scenarios. targets are the addresses that
// each check probes, by its name. Every input is Unknown at first. What a term
// names and is not there stays Unknown for ever, and so does a scenario that
// rests on itself: see Rings.
func Compile(sites []Site, scenarios []Scenario, targets map[string][]string) *Net {
	n := &Net{byText: map[string]int{}}
	for _, site := range sites {
		n.addSite(site)
	}
	c := compiler{net: n, targets: targets, open: map[string]bool{}, byName: map[string]Scenario{}}
	for _, s := range scenarios {
		c.byName[s.Name] = s
	}
	for _, s := range scenarios {
		c.scenario(s.Name)
	}
	n.Settle()
	return n
}

func (n *Net) addSite(site Site) {
	terms := []edge{{to: int32(n.input(Term{Kind: Maintenance, Name: site.Name})), not: true}}
	for _, signal := range site.Signals {
		var inputs []edge
		for _, address := range signal.Targets {
			inputs = append(inputs, edge{to: int32(n.input(Term{Kind: TargetUp, Name: signal.Check, Of: address}))})
		}
		at := n.gate(Term{Kind: SignalHolds, Name: site.Name, Of: signal.Name}.Plain(), signal.Need, inputs)
		terms = append(terms, edge{to: int32(at)})
	}
	n.gate(site.Name, len(terms), terms)
}

// input finds the node of a term, or makes one that nothing leads to.
func (n *Net) input(t Term) int {
	text := t.Plain()
	if at, found := n.byText[text]; found {
		return at
	}
	n.nodes = append(n.nodes, node{})
	n.byText[text] = len(n.nodes) - 1
	return len(n.nodes) - 1
}

// gate makes a node of inputs that are there already, each named by the to of an
// edge. Without a text only other gates know it.
func (n *Net) gate(text string, need int, inputs []edge) int {
	at := len(n.nodes)
	g := node{need: int32(need), queued: true}
	for _, in := range inputs {
		from := &n.nodes[in.to]
		from.out = append(from.out, edge{to: int32(at), not: in.not})
		g.level = max(g.level, from.level+1)
		g.count(turn(from.value, in.not), 1)
	}
	n.nodes = append(n.nodes, g)
	if text != "" {
		n.byText[text] = at
	}
	n.push(at)
	return at
}

// compiler makes the gates of scenarios, each after those that it rests on.
type compiler struct {
	net     *Net
	targets map[string][]string
	byName  map[string]Scenario
	open    map[string]bool // being made
}

func (c *compiler) scenario(name string) int {
	if at, done := c.net.byText[name]; done {
		return at
	}
	s, found := c.byName[name]
	if !found || c.open[name] {
		return c.net.input(Term{Kind: Holds, Name: name})
	}
	c.open[name] = true
	var groups []edge
	for _, group := range s.Any {
		var terms []edge
		for _, term := range group {
			terms = append(terms, edge{to: int32(c.term(term)), not: term.Not})
		}
		groups = append(groups, edge{to: int32(c.net.gate("", len(terms), terms))})
	}
	if at, ring := c.net.byText[name]; ring {
		return at
	}
	return c.net.gate(name, 1, groups)
}

func (c *compiler) term(t Term) int {
	switch t.Kind {
	case Holds:
		return c.scenario(t.Name)
	case CheckUp:
		return c.check(t)
	case SiteOK, SignalHolds, Maintenance, TargetUp:
	}
	return c.net.input(t)
}

// check makes the gate of a check that holds when all its targets are up. One
// without targets is not known to be up.
func (c *compiler) check(t Term) int {
	addresses := c.targets[t.Name]
	if at, done := c.net.byText[t.Name]; done || len(addresses) == 0 {
		if done {
			return at
		}
		return c.net.input(t)
	}
	var inputs []edge
	for _, address := range addresses {
		inputs = append(inputs, edge{to: int32(c.net.input(Term{Kind: TargetUp, Name: t.Name, Of: address}))})
	}
	return c.net.gate(t.Name, len(inputs), inputs)
}

// Find gives the number of a node by the plain text of its term, such as
// "dc1.wan", "web@192.0.2.1" or the name of a scenario; -1 when nothing is
// called so. Numbers hold for this Net only.
func (n *Net) Find(text string) int {
	if at, found := n.byText[text]; found {
		return at
	}
	return -1
}

// Len is how many nodes there are: their numbers are below it.
func (n *Net) Len() int { return len(n.nodes) }

// Value is what a node is worth since the last Settle; Unknown for one that is
// not there.
func (n *Net) Value(at int) Truth {
	if at < 0 {
		return Unknown
	}
	return n.nodes[at].value
}

// Observed is what a node would be worth without a word that forces it.
func (n *Net) Observed(at int) Truth {
	if at < 0 {
		return Unknown
	}
	return n.nodes[at].own
}

// ValueOf is the value of a term, its "not" included.
func (n *Net) ValueOf(t Term) Truth { return turn(n.Value(n.Find(t.Plain())), t.Not) }

// Set gives an input another value. It takes effect with the next Settle.
func (n *Net) Set(at int, value Truth) {
	if at < 0 || n.nodes[at].own == value {
		return
	}
	n.nodes[at].own = value
	n.queue(at)
}

// Force makes a node worth what an operator says, whatever its inputs are. What
// they add up to is still known: see Observed. It takes effect with the next
// Settle, as Free does.
func (n *Net) Force(at int, value Truth) {
	if at < 0 || n.nodes[at].forced && n.nodes[at].word == value {
		return
	}
	n.nodes[at].forced, n.nodes[at].word = true, value
	n.queue(at)
}

// Free ends what Force began.
func (n *Net) Free(at int) {
	if at < 0 || !n.nodes[at].forced {
		return
	}
	n.nodes[at].forced = false
	n.queue(at)
}

func (n *Net) queue(at int) {
	if !n.nodes[at].queued {
		n.nodes[at].queued = true
		n.push(at)
	}
}

func (n *Net) push(at int) {
	level := int(n.nodes[at].level)
	for len(n.waiting) <= level {
		n.waiting = append(n.waiting, nil)
	}
	n.waiting[level] = append(n.waiting[level], int32(at))
}

// Settle carries all changes on to what hangs on them, and lists the nodes whose
// value is another one now, those that others build on first. The list is good
// until the next call. It costs nothing when nothing was changed.
func (n *Net) Settle() []int {
	n.moved = n.moved[:0]
	for level := range n.waiting {
		for i := 0; i < len(n.waiting[level]); i++ {
			n.look(int(n.waiting[level][i]))
		}
		n.waiting[level] = n.waiting[level][:0]
	}
	return n.moved
}

// look brings one node up to date. What hangs on it stands at a higher level.
func (n *Net) look(at int) {
	v := &n.nodes[at]
	v.queued = false
	if v.need > 0 {
		v.own = atLeast(v.need, v.trues, v.unknowns)
	}
	value := v.own
	if v.forced {
		value = v.word
	}
	before := v.value
	if value == before {
		return
	}
	v.value = value
	n.moved = append(n.moved, at)
	for _, e := range v.out {
		g := &n.nodes[e.to]
		g.count(turn(before, e.not), -1)
		g.count(turn(value, e.not), 1)
		n.queue(int(e.to))
	}
}

// count takes an input of a value in (1) or out (-1).
func (v *node) count(value Truth, by int32) {
	switch value {
	case True:
		v.trues += by
	case Unknown:
		v.unknowns += by
	case False:
	}
}

func turn(value Truth, not bool) Truth {
	if not {
		return value.Not()
	}
	return value
}

// Below lists every input that a node rests on, sorted: what changes nothing
// there changes nothing here.
func (n *Net) Below(at int) []int {
	if at < 0 {
		return nil
	}
	below := make([]bool, len(n.nodes))
	below[at] = true
	var inputs []int
	for from := len(n.nodes) - 1; from >= 0; from-- {
		v := &n.nodes[from]
		below[from] = below[from] || slices.ContainsFunc(v.out, func(e edge) bool { return below[e.to] })
		if below[from] && v.need == 0 {
			inputs = append(inputs, from)
		}
	}
	slices.Sort(inputs)
	return inputs
}
