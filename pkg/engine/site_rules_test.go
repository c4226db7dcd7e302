package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// outside works out from what is shown of targets and sites what scenarios are
// worth and what is usable, by the words of the rules. It knows no overrides.
type outside struct {
	verdicts map[string]health.Verdict
	sites    map[string]engine.SiteView
	config   engine.Config
}

func look(w *world) (outside, engine.View) {
	v := w.engine.View(w.clock())
	o := outside{verdicts: map[string]health.Verdict{}, sites: map[string]engine.SiteView{}, config: w.config}
	for _, t := range v.Targets {
		o.verdicts[t.Target.ID()] = t.Verdict
	}
	for _, s := range v.Sites {
		o.sites[s.Name] = s
	}
	return o, v
}

func (o outside) target(id string) scenario.Truth {
	return map[health.Verdict]scenario.Truth{health.Up: scenario.True, health.Down: scenario.False}[o.verdicts[id]]
}

func (o outside) site(name string) (ok scenario.Truth, signals map[string]scenario.Truth) {
	site := o.sites[name]
	ok, signals = scenario.Of(site.Maintenance == ""), map[string]scenario.Truth{}
	for _, signal := range site.Signals {
		up, notDown := 0, 0
		for _, t := range signal.Targets {
			if o.target(t.ID()) == scenario.True {
				up++
			}
			if o.target(t.ID()) != scenario.False {
				notDown++
			}
		}
		value := scenario.Unknown
		switch {
		case up >= signal.Need:
			value = scenario.True
		case notDown < signal.Need:
			value = scenario.False
		}
		signals[signal.Name], ok = value, ok.And(value)
	}
	return ok, signals
}

func (o outside) term(t scenario.Term) scenario.Truth {
	value := scenario.True
	switch t.Kind {
	case scenario.SiteOK:
		value, _ = o.site(t.Name)
	case scenario.SignalHolds:
		_, signals := o.site(t.Name)
		value = signals[t.Of]
	case scenario.Maintenance:
		value = scenario.Of(o.sites[t.Name].Maintenance != "")
	case scenario.TargetUp:
		value = o.target(t.Plain())
	case scenario.CheckUp:
		for id := range o.verdicts {
			if strings.HasPrefix(id, t.Name+"@") {
				value = value.And(o.target(id))
			}
		}
	case scenario.Holds:
		value = o.scenario(t.Name)
	}
	if t.Not {
		return value.Not()
	}
	return value
}

func (o outside) scenario(name string) scenario.Truth {
	i := slices.IndexFunc(o.config.Scenarios, func(s scenario.Scenario) bool { return s.Name == name })
	value := scenario.False
	for _, group := range o.config.Scenarios[i].Any {
		all := scenario.True
		for _, t := range group {
			all = all.And(o.term(t))
		}
		value = value.Or(all)
	}
	return value
}

// usable is what the rules make of one answer; the return of a site is taken as
// it is shown, and one of mode fresh may have ended at some addresses only.
func (o outside) usable(spec *steer.Spec, a steer.Answer) scenario.Truth {
	value := scenario.True
	for _, check := range spec.Checks {
		value = value.And(o.target(check + "@" + a.Probe))
	}
	site := o.sites[a.Site]
	if site.Maintenance != "" || site.Waiting == "approval" {
		return scenario.False
	}
	switch {
	case a.When != "":
		value = value.And(o.scenario(a.When))
	case a.Mode == steer.Standby:
		value = scenario.False
	}
	return value
}

// TestUsableFollowsTheRules: what is shown of scenarios and answers after every
// step is what follows from the verdicts that are shown.
func TestUsableFollowsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commands := slices.DeleteFunc(drawCommands(t), func(c string) bool { return strings.HasPrefix(c, "override") })
		commands = append([]string{"define 3"}, commands...)
		run(t, commands, func(w *world, event engine.Event, _ engine.Effects) {
			o, v := look(w)
			for _, s := range v.Scenarios {
				if want := o.scenario(s.Name); s.Value != want {
					t.Fatalf("%T: scenario %s is %s, want %s", event, s.Name, s.Value, want)
				}
			}
			for _, s := range v.Sets {
				for i, a := range s.Spec.Answers {
					got := map[steer.Usable]scenario.Truth{steer.Yes: scenario.True, steer.No: scenario.False}[s.Judged[i].Usable]
					want := o.usable(s.Spec, a)
					mayWait := o.sites[a.Site].Waiting == "fresh" && got == scenario.False
					if got != want && !mayWait {
						t.Fatalf("%T: %s of %s is %s, want %s: %s", event, a.Value, s.Spec.Key, got, want, s.Judged[i].Why)
					}
				}
			}
		})
	})
}

// decisions is what is decided, without the words.
func decisions(w *world) string {
	v := w.engine.View(w.clock())
	var out strings.Builder
	for _, s := range v.Sets {
		fmt.Fprintln(&out, s.Spec.Key, s.Ready, s.Plan.Wanted.Live)
		for i, judged := range s.Judged {
			fmt.Fprintln(&out, "  ", s.Spec.At(i).Value, judged.Usable, judged.Since)
		}
	}
	for _, s := range v.Sites {
		fmt.Fprintln(&out, s.Name, s.State, s.Waiting, s.WaitsSince, s.Outage)
	}
	return out.String()
}

// TestTheOrderOfAMomentDoesNotMatter: verdicts of one moment lead to the same
// whichever is told first, the waiting of a site included.
func TestTheOrderOfAMomentDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		targets := []string{"web@192.0.2.1", "web@192.0.2.2", "web@192.0.2.3", "two@192.0.2.1", "two@192.0.2.2"}
		var moments [][]string
		for range rapid.IntRange(1, 12).Draw(t, "moments") {
			var results []string
			for _, target := range targets {
				results = append(results, "result "+target+" "+rapid.SampledFrom([]string{"S", "F", "?"}).Draw(t, target))
			}
			moments = append(moments, results)
		}
		play := func(order func([]string) []string) string {
			commands := []string{"define 3", "look", "advance 1m"} // all are ready
			for _, results := range moments {
				commands = append(append(commands, order(results)...), "advance 5s")
			}
			return decisions(run(t, commands, nil))
		}
		forwards := play(func(r []string) []string { return r })
		backwards := play(func(r []string) []string {
			r = slices.Clone(r)
			slices.Reverse(r)
			return r
		})
		if forwards != backwards {
			t.Fatalf("forwards:\n%s\nbackwards:\n%s", forwards, backwards)
		}
	})
}
