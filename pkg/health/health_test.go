package health_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
)

const second = time.Second

// result is one probe of a word: S passes, F fails, anything else is unknown.
func result(letter rune, at time.Duration) check.Result {
	switch letter {
	case 'S':
		return check.Result{Outcome: check.Pass, Start: at}
	case 'F':
		return check.Result{Outcome: check.Fail, Start: at, Phase: check.PhaseConnect, Cause: check.CauseRefused, Detail: "refused"}
	}
	return check.Result{Outcome: check.Unknown, Start: at, Phase: check.PhaseConnect, Cause: check.CauseLocal, Detail: "no route"}
}

// turns observes a word of results and spells the turns that it brought about:
// "8down 12up" are the places of the results, counted from 1.
func turns(word string, policy health.Policy) string {
	var s health.State
	var list []string
	for i, letter := range strings.ReplaceAll(word, " ", "") {
		var change *health.Change
		s, change = health.Observe(s, result(letter, time.Duration(i)*second), policy)
		if change != nil {
			list = append(list, fmt.Sprint(i+1)+string(change.To))
		}
	}
	return strings.Join(list, " ")
}

// TestCase25OnlyResultsInARowTurnAVerdict is the table of thresholds: a single
// lost packet turns nothing, the opposite result begins the other row anew.
func TestCase25OnlyResultsInARowTurnAVerdict(t *testing.T) {
	for _, c := range []struct {
		fall, rise int
		word       string
		want       string
	}{
		{3, 2, "F S F F S F F F", "8down"},
		{3, 2, "F S F F S F F F S F S S", "8down 12up"},
		{3, 2, "S S F F S F F S", "2up"},
		{3, 2, "S S F F F S F S S", "2up 5down 9up"},
		{3, 3, "S S S F S S S F F S", "3up"},
		{1, 1, "S F S F", "1up 2down 3up 4down"},
		{1, 1, "F", "1down"},
		{1, 2, "S S F S F S S", "2up 3down 7up"},
		{2, 1, "F S F F S", "2up 4down 5up"},
		{3, 2, "F F", ""},
		{3, 2, "S", ""},
		{3, 2, "", ""},
	} {
		if got := turns(c.word, health.Policy{Fall: c.fall, Rise: c.rise}); got != c.want {
			t.Errorf("fall %d, rise %d, %s: got %q, want %q", c.fall, c.rise, c.word, got, c.want)
		}
	}
}

