package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// judges are a node's engine and the time: web at 10.0.0.1 and 10.0.0.2 is judged by
// eu, us and asia, of which two must say down, and lan by asia alone.
type judges struct {
	*engine.Engine
	at time.Duration
	t  failer
}

type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

func judged(vantage string, change func(*engine.Config)) engine.Config {
	rule := &check.Vantages{Of: []string{"eu", "us", "asia"}, Down: 2}
	config := engine.Config{
		Zones: []record.Name{home}, Debounce: time.Second, Vantage: vantage,
		Checks:   map[string]*check.Spec{"web": {Name: "web", Interval: 10 * time.Second, Timeout: 5 * time.Second, Fall: 2, Rise: 2}, "lan": {Name: "lan", Interval: 10 * time.Second, Fall: 1, Rise: 1}},
		Vantages: map[check.Target]*check.Vantages{webAt("10.0.0.1"): rule, webAt("10.0.0.2"): rule, webAt("10.0.0.3"): rule, {Check: "lan", Address: "10.0.0.9"}: {Of: []string{"asia"}, Down: 1}},
		Sets: []*steer.Spec{
			{Key: keyOf([]string{"www"}), Policy: steer.All, Checks: []string{"web"}, Answers: []steer.Answer{{Value: "10.0.0.1", Probe: "10.0.0.1"}, {Value: "10.0.0.2", Probe: "10.0.0.2"}, {Value: "10.0.0.3", Probe: "10.0.0.3"}}},
			{Key: keyOf([]string{"lan"}), Policy: steer.All, Checks: []string{"lan"}, Answers: []steer.Answer{{Value: "10.0.0.9", Probe: "10.0.0.9"}}},
		},
	}
	if change != nil {
		change(&config)
	}
	return config
}

func webAt(address string) check.Target { return check.Target{Check: "web", Address: address} }

func newJudges(t failer, vantage string, change func(*engine.Config)) *judges {
	j := &judges{at: time.Hour, t: t}
	j.Engine = engine.New(judged(vantage, change), j.now())
	return j
}

func (j *judges) now() engine.Now { return engine.Now{Boot: j.at, Wall: wallStart.Add(j.at)} }

func (j *judges) step(after time.Duration, ev engine.Event) engine.Effects {
	j.at += after
	return j.Step(j.now(), ev)
}

func (j *judges) result(after time.Duration, outcome check.Outcome, address string) engine.Effects {
	j.at += after
	r := check.Result{Target: webAt(address), Outcome: outcome, Start: j.at, End: j.at}
	if outcome == check.Fail {
		r.Phase, r.Cause = check.PhaseConnect, check.CauseTimeout
	}
	return j.Step(j.now(), engine.Results{Results: []check.Result{r}})
}

// hear is what a vantage says of an address of web now; "" says nothing of any.
func (j *judges) hear(vantage string, verdict health.Verdict, address string) engine.Effects {
	ev := engine.Observed{Vantage: vantage, At: j.at}
	if verdict != "" {
		ev.Observations = []engine.Observation{{Target: webAt(address), Verdict: verdict, Phase: check.PhaseConnect, Cause: check.CauseRefused, Since: wallStart}}
	}
	return j.step(0, ev)
}

// counts fails unless this is what counts of 10.0.0.1, in these words.
func (j *judges) counts(want health.Verdict, words string) {
	j.t.Helper()
	v := j.view()
	if v.Verdict != want || v.Words != words {
		j.t.Errorf("at %s it counts as %s: %s\nwant %s: %s", j.at-time.Hour, v.Verdict, v.Words, want, words)
	}
}

func (j *judges) view() *engine.VantagesView {
	for _, t := range j.View(j.now()).Targets {
		if t.Target == webAt("10.0.0.1") {
			return t.Vantages
		}
	}
	return nil
}

func journal(effects engine.Effects) string {
	var lines []string
	for _, e := range effects.Journal {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s>%s %s", e.Kind, e.Target, e.Vantage, e.From, e.To, e.Detail)))
	}
	return strings.Join(lines, "\n")
}

