package cli

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
)

// What a person reads of a target that is left alone, in status and in explain.
func TestCooldownWords(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)
	until := now.Add(42 * time.Second)
	for _, c := range []struct {
		cooldown        control.Cooldown
		status, explain string
	}{
		{control.Cooldown{State: "eligible"}, "", ""},
		{
			control.Cooldown{State: "cooling", Until: &until, Attempts: 1}, "left alone until 12:00:42; ",
			"left alone until 12:00:42 (in 42s), after 1 attempt that failed; the probe then is the first of 3 passes in a row",
		},
		{
			control.Cooldown{State: "probing", Attempts: 2}, "",
			"probed at the interval, after 2 attempts that failed; a failure begins the next pause, unless nothing else of a record set is usable",
		},
		{
			control.Cooldown{State: "disabled"}, "disabled until: sidestep approve 192.0.2.1; ",
			"disabled by its last failure, and not probed; to end that: sidestep approve 192.0.2.1",
		},
	} {
		target := control.Target{ID: "web@192.0.2.1", Address: "192.0.2.1", Cooldown: c.cooldown}
		if got := cooldownWords(target, now); got != c.status {
			t.Errorf("%s in status: got %q, want %q", c.cooldown.State, got, c.status)
		}
		x := explainer{out: &strings.Builder{}, e: control.Explanation{At: now}}
		if got := x.cooldown(control.ExplainedTarget{Target: target, Rise: 3}); got != c.explain {
			t.Errorf("%s in explain: got %q, want %q", c.cooldown.State, got, c.explain)
		}
	}
}

// A suspected target is not one of which nothing was heard.
func TestSuspectedWords(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)
	target := control.ExplainedTarget{
		Target: control.Target{ID: "web@192.0.2.1", Verdict: "suspected", Phase: "connect", Cause: "refused", Since: now.Add(-20 * time.Second), Fails: 3, Last: &control.Last{Result: "fail"}},
		Judged: "up", Fall: 5, Results: &control.Results{Fail: 3},
	}
	x := explainer{out: &strings.Builder{}, e: control.Explanation{At: now, Daemon: true}}
	const want = "suspected for 20s, since 11:59:40: connect/refused, together with too many others (guard mass); decisions keep up"
	if got := x.verdict(target); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := inARow(target); got != "3 failures of the 5 that bring it down" {
		t.Errorf("got %s", got)
	}
	if got := x.doubt(target); len(got) != 0 {
		t.Errorf("doubts: %v", got)
	}
}
