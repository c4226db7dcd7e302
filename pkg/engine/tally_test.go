package engine_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

const probed = "192.0.2.1"

// tallied makes an engine with one target.
func tallied() (*engine.Engine, engine.Config) {
	config := engine.Config{
		Zones:  []record.Name{home},
		Checks: map[string]*check.Spec{"web": {Name: "web", Kind: check.KindTCP, Interval: time.Second, Fall: 3, Rise: 2}},
		Sets: []*steer.Spec{{
			Key: keyOf([]string{"www"}), Policy: steer.All, OnAllDown: steer.Keep, Checks: []string{"web"},
			Answers: []steer.Answer{{Value: probed, Probe: probed}},
		}},
	}
	return engine.New(config, engine.Now{Boot: bootStart, Wall: wallStart}), config
}

// probes gives the engine one result a second, from second on, and returns the
// tally at the last.
func probes(e *engine.Engine, second int, results ...check.Result) engine.Tally {
	var now engine.Now
	for i, r := range results {
		at := time.Duration(second+i) * time.Second
		now = engine.Now{Boot: bootStart + at, Wall: wallStart.Add(at)}
		r.Target = check.Target{Check: "web", Address: probed}
		r.Start, r.End = now.Boot-3*time.Millisecond, now.Boot
		e.Step(now, engine.Results{Results: []check.Result{r}})
	}
	return e.View(now).Targets[0].Tally
}

var (
	pass    = check.Result{Outcome: check.Pass, Source: "192.0.2.99"}
	refused = check.Result{Outcome: check.Fail, Phase: check.PhaseConnect, Cause: check.CauseRefused, Detail: "connection refused"}
	files   = check.Result{Outcome: check.Unknown, Phase: check.PhaseConnect, Cause: check.CauseLocal, Detail: "connect: too many open files; raise LimitNOFILE of the service"}
	route   = check.Result{Outcome: check.Unknown, Phase: check.PhaseConnect, Cause: check.CauseLocal, Detail: "this machine has no route to " + probed}
)

// What was the target's fault and what was ours are counted apart, by cause and
// by remedy, and the last result is told with its time, latency and source.
func TestTallyTellsTheFaultsApart(t *testing.T) {
	e, _ := tallied()
	if got := e.View(engine.Now{Boot: bootStart, Wall: wallStart}).Targets[0].Tally; !reflect.DeepEqual(got, engine.Tally{Since: wallStart}) {
		t.Errorf("before the first result: %+v", got)
	}
	got := probes(e, 1, pass, refused, refused, route, files, files, files, pass)
	want := engine.Tally{
		Since: wallStart, Passes: 2, Fails: 2, Unknowns: 4,
		Ways: []engine.Way{
			{Outcome: check.Unknown, Phase: check.PhaseConnect, Cause: check.CauseLocal, Detail: files.Detail, Times: 3},
			{Outcome: check.Fail, Phase: check.PhaseConnect, Cause: check.CauseRefused, Times: 2},
			{Outcome: check.Unknown, Phase: check.PhaseConnect, Cause: check.CauseLocal, Detail: "this machine has no route to the target", Times: 1},
		},
		Last: engine.Last{Outcome: check.Pass, At: wallStart.Add(8 * time.Second), Latency: 3 * time.Millisecond, Source: "192.0.2.99"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A target that fails in ever new ways costs no more: the sums stay right, and
// the newest and the most frequent ways are told.
func TestTallyIsBounded(t *testing.T) {
	e, _ := tallied()
	probes(e, 1, refused, refused, refused)
	var all []check.Result
	for i := range 1000 {
		r := files
		r.Detail = fmt.Sprint("trouble ", i)
		all = append(all, r)
	}
	late := check.Result{Outcome: check.Fail, Phase: check.PhaseAssert, Cause: check.CauseStatus}
	got := probes(e, 10, append(all, late)...)
	if got.Fails != 4 || got.Unknowns != 1000 || len(got.Ways) != 6 {
		t.Errorf("%d failures and %d unknowns in %d ways", got.Fails, got.Unknowns, len(got.Ways))
	}
	if most := got.Ways[0]; most.Outcome != check.Unknown || most.Detail != "" || most.Times < 800 {
		t.Errorf("the most frequent way is %+v", most)
	}
	for _, cause := range []check.Cause{check.CauseRefused, check.CauseStatus} {
		if !slices.ContainsFunc(got.Ways, func(w engine.Way) bool { return w.Cause == cause }) {
			t.Errorf("%s is not told: %+v", cause, got.Ways)
		}
	}
	if slices.ContainsFunc(got.Ways, func(w engine.Way) bool { return w.Detail == "trouble 999" }) {
		t.Error("more texts are kept than there is room for")
	}
}

// A reload that leaves the check alone goes on counting; one that changes it
// begins anew.
func TestTallyOutlivesAReload(t *testing.T) {
	e, config := tallied()
	probes(e, 1, refused, pass)
	e.Step(engine.Now{Boot: bootStart + 5*time.Second, Wall: wallStart.Add(5 * time.Second)}, engine.Configure{Config: config})
	if got := probes(e, 6, pass); got.Passes != 2 || got.Fails != 1 || !got.Since.Equal(wallStart) {
		t.Errorf("after a reload: %+v", got)
	}
	other := *config.Checks["web"]
	other.Fall = 5
	config.Checks = map[string]*check.Spec{"web": &other}
	e.Step(engine.Now{Boot: bootStart + 7*time.Second, Wall: wallStart.Add(7 * time.Second)}, engine.Configure{Config: config})
	if got := probes(e, 8, pass); got.Passes != 1 || got.Fails != 0 || !got.Since.Equal(wallStart.Add(7*time.Second)) {
		t.Errorf("after a change of the check: %+v", got)
	}
}