func TestVantagesAreCounted(t *testing.T) {
	j := newJudges(t, "eu", nil)
	j.counts(health.Unknown, "0 of 3 vantages say down, 2 needed; eu has not judged it yet; us was not heard yet; asia was not heard yet")
	j.hear("us", health.Up, "10.0.0.1")
	j.hear("asia", "", "")
	j.counts(health.Unknown, "0 of 3 vantages say down, 2 needed; eu has not judged it yet; asia says nothing")
	j.result(0, check.Pass, "10.0.0.1")
	j.result(time.Second, check.Pass, "10.0.0.1")
	j.counts(health.Up, "0 of 3 vantages say down, 2 needed; asia says nothing")
	j.hear("asia", health.Up, "10.0.0.1")
	j.counts(health.Up, "3 of 3 vantages say up")
	j.hear("us", health.Down, "10.0.0.1")
	j.counts(health.Up, "1 of 3 vantages say down (us connect/refused), 2 needed")
	j.result(time.Second, check.Fail, "10.0.0.1")
	turned := j.result(time.Second, check.Fail, "10.0.0.1")
	j.counts(health.Down, "2 of 3 vantages say down (eu connect/timeout, us connect/refused), 2 needed")
	want := "vantage web@10.0.0.1 eu up>down\nverdict web@10.0.0.1  up>down 2 of 3 vantages say down (eu connect/timeout, us connect/refused), 2 needed"
	if got := journal(turned); got != want {
		t.Errorf("journal\n%s\nwant\n%s", got, want)
	}
	j.hear("asia", health.Unknown, "10.0.0.1")
	j.hear("us", health.Unknown, "10.0.0.1")
	j.counts(health.Down, "1 of 3 vantages say down (eu connect/timeout), 2 needed; us says nothing; asia says nothing")
	v := j.view()
	if v.Since != wallStart.Add(j.at) || len(v.Says) != 3 || !v.Says[0].Own || v.Says[0].Verdict != health.Down || v.Says[1].Name != "us" || v.Says[1].At != wallStart.Add(j.at) {
		t.Errorf("view %+v", v)
	}
}

func TestSilentVantages(t *testing.T) {
	j := newJudges(t, "eu", nil)
	for _, name := range []string{"us", "asia"} {
		j.hear(name, health.Up, "10.0.0.1")
	}
	if due := j.step(time.Second, engine.Tick{}).Next; due > j.at-time.Second+engine.SilentAfter {
		t.Errorf("the next tick is %s from now", due-j.at)
	}
	j.hear("us", health.Down, "10.0.0.1")
	j.step(28*time.Second, engine.Observed{Vantage: "us", At: j.at + 28*time.Second})
	effects := j.step(time.Second, engine.Tick{})
	if got := journal(effects); got != "vantage asia asia > silent for 30s: what it said counts as unknown" {
		t.Errorf("journal %s", got)
	}
	j.at += 15 * time.Second
	j.counts(health.Up, "1 of 3 vantages say down (us connect/refused), 2 needed; eu has not judged it yet; asia is silent for 45s")
	if effects := j.step(0, engine.Gone{Vantage: "us"}); journal(effects) != "vantage us us > its node has left: what it said counts as unknown" {
		t.Errorf("journal %s", journal(effects))
	}
	j.counts(health.Up, "0 of 3 vantages say down, 2 needed; eu has not judged it yet; us is silent for 16s; asia is silent for 45s")
	// What it said before it fell silent is not taken for new, and what comes late not at all.
	j.step(0, engine.Observed{Vantage: "asia", At: j.at - time.Minute, Observations: []engine.Observation{{Target: webAt("10.0.0.1"), Verdict: health.Down}}})
	if says := j.view().Says; !says[2].Silent || says[2].Verdict != health.Unknown {
		t.Errorf("late words are heard: %+v", says[2])
	}
	effects = j.step(0, engine.Observed{Vantage: "asia", At: j.at, Whole: true})
	if got := journal(effects); got != "vantage asia asia > heard again, after 45s" {
		t.Errorf("journal %s", got)
	}
	j.counts(health.Up, "0 of 3 vantages say down, 2 needed; eu has not judged it yet; us is silent for 16s; asia says nothing")
	j.hear("asia", health.Down, "10.0.0.1")
	j.step(0, engine.Observed{Vantage: "asia", At: j.at - time.Second, Observations: []engine.Observation{{Target: webAt("10.0.0.1"), Verdict: health.Up}}})
	if says := j.view().Says; says[2].Verdict != health.Down {
		t.Errorf("late words count: %+v", says[2])
	}
	j.step(0, engine.Observed{Vantage: "asia", At: j.at, Whole: true})
	if next := j.step(0, engine.Tick{}).Next; next != j.at+engine.SilentAfter {
		t.Errorf("the next tick is %s from now", next-j.at)
	}
	// Nobody listens to who is in no vantages, or says that it is this node.
	j.hear("mars", health.Down, "10.0.0.1")
	j.hear("eu", health.Down, "10.0.0.1")
	j.counts(health.Up, "0 of 3 vantages say down, 2 needed; eu has not judged it yet; us is silent for 16s; asia says nothing")
}

