package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/health"
	"sidestep/pkg/override"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// site is one data centre, and what its return waits for.
type site struct {
	spec        *scenario.Site
	maintenance int                // the node of its maintenance
	state       string             // as it was told last
	sets        []*set             // that have an answer here
	addresses   []string           // those that are probed for the answers here, sorted
	outages     map[string]*outage // by target: those that are not over
	wait        *wait              // nil while it waits for nothing
	released    time.Duration      // boot time at which it last ceased to wait; 0 never
}

func (s *site) signal(name string) scenario.Term {
	return scenario.Term{Kind: scenario.SignalHolds, Name: s.spec.Name, Of: name}
}

// truth is what a target's verdict is worth in a scenario, an operator's word
// included.
func truth(t *target) scenario.Truth {
	switch t.verdict() {
	case health.Down:
		return scenario.False
	case health.Up:
		return scenario.True
	case health.Unknown:
	}
	return scenario.Unknown
}

// touch notes that something about a target has changed: what rests on it is
// judged anew when this step is over.
func (e *Engine) touch(t *target) {
	if t.panel != nil {
		e.panels.note(t)
	}
	e.moved(t)
}

// moved notes that a target counts as something else.
func (e *Engine) moved(t *target) {
	e.outdate(t.sets...)
	e.scenes.net.Set(t.node, truth(t))
}

// site finds a site by its name; nil when the config has none such.
func (e *Engine) site(name string) *site {
	i, found := slices.BinarySearchFunc(e.scenes.sites, name, func(s *site, name string) int {
		return strings.Compare(s.spec.Name, name)
	})
	if !found {
		return nil
	}
	return e.scenes.sites[i]
}

// tellState puts a new state of a site into the journal.
func (e *Engine) tellState(s *site) {
	state := e.stateOf(s)
	if state == s.state {
		return
	}
	e.tell(Entry{Kind: "site", Target: s.spec.Name, Detail: fmt.Sprintf("%s, was %s", state, s.state)})
	s.state = state
}

func (e *Engine) stateOf(s *site) string {
	net := e.scenes.net
	return s.spec.State(net.Value(s.maintenance) == scenario.True, func(signal string) scenario.Truth {
		return net.ValueOf(s.signal(signal))
	})
}

// maintenanceOf is why a site is in maintenance; empty when it is not.
func (e *Engine) maintenanceOf(s *site) string {
	if s.spec.Maintenance != "" {
		return s.spec.Maintenance
	}
	if w := e.wordOn(override.Site, s.spec.Name, override.Drain); w != nil {
		return w.String()
	}
	return ""
}

// refreshSite takes over whether a site is in maintenance, and which of its outages
// are planned. It is called when that may have changed: by a reload, or by an
// operator's word.
func (e *Engine) refreshSite(s *site) {
	e.scenes.net.Set(s.maintenance, scenario.Of(e.maintenanceOf(s) != ""))
	for id, o := range s.outages {
		o.pause(e.planned(s, id), e.now.Boot)
	}
	e.outdate(s.sets...)
}

// holds is whether a scenario holds, or another term without "not", as it was
// settled last. A record set that asks has to be judged anew when that changes:
// see hangOn.
func (e *Engine) holds(text string) steer.Usable {
	switch e.scenes.net.Value(e.scenes.net.Find(text)) {
	case scenario.True:
		return steer.Yes
	case scenario.False:
		return steer.No
	case scenario.Unknown:
	}
	return steer.NotKnown
}

// because is why a scenario does not hold, or is not known to, in words: the
// terms that settle it.
func (e *Engine) because(name string) string {
	if w := e.wordOn(override.Scenario, name, override.ForceDown, override.ForceUp); w != nil {
		return w.String()
	}
	value, words := e.scenes.net.Value(e.scenes.net.Find(name)), []string(nil)
	for _, term := range e.scenes.specs[name].Terms() {
		if e.scenes.net.ValueOf(term) != value {
			continue
		}
		if text := e.termWords(term); !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	return strings.Join(words, ", ")
}

// termWords is a term without its "not", and what it is.
func (e *Engine) termWords(term scenario.Term) string {
	value := e.scenes.net.Value(e.scenes.net.Find(term.Plain()))
	words := value.String()
	switch term.Kind {
	case scenario.SiteOK:
		if w := e.wordOn(override.Site, term.Name, override.ForceDown, override.ForceUp); w != nil {
			words = w.String()
		} else if s := e.site(term.Name); s != nil {
			words = e.stateOf(s)
		}
	case scenario.TargetUp, scenario.CheckUp:
		words = map[scenario.Truth]string{scenario.True: "up", scenario.False: "down", scenario.Unknown: "not judged"}[value]
	case scenario.SignalHolds, scenario.Maintenance, scenario.Holds:
	}
	return term.Plain() + " " + words
}

// maintained is why an answer is out although it may be healthy: the config says
// that its site is in maintenance. It is empty when it does not.
func (e *Engine) maintained(s *set, i int) string {
	at := s.sites[i]
	if at == nil {
		return ""
	}
	if at.spec.Maintenance == "" {
		return "" // a drain is an operator's word like any other
	}
	return "site " + at.spec.Name + " is in maintenance: " + at.spec.Maintenance
}

// admit is whether what an answer needs beside its targets is there: its site does
// not wait, its scenario holds, a standby is called. The words are why not, or
// what is to be said behind those of the targets.
func (e *Engine) admit(s *set, i int) (steer.Usable, string) {
	a := s.spec.At(i)
	if s.sites[i] != nil {
		if words := s.sites[i].waitsFor(a.Probe); words != "" {
			return steer.No, words
		}
	}
	switch {
	case a.When != "":
		return e.admitWhen(a.When)
	case a.Mode == steer.Standby:
		return steer.No, "standby, and nothing calls it"
	}
	return steer.Yes, ""
}

func (e *Engine) admitWhen(name string) (steer.Usable, string) {
	at := e.scenes.net.Find(name)
	words, known := e.scenes.because[at]
	if !known {
		words = e.whenWords(name)
		e.scenes.because[at] = words
	}
	return e.holds(name), words
}

// whenWords says why a scenario does not hold, or is not known to, or that it
// does.
func (e *Engine) whenWords(name string) string {
	switch e.holds(name) {
	case steer.No:
		return name + " does not hold: " + e.because(name)
	case steer.NotKnown:
		return "; whether " + name + " holds is not known: " + e.because(name)
	case steer.Yes:
	}
	if w := e.wordOn(override.Scenario, name, override.ForceUp); w != nil {
		return "; " + name + " holds: " + w.String()
	}
	return "; " + name + " holds"
}
