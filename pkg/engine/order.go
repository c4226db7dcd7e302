package engine

import (
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/health"
	"sidestep/pkg/override"
	"sidestep/pkg/steer"
)

// reaches reports whether a target is what an override is about.
func (w *word) reaches(t *target) bool {
	switch w.thing.kind {
	case override.All:
		return true
	case override.Address:
		return t.id.Address == w.thing.text
	case override.Target:
		return t.id.ID() == w.thing.text
	case override.Zone, override.Set, override.Site, override.Scenario:
	}
	return false
}

// forceTargets says of every target whether it counts as up or as down,
// whatever its probes see.
func (e *Engine) forceTargets() {
	for _, t := range e.targets {
		t.forced = nil
		for _, w := range e.orders {
			if (w.Kind == override.ForceDown || w.Kind == override.ForceUp) && w.reaches(t) {
				t.forced = w
				break // they are sorted, and down goes before up
			}
		}
	}
}

// rule is what operators say of an answer: the override that decides whether it
// is usable; nil when the probes do. What takes out goes before what puts in.
func (e *Engine) rule(s *set, i int) *word {
	for _, w := range e.orders {
		switch {
		case w.Kind == override.Pin, w.Kind == override.Freeze:
		case w.Kind == override.ForceUp && w.thing.kind == override.Target: // counts as up, and other checks may say no
		case s.reached(w.thing, i):
			return w
		}
	}
	return nil
}

// ruling is the kind of the override that settles what becomes of an answer;
// empty when none does.
func (e *Engine) ruling(s *set, i int) override.Kind {
	if w := e.pinOf(s); w != nil {
		return w.Kind
	}
	w := e.rule(s, i)
	switch {
	case e.maintained(s, i) != "" && (w == nil || !w.Kind.Out()):
		return ""
	case w != nil:
		return w.Kind
	}
	for _, t := range s.targets[i] {
		if t.forced != nil {
			return t.forced.Kind
		}
	}
	return ""
}

// seenBy is what the probes of an answer's targets say together.
func seenBy(needs []*target) health.Verdict {
	known := together(needs, (*target).observed)
	switch {
	case known == steer.No:
		return health.Down
	case slices.ContainsFunc(needs, func(t *target) bool { return t.suspected() }):
		return health.Suspected
	case known == steer.Yes:
		return health.Up
	}
	return health.Unknown
}

// observed is what the probes say of a target, those of several nodes where their
// word counts, and verdict what that counts as.
func (t *target) observed() health.Verdict {
	if t.panel != nil {
		return t.panel.is()
	}
	return t.health.Is()
}

// suspected reports whether guard mass holds the target as it is.
func (t *target) suspected() bool {
	if t.panel != nil {
		return t.panel.suspected
	}
	return t.health.Suspected
}

// why is where and why the target failed last, as far as that decides.
func (t *target) why() string {
	phase, cause := t.health.Phase, t.health.Cause
	if t.panel != nil {
		phase, cause = t.panel.phase, t.panel.cause
	}
	return fmt.Sprintf("%s/%s", phase, cause)
}

func (t *target) verdict() health.Verdict {
	switch {
	case t.forced == nil:
		return t.observed()
	case t.forced.Kind == override.ForceUp:
		return health.Up
	}
	return health.Down
}

// downWords says why a target counts as down.
func (t *target) downWords(verdict func(*target) health.Verdict) string {
	if t.forced != nil && verdict(t) != t.observed() {
		return t.forced.String() + "; its probes say " + string(t.observed())
	}
	why := "down: " + t.why()
	if t.panel != nil {
		why = "down: " + t.panel.words
	}
	if t.health.Disabled {
		why += ", and disabled until: sidestep approve " + t.id.Address
	}
	return why
}

// overrules says what an override makes of a target, and what the probes say.
func (w *word) overrules(t *target) string {
	return fmt.Sprintf("%s %s; its probes say %s", t.id.ID(), w, t.observed())
}

// ruled is what an override makes of an answer, in words that say what the
// probes see as well.
func ruled(w *word, a steer.Answer, probes string) (steer.Usable, string) {
	why := w.String()
	if w.Target != a.Value {
		why = fmt.Sprintf("%s with %s", w.Kind.Did(), strings.Replace(w.String(), w.Kind.Did(), w.Shown(), 1))
	}
	if w.Kind.Out() {
		return steer.No, why + "; " + probes
	}
	return steer.Yes, why + "; " + probes
}

// pinOf is the pin of a record set; nil when there is none.
func (e *Engine) pinOf(s *set) *word {
	for _, w := range e.orders {
		if w.Kind == override.Pin && s.under(w) && len(s.pinned(w.Values)) > 0 {
			return w
		}
	}
	return nil
}