func TestBlindVantages(t *testing.T) {
	j := newJudges(t, "eu", func(c *engine.Config) { c.Canary = engine.CanarySpec{Targets: []string{"c"}, Need: 1} })
	round := func(outcome check.Outcome) engine.Effects {
		return j.step(time.Second, engine.Canary{Start: j.at, Results: []check.Result{{Target: check.Target{Check: "c"}, Outcome: outcome}}})
	}
	round(check.Pass)
	for range 2 {
		j.result(time.Second, check.Pass, "10.0.0.1")
	}
	j.hear("us", health.Up, "10.0.0.1")
	j.hear("asia", health.Up, "10.0.0.1")
	round(check.Fail)
	if said := round(check.Fail).Say; said == nil || !said.Blind || said.Vantage != "eu" {
		t.Errorf("a blind node says %+v", said)
	}
	j.counts(health.Up, "0 of 3 vantages say down, 2 needed; eu is blind: its canary fails")
	j.hear("us", health.Down, "10.0.0.1")
	j.hear("asia", health.Down, "10.0.0.1")
	j.counts(health.Down, "2 of 3 vantages say down (us connect/refused, asia connect/refused), 2 needed; eu is blind: its canary fails")
	if said := round(check.Pass).Say; said == nil || said.Blind {
		t.Errorf("a node that sees again says %+v", said)
	}
	j.step(0, engine.Observed{Vantage: "us", At: j.at, Blind: true})
	j.step(0, engine.Observed{Vantage: "asia", At: j.at, Blind: true})
	j.counts(health.Down, "0 of 3 vantages say down, 2 needed; us is blind: its canary fails; asia is blind: its canary fails")
}

// What leaves one node as Say is what the other has to hear.
func TestWhatANodeSays(t *testing.T) {
	j := newJudges(t, "us", nil)
	if said := j.result(0, check.Pass, "10.0.0.1").Say; said != nil {
		t.Errorf("says %+v of what is not judged", said)
	}
	up := j.result(time.Second, check.Pass, "10.0.0.1").Say
	want := &engine.Observed{Vantage: "us", At: j.at, Observations: []engine.Observation{{Target: webAt("10.0.0.1"), Verdict: health.Up, Since: wallStart.Add(j.at)}}}
	if diff := cmp.Diff(want, up); diff != "" {
		t.Errorf("says (-want +got):\n%s", diff)
	}
	for i, saysIt := range []bool{false, true, false} {
		if said := j.result(time.Second, check.Fail, "10.0.0.1").Say; (said != nil) != saysIt {
			t.Errorf("failure %d: says %+v", i, said)
		}
	}
	all := j.Observed(j.now())
	if !all.Whole || len(all.Observations) != 1 || all.Observations[0].Verdict != health.Down || all.Observations[0].Cause != check.CauseTimeout {
		t.Errorf("all that it says: %+v", all)
	}
	var stale *engine.Observed
	for range 5 {
		if said := j.result(10*time.Second, check.Unknown, "10.0.0.1").Say; said != nil {
			stale = said
		}
	}
	if stale == nil || stale.Observations[0].Verdict != health.Unknown || len(j.Observed(j.now()).Observations) != 0 {
		t.Errorf("after nothing but unknown results it says %+v", stale)
	}
}

func TestOnlyOthersJudge(t *testing.T) {
	j := newJudges(t, "eu", nil)
	for _, target := range j.Targets() {
		if target.Check == "lan" {
			t.Errorf("%s is probed, and the word of eu does not count", target.ID())
		}
	}
	if n := len(j.Judged()); n != 4 {
		t.Errorf("%d targets are judged", n)
	}
	if asia := newJudges(t, "asia", nil); len(asia.Targets()) != 4 {
		t.Errorf("asia probes %v", asia.Targets())
	}
}

