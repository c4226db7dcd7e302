package engine_test

import (
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/override"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// openWork is an engine with one record set of two answers, both up and live,
// and a clock.
type openWork struct {
	*testing.T
	engine *engine.Engine
	now    engine.Now
}

const openZone = record.Name("example.com.")

var openKey = record.Key{Zone: openZone, Name: "www.example.com.", Type: record.A}

func newOpenWork(t *testing.T, writes plan.Writes) *openWork {
	w := &openWork{T: t, now: engine.Now{Boot: time.Hour, Wall: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}}
	w.engine = engine.New(engine.Config{
		Zones:  []record.Name{openZone},
		Checks: map[string]*check.Spec{"web": {Name: "web", Interval: 10 * time.Second, Timeout: time.Second, Fall: 1, Rise: 1}},
		Sets: []*steer.Spec{{
			Key: openKey, Policy: steer.All, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, Checks: []string{"web"},
			Answers: []steer.Answer{{Value: "192.0.2.1", Probe: "192.0.2.1"}, {Value: "192.0.2.2", Probe: "192.0.2.2"}},
		}},
		Debounce: time.Second, MaxWrites: writes,
	}, w.now)
	w.probe(check.Pass, "192.0.2.1", "192.0.2.2")
	w.step(engine.Seen{Zone: w.zone()})
	return w
}

func (w *openWork) zone() plan.Zone {
	return plan.Zone{Name: openZone, Sets: []record.Set{{Key: openKey, Answers: []record.Answer{
		{Value: "192.0.2.1", Live: true}, {Value: "192.0.2.2", Live: true},
	}}}}
}

// step takes an event and everything that the debounce window brings after it.
func (w *openWork) step(event engine.Event) []engine.Work {
	work := w.engine.Step(w.now, event).Work
	w.now.Boot += 2 * time.Second
	return append(work, w.engine.Step(w.now, engine.Tick{}).Work...)
}

func (w *openWork) probe(outcome check.Outcome, addresses ...string) []engine.Work {
	var results []check.Result
	for _, a := range addresses {
		results = append(results, check.Result{Target: check.Target{Check: "web", Address: a}, Outcome: outcome, Start: w.now.Boot})
	}
	return w.step(engine.Results{Results: results})
}

// Work that failed is tried again. When what it says is no longer wanted, newer
// Work has to take its place, although the zone as it is needs none.
func TestWorkThatIsOutIsTakenBack(t *testing.T) {
	w := newOpenWork(t, plan.Writes{})
	down := w.probe(check.Fail, "192.0.2.1")
	if len(down) != 1 || !down[0].Plan(w.zone()).Pending() {
		t.Fatalf("a failure brought %v", down)
	}
	if again := w.step(engine.Failed{Zone: openZone, Err: "no answer"}); len(again) != 0 {
		t.Errorf("a failed write brought %v: trying again is the reconciler's", again)
	}
	up := w.probe(check.Pass, "192.0.2.1")
	if len(up) != 1 || up[0].Plan(w.zone()).Pending() {
		t.Fatalf("the recovery brought %v, want work that changes nothing", up)
	}
	w.step(engine.Done{Zone: w.zone()})
	if quiet := w.probe(check.Pass, "192.0.2.1"); len(quiet) != 0 {
		t.Errorf("done, and still %v", quiet)
	}
}

// What was written counts for max_writes also when its Work did not come to an
// end, and proves that the record set was adopted.
func TestWritesOfWorkWithoutEndCount(t *testing.T) {
	w := newOpenWork(t, plan.Writes{Count: 1, Window: time.Hour})
	pause := plan.Change{Change: record.Change{Action: record.Pause, Key: openKey, Value: "192.0.2.1"}}
	w.step(engine.Wrote{Zone: openZone, Applied: []plan.Change{pause}})
	other := pause
	other.Key.Zone, other.Key.Name = "example.net.", "www.example.net."
	w.step(engine.Wrote{Zone: "example.net.", Applied: []plan.Change{other}})
	work, _ := w.engine.Work(w.now, openZone, nil)
	if n := len(work.Limits.Written[openKey]); n != 1 || !work.Limits.Adopted[openKey] {
		t.Errorf("%d writes counted, adopted %v; want 1, true", n, work.Limits.Adopted[openKey])
	}
	if state := w.engine.State(); len(state.Sets) != 1 || len(state.Sets[0].Written) != 1 {
		t.Errorf("not in the state: %+v", state.Sets)
	}
}

// A list that tells of a value which a late call of ours took is worth Work of its
// own, and none while the zone is frozen.
func TestWorkComesForWhatALateCallTook(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		w := newOpenWork(t, plan.Writes{})
		if frozen {
			word := override.Override{
				Kind: override.Freeze, Target: string(override.All), By: "root", Reason: "a test",
				Said: w.now.Wall, From: w.now.Wall, Until: w.now.Wall.Add(time.Hour),
			}
			if err := w.engine.Step(w.now, engine.Override{Override: word}).Err; err != nil {
				t.Fatal(err)
			}
		}
		zone := w.zone()
		zone.Lost = map[record.Key][]record.Answer{openKey: {{Value: "198.51.100.9", TTL: time.Minute}}}
		work := w.step(engine.Seen{Zone: zone})
		if asked := len(work) == 1 && work[0].Plan(zone).Pending(); asked == frozen {
			t.Errorf("frozen %v: work %+v", frozen, work)
		}
		if p := w.engine.View(w.now).Sets[0].Plan; len(p.Changes) != 1 || p.IsOpen() == frozen {
			t.Errorf("frozen %v: shown is %+v", frozen, p)
		}
	}
}
