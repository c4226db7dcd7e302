package engine

import (
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
)

// scenes are the sites and scenarios, and what hangs on them. A node is one of
// net.
type scenes struct {
	net     *scenario.Net
	sites   []*site                       // sorted by name
	specs   map[string]*scenario.Scenario // by name
	inputs  []*target                     // by node: the target that it is the verdict of; nil for others
	states  []*site                       // by node: the site of whose state it is a part; nil for others
	hang    [][]*set                      // by node: record sets that may be decided otherwise when it moves
	worded  [][]*set                      // by node: record sets that tell why by it
	under   map[int][]*target             // by node: what rests below it, as far as that was asked
	because map[int]string                // by node of a scenario: what is said of it; emptied with each move
}

// addScenes builds sites and scenarios from the definition, after all record
// sets and their targets, and takes over what is known of the sites of before.
func (e *Engine) addScenes(old *Engine) {
	e.scenes = scenes{specs: map[string]*scenario.Scenario{}, under: map[int][]*target{}, because: map[int]string{}}
	for i := range e.config.Sites {
		e.addSite(&e.config.Sites[i], old)
	}
	slices.SortFunc(e.scenes.sites, func(a, b *site) int { return strings.Compare(a.spec.Name, b.spec.Name) })
	for _, s := range e.sets {
		e.stand(s, old)
	}
	e.compile()
	patience := map[string]time.Duration{}
	for _, s := range e.sets {
		e.hangAnswers(s, patience)
	}
	for _, s := range e.scenes.sites {
		slices.Sort(s.addresses)
		s.addresses = slices.Compact(s.addresses)
		e.refreshSite(s)
	}
	e.scenes.net.Settle()
	for _, s := range e.scenes.sites {
		e.tellState(s)
	}
	e.missOutages()
}

func (e *Engine) addSite(spec *scenario.Site, old *Engine) {
	s := &site{spec: spec, state: scenario.StateUnknown, outages: map[string]*outage{}}
	if before := old.site(spec.Name); before != nil {
		s.state, s.outages, s.wait, s.released = before.state, before.outages, before.wait, before.released
	}
	e.scenes.sites = append(e.scenes.sites, s)
	for _, signal := range spec.Signals {
		for _, address := range signal.Targets {
			e.addTarget(check.Target{Check: signal.Check, Address: address}, old.targets)
		}
	}
}

// stand puts the answers of a record set where the config says that they are.
func (e *Engine) stand(s *set, old *Engine) {
	s.sites = make([]*site, s.spec.Len())
	for i := range s.sites {
		a := s.spec.At(i)
		at := e.site(a.Site)
		if at == nil {
			continue
		}
		s.sites[i] = at
		at.addresses = append(at.addresses, a.Probe)
		at.sets = appendNew(at.sets, s)
		for _, t := range s.targets[i] {
			t.stands().home = appendNew(t.home(), at)
		}
		if at.spec.Return.Mode == scenario.Fresh {
			t := e.addTarget(check.Target{Check: at.spec.Return.Check, Address: a.Probe}, old.targets)
			t.stands().proves = appendNew(t.proves(), at)
		}
	}
}

// appendNew appends a value that is not the last one already: lists are made for
// one record set after the other.
func appendNew[T comparable](list []T, value T) []T {
	if n := len(list); n > 0 && list[n-1] == value {
		return list
	}
	return append(list, value)
}

// compile makes the net, with the values that targets have already.
func (e *Engine) compile() {
	if len(e.config.Sites) == 0 && len(e.config.Scenarios) == 0 {
		e.scenes.net = scenario.Compile(nil, nil, nil)
		for _, t := range e.targets {
			t.node = -1
		}
		return
	}
	addresses := map[string][]string{}
	for _, t := range e.targets {
		addresses[t.id.Check] = append(addresses[t.id.Check], t.id.Address)
	}
	for _, list := range addresses {
		slices.Sort(list)
	}
	c := &e.scenes
	c.net = scenario.Compile(e.config.Sites, e.config.Scenarios, addresses)
	n := c.net.Len()
	c.inputs, c.states, c.hang, c.worded = make([]*target, n), make([]*site, n), make([][]*set, n), make([][]*set, n)
	for id, t := range e.targets {
		if t.node = c.net.Find(id); t.node >= 0 {
			c.inputs[t.node] = t
			c.net.Set(t.node, truth(t))
		}
	}
	for _, s := range c.sites {
		s.maintenance = c.net.Find(scenario.Term{Kind: scenario.Maintenance, Name: s.spec.Name}.Plain())
		c.states[s.maintenance] = s
		for _, signal := range s.spec.Signals {
			c.states[c.net.Find(s.signal(signal.Name).Plain())] = s
		}
	}
	for i := range e.config.Scenarios {
		c.specs[e.config.Scenarios[i].Name] = &e.config.Scenarios[i]
	}
}