// TestUnknownLeavesBothRowsAsTheyAre: what was our own fault counts neither way.
func TestUnknownLeavesBothRowsAsTheyAre(t *testing.T) {
	for word, want := range map[string]string{
		"F ? F ? ? F":         "6down",
		"? ? ? ?":             "",
		"S ? S F ? F S F F ?": "3up",
		"S S F ? F ? F":       "2up 7down",
	} {
		if got := turns(word, health.Policy{Fall: 3, Rise: 2}); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}

func TestUnknownSaysWhyAndKeepsTheRest(t *testing.T) {
	policy := health.Policy{Fall: 1, Rise: 1}
	down, _ := health.Observe(health.State{}, result('F', second), policy)
	got, change := health.Observe(down, result('?', 2*second), policy)
	want := down
	want.Detail = "no route"
	if change != nil || got != want {
		t.Errorf("got %+v and change %v, want %+v and none", got, change, want)
	}
}

// TestTheLastFailureDecides: phase and cause are of the failure that completed
// the row, and stay until the target is up.
func TestTheLastFailureDecides(t *testing.T) {
	policy := health.Policy{Fall: 2, Rise: 2}
	s, _ := health.Observe(health.State{}, result('F', 0), policy)
	s, change := health.Observe(s, check.Result{
		Outcome: check.Fail, Start: second, Phase: check.PhaseHeaders, Cause: check.CauseTimeout, Detail: "no answer in 5s",
	}, policy)
	want := health.Change{From: health.Unknown, To: health.Down, Phase: check.PhaseHeaders, Cause: check.CauseTimeout, Detail: "no answer in 5s"}
	if change == nil || *change != want {
		t.Fatalf("got %+v, want %+v", change, want)
	}
	s, _ = health.Observe(s, result('S', 2*second), policy)
	if s.Is() != health.Down || s.Phase != check.PhaseHeaders || s.Cause != check.CauseTimeout {
		t.Errorf("one of two passes: got %+v, want it down for the same cause", s)
	}
	s, change = health.Observe(s, result('S', 3*second), policy)
	if want := (health.Change{From: health.Down, To: health.Up}); change == nil || *change != want {
		t.Fatalf("got %+v, want %+v", change, want)
	}
	if s.Phase != "" || s.Cause != "" || s.Detail != "" {
		t.Errorf("up again: got %+v, want no phase, cause or detail", s)
	}
}

// TestAPassClearsALoneFailure: a target that is up shows no cause of a failure
// that brought nothing about.
func TestAPassClearsALoneFailure(t *testing.T) {
	policy := health.Policy{Fall: 3, Rise: 1}
	s, _ := health.Observe(health.State{}, result('S', 0), policy)
	s, _ = health.Observe(s, result('F', second), policy)
	if s.Cause != check.CauseRefused || s.Fails != 1 || s.Passes != 0 {
		t.Errorf("after a failure: got %+v", s)
	}
	s, _ = health.Observe(s, result('S', 2*second), policy)
	if s.Cause != "" || s.Phase != "" || s.Fails != 0 || s.Passes != 1 {
		t.Errorf("after a pass: got %+v, want no cause", s)
	}
}

func TestALateResultCountsForNothing(t *testing.T) {
	policy := health.Policy{Fall: 1, Rise: 1}
	s, _ := health.Observe(health.State{}, result('S', 10*second), policy)
	for _, letter := range "FS?" {
		if got, change := health.Observe(s, result(letter, 9*second), policy); got != s || change != nil {
			t.Errorf("late %c: got %+v, want %+v", letter, got, s)
		}
	}
	if got, _ := health.Observe(s, result('F', 10*second), policy); got.Is() != health.Down {
		t.Errorf("of the same moment: got %s, want it counted", got.Is())
	}
	takenUp := health.State{Verdict: health.Up, Judged: 10 * second}
	if got, _ := health.Observe(takenUp, result('F', 9*second), policy); got.Is() != health.Down {
		t.Errorf("first result after a start: got %s, want it counted: nothing was counted before it", got.Is())
	}
}

// TestRowsDoNotOverflow: a target that passes for a hundred years goes on
// being up.
func TestRowsDoNotOverflow(t *testing.T) {
	const most = 1 << 30
	for letter, s := range map[rune]health.State{'S': {Verdict: health.Up, Passes: most}, 'F': {Verdict: health.Down, Fails: most}} {
		got, change := health.Observe(s, result(letter, 0), health.Policy{Fall: 3, Rise: 3})
		if change != nil || got.Passes+got.Fails != most {
			t.Errorf("%c: got %+v and change %v, want %d in a row", letter, got, change, most)
		}
	}
}

// TestShown: without pass or fail for 3 intervals and a timeout people see
// unknown, decisions the verdict.
func TestShown(t *testing.T) {
	const interval, timeout = 10 * second, 5 * second
	s, _ := health.Observe(health.State{}, result('S', 100*second), health.Policy{Fall: 1, Rise: 1})
	takenUp := health.State{Verdict: health.Down, Judged: 100 * second}
	for _, c := range []struct {
		name  string
		state health.State
		at    time.Duration
		held  time.Duration
		want  health.Verdict
	}{
		{"fresh", s, 100 * second, 0, health.Up},
		{"just in time", s, 135 * second, 0, health.Up},
		{"silent for too long", s, 135*second + 1, 0, health.Unknown},
		{"never judged", health.State{}, 100 * second, 0, health.Unknown},
		{"taken up from before a start", takenUp, 135 * second, 0, health.Down},
		{"taken up, and silent since", takenUp, 136 * second, 0, health.Unknown},
		{"left alone, and its pause is on", takenUp, 200 * second, 300 * second, health.Down},
		{"left alone, and not silent for long since", takenUp, 335 * second, 300 * second, health.Down},
		{"left alone, and silent since", takenUp, 336 * second, 300 * second, health.Unknown},
		{"disabled", health.State{Verdict: health.Down, Disabled: true}, 1000 * second, 0, health.Down},
	} {
		if got := c.state.Shown(c.at, interval, timeout, c.held); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if s.Is() != health.Up {
		t.Errorf("the verdict itself: got %s, want %s", s.Is(), health.Up)
	}
}

// TestObserveAgainstTheDefinition holds Observe against the rule as it is
// written: the verdict turns at the last of fall failures or rise passes in a
// row, unknown ones left out.
func TestObserveAgainstTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := health.Policy{Fall: rapid.IntRange(1, 4).Draw(t, "fall"), Rise: rapid.IntRange(1, 4).Draw(t, "rise")}
		word := rapid.StringMatching("[SF?]{0,40}").Draw(t, "word")
		var s health.State
		counted, verdict := "", health.Unknown
		for i, letter := range word {
			if letter != '?' {
				counted += string(letter)
			}
			was := verdict
			switch {
			case letter == '?':
			case strings.HasSuffix(counted, strings.Repeat("S", policy.Rise)):
				verdict = health.Up
			case strings.HasSuffix(counted, strings.Repeat("F", policy.Fall)):
				verdict = health.Down
			}
			var change *health.Change
			s, change = health.Observe(s, result(letter, time.Duration(i)*second), policy)
			if s.Is() != verdict || (change != nil) != (was != verdict) {
				t.Fatalf("%s at %d: got %s, change %+v; want %s after %s", word, i+1, s.Is(), change, verdict, was)
			}
			if change != nil && (change.From != was || change.To != verdict) {
				t.Fatalf("%s at %d: got %+v, want %s to %s", word, i+1, change, was, verdict)
			}
			if s.Passes > 0 && s.Fails > 0 {
				t.Fatalf("%s: both rows are running: %+v", word, s)
			}
		}
	})
}
