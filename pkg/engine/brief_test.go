package engine_test

import (
	"testing"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// What is told in short is what View tells at length, and as old.
func TestBriefsAreTheViewInShort(t *testing.T) {
	e, config := tallied()
	key := config.Sets[0].Key
	at := engine.Now{Boot: bootStart, Wall: wallStart}
	seen := record.Set{Key: key, Answers: []record.Answer{{Value: probed, Live: true}, {Value: "192.0.2.200", Live: true}}}
	e.Step(at, engine.Seen{Zone: plan.Zone{Name: home, Sets: []record.Set{seen}}})
	probes(e, 1, pass, pass, refused, refused, refused)
	for _, later := range []time.Duration{6 * time.Second, time.Hour} { // at which nobody has heard of the target for long
		now := engine.Now{Boot: bootStart + later, Wall: wallStart.Add(later)}
		e.Overview(now)
		var targets []engine.TargetBrief
		for b := range e.TargetBriefs() {
			targets = append(targets, b)
		}
		var sets []engine.SetBrief
		for b := range e.SetBriefs() {
			sets = append(sets, b)
		}
		view := e.View(now)
		long := view.Targets[0]
		if len(targets) != 1 || targets[0] != (engine.TargetBrief{Target: long.Target, Verdict: long.Shown, Cooldown: long.Cooldown.State}) {
			t.Errorf("after %s: %+v, and View has %+v", later, targets, long)
		}
		usable := 0
		if view.Sets[0].Judged[0].Usable == steer.Yes {
			usable = 1
		}
		if len(sets) != 1 || sets[0] != (engine.SetBrief{Key: key, Listed: true, Answers: 1, Usable: usable, Live: 1}) {
			t.Errorf("after %s: %+v, and View has %+v", later, sets, view.Sets[0])
		}
		if want := map[bool]health.Verdict{false: health.Down, true: health.Unknown}[later == time.Hour]; targets[0].Verdict != want {
			t.Errorf("after %s the verdict is %s, want %s", later, targets[0].Verdict, want)
		}
	}
}
