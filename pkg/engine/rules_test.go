package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
)

// definitions are what a random run is configured with, at the start and by
// reloads.
var definitions = []string{`
config max_writes=3/1m debounce=2s mass=none chance=11
check web interval=5s fall=2 rise=1 cooldown=10s/2/1m
set a A policy=all check=web answers=192.0.2.1,192.0.2.2,192.0.2.3
set b A policy=priority check=web answers=192.0.2.1,192.0.2.2 hold=10s adopt=ask ttl=60s
set c CNAME policy=priority check=web answers=a.example.net|192.0.2.1,b.example.net|192.0.2.2 hold=5s
`, `
config max_writes=0/1m max_changes=1 every=20s debounce=3s mass=40/2/30s/2 chance=0
check web interval=5s fall=2 rise=1 cooldown=10s/2/1m
check two interval=5s fall=1 rise=2 causes=auth:disable
set a A policy=priority check=web,two answers=192.0.2.3,192.0.2.1 max_live=2 min_live=2 failback=manual
set b A policy=all check=web answers=192.0.2.1,192.0.2.2 on_all_down=fallback fallback=192.0.2.9
`, `
config debounce=1s every=0s max_changes=0 mass=30/1/10s/1
check web interval=5s fall=1 rise=2 causes=auth:disable,local:fail
set b A policy=all check=web answers=192.0.2.1,192.0.2.2 on_all_down=open
set c CNAME policy=priority check=web answers=b.example.net|192.0.2.2,a.example.net|192.0.2.1 failback=manual
`, `
config debounce=1s every=0s max_changes=0 max_writes=0/1m mass=none
check web interval=5s fall=1 rise=1
check two interval=5s fall=2 rise=1
site dc1 wan=two:192.0.2.1 access=web:192.0.2.3;192.0.2.1/all return=approve/10s
site dc2 access=web:192.0.2.2 return=fresh:two/5s
site dc3 zoo=web:192.0.2.3 maintenance=moving
scenario up dc1 | !dc2.access two
scenario calm !up !dc3.maintenance | web dc2 | up !dc1.maintenance
set a A policy=priority check=web answers=192.0.2.1+site:dc1+when:up,192.0.2.2+site:dc2,192.0.2.3+standby hold=3s
set b A policy=all answers=192.0.2.1+when:up,192.0.2.2+site:dc2+when:calm,192.0.2.3+site:dc3
`, `
config debounce=1s every=0s max_changes=0 max_writes=0/1m
check web interval=5s fall=1 rise=1
check two interval=5s fall=1 rise=1
site dc1 wan=two:192.0.2.1
scenario up !dc1
set a A policy=priority check=web answers=192.0.2.1,192.0.2.2+backup dr=192.0.2.3 when=up hold=10s
set b A policy=weighted check=web answers=192.0.2.1+weight:5,192.0.2.2+weight:0 dr=192.0.2.3
set b A [line] policy=all check=web answers=192.0.2.1+backup,192.0.2.3 fallback=192.0.2.9 on_all_down=fallback
`}

func define(w *world, i int) error {
	w.config.Sets, w.config.Sites, w.config.Scenarios = nil, nil, nil
	for line := range strings.Lines(strings.TrimSpace(definitions[i])) {
		if err := w.do(strings.TrimSpace(line)); err != nil {
			return err
		}
	}
	return nil
}

// drawCommand is something that happens to the engine or to the zone.
func drawCommand(t *rapid.T) string {
	target := func() string {
		return rapid.SampledFrom([]string{"web@192.0.2.1", "web@192.0.2.2", "web@192.0.2.3", "two@192.0.2.1"}).Draw(t, "target")
	}
	state := func() string {
		return rapid.SampledFrom([]string{"live", "live", "paused", "held", "live paused"}).Draw(t, "state")
	}
	switch rapid.IntRange(0, 18).Draw(t, "command") {
	case 0, 1, 2:
		return "result " + target() + " " + rapid.StringMatching("[SF?A]{1,3}").Draw(t, "letters") + " every=5s"
	case 3:
		letters := rapid.SampledFrom([]string{"SS", "FF"}).Draw(t, "letters")
		return "result web@192.0.2.1 " + letters + " web@192.0.2.2 " + letters + " web@192.0.2.3 " + letters + " two@192.0.2.1 " + letters
	case 4, 5:
		return "advance " + rapid.SampledFrom([]string{"500ms", "1s", "3s", "30s", "5m"}).Draw(t, "time")
	case 6, 7, 8:
		return "write"
	case 9:
		return "fail example.com. 503 after=" + fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "after"))
	case 10:
		verb := rapid.SampledFrom([]string{"zone", "seen"}).Draw(t, "verb")
		if rapid.Bool().Draw(t, "alias") {
			return verb + " c CNAME: a.example.net " + state() + ", x.example.net " + rapid.SampledFrom([]string{"live", "paused"}).Draw(t, "foreign")
		}
		name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
		return verb + " " + name + " A: 192.0.2.1 " + state() + ", 192.0.2.2 " + state() + ", 198.51.100.1 live"
	case 11:
		return "look"
	case 12:
		return "approve " + rapid.SampledFrom([]string{"all", "a.example.com", "b.example.com", "c.example.com", "192.0.2.1", "a.example.net", "dc1", "dc2",
			"example.com plan=shown", "example.com plan=stale", "nobody"}).Draw(t, "approved")
	case 13:
		return "restart downtime=" + rapid.SampledFrom([]string{"1s", "1m", "1h"}).Draw(t, "downtime") + rapid.SampledFrom([]string{"", "", " lost"}).Draw(t, "lost")
	case 14:
		return fmt.Sprint("define ", rapid.IntRange(0, len(definitions)-1).Draw(t, "definition"))
	case 15, 16:
		return drawOverride(t)
	case 17:
		return "clear " + rapid.SampledFrom(overridden).Draw(t, "cleared")
	default:
		return "view"
	}
}

