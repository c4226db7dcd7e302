package engine_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// manySets is a zone of record sets with an answer at each of two sites, the
// first of which has to be usable.
func manySets(n int) (engine.Config, plan.Zone) {
	signal := scenario.Signal{Name: "access", Check: "edge", Targets: []string{"203.0.113.1"}, Need: 1}
	config := engine.Config{
		Zones: []record.Name{home}, Debounce: time.Second,
		Checks: map[string]*check.Spec{
			"web":  {Name: "web", Interval: 10 * time.Second, Fall: 1, Rise: 1},
			"edge": {Name: "edge", Interval: 10 * time.Second, Fall: 1, Rise: 1},
		},
		Sites: []scenario.Site{{Name: "dc1", Signals: []scenario.Signal{signal}}},
		Scenarios: []scenario.Scenario{{Name: "dc1-usable", Any: []scenario.Group{{
			{Kind: scenario.SignalHolds, Name: "dc1", Of: "access"}, {Not: true, Kind: scenario.Maintenance, Name: "dc1"},
		}}}},
	}
	list := plan.Zone{Name: home}
	for i := range n {
		a, b := fmt.Sprintf("10.0.%d.%d", i/250, i%250), fmt.Sprintf("10.1.%d.%d", i/250, i%250)
		spec := &steer.Spec{
			Key: keyOf([]string{fmt.Sprintf("h%05d", i)}), Policy: steer.Priority, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, Checks: []string{"web"},
			Answers: []steer.Answer{{Value: a, Probe: a, Site: "dc1", When: "dc1-usable"}, {Value: b, Probe: b}},
		}
		config.Sets = append(config.Sets, spec)
		list.Sets = append(list.Sets, record.Set{Key: spec.Key, Answers: []record.Answer{
			{Value: a, Weight: 1, Live: true}, {Value: b, Weight: 1, Paused: true},
		}})
	}
	return config, list
}

// runningSets is an engine on them with everything up, and its clock.
func runningSets(b *testing.B, n int) (e *engine.Engine, step func(engine.Event) engine.Effects, boot *time.Duration) {
	config, list := manySets(n)
	at := time.Hour
	e = engine.New(config, engine.Now{Boot: at})
	step = func(event engine.Event) engine.Effects { return e.Step(engine.Now{Boot: at}, event) }
	step(engine.Seen{Zone: list})
	var up []check.Result
	for _, t := range e.Targets() {
		up = append(up, check.Result{Target: t, Outcome: check.Pass, Start: at, End: at})
	}
	step(engine.Results{Results: up})
	for _, s := range e.View(engine.Now{Boot: at}).Sets {
		if len(s.Plan.Wanted.Live) != 1 || s.Plan.Wanted.Live[0] != s.Spec.Answers[0].Value {
			b.Fatalf("%s wants %v at the start", s.Spec.Key, s.Plan.Wanted.Live)
		}
	}
	return e, step, &at
}

// threadTime is the processor time that this thread has used: what a step costs on
// a machine that has other things to do as well. The collector's threads are not
// in it.
func threadTime(b *testing.B) time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkSiteFalls is what one verdict costs that every record set hangs on: all
// of them are decided anew, and the zone is planned.
func BenchmarkSiteFalls(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("%d_sets", n), func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			e, step, boot := runningSets(b, n)
			used := time.Duration(0)
			edge := func(outcome check.Outcome) {
				step(engine.Results{Results: []check.Result{{
					Target: check.Target{Check: "edge", Address: "203.0.113.1"}, Outcome: outcome, Start: *boot, End: *boot,
					Phase: check.PhaseConnect, Cause: check.CauseTimeout,
				}}})
			}
			for b.Loop() {
				b.StopTimer()
				*boot += time.Minute
				step(engine.Tick{})
				before := threadTime(b)
				b.StartTimer()
				edge(check.Fail)
				b.StopTimer()
				used += threadTime(b) - before
				if changes := e.View(engine.Now{Boot: *boot}).Zones[0].Plan.Changes(); len(changes) != 2*n {
					b.Fatalf("planned %d changes, want %d", len(changes), 2*n)
				}
				*boot += time.Minute
				step(engine.Tick{})
				edge(check.Pass)
				*boot += time.Minute
				step(engine.Tick{})
				b.StartTimer()
			}
			b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}
