package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"sidestep/pkg/engine"
	"sidestep/pkg/health"
)

// pools is a world of record sets with one address each and a fallback, of which
// all are up.
func pools(t *testing.T, config string, n int) *world {
	t.Helper()
	w := newWorld()
	list := strings.Split(config, "\n")
	for i := range n {
		list = append(list,
			fmt.Sprintf("set p%03d A policy=all check=web answers=10.0.0.%d on_all_down=fallback fallback=192.0.2.9", i, i),
			fmt.Sprintf("zone p%03d A: 10.0.0.%d live", i, i))
	}
	command(t, w, append(list, "start", "look", "result "+each("S", 0, n))...)
	w.output()
	return w
}

// each is one result for each of some addresses.
func each(letters string, from, to int) string {
	var words []string
	for i := from; i < to; i++ {
		words = append(words, fmt.Sprintf("web@10.0.0.%d %s", i, letters))
	}
	return strings.Join(words, " ")
}

func command(t *testing.T, w *world, commands ...string) {
	t.Helper()
	for _, line := range commands {
		if err := w.do(line); err != nil {
			t.Fatalf("%.80s: %v", line, err)
		}
	}
}

func count(w *world, verdict health.Verdict) int {
	n := 0
	for _, target := range w.engine.View(w.clock()).Targets {
		if target.Shown == verdict {
			n++
		}
	}
	return n
}

// The guard wants strictly more than its share, and its number at least.
func TestMassThresholds(t *testing.T) {
	for _, c := range []struct {
		mass      string
		all, fail int
		suspected int
	}{
		{"50/3/2m/2", 6, 3, 0},
		{"50/3/2m/2", 6, 4, 4},
		{"50/3/2m/2", 5, 3, 3},
		{"50/3/2m/2", 3, 2, 0},
		{"50/2/2m/2", 4, 2, 0},
		{"49/2/2m/2", 4, 2, 2},
		{"0/1/2m/2", 4, 1, 1},
		{"100/1/2m/2", 4, 4, 0},
		{"none", 4, 4, 0},
	} {
		w := pools(t, "check web interval=10s fall=1 rise=1\nconfig debounce=0s mass="+c.mass, c.all)
		command(t, w, "result "+each("F", 0, c.fail))
		if got := count(w, health.Suspected); got != c.suspected || count(w, health.Down) != c.fail-got {
			t.Errorf("mass %s, %d of %d fail: %d are suspected and %d down, want %d", c.mass, c.fail, c.all, got, count(w, health.Down), c.suspected)
		}
	}
}

// TestCase93AFailoverInASmallZoneIsNotHeldBack: a zone of two record sets, one of
// which fails over, is written at once, with every guard on.
func TestCase93AFailoverInASmallZoneIsNotHeldBack(t *testing.T) {
	w := pools(t, "check web interval=10s fall=2 rise=2\nconfig debounce=0s max_changes=1 max_writes=6/10m mass=50/3/2m/2", 2)
	command(t, w, "result "+each("FF", 0, 1), "write")
	if live := w.zones[home].Sets[0].Live(); fmt.Sprint(live) != "[192.0.2.9]" {
		t.Errorf("live is %v, want the fallback", live)
	}
}

// TestCase93ManyPoolsAreSuspectedThenStopped: of 200 record sets 120 fail at once.
// Nothing is written while they are suspected; confirmed, they are more than
// max_changes, and wait for a person. The alarm is raised once, with the numbers.
func TestCase93ManyPoolsAreSuspectedThenStopped(t *testing.T) {
	w := pools(t, "check web interval=10s fall=2 rise=2\nconfig debounce=1s max_changes=20 mass=50/3/2m/2", 200)
	command(t, w, "result "+each("SFF", 0, 120)+" "+each("SSS", 120, 200), "advance 5s")
	if count(w, health.Suspected) != 120 || len(w.work) != 0 {
		t.Errorf("%d suspected and %d pieces of work, want 120 and none", count(w, health.Suspected), len(w.work))
	}
	trace := w.output()
	if n := strings.Count(trace, "journal guard mass: 120 of 200 addresses"); n != 1 {
		t.Errorf("the alarm was raised %d times:\n%.2000s", n, trace)
	}
	command(t, w, "result "+each("FF", 0, 120)+" "+each("SS", 120, 200), "advance 5s")
	if count(w, health.Down) != 120 || len(w.work) != 0 {
		t.Errorf("%d down and %d pieces of work, want 120 and none", count(w, health.Down), len(w.work))
	}
	if trace := w.output(); strings.Count(trace, "the plan changes 120 record sets, and max_changes is 20") != 1 {
		t.Errorf("no alarm of max_changes:\n%.2000s", trace)
	}
	command(t, w, "approve example.com plan=shown", "advance 5s", "write")
	if live := w.zones[home].Sets[0].Live(); fmt.Sprint(live) != "[192.0.2.9]" {
		t.Errorf("approved, and live is %v, want the fallback", live)
	}
}

