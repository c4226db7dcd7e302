package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/override"
	"sidestep/pkg/record"
)

// thing is what an override is about, as the config in force has it.
type thing struct {
	kind override.Thing
	text string // canonical
}

func (th thing) shown() string { return strings.TrimSuffix(th.text, ".") }

// thing finds what a text means. With a kind it is one that the kind can be
// about, if there is one.
func (e *Engine) thing(kind override.Kind, text string) (thing, error) {
	finders := []func(string) (thing, bool){e.findAll, e.findSite, e.findScenario, e.findTarget, e.findSet, e.findAddress, e.findZone}
	if kind == override.Freeze {
		finders = []func(string) (thing, bool){e.findAll, e.findZone, e.findSet, e.findSite, e.findTarget, e.findAddress}
	}
	for _, find := range finders {
		if th, found := find(text); found {
			return th, nil
		}
	}
	return thing{}, &UnknownTargetError{Kind: kind, Target: text}
}

// UnknownTargetError says that an override is about nothing in the config.
type UnknownTargetError struct {
	Kind   override.Kind // empty when that was not said
	Target string
}

func (u *UnknownTargetError) Error() string {
	if u.Kind == "" {
		return fmt.Sprintf("the config has no %q", u.Target)
	}
	return fmt.Sprintf("the config has no %q; a %s is of %s", u.Target, u.Kind, override.Join(u.Kind.Takes()))
}

func (e *Engine) findAll(text string) (thing, bool) {
	return thing{override.All, "all"}, text == "all"
}

func (e *Engine) findSite(text string) (thing, bool) {
	th := thing{override.Site, text}
	return th, e.site(text) != nil || text != "" && slices.ContainsFunc(e.sets, func(s *set) bool { return s.reachedAnywhere(th) })
}

func (e *Engine) findScenario(text string) (thing, bool) {
	return thing{override.Scenario, text}, e.scenes.specs[text] != nil
}

func (e *Engine) findTarget(text string) (thing, bool) {
	name, address, found := strings.Cut(text, "@")
	if !found {
		return thing{}, false
	}
	for _, t := range []record.Type{record.A, record.AAAA, record.CNAME} {
		value, err := record.ParseValue(t, address)
		if _, known := e.targets[name+"@"+value]; known && err == nil {
			return thing{override.Target, name + "@" + value}, true
		}
	}
	return thing{}, false
}

func (e *Engine) findSet(text string) (thing, bool) {
	name, err := record.ParseName(text)
	found := err == nil && slices.ContainsFunc(e.sets, func(s *set) bool { return s.spec.Key.Name == name })
	return thing{override.Set, string(name)}, found
}

func (e *Engine) findZone(text string) (thing, bool) {
	name, err := record.ParseName(text)
	_, found := e.zones[name]
	return thing{override.Zone, string(name)}, found && err == nil
}

// findAddress finds the answers with a value, or that are probed at it.
func (e *Engine) findAddress(text string) (thing, bool) {
	for _, s := range e.sets {
		for _, t := range []record.Type{s.spec.Key.Type, record.A, record.AAAA} {
			value, err := record.ParseValue(t, text)
			if th := (thing{override.Address, value}); err == nil && s.reachedAnywhere(th) {
				return th, true
			}
		}
	}
	return thing{}, false
}

