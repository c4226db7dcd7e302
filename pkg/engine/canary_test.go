package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/plan"
)

// drawSight is something that happens to a node with a canary.
func drawSight(t *rapid.T) string {
	switch rapid.IntRange(0, 7).Draw(t, "sight") {
	case 0, 1, 2:
		return "canary " + rapid.SampledFrom([]string{"SS", "SF", "FF", "F?", "??"}).Draw(t, "round") +
			" began=" + rapid.SampledFrom([]string{"0s", "1ms", "2s"}).Draw(t, "began")
	case 3:
		return "config canary=" + rapid.SampledFrom([]string{"none", "one,two", "three,four", "one,two need=2"}).Draw(t, "canary")
	case 4:
		return "reload"
	case 5, 6:
		target := fmt.Sprint("web@192.0.2.", rapid.IntRange(1, 3).Draw(t, "target"))
		return "result " + target + " " + rapid.StringMatching("[SFF]{1,4}").Draw(t, "letters") + " every=700ms took=600ms ago=100ms"
	default:
		return drawCommand(t)
	}
}

// drawSights draws commands. A second goes by before each result, since no target
// has two probes under way: none begins before the one before it, or with it.
func drawSights(t *rapid.T) []string {
	commands := []string{"config canary=one,two", "reload"}
	for _, command := range rapid.SliceOfN(rapid.Custom(drawSight), 1, 60).Draw(t, "commands") {
		if strings.HasPrefix(command, "result ") {
			commands = append(commands, "advance 1s")
		}
		commands = append(commands, command)
	}
	return commands
}

// watcher works the canary out again, from what an engine is told.
type watcher struct {
	engine *engine.Engine
	spec   engine.CanarySpec
	short  int           // rounds in a row with too few answers
	passed time.Duration // when the last round that passed began
	began  time.Duration // probes that began before do not count
	seen   map[string][]sighting
}

// sighting is one result that counts.
type sighting struct {
	pass       bool
	start, end time.Duration
	borne      bool // the canary passed after it, or there was none
}

func (w *watcher) blind() bool { return w.short >= 2 }

func (w *watcher) hear(world *world, event engine.Event) {
	_, reload := event.(engine.Configure)
	switch {
	case w.engine != world.engine:
		*w = watcher{engine: world.engine, spec: world.config.Canary, seen: map[string][]sighting{}}
	case reload && fmt.Sprint(w.spec) != fmt.Sprint(world.config.Canary):
		if w.blind() {
			w.began = world.clock().Boot
		}
		w.forget()
		w.spec, w.short, w.passed = world.config.Canary, 0, 0
	}
	switch ev := event.(type) {
	case engine.Canary:
		if len(w.spec.Targets) > 0 {
			w.round(ev)
		}
	case engine.Results:
		for _, r := range ev.Results {
			w.result(r)
		}
	}
}

// forget drops what no round has borne out.
func (w *watcher) forget() {
	for id, all := range w.seen {
		w.seen[id] = slices.DeleteFunc(all, func(s sighting) bool { return !s.borne })
	}
}

func (w *watcher) round(ev engine.Canary) {
	n := 0
	for _, r := range ev.Results {
		if r.Outcome == check.Pass {
			n++
		}
	}
	if n < w.spec.Need {
		if w.short++; w.short == 2 {
			w.forget()
		}
		return
	}
	if w.blind() {
		w.began = ev.Start
	}
	w.short, w.passed = 0, ev.Start
	for _, all := range w.seen {
		for i := range all {
			all[i].borne = all[i].borne || all[i].end <= ev.Start
		}
	}
}

func (w *watcher) result(r check.Result) {
	id := r.Target.ID()
	all := w.seen[id]
	late := len(all) > 0 && r.Start < all[len(all)-1].start
	if r.Outcome == check.Unknown || w.blind() || r.Start < w.began || late {
		return
	}
	borne := len(w.spec.Targets) == 0 || r.End <= w.passed
	w.seen[id] = append(all, sighting{pass: r.Outcome == check.Pass, start: r.Start, end: r.End, borne: borne})
}

// witnessed counts the failures in a row that are borne out; false when it is not
// known how many came before the first of them.
func (w *watcher) witnessed(id string) (n int, known bool) {
	for _, s := range slices.Backward(w.seen[id]) {
		if s.pass {
			return n, true
		}
		if s.borne {
			n++
		}
	}
	return n, false
}

// TestNothingIsWrittenBlind: while the canary fails no Work leaves the engine
// whose plan has an open change, and what is out is withdrawn.
func TestNothingIsWrittenBlind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		eye := &watcher{}
		run(t, drawSights(t), func(w *world, event engine.Event, _ engine.Effects) {
			eye.hear(w, event)
			if !eye.blind() {
				return
			}
			for name, work := range w.work {
				if p := work.Plan(w.seen(name)); p.Pending() {
					t.Fatalf("%T at %s: blind, and this may be written:\n%s", event, w.now, p)
				}
			}
			for _, z := range w.engine.View(w.clock()).Zones {
				if z.Listed && (z.Plan.InSync() || z.Plan.Blocked[0].Guard != plan.GuardCanary) {
					t.Fatalf("blind, and the plan says\n%s", z.Plan)
				}
			}
		})
	})
}

