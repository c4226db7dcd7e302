package engine

import (
	"sidestep/pkg/override"
	"sidestep/pkg/steer"
)

// disaster is whether the scenario holds that calls the answers of a record set
// which are for disasters, and who says so where a person does.
func (e *Engine) disaster(s *set) (holds steer.Usable, declared string) {
	when := s.spec.DR.When
	if when == "" {
		return steer.No, ""
	}
	if w := e.wordOn(override.Scenario, when, override.ForceDown, override.ForceUp); w != nil {
		declared = w.String()
	}
	return e.holds(when), declared
}
