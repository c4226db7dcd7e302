package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sidestep/pkg/control"
)

// judgedTarget is down for this node, eu, up for us, and asia is not heard.
func judgedTarget(now time.Time) control.Target {
	ago := func(d time.Duration) *time.Time {
		at := now.Add(-d)
		return &at
	}
	return control.Target{
		ID: "web@192.0.2.1", Check: "web", Address: "192.0.2.1", Verdict: "down", Phase: "connect", Cause: "refused",
		Detail: "connection refused", Since: *ago(3 * time.Minute), Fails: 18,
		Counted: &control.Counted{
			Verdict: "up", Since: *ago(2 * time.Hour), Down: 2,
			Detail: "1 of 3 vantages say down (eu connect/refused), 2 needed; asia is silent for 45s",
		},
		Vantages: []control.Vantage{
			{Name: "eu", Own: true, Verdict: "down", Phase: "connect", Cause: "refused", Since: ago(3 * time.Minute), At: ago(4 * time.Second)},
			{Name: "us", Verdict: "up", Since: ago(2 * time.Hour), At: ago(2 * time.Second)},
			{Name: "asia", Verdict: "unknown", Since: ago(2 * time.Hour), At: ago(45 * time.Second), Silent: true},
			{Name: "mars", Verdict: "unknown", Blind: true, At: ago(time.Second)},
			{Name: "moon", Verdict: "unknown", Silent: true},
		},
	}
}

// What counts stands in front, and what this node sees beside it.
func TestVantagesInStatus(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.Local)
	var out strings.Builder
	a := &app{io: IO{Out: &out}}
	a.printTargets([]control.Target{judgedTarget(now)}, now)
	const want = `
TARGET         VERDICT  FOR   IN A ROW     LAST
web@192.0.2.1  up       2h0m  18 failures  1 of 3 vantages say down (eu connect/refused), 2 needed; asia is silent for 45s; here down; connect/refused connection refused
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestVantagesInExplain(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.Local)
	out := new(strings.Builder)
	x := explainer{out, control.Explanation{At: now, Daemon: true}}
	target := control.ExplainedTarget{Target: judgedTarget(now), Judged: "down", Fall: 3, Rise: 3}
	x.target(target)
	const want = `    verdict     web@192.0.2.1 up for 2h0m, since 10:00:00: 1 of 3 vantages say down (eu connect/refused), 2 needed; asia is silent for 45s
      eu        down for 3m, since 11:57:00: connect/refused; heard 4s ago
      us        up for 2h0m, since 10:00:00; heard 2s ago
      asia      silent, and counts as unknown; heard 45s ago
      mars      blind, its canary fails, and counts as unknown; heard 1s ago
      moon      silent, and counts as unknown; never heard
    here        web@192.0.2.1 down for 3m, since 11:57:00: connect/refused
    in a row    18 failures; up after 3 passes in a row
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	out.Reset()
	target.Vantages = target.Vantages[1:]
	x.target(target)
	if text := out.String(); !strings.HasSuffix(text, "    here        not probed: the word of this node is not asked\n") {
		t.Errorf("got\n%s", text)
	}
}

func TestJudgesInCheck(t *testing.T) {
	three := &control.Judges{Of: []string{"eu", "us", "asia"}, Down: 2}
	got := judgesLines([]control.CheckResult{{Judges: three}, {}, {Judges: three}, {Judges: &control.Judges{Of: []string{"dc2"}, Down: 1}}})
	want := []string{
		"judged by eu, us, asia together, of which 2 must say down: 2 targets; what each of them says: sidestep status",
		"judged by dc2: 1 target; what each of them says: sidestep status",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
