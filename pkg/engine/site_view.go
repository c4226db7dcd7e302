package engine

import (
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
)

// SiteView is one site.
type SiteView struct {
	Name        string
	State       string        // scenario.StateOK, StateUnknown, StateMaintenance, or no-SIGNAL
	Signals     []SignalView  // in the order in which the state looks at them
	Maintenance string        // why it is in maintenance; empty when it is not
	Waiting     string        // what it waits for after a long outage: "approval", "fresh", or empty
	WaitWords   string        // that in words, with the way on
	WaitsSince  time.Time     // zero while it does not wait
	Outage      time.Duration // the longest that is not over, 0 for none
}

// SignalView is one signal of a site.
type SignalView struct {
	Name    string
	Value   scenario.Truth
	Need    int
	Targets []check.Target
}

// ScenarioView is one scenario, with the value of each of its terms.
type ScenarioView struct {
	Name   string
	Value  scenario.Truth
	Groups [][]TermView
}

// TermView is one term of a scenario as the config has it; its Value includes
// its "not".
type TermView struct {
	Term  scenario.Term
	Value scenario.Truth
}

func (e *Engine) siteViews() []SiteView {
	views := make([]SiteView, 0, len(e.scenes.sites))
	for _, s := range e.scenes.sites {
		v := SiteView{
			Name: s.spec.Name, State: e.stateOf(s), Maintenance: e.maintenanceOf(s), Outage: s.longest(e.now.Boot),
		}
		if s.wait != nil {
			v.Waiting, v.WaitWords, v.WaitsSince = "approval", s.waitWords(), e.wall(s.wait.since)
			if s.spec.Return.Mode == scenario.Fresh {
				v.Waiting = "fresh"
			}
		}
		for _, signal := range s.spec.Signals {
			sv := SignalView{Name: signal.Name, Value: e.scenes.net.ValueOf(s.signal(signal.Name)), Need: signal.Need}
			for _, address := range signal.Targets {
				sv.Targets = append(sv.Targets, check.Target{Check: signal.Check, Address: address})
			}
			v.Signals = append(v.Signals, sv)
		}
		views = append(views, v)
	}
	return views
}

// WaitingSites lists the sites that wait after a long outage and have an answer in
// one of the zones, sorted by name; of none, in any zone. Of a view only the name
// and what it waits for are there.
func (e *Engine) WaitingSites(zones []record.Name) []SiteView {
	var list []SiteView
	for _, s := range e.scenes.sites {
		in := func(set *set) bool { return len(zones) == 0 || slices.Contains(zones, set.spec.Key.Zone) }
		if s.wait != nil && slices.ContainsFunc(s.sets, in) {
			list = append(list, SiteView{Name: s.spec.Name, WaitWords: s.waitWords()})
		}
	}
	return list
}

// scenarioViews lists the scenarios in the order of the config.
func (e *Engine) scenarioViews() []ScenarioView {
	views := make([]ScenarioView, 0, len(e.config.Scenarios))
	for _, spec := range e.config.Scenarios {
		v := ScenarioView{Name: spec.Name, Value: e.scenes.net.Value(e.scenes.net.Find(spec.Name))}
		for _, group := range spec.Any {
			terms := make([]TermView, 0, len(group))
			for _, term := range group {
				terms = append(terms, TermView{Term: term, Value: e.scenes.net.ValueOf(term)})
			}
			v.Groups = append(v.Groups, terms)
		}
		views = append(views, v)
	}
	return views
}
