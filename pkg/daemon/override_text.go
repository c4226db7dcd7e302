package daemon

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/override"
)

// longAgo is how old an override is that people are told of again, lest it is
// forgotten.
const longAgo = 24 * time.Hour

// overrideNotices are what people should know of the overrides that there are.
func overrideNotices(view engine.View) []string {
	var notices []string
	for _, o := range view.Words {
		end := fmt.Sprintf("to end it: sidestep override clear %s --kind %s", o.Shown(), o.Kind)
		switch age := view.Now.Sub(o.From); {
		case o.Inert != "":
			notices = append(notices, fmt.Sprintf("the %s of %s by %s (%s) has no effect: %s; %s", o.Kind, o.Shown(), o.By, o.Reason, o.Inert, end))
		case o.Kind == override.Freeze && o.Begun && o.Thing == override.All:
			notices = append(notices, fmt.Sprintf("nothing is written: %s; to go on: sidestep unfreeze", o.Override))
		case o.Begun && (o.Forever() || age >= longAgo):
			notices = append(notices, fmt.Sprintf("%s is %s, since %s; %s", o.Shown(), o.Override, o.From.UTC().Format(time.RFC3339), end))
		}
	}
	return append(notices, deadPins(view)...)
}

// deadPins are the values that a pin keeps live although they are down: nobody
// steps aside of them.
func deadPins(view engine.View) []string {
	var notices []string
	for _, s := range view.Sets {
		var down []string
		for i, kind := range s.Ruled {
			if value := s.Spec.At(i).Value; kind == override.Pin && s.Seen[i] == health.Down && slices.Contains(s.Plan.Wanted.Live, value) {
				down = append(down, value)
			}
		}
		if len(down) > 0 {
			notices = append(notices, fmt.Sprintf("%s is pinned to %s, and the probes say it is down: no failover happens before: sidestep override clear %s --kind pin",
				s.Spec.Key, strings.Join(down, ", "), s.Spec.Key.Name.Unrooted()))
		}
	}
	return notices
}

// staysWords says which answers an override takes out in vain.
func staysWords(stays []engine.Stay) string {
	var words []string
	for _, s := range stays {
		why := "nothing else can take its place"
		if s.Pinned {
			why = "the pin holds it"
		}
		words = append(words, fmt.Sprintf("%s stays in %s, because %s", s.Value, s.Key.Shown(), why))
	}
	return strings.Join(words, "; ")
}

// frozen is the freeze of everything; nil when there is none.
func frozen(view engine.View) *control.Frozen {
	for _, o := range view.Words {
		if o.Kind == override.Freeze && o.Thing == override.All && o.Begun {
			d := describeOverride(o)
			return &control.Frozen{By: d.By, Reason: d.Reason, Until: d.Until}
		}
	}
	return nil
}

func joined(values []string) string { return strings.Join(values, ",") }
