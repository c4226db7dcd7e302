package daemon

import (
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// scenes finds what an answer rests on beside its targets: the scenarios that it
// names and those in them, the sites of their terms and its own.
type scenes struct {
	view      engine.View
	scenarios map[string]bool
	sites     map[string]bool
}

// scenesOf are those of the record sets; without any, all there are.
func scenesOf(view engine.View, specs ...*steer.Spec) *scenes {
	s := &scenes{view: view, scenarios: map[string]bool{}, sites: map[string]bool{}}
	for _, spec := range specs {
		for i := range spec.Len() {
			s.sites[spec.At(i).Site] = true
		}
		for _, when := range spec.Whens() {
			s.use(when)
		}
	}
	if len(specs) > 0 {
		return s
	}
	for _, site := range view.Sites {
		s.sites[site.Name] = true
	}
	for _, one := range view.Scenarios {
		s.scenarios[one.Name] = true
	}
	return s
}

func (s *scenes) use(name string) {
	i := slices.IndexFunc(s.view.Scenarios, func(v engine.ScenarioView) bool { return v.Name == name })
	if i < 0 || s.scenarios[name] {
		return
	}
	s.scenarios[name] = true
	for _, group := range s.view.Scenarios[i].Groups {
		for _, t := range group {
			switch t.Term.Kind {
			case scenario.Holds:
				s.use(t.Term.Name)
			case scenario.SiteOK, scenario.SignalHolds, scenario.Maintenance:
				s.sites[t.Term.Name] = true
			case scenario.TargetUp, scenario.CheckUp:
			}
		}
	}
}

// rests notes the targets that the sites and scenarios rest on.
func (s *scenes) rests(ids map[string]bool) {
	for _, v := range s.view.Sites {
		for _, signal := range v.Signals {
			for _, target := range signal.Targets {
				ids[target.ID()] = ids[target.ID()] || s.sites[v.Name]
			}
		}
	}
	for _, one := range s.describeScenarios() {
		for _, group := range one.Any {
			for _, term := range group {
				for _, id := range term.Targets {
					ids[id] = true
				}
			}
		}
	}
}

// describeSites lists them in the order of the view.
func (s *scenes) describeSites() []control.Site {
	sites := []control.Site{}
	for _, v := range s.view.Sites {
		if !s.sites[v.Name] {
			continue
		}
		site := control.Site{Name: v.Name, State: v.State, Signals: map[string]*bool{}, Maintenance: v.Maintenance, Detail: v.WaitWords}
		for _, signal := range v.Signals {
			site.Signals[signal.Name] = known(signal.Value)
		}
		if v.Waiting != "" {
			site.Waiting = &v.Waiting
		}
		sites = append(sites, site)
	}
	return sites
}

func (s *scenes) describeScenarios() []control.Scenario {
	scenarios := []control.Scenario{}
	for _, v := range s.view.Scenarios {
		if !s.scenarios[v.Name] {
			continue
		}
		out := control.Scenario{Name: v.Name, Holds: known(v.Value), Any: [][]control.Term{}}
		for _, group := range v.Groups {
			terms := []control.Term{}
			for _, t := range group {
				detail, targets := s.termWords(t.Term)
				terms = append(terms, control.Term{Term: t.Term.String(), Holds: known(t.Value), Detail: detail, Targets: list(targets)})
			}
			out.Any = append(out.Any, terms)
		}
		scenarios = append(scenarios, out)
	}
	return scenarios
}

// known is a value as JSON has it: null when it is unknown.
func known(value scenario.Truth) *bool {
	if value == scenario.Unknown {
		return nil
	}
	holds := value == scenario.True
	return &holds
}

// termWords says what a term rests on, and which targets those are.
func (s *scenes) termWords(t scenario.Term) (words string, targets []string) {
	switch t.Kind {
	case scenario.TargetUp:
		return s.targetWords([]string{t.Plain()}), []string{t.Plain()}
	case scenario.CheckUp:
		for _, v := range s.view.Targets {
			if v.Target.Check == t.Name {
				targets = append(targets, v.Target.ID())
			}
		}
		return s.targetWords(targets), targets
	case scenario.SignalHolds, scenario.SiteOK, scenario.Maintenance:
		i := slices.IndexFunc(s.view.Sites, func(v engine.SiteView) bool { return v.Name == t.Name })
		if i >= 0 {
			return s.siteWords(s.view.Sites[i], t)
		}
	case scenario.Holds:
	}
	return "", nil
}

func (s *scenes) siteWords(site engine.SiteView, t scenario.Term) (words string, targets []string) {
	for _, signal := range site.Signals {
		if t.Kind == scenario.Maintenance || t.Kind == scenario.SignalHolds && signal.Name != t.Of {
			continue
		}
		for _, target := range signal.Targets {
			targets = append(targets, target.ID())
		}
		words = fmt.Sprintf("%s; %d of %d needed", s.targetWords(targets), signal.Need, len(signal.Targets))
	}
	switch t.Kind {
	case scenario.SiteOK:
		return "its state is " + site.State, targets
	case scenario.Maintenance:
		return site.Maintenance, nil
	case scenario.SignalHolds, scenario.TargetUp, scenario.CheckUp, scenario.Holds:
	}
	return words, targets
}

// mostWords is of how many targets each one's verdict is told.
const mostWords = 6

// targetWords tells the verdicts of targets, those that are not up first.
func (s *scenes) targetWords(ids []string) string {
	var up, other []string
	for _, id := range ids {
		i, found := slices.BinarySearchFunc(s.view.Targets, id, func(v engine.TargetView, id string) int {
			return strings.Compare(v.Target.ID(), id)
		})
		if !found {
			continue
		}
		switch verdict, phase, cause := s.view.Targets[i].Counts(); verdict {
		case health.Up:
			up = append(up, id+" up")
		case health.Unknown:
			other = append(other, id+" not judged yet")
		default:
			other = append(other, fmt.Sprintf("%s %s: %s/%s", id, verdict, phase, cause))
		}
	}
	words := append(other, up...)
	if more := len(words) - mostWords; more > 0 {
		words = append(words[:mostWords], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}
