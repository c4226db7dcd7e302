package simulate

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/engine"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// live is what every record set answers with at the end of a run, but for those
// of which it depends on the way there: nothing is usable, or too little.
func (w *world) live() map[record.Key]string {
	out := map[record.Key]string{}
	for _, s := range w.engine.View(w.now()).Sets {
		if s.Plan.Wanted == nil || s.Plan.Wanted.AllDown || !settledBy(s.Plan.Wanted) {
			continue
		}
		seen := *s.Plan.Seen
		values := slices.Sorted(slices.Values(seen.Live()))
		out[s.Spec.Key] = strings.Join(values, ",")
	}
	return out
}

// settledBy reports whether every value that is wanted is a usable one, and none
// is there only because it was.
func settledBy(wanted *steer.Wanted) bool {
	return !slices.ContainsFunc(wanted.Live, func(value string) bool {
		return !wanted.Usable(value) || strings.Contains(wanted.Why(value), "min_live")
	})
}

// random tries a property on so many random configs and timelines that the six
// of this file come to 10,000. The flag -rapid.checks asks for another number;
// make soak does.
func random(t *testing.T, property func(*rapid.T)) {
	checks := flag.Lookup("rapid.checks").Value
	if checks.String() == "100" { // as it is when nobody asks
		if err := checks.Set("1700"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = checks.Set("100") }()
	}
	rapid.Check(t, property)
}

// ended is when all that was drawn is over, in seconds.
func ended(at []int) int { return at[len(at)-1] + longestWord + 60 }

// TestNoRuleIsBroken plays random timelines against random configs and looks at
// every version of the zone: no set is emptied or falls below its min_live by a
// write, and nothing is lost.
func TestNoRuleIsBroken(t *testing.T) {
	random(t, func(t *rapid.T) {
		d := drawConfig(t)
		at, events := d.moments(t)
		text := timeline(at, events)
		c := d.config(t, true)
		w := after(t, c, text, nil)
		history := w.zones["example.com."].memory.History()
		if err := memory.Check(history); err != nil {
			t.Fatalf("%v\n%s\n%s", err, d.text(true), text)
		}
	})
}

// TestUnknownMovesNothing: where all that happens is that nothing is known, for
// whatever reason, nothing is written.
func TestUnknownMovesNothing(t *testing.T) {
	random(t, func(t *rapid.T) {
		d := drawConfig(t)
		at, events := d.moments(t)
		for i := range events {
			events[i] = slices.DeleteFunc(events[i], func(event string) bool { return strings.HasPrefix(event, "override") })
		}
		text := strings.NewReplacer(" up ", " unknown ", " down ", " unknown ").Replace(timeline(at, events))
		after(t, d.config(t, true), text, func(_ *world, decision Decision) {
			t.Fatalf("%s\n%s\n%s", decision.line(), d.text(true), text)
		})
	})
}

// TestDampingSwallowsNothing: whatever delays decisions, in the end the zone is
// as it would be if nothing had delayed them.
func TestDampingSwallowsNothing(t *testing.T) {
	random(t, func(t *rapid.T) {
		d := drawConfig(t)
		at, events := d.moments(t)
		text := timeline(at, events) + d.peace(t, ended(at))
		damped, plain := after(t, d.config(t, true), text, nil).live(), after(t, d.config(t, false), text, nil).live()
		for key, want := range plain {
			if got, both := damped[key]; both && got != want {
				t.Fatalf("%s: delayed %s, at once %s\n%s\n%s", key, got, want, d.text(true), text)
			}
		}
	})
}

// TestOrderOfOneMomentIsNothing: what happens at one moment to different things
// may stand in the timeline in any order.
func TestOrderOfOneMomentIsNothing(t *testing.T) {
	random(t, func(t *rapid.T) {
		d := drawConfig(t)
		at, events := d.moments(t)
		c := d.config(t, true)
		list := func(text string) (lines []string) {
			after(t, c, text, func(_ *world, decision Decision) { lines = append(lines, decision.line()) })
			return lines
		}
		first := timeline(at, events)
		for i := range events {
			events[i] = rapid.Permutation(events[i]).Draw(t, "order")
		}
		second := timeline(at, events)
		if one, other := list(first), list(second); !slices.Equal(one, other) {
			t.Fatalf("%s\n%s\n%s\n%s\n%s", d.text(true), first, strings.Join(one, "\n"), second, strings.Join(other, "\n"))
		}
	})
}

// TestOverridesEnd: when every override is over, the zone is as if none had been.
func TestOverridesEnd(t *testing.T) {
	random(t, func(t *rapid.T) {
		d := drawConfig(t)
		at, events := d.moments(t)
		peace := d.peace(t, ended(at))
		with := timeline(at, events) + peace
		for i := range events {
			events[i] = slices.DeleteFunc(events[i], func(event string) bool { return strings.HasPrefix(event, "override") })
		}
		c := d.config(t, true)
		got, want := after(t, c, with, nil).live(), after(t, c, timeline(at, events)+peace, nil).live()
		for key := range want {
			if g, both := got[key]; both && g != want[key] {
				t.Fatalf("%s: with overrides that ended %s, without them %s\n%s\n%s", key, g, want[key], d.text(true), with)
			}
		}
	})
}

// TestOverridesWin: whatever the probes say, a word without an end is what the
// zone obeys once there is peace.
func TestOverridesWin(t *testing.T) {
	random(t, func(t *rapid.T) {
		d := drawConfig(t)
		at, events := d.moments(t)
		address := rapid.SampledFrom(d.addresses).Draw(t, "address")
		word := rapid.SampledFrom([]string{"drain " + address, "force-down " + address, "force-up " + address, "pin r0 " + d.first, "freeze all"}).Draw(t, "word")
		peace := ended(at)
		text := timeline(at, events) + d.peace(t, peace) + fmt.Sprintf("%ds override set %s --for forever --reason test\n", peace+3600, word)
		frozen := time.Duration(peace+3600) * time.Second
		w := after(t, d.config(t, true), text, func(_ *world, decision Decision) {
			if word == "freeze all" && decision.At >= frozen {
				t.Fatalf("written while frozen: %s\n%s\n%s", decision.line(), d.text(true), text)
			}
		})
		for _, s := range w.engine.View(w.now()).Sets {
			if problem := disobeyed(s, word, address, d.first); problem != "" {
				t.Fatalf("%s: %s: %s\n%s\n%s", s.Spec.Key, word, problem, d.text(true), text)
			}
		}
	})
}

// disobeyed says how a record set is not what an override asks for.
func disobeyed(s engine.SetView, word, address, pinned string) string {
	live, isLive := s.Plan.Seen.Live(), false
	if i := s.Spec.Position(address); i >= 0 {
		isLive = slices.Contains(live, address)
	}
	switch kind, _, _ := strings.Cut(word, " "); kind {
	case "pin":
		if strings.HasPrefix(string(s.Spec.Key.Name), "r0.") && !slices.Equal(live, []string{pinned}) {
			return fmt.Sprintf("live is %v", live)
		}
	case "drain", "force-down":
		if isLive && !s.Plan.Wanted.AllDown && !strings.Contains(s.Plan.Wanted.Why(address), "min_live") {
			return fmt.Sprintf("live is %v", live)
		}
	case "force-up":
		i := s.Spec.Position(address)
		if i >= 0 && i < len(s.Spec.Answers) && s.Spec.Policy != steer.Priority && s.Spec.Answers[i].Mode == "" && !isLive {
			return fmt.Sprintf("live is %v", live)
		}
	}
	return ""
}
