package engine_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// parseAnswer reads "192.0.2.1|198.51.100.1+site:dc1+when:dc1-usable+standby".
func parseAnswer(t record.Type, text string) (steer.Answer, error) {
	text, rest, _ := strings.Cut(text, "+")
	text, probe, found := strings.Cut(text, "|")
	value, err := record.ParseValue(t, text)
	if !found {
		probe = value
	}
	a := steer.Answer{Value: value, Probe: probe, Weight: 1}
	for word := range strings.SplitSeq(rest, "+") {
		switch key, value, _ := strings.Cut(word, ":"); key {
		case "":
		case "site":
			a.Site = value
		case "when":
			a.When = value
		case "weight":
			n, err := strconv.Atoi(value)
			if err != nil {
				return a, err
			}
			a.Weight = n
		case string(steer.Standby), string(steer.Backup):
			a.Mode = steer.Mode(key)
		default:
			return a, fmt.Errorf("unknown word %q of an answer", word)
		}
	}
	return a, err
}

// doSite reads a site; words that it does not know are signals.
func (w *world) doSite(words []string, named map[string]string) error {
	site := scenario.Site{Name: words[0]}
	for name, text := range named {
		switch name {
		case "maintenance":
			site.Maintenance = text
		case "return":
			mode, after, _ := strings.Cut(text, "/")
			mode, fresh, _ := strings.Cut(mode, ":")
			d, err := time.ParseDuration(after)
			if err != nil {
				return err
			}
			site.Return = scenario.Return{Mode: scenario.ReturnMode(mode), Check: fresh, AfterOutage: d}
		default:
			text, need, _ := strings.Cut(text, "/")
			check, targets, _ := strings.Cut(text, ":")
			signal := scenario.Signal{Name: name, Check: check, Targets: strings.Split(targets, ";"), Need: 1}
			switch need {
			case "", "any":
			case "all":
				signal.Need = len(signal.Targets)
			default:
				if _, err := fmt.Sscan(need, &signal.Need); err != nil {
					return err
				}
			}
			site.Signals = append(site.Signals, signal)
		}
	}
	scenario.SortSignals(site.Signals)
	w.config.Sites = append(slices.DeleteFunc(slices.Clone(w.config.Sites), func(s scenario.Site) bool { return s.Name == site.Name }), site)
	return nil
}

// doScenario reads groups of terms with | between them. What a name stands for is
// told by what there is.
func (w *world) doScenario(words []string) {
	spec := scenario.Scenario{Name: words[0], Any: []scenario.Group{nil}}
	for _, word := range words[1:] {
		if word == "|" {
			spec.Any = append(spec.Any, nil)
			continue
		}
		last := &spec.Any[len(spec.Any)-1]
		*last = append(*last, w.term(word))
	}
	others := slices.DeleteFunc(slices.Clone(w.config.Scenarios), func(s scenario.Scenario) bool { return s.Name == spec.Name })
	w.config.Scenarios = append(others, spec)
}

func (w *world) term(text string) scenario.Term {
	text, not := strings.CutPrefix(text, "!")
	t := scenario.Term{Not: not, Name: text}
	if check, address, found := strings.Cut(text, "@"); found {
		t.Kind, t.Name, t.Of = scenario.TargetUp, check, address
		return t
	}
	name, signal, dotted := strings.Cut(text, ".")
	isSite := slices.ContainsFunc(w.config.Sites, func(s scenario.Site) bool { return s.Name == name })
	switch {
	case dotted && signal == scenario.MaintenanceWord:
		t.Kind, t.Name = scenario.Maintenance, name
	case dotted:
		t.Kind, t.Name, t.Of = scenario.SignalHolds, name, signal
	case isSite:
		t.Kind = scenario.SiteOK
	case w.config.Checks[text] != nil:
		t.Kind = scenario.CheckUp
	default:
		t.Kind = scenario.Holds
	}
	return t
}

// viewScenes prints sites and scenarios for people.
func (w *world) viewScenes(v engine.View) {
	for _, s := range v.Sites {
		text := fmt.Sprintf("  site %s %s", s.Name, s.State)
		for _, signal := range s.Signals {
			text += fmt.Sprintf(" %s=%s", signal.Name, signal.Value)
		}
		if s.Outage > 0 {
			text += fmt.Sprintf(" out for %s", s.Outage)
		}
		w.printf("%s%s", text, prefixed(" waiting ", s.Waiting))
	}
	for _, s := range v.Scenarios {
		var groups []string
		for _, group := range s.Groups {
			var terms []string
			for _, term := range group {
				terms = append(terms, fmt.Sprintf("%s=%s", term.Term, term.Value))
			}
			groups = append(groups, strings.Join(terms, ", "))
		}
		w.printf("  scenario %s %s: %s", s.Name, s.Value, strings.Join(groups, " | "))
	}
}
