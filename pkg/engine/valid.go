package engine

import (
	"fmt"
	"maps"
	"slices"

	"sidestep/pkg/health"
)

// maxCount is beyond every count that a state can hold: health stops there.
const maxCount = 1 << 30

// Validate says what in a state that was read from a file cannot have been
// written by State. Restore would believe it: a count close to overflow is never
// reached again, and a verdict that does not exist is never left.
func (s State) Validate() error {
	if s.Targets == nil {
		return fmt.Errorf("expected targets, got none")
	}
	for _, id := range slices.Sorted(maps.Keys(s.Targets)) {
		if err := s.Targets[id].validate(); err != nil {
			return fmt.Errorf("target %q: %w", id, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sites)) {
		if err := s.Sites[name].validate(); err != nil {
			return fmt.Errorf("site %q: %w", name, err)
		}
	}
	for _, set := range s.Sets {
		if set.Key.Name == "" || set.Key.Type == "" {
			return fmt.Errorf("expected the name and type of a record set, got %q", set.Key)
		}
	}
	for _, o := range s.Overrides {
		if err := o.Validate(); err != nil {
			return fmt.Errorf("override %s of %q: %w", o.Kind, o.Target, err)
		}
	}
	return nil
}

// validate refuses times that were counted backwards.
func (s SiteState) validate() error {
	if s.Waiting != nil && s.Waiting.Outage < 0 {
		return fmt.Errorf("expected the length of an outage, got %s", s.Waiting.Outage)
	}
	for _, id := range slices.Sorted(maps.Keys(s.Outages)) {
		if counted := s.Outages[id].Counted; counted < 0 {
			return fmt.Errorf("outage of %q: expected how long it was, got %s", id, counted)
		}
	}
	return nil
}

func (t TargetState) validate() error {
	if !slices.Contains([]health.Verdict{health.Unknown, health.Up, health.Down}, t.Verdict) {
		return fmt.Errorf("expected a verdict, got %q", t.Verdict)
	}
	if c := t.Counted; c != nil && !slices.Contains([]health.Verdict{health.Unknown, health.Up, health.Down}, c.Verdict) {
		return fmt.Errorf("expected a counted verdict, got %q", c.Verdict)
	}
	if c := t.Cooldown; c != nil && (c.Pause < 0 || c.Attempts < 0 || c.Attempts > maxCount) {
		return fmt.Errorf("expected a pause and attempts of 0 or more, got %s and %d", c.Pause, c.Attempts)
	}
	for _, n := range []int{t.Passes, t.Fails} {
		if n < 0 || n > maxCount {
			return fmt.Errorf("expected a count from 0 to %d, got %d", maxCount, n)
		}
	}
	return nil
}
