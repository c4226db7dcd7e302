package engine_test

import (
	"fmt"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// A large zone is not planned for each of many verdicts, and every one of them
// is planned for soon; a small one is planned at once.
func TestLargeZoneRestsBetweenTwoPlans(t *testing.T) {
	const debounce, interval = time.Second, 10 * time.Second
	for _, c := range []struct {
		sets int
		rest time.Duration
	}{{99, 0}, {100, 10 * time.Millisecond}, {150, 15 * time.Millisecond}, {5000, 200 * time.Millisecond}} {
		t.Run(fmt.Sprint(c.sets), func(t *testing.T) {
			config := engine.Config{
				Zones: []record.Name{home}, Debounce: debounce,
				Checks: map[string]*check.Spec{"web": {Name: "web", Interval: interval, Fall: 1, Rise: 1}},
			}
			list := plan.Zone{Name: home}
			var up []check.Result
			for i := range c.sets {
				spec := &steer.Spec{
					Key: keyOf([]string{fmt.Sprintf("h%05d", i)}), Policy: steer.Priority, MaxLive: 1, MinLive: 1,
					OnAllDown: steer.Keep, Checks: []string{"web"},
				}
				set := record.Set{Key: spec.Key}
				for n := range 2 {
					value := fmt.Sprintf("10.%d.%d.%d", n, i/250, i%250)
					spec.Answers = append(spec.Answers, steer.Answer{Value: value, Probe: value})
					set.Answers = append(set.Answers, record.Answer{Value: value, Weight: 1, Live: n == 0, Paused: n == 1})
					up = append(up, found(value, check.Pass))
				}
				config.Sets = append(config.Sets, spec)
				list.Sets = append(list.Sets, set)
			}
			boot := time.Hour
			e := engine.New(config, engine.Now{Boot: boot})
			step := func(event engine.Event) engine.Effects { return e.Step(engine.Now{Boot: boot}, event) }
			step(engine.Seen{Zone: list})
			step(engine.Results{Results: up})
			boot += time.Minute
			first := boot
			step(engine.Results{Results: []check.Result{found("10.1.0.0", check.Fail)}}) // it is not live: nothing to write
			boot += time.Millisecond
			effects := step(engine.Results{Results: []check.Result{found("10.0.0.1", check.Fail)}})
			e.View(engine.Now{Boot: boot}) // asks for a plan, too, and that changes nothing here
			opens := max(boot, first+c.rest)
			if c.rest > 0 {
				if effects.Next != opens {
					t.Fatalf("next %v after the first plan, want %v", effects.Next-first, c.rest)
				}
				boot = opens
				effects = step(engine.Tick{})
			}
			if effects.Next != opens+debounce {
				t.Fatalf("the window ends %v after the first plan, want %v", effects.Next-first, opens+debounce-first)
			}
			boot = effects.Next
			if effects = step(engine.Tick{}); len(effects.Work) != 1 {
				t.Errorf("got %d pieces of work, want 1", len(effects.Work))
			}
		})
	}
}

func found(address string, outcome check.Outcome) check.Result {
	return check.Result{Target: check.Target{Check: "web", Address: address}, Outcome: outcome, Phase: check.PhaseConnect, Cause: check.CauseRefused}
}