// Guard mass goes by what counts: too many that the vantages agree on at one moment
// are suspected, whatever this node sees, and go down when they have said so for long
// enough. One vantage that sees everything down is not its business.
func TestVantagesAndMass(t *testing.T) {
	mass := func(c *engine.Config) {
		c.Mass = engine.Mass{Percent: 50, AtLeast: 2, Within: time.Minute, Confirm: 2}
	}
	j := newJudges(t, "eu", mass)
	everything := func(vantage string, verdict health.Verdict) engine.Effects {
		ev := engine.Observed{Vantage: vantage, At: j.at}
		for _, address := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
			ev.Observations = append(ev.Observations, engine.Observation{Target: webAt(address), Verdict: verdict, Phase: check.PhaseConnect, Cause: check.CauseRefused})
		}
		return j.step(0, ev)
	}
	everything("us", health.Up)
	everything("asia", health.Up)
	everything("us", health.Down)
	j.counts(health.Up, "1 of 3 vantages say down (us connect/refused), 2 needed; eu has not judged it yet")
	everything("asia", health.Down)
	words := "2 of 3 vantages say down (us connect/refused, asia connect/refused), 2 needed; eu has not judged it yet"
	j.counts(health.Suspected, words)
	if why := j.View(j.now()).Mass; !strings.Contains(why, "3 of 4 addresses") || !strings.Contains(why, "2 more intervals") {
		t.Errorf("guard mass says %q", why)
	}
	j.step(10*time.Second, engine.Tick{})
	everything("us", health.Down)
	j.counts(health.Suspected, words)
	next := j.step(9*time.Second, engine.Tick{}).Next
	if next != j.at+time.Second {
		t.Errorf("the next tick is at %s", next-j.at)
	}
	j.counts(health.Suspected, words)
	j.step(time.Second, engine.Tick{})
	j.counts(health.Down, words)
	if why := j.View(j.now()).Mass; why != "" {
		t.Errorf("guard mass still says %q", why)
	}

	j = newJudges(t, "eu", mass)
	everything("us", health.Up)
	everything("asia", health.Up)
	everything("us", health.Down)
	everything("asia", health.Down)
	everything("asia", health.Unknown)
	j.counts(health.Up, "1 of 3 vantages say down (us connect/refused), 2 needed; eu has not judged it yet; asia says nothing")
	j.step(time.Minute, engine.Tick{})
	if why := j.View(j.now()).Mass; why != "" || j.view().Verdict != health.Up {
		t.Errorf("after one took its word back: %s, %q", j.view().Verdict, why)
	}
}

// A restart, and a reload, take up what counted and no word of another node.
func TestVantagesOverRestartAndReload(t *testing.T) {
	j := newJudges(t, "eu", nil)
	j.hear("us", health.Down, "10.0.0.1")
	j.hear("asia", health.Down, "10.0.0.1")
	j.result(0, check.Pass, "10.0.0.1")
	j.result(0, check.Pass, "10.0.0.1")
	state := j.State()
	next := newJudges(t, "eu", nil)
	next.Restore(state, true, true)
	next.step(0, engine.Tick{})
	next.counts(health.Down, "0 of 3 vantages say down, 2 needed; us was not heard yet; asia was not heard yet")
	aged := newJudges(t, "eu", nil)
	aged.Restore(state, false, false)
	aged.step(0, engine.Tick{})
	aged.counts(health.Unknown, "0 of 3 vantages say down, 2 needed; eu has not judged it yet; us was not heard yet; asia was not heard yet")

	// To win a lease is no reason to forget what is known, be it that the state has
	// the target disabled.
	disabled := state.Targets["web@10.0.0.1"]
	disabled.Verdict, disabled.Disabled = health.Down, true
	state.Targets["web@10.0.0.1"] = disabled
	standby := newJudges(t, "eu", nil)
	standby.hear("us", health.Up, "10.0.0.1")
	standby.hear("asia", health.Up, "10.0.0.1")
	standby.step(0, engine.Gone{Vantage: "us"})
	standby.Restore(state, false, false)
	standby.step(0, engine.Tick{})
	standby.counts(health.Up, "1 of 3 vantages say down (eu), 2 needed; us is silent for 0s")

	// What is judged by others as well from now on counts as it did until they say more.
	alone := newJudges(t, "eu", func(c *engine.Config) { c.Vantages = nil })
	for range 2 {
		alone.result(time.Second, check.Fail, "10.0.0.1")
	}
	effects := alone.step(0, engine.Configure{Config: judged("eu", nil)})
	alone.counts(health.Down, "1 of 3 vantages say down (eu connect/timeout), 2 needed; us was not heard yet; asia was not heard yet")
	if effects.Say == nil || len(effects.Say.Observations) != 1 {
		t.Errorf("says %+v after the reload", effects.Say)
	}
	alone.hear("us", health.Down, "10.0.0.1")
	alone.step(0, engine.Configure{Config: judged("eu", func(c *engine.Config) { c.Debounce = 0 })})
	alone.counts(health.Down, "2 of 3 vantages say down (eu connect/timeout, us connect/refused), 2 needed; asia was not heard yet")
}