// TestCase93AnIsolatedMonitorWritesNothing: the same 120 fail because this node
// has lost its network: the canary says so first, and nobody is suspected.
func TestCase93AnIsolatedMonitorWritesNothing(t *testing.T) {
	w := pools(t, "check web interval=10s fall=2 rise=2\nconfig debounce=1s mass=50/3/2m/2 canary=dns need=1", 200)
	command(t, w, "canary S", "result "+each("SFF", 0, 200), "canary F", "canary F", "advance 5m")
	if count(w, health.Suspected)+count(w, health.Down) != 0 || len(w.work) != 0 {
		t.Errorf("%d suspected, %d down, %d pieces of work; want none", count(w, health.Suspected), count(w, health.Down), len(w.work))
	}
}

// With the guard switched off for one plan, what is suspected counts as down.
func TestOverrideGuardMass(t *testing.T) {
	w := pools(t, "check web interval=10s fall=1 rise=1\nconfig debounce=0s mass=50/3/2m/2", 4)
	command(t, w, "result "+each("F", 0, 4))
	for _, c := range []struct {
		override map[string]bool
		want     int
	}{{nil, 0}, {map[string]bool{"mass": true}, 4}} {
		work, _ := w.engine.Work(w.clock(), home, c.override)
		p := work.Plan(w.seen(home))
		n := 0
		for _, s := range p.Sets {
			if len(s.Open()) > 0 {
				n++
			}
		}
		if n != c.want || (len(p.Blocked) == 0) != (c.want > 0) {
			t.Errorf("override %v: %d sets change and %d refusals, want %d\n%s", c.override, n, len(p.Blocked), c.want, strings.Join(p.Lines(), "\n"))
		}
	}
}

// TestCase98ARecoveryIsSpread: 300 targets go down in one moment, because the
// canary bore all of it out at once. Their attempts keep the spread of their
// slots, and chance adds to it.
func TestCase98ARecoveryIsSpread(t *testing.T) {
	const n = 300
	w := pools(t, "check web interval=10s fall=1 rise=1 cooldown=30s/2/2m\nconfig debounce=0s canary=dns need=1 chance=4711", 3)
	command(t, w, "set big A policy=all check=web answers="+bigAnswers(n), "reload", "canary S", "result "+bigResults(0, n+1))
	held := map[int64]int{}
	holds := 0
	w.witness = func(w *world, _ engine.Event, effects engine.Effects) {
		for _, h := range effects.Hold {
			holds++
			held[int64((h.Until-w.clock().Boot).Seconds())]++
		}
	}
	for i := range n { // at their slots, over one interval
		command(t, w, "result "+bigResult(i, 'F'), "advance 33ms")
	}
	command(t, w, "canary S")
	if holds != n {
		t.Fatalf("%d of %d are held", holds, n)
	}
	for second, targets := range held {
		if targets > 2*n/10 {
			t.Errorf("%d of %d targets are probed within one second, %ds from now", targets, n, second)
		}
	}
	if len(held) < 11 {
		t.Errorf("%d targets are probed within %d seconds, want them spread over the interval and a tenth of the pause", n, len(held))
	}
}

func bigAddress(i int) string { return fmt.Sprintf("10.1.%d.%d", i/250, i%250) }

// bigAnswers has one more that stays up.
func bigAnswers(n int) string {
	var list []string
	for i := range n + 1 {
		list = append(list, bigAddress(i))
	}
	return strings.Join(list, ",")
}

func bigResult(i int, letter rune) string { return "web@" + bigAddress(i) + " " + string(letter) }

func bigResults(from, to int) string {
	var words []string
	for i := from; i < to; i++ {
		words = append(words, bigResult(i, 'S'))
	}
	return strings.Join(words, " ")
}