// hangAnswers sees to it that a record set is judged anew when a scenario of it
// moves, or a term that tells why it is what it is. It waits as long for
// the targets below as for its own.
func (e *Engine) hangAnswers(s *set, patience map[string]time.Duration) {
	for _, when := range s.spec.Whens() {
		e.hangOn(s, when)
		if spec := e.scenes.specs[when]; spec != nil {
			for _, term := range spec.Terms() {
				if at := e.scenes.net.Find(term.Plain()); at >= 0 {
					e.scenes.worded[at] = appendNew(e.scenes.worded[at], s)
				}
			}
		}
		if _, known := patience[when]; !known {
			patience[when] = e.patienceBelow(when)
		}
		s.patience = max(s.patience, patience[when])
	}
	s.deadline = e.now.Boot + s.patience
}

// hangOn sees to it that a record set is judged anew, and its zone planned, when
// a term (a scenario, a site, a signal) moves, and that what is below it is
// probed for the zone.
func (e *Engine) hangOn(s *set, text string) {
	at := e.scenes.net.Find(text)
	if at < 0 {
		return
	}
	e.scenes.hang[at] = appendNew(e.scenes.hang[at], s)
	if s.zone.hangs == nil {
		s.zone.hangs = map[int]bool{}
	}
	s.zone.hangs[at] = true
}

// below lists the targets that a node rests on.
func (e *Engine) below(at int) []*target {
	targets, known := e.scenes.under[at]
	if known {
		return targets
	}
	for _, input := range e.scenes.net.Below(at) {
		if t := e.scenes.inputs[input]; t != nil {
			targets = append(targets, t)
		}
	}
	e.scenes.under[at] = targets
	return targets
}

// starveScenes lets what a record set rests on through scenarios and returns
// follow whether it has a usable answer: without one nothing of it is left alone,
// as a target of the answers themselves.
func (e *Engine) starveScenes(s *set) {
	by := -1
	if s.starved {
		by = 1
	}
	starve := func(t *target) {
		t.starving += by
		e.noteHold(t)
	}
	for _, when := range s.spec.Whens() {
		for _, t := range e.below(e.scenes.net.Find(when)) {
			starve(t)
		}
	}
	for i, site := range s.sites {
		if site == nil || site.spec.Return.Mode != scenario.Fresh {
			continue
		}
		if t := e.targets[check.Target{Check: site.spec.Return.Check, Address: s.spec.At(i).Probe}.ID()]; t != nil {
			starve(t)
		}
	}
}

func (e *Engine) patienceBelow(text string) time.Duration {
	longest := time.Duration(0)
	for _, t := range e.below(e.scenes.net.Find(text)) {
		longest = max(longest, e.patience(t.spec))
	}
	return longest
}

// watched are the targets that record sets of the zones rest on beside those of
// their answers: through a scenario, or for the return of a site. Of none, of all
// zones.
func (e *Engine) watched(zones []record.Name) map[*target]bool {
	watched := map[*target]bool{}
	for name, z := range e.zones {
		if len(zones) > 0 && !slices.Contains(zones, name) {
			continue
		}
		for at := range z.hangs {
			for _, t := range e.below(at) {
				watched[t] = true
			}
		}
	}
	for _, t := range e.targets {
		for _, s := range t.proves() {
			watched[t] = watched[t] || slices.ContainsFunc(s.sets, func(s *set) bool {
				return len(zones) == 0 || slices.Contains(zones, s.zone.name)
			})
		}
	}
	return watched
}

// settleScenes works the sites and scenarios out that rest on a changed target,
// and notes the record sets that hang on those.
func (e *Engine) settleScenes() {
	moved := e.scenes.net.Settle()
	if len(moved) > 0 {
		clear(e.scenes.because)
	}
	for _, at := range moved {
		e.outdate(e.scenes.worded[at]...)
		e.outdate(e.scenes.hang[at]...)
		for _, s := range e.scenes.hang[at] {
			s.zone.turned = true
		}
		if s := e.scenes.states[at]; s != nil {
			e.tellState(s)
		}
	}
}
