package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
	"sidestep/pkg/store"
)

// Explain says why a name answers as it does. The journal is read outside the
// loop, which must not wait for a disk.
func (d *Daemon) Explain(_ context.Context, request control.ExplainRequest) (control.Explanation, error) {
	var answer control.Explanation
	var checked map[record.Name]control.Verification
	err := errStopped
	d.ask(func(e *engine.Engine) {
		checked = maps.Clone(d.checked)
		view := e.View(d.now())
		answer, err = d.explain(view, request)
		answer.Daemon, answer.Leader, answer.Notices = true, d.leaderStatus(), d.notices(view)
	})
	if err != nil {
		return control.Explanation{}, err
	}
	addEvidence(&answer, d.options.Config.State.Dir)
	for _, r := range answer.Records {
		if r.Verification != nil && !r.Verification.Verified {
			r.Verification.AskedUntil = checked[record.Name(r.Zone)].AskedUntil
		}
	}
	return answer, nil
}

// ExplainSaved says it where no daemon runs, from what one left in the state
// directory. It asks nobody and changes nothing.
func ExplainSaved(c *config.Config, request control.ExplainRequest, log *slog.Logger) (control.Explanation, error) {
	return explainSaved(c, request, clock.System(), log)
}

func explainSaved(c *config.Config, request control.ExplainRequest, clk clock.Clock, log *slog.Logger) (control.Explanation, error) {
	d := &Daemon{options: Options{Config: c}, config: c, clock: clk, log: log}
	e := engine.New(d.engineConfig(c), d.now())
	if _, err := d.explain(e.View(d.now()), request); err != nil {
		return control.Explanation{}, err // before anything is said of the state
	}
	s, loaded, err := store.Open(c.State.Dir, store.Options{Now: d.clock.Wall, MaxAge: c.State.MaxAge, ReadOnly: true})
	if err != nil {
		return control.Explanation{}, nothingSaved(request, err)
	}
	state, loaded := readState(s, loaded, c.State.MaxAge)
	if state == nil {
		return control.Explanation{}, nothingSaved(request, unusable(c.State.Dir, loaded))
	}
	d.takeUp(e, state.State, true)
	if loaded.Lost() {
		e.Lose()
	}
	view := e.View(d.now())
	answer, err := d.explain(view, request)
	if err != nil {
		return control.Explanation{}, err
	}
	answer.Notices = viewNotices(view)
	answer.SavedAt, answer.Leader = &loaded.SavedAt, control.Leader{State: "none", Detail: "no daemon runs here"}
	for i := range answer.Records {
		onlySaved(&answer.Records[i], state.State)
	}
	addEvidence(&answer, c.State.Dir)
	return answer, nil
}

// takeUp shows an engine what was saved, and what the zones answered with then.
func (d *Daemon) takeUp(e *engine.Engine, state engine.State, verdicts bool) {
	e.Restore(state, verdicts, verdicts)
	for _, zone := range publishedZones(d.config, state) {
		e.Step(d.now(), engine.Seen{Zone: zone})
	}
}

// foresight is the engine that knows what a person's word will do: that of the
// daemon, or, where none runs, one that knows what a daemon saved.
func (d *Daemon) foresight(e *engine.Engine) *engine.Engine {
	if !d.options.Once {
		return e
	}
	saved := engine.New(d.engineConfig(d.config), d.now())
	if !d.fresh {
		saved.Restore(engine.State{Overrides: e.RestState().Overrides}, false, false)
		return saved
	}
	state := d.found
	state.Overrides = e.RestState().Overrides
	d.takeUp(saved, state, true)
	return saved
}

