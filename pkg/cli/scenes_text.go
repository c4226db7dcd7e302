package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sidestep/pkg/control"
)

// siteNames are those of the config, for completion.
func (a *app) siteNames() []string {
	var names []string
	if cfg := a.quietConfig(); cfg != nil {
		for _, s := range cfg.Sites {
			names = append(names, s.Name)
		}
	}
	return names
}

// yesNo is a value of three for people.
func yesNo(holds *bool) string {
	switch {
	case holds == nil:
		return "unknown"
	case *holds:
		return "yes"
	}
	return "no"
}

// printSites shows the sites and scenarios, if there are any.
func (a *app) printSites(sites []control.Site, scenarios []control.Scenario) {
	if len(sites) > 0 {
		rows := [][]string{{"SITE", "STATE", "SIGNALS", ""}}
		for _, s := range sites {
			rows = append(rows, []string{s.Name, s.State, signalWords(s), siteNote(s)})
		}
		fmt.Fprintln(a.io.Out)
		a.table(rows)
	}
	if len(scenarios) > 0 {
		rows := [][]string{{"SCENARIO", "HOLDS", "TERMS"}}
		for _, s := range scenarios {
			rows = append(rows, []string{s.Name, yesNo(s.Holds), groupWords(s)})
		}
		fmt.Fprintln(a.io.Out)
		a.table(rows)
	}
}

func signalWords(s control.Site) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(s.Signals)) {
		words = append(words, name+" "+yesNo(s.Signals[name]))
	}
	return strings.Join(words, ", ")
}

// siteNote is what a person should know of a site beside its signals.
func siteNote(s control.Site) string {
	var notes []string
	if s.Maintenance != "" {
		notes = append(notes, s.Maintenance)
	}
	if s.Detail != "" {
		notes = append(notes, s.Detail)
	}
	return strings.Join(notes, "; ")
}

// groupWords is each term with its value, groups apart.
func groupWords(s control.Scenario) string {
	var groups []string
	for _, group := range s.Any {
		var terms []string
		for _, t := range group {
			terms = append(terms, fmt.Sprintf("(%s) %s", t.Term, yesNo(t.Holds)))
		}
		groups = append(groups, strings.Join(terms, " and "))
	}
	return strings.Join(groups, ", or ")
}

// around tells of an answer what it rests on beside its targets: its site, and
// its scenario with the value of every term.
func (x *explainer) around(a control.ExplainedAnswer, r control.ExplainedRecord) {
	for _, s := range r.Sites {
		if s.Name == a.Site {
			x.field(4, "site", "%s %s%s", s.Name, s.State, prefixed(": ", siteNote(s)))
		}
	}
	if a.When != "" {
		x.scenario(a.When, r, 4, nil)
	}
}

// scenario tells one scenario, and below it those that it rests on.
func (x *explainer) scenario(name string, r control.ExplainedRecord, indent int, above []string) {
	i := slices.IndexFunc(r.Scenarios, func(s control.Scenario) bool { return s.Name == name })
	if i < 0 || slices.Contains(above, name) {
		return
	}
	s := r.Scenarios[i]
	x.field(indent, "scenario", "%s %s", s.Name, map[string]string{"yes": "holds", "no": "does not hold", "unknown": "is not known to hold or not"}[yesNo(s.Holds)])
	for g, group := range s.Any {
		word := "when"
		for _, t := range group {
			if g > 0 && word == "when" {
				word = "or when"
			}
			x.field(indent+2, word, "%-7s  %s%s", yesNo(t.Holds), t.Term, prefixed(": ", t.Detail))
			word = "and"
		}
	}
	for _, group := range s.Any {
		for _, t := range group {
			x.scenario(strings.TrimPrefix(t.Term, "not "), r, indent+2, append(above, name))
		}
	}
}
