package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/probe"
	"sidestep/pkg/record"
	"sidestep/pkg/schedule"
)

// Guards are the guards that a command can switch off for one plan.
var Guards = []string{plan.GuardMaxChanges, plan.GuardMaxWrites, plan.GuardOwned, plan.GuardMass}

// Check probes every target of the config once, or those that names pick: by
// check, address, target id, record set, site or signal. Results come in the order of the
// targets' ids. What only other vantages judge is probed from here where a name
// picks it. Beside them the canary is probed; it is nil where the config has
// none. It needs no state and no lock.
func Check(ctx context.Context, c *config.Config, names []string, log *slog.Logger) ([]check.Result, *control.Canary, error) {
	clock := clock.System()
	e := engine.New(EngineConfig(c), engine.Now{Boot: clock.Boot(), Wall: clock.Wall()})
	picked := map[string]bool{}
	var jobs []schedule.Job
	targets := e.Targets()
	if len(names) > 0 {
		targets = e.Judged()
	}
	for _, t := range targets {
		by := pick(c, t, names)
		if len(names) == 0 || len(by) > 0 {
			jobs = append(jobs, schedule.Job{Spec: c.Checks[t.Check], Target: t})
		}
		for _, name := range by {
			picked[name] = true
		}
	}
	for _, name := range names {
		if !picked[name] {
			return nil, nil, &control.Error{
				Message: fmt.Sprintf("check %q: no check, address, target, record set or site of that name", name),
				Hint:    "all of them: sidestep check", Exit: control.ExitUsage,
			}
		}
	}
	var ours steered
	ours.set(c)
	s := schedule.New(schedule.Options{
		Clock: clock, Probe: probe.New(clock.Boot, probe.Options{Logger: log, Steered: ours.find, Loopback: ours.inLab}).Probe,
		Results: func([]check.Result) {}, Logger: log,
	})
	results := s.Round(ctx, append(jobs, canaryJobs(c.Canary)...))
	return results[:len(jobs)], checkedCanary(c.Canary, results[len(jobs):]), nil
}

// checkedCanary is what one round says of the canary.
func checkedCanary(spec config.Canary, results []check.Result) *control.Canary {
	if len(spec.Targets) == 0 {
		return nil
	}
	view := &engine.CanaryView{State: check.Fail, Need: spec.Need, Results: results}
	for _, r := range results {
		if r.Outcome == check.Pass {
			view.Answered++
		}
	}
	if view.Answered >= spec.Need {
		view.State = check.Pass
	}
	return describeCanary(view)
}

func zonesOf(c *config.Config) []record.Name {
	var names []record.Name
	for _, z := range c.Zones {
		names = append(names, z.Name)
	}
	return names
}

// pick lists the names that mean a target. One that is a name itself is meant
// with and without its final dot.
func pick(c *config.Config, t check.Target, names []string) []string {
	var by []string
	for _, name := range names {
		rooted := name + "."
		if name == t.ID() || name == t.Check || name == t.Address || rooted == t.ID() || rooted == t.Address || restsOn(c, name, t) || signals(c, name, t) {
			by = append(by, name)
		}
	}
	return by
}

// restsOn reports whether the record set of a name rests on a target.
func restsOn(c *config.Config, text string, t check.Target) bool {
	for _, spec := range c.Records {
		name, err := record.ParseNameIn(text, spec.Key.Zone)
		if err == nil && name == spec.Key.Name && spec.RestsOn(t.Check, t.Address) {
			return true
		}
	}
	return false
}

// signals reports whether a signal rests on a target: one of the site of that
// name, or the one that is written SITE.SIGNAL.
func signals(c *config.Config, text string, t check.Target) bool {
	for _, site := range c.Sites {
		for _, signal := range site.Signals {
			named := text == site.Name || text == site.Name+"."+signal.Name
			if named && signal.Check == t.Check && slices.Contains(signal.Targets, t.Address) {
				return true
			}
		}
	}
	return false
}