// OverridesSaved lists the overrides where no daemon runs, from what one left in
// the state directory.
func OverridesSaved(c *config.Config, log *slog.Logger) (control.Overrides, error) {
	d := &Daemon{options: Options{Config: c}, config: c, clock: clock.System(), log: log}
	e := engine.New(d.engineConfig(c), d.now())
	s, loaded, err := store.Open(c.State.Dir, store.Options{Now: d.clock.Wall, MaxAge: c.State.MaxAge, ReadOnly: true})
	if err != nil {
		return control.Overrides{}, fmt.Errorf("list the overrides: %w", err)
	}
	answer := control.Overrides{Overrides: []control.Override{}}
	state, loaded := readState(s, loaded, c.State.MaxAge)
	switch {
	case loaded.Lost():
		return answer, fmt.Errorf("list the overrides: %w", unusable(c.State.Dir, loaded))
	case state == nil:
		return answer, nil
	}
	e.Restore(state.State, false, false)
	e.Step(d.now(), engine.Tick{}) // what ended since then has ended
	answer.Overrides, answer.SavedAt = describeOverrides(e.View(d.now())), &loaded.SavedAt
	return answer, nil
}

func unusable(dir string, loaded store.Loaded) error {
	if loaded.Reason == "" {
		return fmt.Errorf("nothing was saved in %s", dir)
	}
	return fmt.Errorf("what was saved in %s cannot be used: %s", dir, loaded.Reason)
}

func nothingSaved(request control.ExplainRequest, why error) error {
	return &control.Error{
		Message: fmt.Sprintf("explain %q: no daemon runs here, and %v", request.Name, why),
		Hint:    "start it: sidestep run, or look without it: sidestep check, sidestep plan", Exit: control.ExitFailure,
	}
}

// publishedZones is what was live when the zones were listed last, as a list of
// each zone. What was paused is not in the saved state.
func publishedZones(c *config.Config, state engine.State) []plan.Zone {
	var zones []plan.Zone
	for _, name := range zonesOf(c) {
		zone := plan.Zone{Name: name}
		for _, s := range state.Sets {
			if s.Key.Zone != name {
				continue
			}
			set := record.Set{Key: s.Key}
			for _, value := range s.Published {
				set.Answers = append(set.Answers, record.Answer{Value: value, Live: true})
			}
			zone.Sets = append(zone.Sets, set)
		}
		record.SortSets(zone.Sets)
		zones = append(zones, zone)
	}
	return zones
}

// onlySaved takes out what a saved state does not tell: what is paused, what was
// counted, and what would be written.
func onlySaved(r *control.ExplainedRecord, state engine.State) {
	known := slices.ContainsFunc(state.Sets, func(s engine.SetState) bool {
		return string(s.Key.Name) == r.Name && string(s.Key.Type) == r.Type && s.Key.Variant == r.Variant && s.Published != nil
	})
	if !known {
		r.Listed, r.Reason = false, "what it answered with was not saved"
	}
	r.Weights = map[string]int{} // not saved
	r.Blocked, r.Pending, r.JudgeUntil, r.HoldEnds = []control.Blocked{}, []control.Change{}, nil, nil
	for i := range r.Answers {
		for j := range r.Answers[i].Targets {
			r.Answers[i].Targets[j].Results = nil
		}
		if !known || r.Answers[i].State != "live" {
			r.Answers[i].State = "unknown"
		}
	}
}

// explain describes the record sets of a name. In the daemon it belongs to the
// loop.
func (d *Daemon) explain(view engine.View, request control.ExplainRequest) (control.Explanation, error) {
	sets, err := d.setsOf(view, request)
	if err != nil {
		return control.Explanation{}, &control.Error{
			Message: fmt.Sprintf("explain %q: %v", request.Name, err),
			Hint:    "all of them: sidestep config show", Exit: control.ExitUsage,
		}
	}
	now := d.now()
	answer := control.Explanation{
		Node: d.config.Node.Name, At: now.Wall, Records: []control.ExplainedRecord{},
	}
	targets := map[string]engine.TargetView{}
	for _, t := range view.Targets {
		targets[t.Target.ID()] = t
	}
	for _, s := range sets {
		answer.Records = append(answer.Records, d.explainSet(s, view, targets))
	}
	answer.Others = others(view, sets)
	answer.Overrides = overridesOf(view, answer.Records)
	return answer, nil
}

