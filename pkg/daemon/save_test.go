package daemon

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// down brings as many failures of an address as make it down, all at once.
func (r *running) down(address string) {
	var results []check.Result
	for i := range 3 {
		at := r.clock.Boot() + time.Duration(i)
		results = append(results, check.Result{
			Target: check.Target{Check: "web", Address: address}, Outcome: check.Fail,
			Phase: check.PhaseConnect, Cause: check.CauseRefused, Start: at, End: at,
		})
	}
	r.results(results)
	synctest.Wait()
}

// When many targets turn, one after the other, the state is not saved for each,
// and within a second for all.
func TestVerdictsAreSavedTogether(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		running := w.run()
		time.Sleep(settled)
		began := w.clock.Wall()
		running.down(a)
		if got := w.saved(); !got.SavedAt.Equal(began) || got.Payload.Targets["web@"+a].Verdict != "down" {
			t.Errorf("the first of them was saved at %s, it happened at %s", got.SavedAt, began)
		}
		time.Sleep(100 * time.Millisecond)
		running.down(b)
		if got := w.saved(); !got.SavedAt.Equal(began) {
			t.Errorf("saved again after %s", got.SavedAt.Sub(began))
		}
		time.Sleep(saveVerdicts)
		synctest.Wait()
		got := w.saved()
		if v := got.Payload.Targets["web@"+b].Verdict; v != "down" {
			t.Errorf("saved after %s, in it the second is %s", got.SavedAt.Sub(began), v)
		}
	})
}

// A write waits for no second, and nor does what a person said or a list showed.
func TestWhatIsSavedAtOnce(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		d := &Daemon{clock: clock.Bubble()}
		d.saved = d.clock.Wall()
		time.Sleep(saveVerdicts / 2)
		turned, write := engine.Effects{Save: true}, engine.Effects{Work: []engine.Work{{}}}
		for _, c := range []struct {
			news    bool // something was not saved before
			event   engine.Event
			effects engine.Effects
			want    bool
		}{
			{false, engine.Tick{}, write, false}, // nothing is unsaved that it could rest on
			{false, engine.Seen{}, turned, true},
			{false, engine.Results{}, turned, false},
			{true, engine.Results{}, engine.Effects{}, false},
			{true, engine.Tick{}, write, true},
			{true, engine.Results{}, write, true},
		} {
			d.news = c.news
			if got := d.mustSave(c.event, c.effects); got != c.want {
				t.Errorf("%T with %+v: got %v, want %v", c.event, c.effects, got, c.want)
			}
		}
		d.news = true
		time.Sleep(saveVerdicts / 2)
		if !d.mustSave(engine.Tick{}, engine.Effects{}) {
			t.Error("after a second verdicts are still unsaved")
		}
	})
}

// What is written piece by piece is the State, as JSON.
func TestWriteState(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		running := w.run()
		time.Sleep(settled)
		running.down(a)
		time.Sleep(time.Minute)
		running.ask(func(e *engine.Engine) {
			e.Lose()
			e.Step(running.now(), engine.Override{Override: drained(a, running.now().Wall)})
			var text strings.Builder
			if err := writeState(&text, e, snapshot{}); err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(e.State())
			if err != nil {
				t.Fatal(err)
			}
			var got, wanted any
			if err := json.Unmarshal([]byte(text.String()), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(want, &wanted); err != nil {
				t.Fatal(err)
			}
			if wanted.(map[string]any)["plans"] == nil { // left out when there are none
				delete(got.(map[string]any), "plans")
			}
			if !reflect.DeepEqual(got, wanted) {
				t.Errorf("got  %v\nwant %v", got, wanted)
			}
		})
	})
}

// A command that did not come to judge a target leaves what was saved of it: a
// canary that fails for a moment must not cost the daemon its verdicts.
func TestCommandKeepsSavedVerdicts(t *testing.T) {
	spec := &check.Spec{Name: "web", Interval: time.Second, Timeout: time.Second / 2, Fall: 3, Rise: 3}
	other := *spec
	other.Fall = 4
	for name, row := range map[string]struct {
		kept engine.TargetState
		want health.Verdict
	}{
		"the same check": {engine.TargetState{Definition: spec.Fingerprint(), Verdict: health.Down, Fails: 3}, health.Down},
		"another check":  {engine.TargetState{Definition: other.Fingerprint(), Verdict: health.Down, Fails: 3}, health.Unknown},
	} {
		zone := record.Name("example.com.")
		e := engine.New(engine.Config{
			Zones: []record.Name{zone}, Checks: map[string]*check.Spec{"web": spec},
			Sets: []*steer.Spec{{
				Key:    record.Key{Zone: zone, Name: "www.example.com.", Type: record.A},
				Policy: steer.All, Checks: []string{"web"}, Answers: []steer.Answer{{Value: "192.0.2.1", Probe: "192.0.2.1"}},
			}},
		}, engine.Now{Boot: time.Hour, Wall: time.Now()})
		e.Keep(map[string]engine.TargetState{"web@192.0.2.1": row.kept})
		var text strings.Builder
		if err := writeState(&text, e, snapshot{}); err != nil {
			t.Fatal(err)
		}
		var state engine.State
		if err := json.Unmarshal([]byte(text.String()), &state); err != nil {
			t.Fatal(err)
		}
		if got := state.Targets["web@192.0.2.1"].Verdict; got != row.want {
			t.Errorf("%s: saved as %s, want %s", name, got, row.want)
		}
	}
}

// When nothing is up any more, status says first that it may be this machine.
func TestNoneUpIsSaid(t *testing.T) {
	target := func(v health.Verdict) engine.TargetView { return engine.TargetView{Verdict: v} }
	for _, row := range []struct {
		verdicts []health.Verdict
		want     int
	}{
		{[]health.Verdict{health.Down, health.Down}, 1},
		{[]health.Verdict{health.Down, health.Unknown}, 1},
		{[]health.Verdict{health.Down, health.Up}, 0},
		{[]health.Verdict{health.Unknown, health.Unknown}, 0},
		{[]health.Verdict{health.Down}, 0},
	} {
		var view engine.View
		for _, v := range row.verdicts {
			view.Targets = append(view.Targets, target(v))
		}
		if got := viewNotices(view); len(got) != row.want {
			t.Errorf("%v: %q", row.verdicts, got)
		}
	}
}
