package engine_test

import (
	"fmt"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// BenchmarkVantages is what another node costs that judges ten thousand targets with
// this one: a heartbeat, one verdict that turned, and its canary that fails and passes.
func BenchmarkVantages(b *testing.B) {
	rule := &check.Vantages{Of: []string{"eu", "us", "asia"}, Down: 2}
	config := engine.Config{
		Zones: []record.Name{home}, Vantage: "eu", Vantages: map[check.Target]*check.Vantages{},
		Checks: map[string]*check.Spec{"web": {Name: "web", Interval: 10 * time.Second, Fall: 3, Rise: 3}},
	}
	all := engine.Observed{Vantage: "us", Whole: true}
	for i := range 10_000 {
		address := fmt.Sprintf("10.0.%d.%d", i/250, i%250)
		config.Sets = append(config.Sets, &steer.Spec{
			Key: keyOf([]string{fmt.Sprintf("h%05d", i)}), Policy: steer.All, Checks: []string{"web"},
			Answers: []steer.Answer{{Value: address, Probe: address}},
		})
		config.Vantages[webAt(address)] = rule
		all.Observations = append(all.Observations, engine.Observation{Target: webAt(address), Verdict: health.Up})
	}
	boot := time.Hour
	e := engine.New(config, engine.Now{Boot: boot})
	say := func(ev engine.Observed) {
		boot += time.Millisecond
		ev.Vantage, ev.At = "us", boot
		e.Step(engine.Now{Boot: boot}, ev)
	}
	say(all)
	for name, events := range map[string][]engine.Observed{
		"heartbeat": {{}},
		"turned":    {{Observations: []engine.Observation{{Target: webAt("10.0.0.1"), Verdict: health.Down}}}, {Observations: []engine.Observation{{Target: webAt("10.0.0.1"), Verdict: health.Up}}}},
		"blind":     {{Blind: true}, {}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, ev := range events {
					say(ev)
				}
			}
		})
	}
}
