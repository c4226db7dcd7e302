package engine_test

import (
	"fmt"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// BenchmarkResults is the road of nearly every result: it is counted, and
// nothing follows. What it costs does not grow with what is configured.
func BenchmarkResults(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("%d_sets", n), func(b *testing.B) {
			config := engine.Config{
				Zones: []record.Name{home},
				Mass:  engine.Mass{Percent: 50, AtLeast: 3, Within: 2 * time.Minute, Confirm: 2},
				Checks: map[string]*check.Spec{"web": {
					Name: "web", Interval: 10 * time.Second, Fall: 3, Rise: 3,
					Cooldown: &check.Cooldown{Base: 30 * time.Second, Factor: 2, Max: 2 * time.Minute},
					Causes:   check.Causes{check.CauseAuth: check.CountDisable},
				}},
			}
			results := make([]check.Result, 100)
			for i := range n {
				address := fmt.Sprintf("10.0.%d.%d", i/250, i%250)
				config.Sets = append(config.Sets, &steer.Spec{
					Key: keyOf([]string{fmt.Sprintf("h%05d", i)}), Policy: steer.All, Checks: []string{"web"},
					Answers: []steer.Answer{{Value: address, Probe: address}},
				})
				results[i%len(results)] = check.Result{Target: check.Target{Check: "web", Address: address}, Outcome: check.Pass}
			}
			e := engine.New(config, engine.Now{Boot: time.Hour})
			e.Step(engine.Now{Boot: 2 * time.Hour}, engine.Tick{})
			boot := 2 * time.Hour
			for b.Loop() {
				boot += time.Millisecond
				for i := range results {
					results[i].Start = boot
				}
				e.Step(engine.Now{Boot: boot}, engine.Results{Results: results})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(results)), "ns/result")
		})
	}
}