// What counts decides when a record set may be planned, and what an outage is.
func TestVantagesDecideWhatIsKnownAndWhatIsAnOutage(t *testing.T) {
	withSite := func(waits scenario.ReturnMode) func(*engine.Config) {
		return func(c *engine.Config) {
			c.Sites = []scenario.Site{{Name: "dc1", Return: scenario.Return{Mode: waits, AfterOutage: time.Minute}}}
			for i := range c.Sets[0].Answers {
				c.Sets[0].Answers[i].Site = "dc1"
			}
		}
	}
	j := newJudges(t, "eu", withSite(scenario.Auto))
	for _, address := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
		for range 2 {
			j.result(0, check.Fail, address)
		}
	}
	www := func() engine.SetView { return j.View(j.now()).Sets[1] }
	if www().Ready {
		t.Error("it is planned by the word of this node alone")
	}
	for _, address := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
		j.hear("us", health.Up, address)
		j.hear("asia", health.Up, address)
	}
	if !www().Ready {
		t.Error("it is not planned by two words of three")
	}
	j.step(time.Second, engine.Configure{Config: judged("eu", withSite(scenario.Approve))})
	j.at += time.Minute
	if site := j.View(j.now()).Sites[0]; site.Outage != 0 {
		t.Errorf("what this node alone sees down is an outage of %s", site.Outage)
	}
	j.step(0, engine.Observed{Vantage: "us", At: j.at, Observations: []engine.Observation{{Target: webAt("10.0.0.1"), Verdict: health.Down}}})
	j.at += time.Minute
	if site := j.View(j.now()).Sites[0]; site.Outage != time.Minute {
		t.Errorf("what counts as down is an outage of %s", site.Outage)
	}
}

// TestOrderOfVantagesIsNothing: what several nodes say at one moment may come in any
// order.
func TestOrderOfVantagesIsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, other := newJudges(t, "eu", nil), newJudges(t, "eu", nil)
		for range rapid.IntRange(1, 8).Draw(t, "moments") {
			var events []engine.Event
			pause := rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, time.Minute}).Draw(t, "pause")
			for _, name := range []string{"us", "asia"} {
				ev := engine.Observed{Vantage: name, At: one.at + pause, Blind: rapid.IntRange(0, 4).Draw(t, "blind") == 0}
				for _, address := range []string{"10.0.0.1", "10.0.0.2"} {
					verdict := rapid.SampledFrom([]health.Verdict{health.Up, health.Down, health.Unknown, ""}).Draw(t, "verdict")
					if verdict != "" {
						ev.Observations = append(ev.Observations, engine.Observation{Target: webAt(address), Verdict: verdict})
					}
				}
				events = append(events, ev)
			}
			own := check.Result{Target: webAt("10.0.0.1"), Outcome: rapid.SampledFrom([]check.Outcome{check.Pass, check.Fail}).Draw(t, "own"), Start: one.at + pause, End: one.at + pause}
			events = append(events, engine.Results{Results: []check.Result{own}})
			one.at += pause
			other.at += pause
			for _, ev := range events {
				one.Note(one.now(), ev)
			}
			for _, ev := range rapid.Permutation(events).Draw(t, "order") {
				other.Note(other.now(), ev)
			}
			one.step(0, engine.Tick{})
			other.step(0, engine.Tick{})
			if a, b := sums(one), sums(other); a != b {
				t.Fatalf("in one order\n%s\nin the other\n%s", a, b)
			}
		}
	})
}

// sums are what counts, and what follows for the record set.
func sums(j *judges) string {
	view := j.View(j.now())
	var text strings.Builder
	for _, t := range view.Targets {
		fmt.Fprintln(&text, t.Target.ID(), t.Vantages.Verdict, t.Vantages.Words)
	}
	for _, s := range view.Sets {
		for _, judged := range s.Judged {
			fmt.Fprintln(&text, judged.Usable, judged.Since)
		}
	}
	return text.String()
}
