package daemon

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
)

// newJudged is a world in which this node, eu, judges with us and asia, and two of
// the three have to say down.
func newJudged(t *testing.T) *world {
	w := newWorld(t, class)
	w.config.Node.Vantage = "eu"
	w.config.Vantages.Checks = map[string]*check.Vantages{"web": {Of: []string{"eu", "us", "asia"}, Down: 2}}
	return w
}

// others let the other nodes be heard every five seconds for a while.
func (r *running) others(d time.Duration, says map[string]health.Verdict) {
	for end := time.Now().Add(d); ; time.Sleep(5 * time.Second) {
		for _, name := range []string{"us", "asia"} {
			verdict, heard := says[name]
			if !heard {
				continue
			}
			r.tell(engine.Observed{Vantage: name, At: r.clock.Boot(), Observations: []engine.Observation{
				{Target: check.Target{Check: "web", Address: a}, Verdict: verdict, Phase: check.PhaseConnect, Cause: check.CauseRefused, Since: end},
				{Target: check.Target{Check: "web", Address: b}, Verdict: health.Up, Since: end},
			}})
		}
		if !time.Now().Before(end) {
			return
		}
	}
}

// What this node sees is one word of three. Its status tells who says what, and as
// long as two are silent, why nothing is written.
func TestStatusOfVantages(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newJudged(t)
		d := w.run()
		up := map[string]health.Verdict{"us": health.Up, "asia": health.Up}
		d.others(settled, up)
		w.site.fail(a)
		d.others(settled, up)
		w.mustLive(a)
		target := d.target(a)
		if target.Verdict != "down" || target.Counted.Verdict != "up" || target.Counted.Detail != "1 of 3 vantages say down (eu connect/refused), 2 needed" {
			t.Errorf("one of three says down: %+v %+v", target, target.Counted)
		}
		if v := target.Vantages[0]; len(target.Vantages) != 3 || !v.Own || v.Name != "eu" || v.Verdict != "down" || v.Cause != "refused" || v.At == nil || v.Since == nil {
			t.Errorf("this node says: %+v", v)
		}
		if v := target.Vantages[2]; v.Own || v.Name != "asia" || v.Verdict != "up" || v.At == nil || v.Silent {
			t.Errorf("asia says: %+v", v)
		}

		time.Sleep(45 * time.Second)
		w.mustLive(a)
		target = d.target(a)
		if got, want := target.Counted.Detail, "1 of 3 vantages say down (eu connect/refused), 2 needed; us is silent for 45s; asia is silent for 45s"; got != want {
			t.Errorf("two are silent: %s", got)
		}
		if !target.Vantages[1].Silent || target.Vantages[1].Verdict != "unknown" {
			t.Errorf("us, silent: %+v", target.Vantages[1])
		}
		if notices := strings.Join(d.status().Notices, "\n"); !strings.Contains(notices, "silent: asia (for 45s), us (for 45s): what these vantages said counts as unknown") {
			t.Errorf("notices: %s", notices)
		}
		e, r := d.why()
		if !strings.Contains(r.Answers[0].Reason, "up; 1 of 3 vantages say down (eu connect/refused), 2 needed; us is silent; asia is silent") || r.Answers[0].Targets[0].Counted == nil {
			t.Errorf("explained: %+v", r.Answers[0])
		}
		if !strings.Contains(strings.Join(e.Notices, "\n"), "silent: asia") {
			t.Errorf("notices of explain: %q", e.Notices)
		}

		d.others(settled, map[string]health.Verdict{"us": health.Down})
		w.mustLive(b)
		_, r = d.why()
		want := "web@" + a + " up>down 2 of 3 vantages say down (eu connect/refused, us connect/refused), 2 needed; asia is silent"
		if events := strings.Join(eventTexts(r.Writes[len(r.Writes)-1].Evidence), "\n"); !strings.Contains(events, want) {
			t.Errorf("what led to the write:\n%s", events)
		}
	})
}

// A node probes what it is asked for, and the rest where somebody names it.
func TestCheckOfWhatOthersJudge(t *testing.T) {
	c := checked(t)
	c.Node.Vantage = "eu"
	c.Vantages.Checks = map[string]*check.Vantages{"ssh": {Of: []string{"dc2"}, Down: 1}}
	for names, want := range map[string]int{"": 2, "api": 1} {
		results, _, err := Check(t.Context(), c, strings.Fields(names), slog.New(slog.DiscardHandler))
		if err != nil || len(results) != want {
			t.Errorf("%q: %v, %v", names, results, err)
		}
	}
}
