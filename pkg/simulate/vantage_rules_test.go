package simulate

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sidestep/pkg/config"
	"sidestep/pkg/provider/memory"
)

// three are the vantages of the properties here, of which two must agree. This
// node is the first of them.
var three = []string{"eu", "us", "asia"}

const twoOfThree = ", vantages: {of: [eu, us, asia], down: 2}"

// drawJudged draws a config whose checks are all judged by the three.
func drawJudged(t *rapid.T) drawn {
	d := drawConfig(t)
	d.vantages = twoOfThree
	return d
}

func isResult(event string) bool {
	verb, _, _ := strings.Cut(event, " ")
	return verb == "up" || verb == "down" || verb == "unknown"
}

// said lets results be said by some vantages only, one line for each.
func said(events [][]string, by ...string) [][]string {
	var out [][]string
	for _, moment := range events {
		var lines []string
		for _, event := range moment {
			if !isResult(event) {
				lines = append(lines, event)
				continue
			}
			for _, name := range by {
				lines = append(lines, event+" from "+name)
			}
		}
		out = append(out, lines)
	}
	return out
}

func withoutOverrides(events [][]string) [][]string {
	for i := range events {
		events[i] = slices.DeleteFunc(events[i], func(event string) bool { return strings.HasPrefix(event, "override") })
	}
	return events
}

func linesOf(t failer, c *config.Config, text string) (lines []string) {
	after(t, c, text, func(_ *world, decision Decision) { lines = append(lines, decision.line()) })
	return lines
}

// With three nodes a run costs as much as three without vantages, so that these are
// tried less often than those of rules_test.go.

// TestOneLyingVantage: whatever one vantage of three says, and whatever else
// happens but an operator's word, nothing is written.
func TestOneLyingVantage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawJudged(t)
		at, events := d.moments(t)
		text := timeline(at, said(withoutOverrides(events), rapid.SampledFrom(three).Draw(t, "liar")))
		if lines := linesOf(t, d.config(t, true), text); len(lines) > 0 {
			t.Fatalf("%s\n%s\n%s", strings.Join(lines, "\n"), d.text(true), text)
		}
	})
}

// TestSilenceMovesNothing: vantages that come and go, and see nothing else, cause
// no write, and neither do those that see trouble and are not heard.
func TestSilenceMovesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawJudged(t)
		at, events := d.moments(t)
		events = said(withoutOverrides(events), "us")
		for i := range events {
			for _, name := range three[1:] {
				if word := rapid.SampledFrom([]string{"", "", "silent", "back"}).Draw(t, "vantage"); word != "" {
					events[i] = append(events[i], "vantage "+word+" "+name)
				}
			}
		}
		text := "0 vantage silent asia\n0 vantage silent us\n" + strings.ReplaceAll(timeline(at, events), "vantage back us", "vantage back asia")
		if lines := linesOf(t, d.config(t, true), text); len(lines) > 0 {
			t.Fatalf("%s\n%s\n%s", strings.Join(lines, "\n"), d.text(true), text)
		}
	})
}

// TestAgreeingVantagesDecide: what any two of three say is decided as if all had
// said it, and what fewer say not at all. So vantages never take more away than
// two of them that agree, and two that agree are never held up by the third.
func TestAgreeingVantagesDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawJudged(t)
		d.canary = false // it would be this node's alone
		d.damping = strings.Replace(d.damping, "percent: 50", "percent: 100", 1)
		at, events := d.moments(t)
		for i := range events { // when a call is tried again depends on how often something was judged anew
			events[i] = slices.DeleteFunc(events[i], func(event string) bool { return strings.HasPrefix(event, "provider fail") })
		}
		c := d.config(t, true)
		two := rapid.Permutation(three).Draw(t, "two")[:2]
		some, all := timeline(at, said(events, two...)), timeline(at, events)
		if got, want := linesOf(t, c, some), linesOf(t, c, all); !slices.Equal(got, want) {
			t.Fatalf("%s\nsaid by two\n%s\n%s\nsaid by all\n%s\n%s", d.text(true), some, strings.Join(got, "\n"), all, strings.Join(want, "\n"))
		}
		d.vantages = ""
		if got, want := linesOf(t, c, all), linesOf(t, d.config(t, true), all); !slices.Equal(got, want) {
			t.Fatalf("%s\n%s\nwith vantages that agree\n%s\nwithout\n%s", d.text(true), all, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestVantagesBreakNoRule plays what differs from vantage to vantage, looks at
// every version of the zone, and lets the events of one moment come in another order.
func TestVantagesBreakNoRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawJudged(t)
		at, events := d.moments(t)
		for i := range events {
			for j, event := range events[i] {
				if name := rapid.SampledFrom(append(three, "")).Draw(t, "from"); name != "" && isResult(event) {
					events[i][j] += " from " + name
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "vantage") == 0 {
				events[i] = append(events[i], "vantage "+rapid.SampledFrom([]string{"silent us", "back us", "silent asia", "back asia"}).Draw(t, "word"))
			}
		}
		c := d.config(t, true)
		play := func(text string) (lines []string) {
			w := after(t, c, text, func(_ *world, decision Decision) { lines = append(lines, decision.line()) })
			if err := memory.Check(w.zones["example.com."].memory.History()); err != nil {
				t.Fatalf("%v\n%s\n%s", err, d.text(true), text)
			}
			return lines
		}
		first := timeline(at, events)
		for i := range events {
			events[i] = rapid.Permutation(events[i]).Draw(t, "order")
		}
		second := timeline(at, events)
		if one, other := play(first), play(second); !slices.Equal(one, other) {
			t.Fatalf("%s\n%s\n%s\n%s\n%s", d.text(true), first, strings.Join(one, "\n"), second, strings.Join(other, "\n"))
		}
	})
}