// overridden is what overrides of a random run are about; not all of it is in
// every definition.
var overridden = []string{"all", "example.com", "a.example.com", "b.example.com", "c.example.com", "192.0.2.1", "192.0.2.2", "192.0.2.3",
	"web@192.0.2.1", "two@192.0.2.1", "a.example.net", "dc1", "up"}

func drawOverride(t *rapid.T) string {
	kind := rapid.SampledFrom([]string{"drain", "force-down", "force-up", "freeze", "pin"}).Draw(t, "kind")
	target, values := rapid.SampledFrom(overridden).Draw(t, "overridden"), ""
	if kind == "pin" {
		target = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pinned") + ".example.com"
		values = " " + rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.2,192.0.2.1", "192.0.2.3", "192.0.2.9", "b.example.net"}).Draw(t, "values")
	}
	return fmt.Sprintf("override %s %s%s for=%s at=%s", kind, target, values,
		rapid.SampledFrom([]string{"2s", "1m", "30h", "forever"}).Draw(t, "for"), rapid.SampledFrom([]string{"0s", "0s", "0s", "20s"}).Draw(t, "at"))
}

// run plays commands, with a witness that looks at the engine after each of its
// steps.
func run(t *rapid.T, commands []string, witness func(*world, engine.Event, engine.Effects)) *world {
	w := newWorld()
	w.witness = witness
	first := append([]string{"define 0", "start"}, commands...)
	for i, command := range first {
		var err error
		switch n := 0; {
		case strings.HasPrefix(command, "define"):
			_, err = fmt.Sscanf(command, "define %d", &n)
			if err == nil {
				err = define(w, n)
			}
			if err == nil && i > 0 {
				err = w.do("reload")
			}
		case command == "write" && len(w.work) == 0:
		case strings.HasPrefix(command, "canary") && len(w.config.Canary.Targets) == 0:
		case strings.HasPrefix(command, "fail") && len(w.work) == 0:
			err = w.do("fail example.com. 503")
		default:
			err = w.do(command)
		}
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
	}
	return w
}

func drawCommands(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.Custom(drawCommand), 1, 40).Draw(t, "commands")
}

// TestStepIsAFunction plays the same commands twice; the second time somebody
// looks at the engine after each step, which changes nothing.
func TestStepIsAFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commands := drawCommands(t)
		var effects [2][]engine.Effects
		var traces [2]string
		for i := range 2 {
			w := run(t, commands, func(w *world, _ engine.Event, e engine.Effects) {
				e.Err = nil // is in the trace
				effects[i] = append(effects[i], e)
				if i == 1 {
					w.engine.View(w.clock())
				}
			})
			traces[i] = w.output()
		}
		if traces[0] != traces[1] {
			t.Fatalf("two runs differ:\n%s\n%s", traces[0], traces[1])
		}
		if diff := cmp.Diff(effects[0], effects[1]); diff != "" {
			t.Fatalf("two runs differ:\n%s", diff)
		}
	})
}

// TestNoWorkBeforeReady: a record set is in Work only when its targets were
// judged or it waited for 2 x max(fall, rise) intervals; judged and waited is
// worked out here, from the outside.
func TestNoWorkBeforeReady(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begun := map[record.Key]time.Duration{}  // since when a set waits
		latest := map[record.Key]time.Duration{} // until when; a reload never makes it later
		ready := map[record.Key]bool{}
		var current *engine.Engine
		run(t, drawCommands(t), func(w *world, event engine.Event, effects engine.Effects) {
			if current != w.engine {
				current = w.engine
				clear(begun)
				clear(latest)
				clear(ready)
			}
			verdicts, known := map[string]health.Verdict{}, map[string]bool{}
			v := w.engine.View(w.clock())
			for _, target := range v.Targets {
				verdicts[target.Target.ID()] = target.Verdict
			}
			for _, s := range v.Scenarios {
				known[s.Name] = s.Value != scenario.Unknown
			}
			there := map[record.Key]bool{}
			for _, spec := range w.config.Sets {
				key := spec.Key
				there[key] = true
				if _, found := begun[key]; !found {
					begun[key] = w.now
				}
				judged, patience := true, time.Duration(0)
				for _, when := range spec.Whens() {
					judged = judged && known[when]
				}
				for _, a := range spec.Answers {
					for _, name := range spec.Checks {
						judged = judged && verdicts[name+"@"+a.Probe] != health.Unknown
						c := w.config.Checks[name]
						patience = max(patience, c.Interval*time.Duration(2*max(c.Fall, c.Rise)))
					}
				}
				if before, found := latest[key]; !found || begun[key]+patience < before {
					latest[key] = begun[key] + patience
				}
				ready[key] = ready[key] || judged || w.now >= latest[key]
			}
			for key := range begun {
				if !there[key] {
					delete(begun, key)
					delete(latest, key)
					delete(ready, key)
				}
			}
			for _, work := range effects.Work {
				for _, in := range work.Inputs {
					if !ready[in.Spec.Key] {
						t.Fatalf("%s is in the work at %s, and began to wait at %s", in.Spec.Key, w.now, begun[in.Spec.Key])
					}
				}
			}
		})
	})
}

