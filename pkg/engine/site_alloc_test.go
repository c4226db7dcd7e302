package engine_test

import (
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
)

// TestAResultThatChangesNothingAllocatesNothing: of a target of an answer, and of
// one that a site and a scenario rest on.
func TestAResultThatChangesNothingAllocatesNothing(t *testing.T) {
	config, list := manySets(100)
	boot := time.Hour
	e := engine.New(config, engine.Now{Boot: boot})
	e.Step(engine.Now{Boot: boot}, engine.Seen{Zone: list})
	results := make([]check.Result, 1)
	for _, target := range e.Targets() {
		results[0] = check.Result{Target: target, Outcome: check.Pass, Start: boot, End: boot}
		e.Step(engine.Now{Boot: boot}, engine.Results{Results: results})
	}
	for _, target := range []check.Target{{Check: "web", Address: "10.0.0.7"}, {Check: "edge", Address: "203.0.113.1"}} {
		results[0].Target = target
		var event engine.Event = engine.Results{Results: results}
		boot += time.Minute
		e.Step(engine.Now{Boot: boot}, event)
		allocs := testing.AllocsPerRun(100, func() {
			boot += time.Millisecond
			results[0].Start, results[0].End = boot, boot
			if effects := e.Step(engine.Now{Boot: boot}, event); len(effects.Journal) > 0 || effects.Save {
				t.Errorf("%s: something followed: %+v", target.ID(), effects)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %.0f allocations", target.ID(), allocs)
		}
	}
}