// setsOf finds the record sets that a request means.
func (d *Daemon) setsOf(view engine.View, request control.ExplainRequest) ([]engine.SetView, error) {
	specs, err := RecordSets(d.config, request.Name, request.Type)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(view.Sets), func(s engine.SetView) bool {
		return !slices.ContainsFunc(specs, func(spec *steer.Spec) bool { return spec.Key == s.Spec.Key })
	}), nil
}

func (d *Daemon) explainSet(s engine.SetView, view engine.View, targets map[string]engine.TargetView) control.ExplainedRecord {
	around := scenesOf(view, s.Spec)
	r := control.ExplainedRecord{
		Record: describeSet(s, view), Sites: around.describeSites(), Scenarios: around.describeScenarios(), Zone: string(s.Spec.Key.Zone),
		Answers: []control.ExplainedAnswer{}, Writes: []control.ExplainedWrite{},
	}
	for i, a := range r.Record.Answers {
		spec := s.Spec.At(i)
		answer := control.ExplainedAnswer{Answer: a, When: spec.When, Targets: []control.ExplainedTarget{}}
		for _, name := range s.Spec.Checks {
			target := check.Target{Check: name, Address: spec.Probe}
			answer.Targets = append(answer.Targets, explainTarget(targets[target.ID()], d.config.Checks[name]))
		}
		r.Answers = append(r.Answers, answer)
	}
	if !s.Ready {
		r.JudgeUntil = &s.Latest
	}
	for _, z := range view.Zones {
		if z.Name != s.Spec.Key.Zone {
			continue
		}
		r.ZoneError = z.Err
		r.ListedAt, r.WrittenAt = d.ageOf(z.Name)
		r.Waits = d.waitOf(z.Name)
		if !z.Window.IsZero() {
			r.WindowEnds = &z.Window
		}
	}
	return r
}

func explainTarget(t engine.TargetView, spec *check.Spec) control.ExplainedTarget {
	y := t.Tally
	out := control.ExplainedTarget{
		Target: describeTarget(t), Judged: string(t.Verdict), Fall: t.Falls, Rise: spec.Rise,
		Results: &control.Results{
			Since: y.Since, Pass: y.Passes, Fail: y.Fails, Unknown: y.Unknowns,
			Failures: []control.Failure{}, Faults: []control.OwnFault{},
		},
	}
	for _, w := range y.Ways {
		if w.Outcome == check.Unknown {
			out.Results.Faults = addFault(out.Results.Faults, w)
		} else {
			out.Results.Failures = append(out.Results.Failures, control.Failure{Phase: string(w.Phase), Cause: string(w.Cause), Times: w.Times})
		}
	}
	return out
}

// addFault counts an own fault: two that read the same are one for people,
// whatever phase they came in.
func addFault(list []control.OwnFault, w engine.Way) []control.OwnFault {
	for i := range list {
		if list[i].Detail == w.Detail {
			list[i].Times += w.Times
			return list
		}
	}
	return append(list, control.OwnFault{Detail: w.Detail, Times: w.Times})
}

// others counts the last results of the targets that the record sets do not rest
// on: when nothing else passes either, the trouble is ours.
func others(view engine.View, sets []engine.SetView) control.Outcomes {
	var out control.Outcomes
	for _, t := range view.Targets {
		if slices.ContainsFunc(sets, func(s engine.SetView) bool { return s.Spec.RestsOn(t.Target.Check, t.Target.Address) }) {
			continue
		}
		switch t.Tally.Last.Outcome {
		case check.Pass:
			out.Pass++
		case check.Fail:
			out.Fail++
		case check.Unknown:
			out.Unknown++
		}
	}
	return out
}