// TestTheWindowIsNeverProlonged: from the moment at which there is something to
// write, Work leaves the engine after the debounce, whatever happens meanwhile.
// While Work is out nothing is expected. A window that is open when something else
// begins, such as a debounce that a reload made shorter, ends when it would have.
func TestTheWindowIsNeverProlonged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		since, out := time.Duration(-1), false // since when something is pending
		until := time.Duration(0)              // when a window that was open meanwhile may end
		var current *engine.Engine
		run(t, drawCommands(t), func(w *world, event engine.Event, effects engine.Effects) {
			pending := slices.ContainsFunc(w.engine.View(w.clock()).Zones, func(z engine.ZoneView) bool { return z.Plan.Pending() })
			_, done := event.(engine.Done)
			_, reload := event.(engine.Configure)
			if w.engine != current || reload || done || !pending {
				if w.engine != current {
					until = 0
				}
				current, since, out = w.engine, -1, false
			}
			if len(effects.Work) > 0 {
				since, out = -1, true
			}
			if pending && !out && since < 0 {
				since = w.now
				until = max(until, since+w.config.Debounce)
			}
			if since >= 0 && w.now >= until {
				t.Fatalf("pending since %s, and at %s no work", since, w.now)
			}
		})
	})
}

// TestNextIsLater: the engine never asks for a tick at a moment that has come.
func TestNextIsLater(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run(t, drawCommands(t), func(w *world, event engine.Event, effects engine.Effects) {
			if effects.Next != 0 && effects.Next <= w.clock().Boot {
				t.Fatalf("%T at %s: next is %s", event, w.clock().Boot, effects.Next)
			}
		})
	})
}

// TestNothingIsEmptied carries out what the engine lets out: no record set that
// had a live answer is left without one.
func TestNothingIsEmptied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var before []record.Key
		run(t, drawCommands(t), func(w *world, event engine.Event, _ engine.Effects) {
			var now []record.Key
			for _, s := range w.zones[home].Sets {
				if len(s.Live()) > 0 {
					now = append(now, s.Key)
				}
			}
			_, done := event.(engine.Done)
			_, wrote := event.(engine.Wrote)
			for _, key := range before {
				if (done || wrote) && !slices.Contains(now, key) {
					t.Fatalf("%s was emptied", key)
				}
			}
			before = now
		})
	})
}

// TestStateComesBack: what is stored, taken up by another engine and stored
// again is the same, and so is what the engine then wants.
func TestStateComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := run(t, drawCommands(t), nil)
		stored := marshal(t, w.engine.State())
		var state engine.State
		if err := json.Unmarshal(stored, &state); err != nil {
			t.Fatal(err)
		}
		if err := state.Validate(); err != nil {
			t.Fatal(err)
		}
		other := engine.New(w.config, w.clock())
		other.Restore(state, true, true)
		if again := marshal(t, other.State()); !bytes.Equal(stored, again) {
			t.Fatalf("stored\n%s\nthen\n%s", stored, again)
		}
		other.Step(w.clock(), engine.Tick{})
		if again := marshal(t, other.State()); !bytes.Equal(stored, again) {
			t.Fatalf("after a tick, stored\n%s\nthen\n%s", stored, again)
		}
	})
}

func marshal(t *rapid.T, state engine.State) []byte {
	data, err := json.MarshalIndent(state, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestWorkDoesNotChange: the reconciler keeps Work and plans with it while the
// engine goes on.
func TestWorkDoesNotChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type kept struct {
			work engine.Work
			text string
		}
		var all []kept
		text := func(w engine.Work) string {
			specs := make([]string, len(w.Inputs))
			for i, in := range w.Inputs {
				specs[i] = fmt.Sprintf("%+v", *in.Spec)
				w.Inputs = slices.Clone(w.Inputs)
				w.Inputs[i].Spec = nil
			}
			return fmt.Sprintf("%+v %v", w, specs)
		}
		run(t, drawCommands(t), func(_ *world, _ engine.Event, effects engine.Effects) {
			for _, work := range effects.Work {
				all = append(all, kept{work, text(work)})
			}
		})
		for _, k := range all {
			if now := text(k.work); now != k.text {
				t.Fatalf("was %s\nis  %s", k.text, now)
			}
		}
	})
}