// read makes sense of an override in the config in force, and refuses what has
// none.
func (e *Engine) read(o override.Override) (*word, error) {
	if !slices.Contains(override.Kinds, o.Kind) {
		return nil, o.Validate()
	}
	th, err := e.thing(o.Kind, o.Target)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(o.Kind.Takes(), th.kind) {
		return nil, fmt.Errorf("%s is the name of %s, and a %s is of %s", th.shown(), article(th.kind), o.Kind, override.Join(o.Kind.Takes()))
	}
	if o.Thing != "" && o.Thing != th.kind {
		return nil, fmt.Errorf("%s was %s when this was said, and is %s now", th.shown(), article(o.Thing), article(th.kind))
	}
	o.Target, o.Thing = th.text, th.kind
	if o.Kind == override.Pin {
		if o.Values, err = e.pinValues(th, o.Values); err != nil {
			return nil, err
		}
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	w := &word{Override: o, thing: th}
	e.time(w)
	return w, nil
}

func article(th override.Thing) string {
	switch th {
	case override.All:
		return "everything"
	case override.Address:
		return "an address"
	}
	return "a " + string(th)
}

// pinValues makes the values of a pin canonical. Each has to be an answer of a
// record set of the name, and of a single-valued set there can be one.
func (e *Engine) pinValues(th thing, texts []string) ([]string, error) {
	var values []string
	for _, text := range texts {
		value := e.pinValue(th, text)
		if value == "" {
			return nil, fmt.Errorf("%s is no answer of %s", text, th.shown())
		}
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	for _, s := range e.sets {
		if pin := s.pinned(values); string(s.spec.Key.Name) == th.text && s.spec.Key.Type.Single() && len(pin) > 1 {
			return nil, fmt.Errorf("%s can have one value, got %s", s.spec.Key, strings.Join(pin, ", "))
		}
	}
	if len(values) == 0 {
		return nil, errors.New("expected the values to pin to, got none")
	}
	return values, nil
}

func (e *Engine) pinValue(th thing, text string) string {
	for _, s := range e.sets {
		value, err := record.ParseValue(s.spec.Key.Type, text)
		if string(s.spec.Key.Name) == th.text && err == nil && s.spec.Names(value) {
			return value
		}
	}
	return ""
}

// pinned is those of a pin's values that the record set can answer with.
func (s *set) pinned(values []string) []string {
	var pin []string
	for _, value := range values {
		if s.spec.Names(value) {
			pin = append(pin, value)
		}
	}
	return pin
}

// means reports whether a text names the target of an override, also of one
// that the config has no longer.
func (e *Engine) means(text string, w *word) bool {
	if strings.EqualFold(strings.TrimSuffix(text, "."), w.Shown()) {
		return true
	}
	th, err := e.thing(w.Kind, text)
	return err == nil && th.text == w.Target
}

// also is an override of a kind, or of any, that reaches a thing by another
// name than its own; nil when none does.
func (e *Engine) also(kind override.Kind, th thing) *word {
	for _, w := range e.orders {
		if kind != "" && w.Kind != kind || w.thing == th {
			continue
		}
		for _, s := range e.sets {
			if w.thing.kind == override.All || string(s.spec.Key.Name) == th.text && s.under(w) || th.kind == override.Address && s.bothReach(w, th) {
				return w
			}
		}
	}
	return nil
}

// bothReach reports whether an answer of the set is reached by an override and by
// a name.
func (s *set) bothReach(w *word, th thing) bool {
	for i := range s.spec.Len() {
		if s.reached(w.thing, i) && s.reached(th, i) {
			return true
		}
	}
	return false
}

// under reports whether a record set as a whole is the target of an override,
// or in it.
func (s *set) under(w *word) bool {
	switch w.thing.kind {
	case override.All:
		return true
	case override.Zone:
		return string(s.spec.Key.Zone) == w.thing.text
	case override.Set:
		return string(s.spec.Key.Name) == w.thing.text
	case override.Address, override.Target, override.Site, override.Scenario:
	}
	return false
}

// reached reports whether an answer of the record set is what a thing is.
func (s *set) reached(th thing, i int) bool {
	answer := s.spec.At(i)
	switch th.kind {
	case override.All:
		return true
	case override.Set:
		return string(s.spec.Key.Name) == th.text
	case override.Address:
		return answer.Value == th.text || answer.Probe == th.text
	case override.Target:
		return slices.ContainsFunc(s.targets[i], func(t *target) bool { return t.id.ID() == th.text })
	case override.Site:
		return answer.Site == th.text
	case override.Zone, override.Scenario:
	}
	return false
}

func (s *set) reachedAnywhere(th thing) bool {
	for i := range s.spec.Len() {
		if s.reached(th, i) {
			return true
		}
	}
	return false
}

// Knows reports whether a text is something that an override can be of.
func (e *Engine) Knows(kind override.Kind, text string) bool {
	_, err := e.thing(kind, text)
	return err == nil
}
