package health_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
)

// TestPausesGrow is the table of pauses: base, then factor times the last, at
// most max; forgotten once the target was up for max.
func TestPausesGrow(t *testing.T) {
	rule := check.Cooldown{Base: 30 * second, Factor: 2, Max: 2 * time.Minute}
	var c health.Cooldown
	now := time.Hour
	expect := func(what string, pause time.Duration, attempts int) {
		t.Helper()
		if c.Until-now != pause || c.Pause != pause || c.Attempts != attempts {
			t.Errorf("%s: got a pause of %v that ends in %v after %d attempts, want %v and %d", what, c.Pause, c.Until-now, c.Attempts, pause, attempts)
		}
		now = c.Until
	}
	c = c.Fell(rule, now, 0)
	expect("it fell", 30*second, 0)
	for attempts, pause := range []time.Duration{60 * second, 120 * second, 120 * second} {
		c = c.Failed(rule, now, 0)
		expect("an attempt failed", pause, attempts+1)
	}
	c = c.Rose(now)
	now += 2*time.Minute - 1
	c = c.Fell(rule, now, 0)
	expect("it fell again, too early", 2*time.Minute, 0)
	c = c.Rose(now)
	now += 2 * time.Minute
	c = c.Fell(rule, now, 0)
	expect("it fell again, late enough", 30*second, 0)
}

// TestPausesAreBounded: whatever a config asks for, a pause is from base to max,
// less a tenth at most, and none is longer than the one after it until both are
// the longest.
func TestPausesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const year = 365 * 24 * time.Hour
		rule := check.Cooldown{
			Base:   time.Duration(rapid.Int64Range(int64(time.Second), int64(10*year)).Draw(t, "base")),
			Factor: rapid.IntRange(1, 100).Draw(t, "factor"),
		}
		rule.Max = time.Duration(rapid.Int64Range(int64(rule.Base), int64(10*year)).Draw(t, "max"))
		var c health.Cooldown
		last := time.Duration(0)
		for i := range 30 {
			chance := rapid.Float64Range(0, 1).Draw(t, "chance")
			if i == 0 {
				c = c.Fell(rule, time.Hour, chance)
			} else {
				c = c.Failed(rule, time.Hour, chance)
			}
			pause := c.Until - time.Hour
			if c.Pause < rule.Base || c.Pause > rule.Max || c.Pause < last {
				t.Fatalf("pause %d of %+v: %v after %v", i, rule, c.Pause, last)
			}
			if pause > c.Pause || pause < c.Pause-c.Pause/10-1 {
				t.Fatalf("pause %d of %v was shortened to %v by %v", i, c.Pause, pause, chance)
			}
			last = c.Pause
		}
	})
}

func TestLife(t *testing.T) {
	rule := &check.Cooldown{Base: 30 * second, Factor: 2, Max: 2 * time.Minute}
	down, c := health.State{Verdict: health.Down}, health.Cooldown{Until: 100 * second}
	for _, test := range []struct {
		state health.State
		rule  *check.Cooldown
		now   time.Duration
		want  health.Life
	}{
		{health.State{}, rule, 50 * second, health.Eligible},
		{health.State{Verdict: health.Up}, rule, 50 * second, health.Eligible},
		{down, nil, 50 * second, health.Eligible},
		{down, rule, 100*second - 1, health.Cooling},
		{down, rule, 100 * second, health.Probing},
		{health.State{Verdict: health.Down, Disabled: true}, nil, 0, health.Disabled},
		{health.State{Verdict: health.Down, Disabled: true}, rule, 50 * second, health.Disabled},
	} {
		if got := c.Life(test.state, test.rule, test.now); got != test.want {
			t.Errorf("%+v at %v: got %s, want %s", test.state, test.now, got, test.want)
		}
	}
}