// TestNoOneFallsUnwitnessed: with a canary no target goes down but by failures
// that a later round of it bears out, and none while it fails.
func TestNoOneFallsUnwitnessed(t *testing.T) {
	fell := 0
	property := func(t *rapid.T) {
		eye := &watcher{}
		run(t, drawSights(t), func(w *world, event engine.Event, effects engine.Effects) {
			eye.hear(w, event)
			for _, entry := range effects.Journal {
				if entry.Kind != "verdict" || entry.To != health.Down {
					continue
				}
				fell++
				name, _, _ := strings.Cut(entry.Target, "@")
				n, known := eye.witnessed(entry.Target)
				switch {
				case eye.blind():
					t.Fatalf("%T: %s went down while the canary fails", event, entry.Target)
				case known && n < w.config.Checks[name].Fall:
					t.Fatalf("%T: %s went down by %+v", event, entry.Target, eye.seen[entry.Target])
				}
			}
		})
	}
	for range 5 { // one in ten schedules brings a fall
		rapid.Check(t, property)
	}
	if fell == 0 {
		t.Error("nobody ever fell")
	}
}

// TestAnOutageLeavesNoTrace: two engines see the same, but one of them an outage
// in between, in which everything fails. Afterwards their targets stand alike.
func TestAnOutageLeavesNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringMatching("[SF]{0,6}").Draw(t, "before")
		outage := rapid.StringMatching("[FT?]{1,9}").Draw(t, "outage")
		missed := rapid.IntRange(0, len(outage)).Draw(t, "heard of before the canary failed")
		var views [2]string
		for i := range 2 {
			w := begin2(t, `
config canary=one
check web interval=5s fall=3 rise=2
set a A policy=all check=web answers=192.0.2.1,192.0.2.2
zone a A: 192.0.2.1 live, 192.0.2.2 live
start
look
result web@192.0.2.2 SS
canary S
advance 1s`)
			for _, letter := range letters {
				play(t, w, "result web@192.0.2.1 "+string(letter), "advance 1ms", "canary S", "advance 1s")
			}
			if i == 1 {
				for j, letter := range outage {
					if j == missed {
						play(t, w, "canary F", "canary F")
					}
					play(t, w, "result web@192.0.2.1 "+string(letter)+" web@192.0.2.2 "+string(letter), "advance 1s")
				}
				play(t, w, "canary F", "canary F", "advance 1s", "canary S")
			}
			for _, target := range w.engine.View(w.clock()).Targets {
				views[i] += fmt.Sprintf("%s %s %d %d %s/%s\n", target.Target.ID(), target.Verdict, target.Passes, target.Fails, target.Phase, target.Cause)
			}
		}
		if views[0] != views[1] {
			t.Fatalf("without the outage\n%swith it\n%s", views[0], views[1])
		}
	})
}

// TestSlowRoundsBearOut: rounds of the canary that take longer than the interval,
// so that none of them begins after the last result, nevertheless bear out what
// came before. A target that went down by them stays down when the canary fails,
// and in what is saved for the next process.
func TestSlowRoundsBearOut(t *testing.T) {
	w := newWorld()
	do := func(commands ...string) {
		t.Helper()
		for _, command := range commands {
			if err := w.do(command); err != nil {
				t.Fatalf("%s: %v", command, err)
			}
		}
	}
	do("config canary=one,two", "check web interval=1s fall=2 rise=2",
		"set a A policy=all check=web answers=192.0.2.1,192.0.2.2",
		"zone a A: 192.0.2.1 live, 192.0.2.2 live", "start", "look",
		"result web@192.0.2.1 SS web@192.0.2.2 SS", "canary SS", "advance 1s")
	rounds := func(n int, letters string) {
		t.Helper()
		for i := range n {
			do("result web@192.0.2.1 "+letters[:1]+" web@192.0.2.2 "+letters[1:], "advance 1s")
			if i%3 == 2 {
				do("canary S? began=2s")
			}
		}
	}
	believed := func(when string, first, second health.Verdict) {
		t.Helper()
		targets := w.engine.State().Targets
		if targets["web@192.0.2.1"].Verdict != first || targets["web@192.0.2.2"].Verdict != second {
			t.Errorf("%s: expected %s and %s, got %+v", when, first, second, targets)
		}
	}
	rounds(9, "FS")
	believed("one is down", health.Down, health.Up)
	do("canary FF", "canary FF")
	believed("blind", health.Down, health.Up)
	do("canary S? began=2s", "advance 1s")
	rounds(9, "SF")
	believed("the other is down", health.Up, health.Down)
	rounds(9, "SS")
	do("canary FF", "canary FF")
	believed("both came back", health.Up, health.Up)
	if passes := w.engine.State().Targets["web@192.0.2.1"].Passes; passes < 9 {
		t.Errorf("what older rounds bore out is counted again: %d passes are left of 18", passes)
	}
}

func begin2(t *rapid.T, commands string) *world {
	w := newWorld()
	play(t, w, strings.Split(strings.TrimSpace(commands), "\n")...)
	return w
}

func play(t *rapid.T, w *world, commands ...string) {
	for _, command := range commands {
		if err := w.do(command); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
	}
}