// TestWeigh: what a failure counts as, by its cause.
func TestWeigh(t *testing.T) {
	causes := check.Causes{check.CauseCertificate: check.CountUnknown, check.CauseAuth: check.CountDisable}
	local := check.Causes{check.CauseLocal: check.CountFail}
	long := strings.Repeat("x", check.MaxDetail)
	for _, c := range []struct {
		outcome check.Outcome
		cause   check.Cause
		causes  check.Causes
		want    check.Outcome
	}{
		{check.Pass, "", causes, check.Pass},
		{check.Fail, check.CauseRefused, nil, check.Fail},
		{check.Fail, check.CauseRefused, causes, check.Fail},
		{check.Fail, check.CauseCertificate, nil, check.Fail},
		{check.Fail, check.CauseCertificate, causes, check.Unknown},
		{check.Fail, check.CauseAuth, causes, check.Fail},
		{check.Unknown, check.CauseLocal, causes, check.Unknown},
		{check.Unknown, check.CauseLocal, local, check.Fail},
		{check.Unknown, check.CauseTimeout, local, check.Unknown}, // somebody else has doubts
	} {
		got := health.Weigh(check.Result{Outcome: c.outcome, Cause: c.cause, Detail: long}, c.causes)
		if got.Outcome != c.want || len(got.Detail) > check.MaxDetail {
			t.Errorf("%s/%s with %v: got %s and a detail of %d bytes, want %s", c.outcome, c.cause, c.causes, got.Outcome, len(got.Detail), c.want)
		}
	}
}

// TestDisable: the last failure of a row decides, and what is disabled counts
// nothing until a person says otherwise. A is a failure that disables.
func TestDisable(t *testing.T) {
	policy := health.Policy{Fall: 2, Rise: 2, Causes: check.Causes{check.CauseAuth: check.CountDisable}}
	for word, want := range map[string]string{
		"SSFA":      "4disabled",
		"SSAF":      "4down",
		"SSAFASSS":  "4down 7up",
		"SSFASSSS":  "4disabled",
		"SSFASS+SS": "4disabled 8up",
		"SSFFSFA":   "4down 7disabled", // a whole row while it is down
		"FA":        "2disabled",
		"SSFA+FFFA": "4disabled", // the row after a person's word ended with F
		"SSFA+FA":   "4disabled 6disabled",
	} {
		var s health.State
		var got []string
		n := 0
		for i, letter := range word {
			if letter == '+' {
				s = s.Enable()
				continue
			}
			n++
			r := result(letter, time.Duration(i)*second)
			if letter == 'A' {
				r = check.Result{Outcome: check.Fail, Start: time.Duration(i) * second, Phase: check.PhaseHeaders, Cause: check.CauseAuth}
			}
			var change *health.Change
			s, change = health.Observe(s, r, policy)
			switch {
			case change == nil:
			case change.Disabled && s.Disabled && s.Is() == health.Down:
				got = append(got, string(rune('0'+n))+"disabled")
			case n > 2 || change.To == health.Down:
				got = append(got, string(rune('0'+n))+string(change.To))
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: got %q, want %q", word, text, want)
		}
	}
}

// TestSuspected: a target that is suspected keeps its verdict, goes down after so
// many more failures in a row, and is cleared by one pass.
func TestSuspected(t *testing.T) {
	policy := health.Policy{Fall: 2, Rise: 2, Confirm: 3}
	for word, want := range map[string]string{
		"FF":      "",
		"FFF":     "3 suspected down",
		"F?F?F":   "5 suspected down",
		"S":       "1 suspected up",
		"FFS":     "3 suspected up",
		"SFF":     "1 suspected up 3 up down",
		"FFFSSFF": "3 suspected down 5 down up 7 up down",
	} {
		s := health.State{Verdict: health.Up, Fails: 2, Suspected: true}
		var got []string
		for i, letter := range word {
			if s.Shown(time.Duration(i)*second, 10*second, second, 0) == health.Suspected != s.Suspected {
				t.Errorf("%s at %d: shown as %s", word, i, s.Shown(0, 10*second, second, 0))
			}
			var change *health.Change
			s, change = health.Observe(s, result(letter, time.Duration(i)*second), policy)
			if change != nil {
				got = append(got, string(rune('1'+i))+" "+string(change.From)+" "+string(change.To))
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: got %q, want %q", word, text, want)
		}
	}
}
