package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/engine"
	"sidestep/pkg/override"
	"sidestep/pkg/steer"
)

// told reports whether an override in force is of an answer, by the words of the
// contract and not by what the engine thinks.
func told(o engine.OverrideView, spec *steer.Spec, a steer.Answer) bool {
	if !o.Begun || o.Inert != "" {
		return false
	}
	switch o.Thing {
	case override.All:
		return true
	case override.Set:
		return o.Target == string(spec.Key.Name)
	case override.Address:
		return o.Target == a.Value || o.Target == a.Probe
	case override.Target:
		name, address, _ := strings.Cut(o.Target, "@")
		return o.Kind != override.ForceUp && address == a.Probe && slices.Contains(spec.Checks, name)
	case override.Zone, override.Site, override.Scenario:
	}
	return false
}

// pinOf is the pin in force on a record set, as far as it is about values of it.
func pinOf(words []engine.OverrideView, spec *steer.Spec) []string {
	for _, o := range words {
		if o.Kind == override.Pin && o.Begun && o.Inert == "" && o.Target == string(spec.Key.Name) {
			return slices.DeleteFunc(slices.Clone(o.Values), func(v string) bool { return !spec.Names(v) })
		}
	}
	return nil
}

// TestAnOverrideAlwaysWins: whatever happens, a pin is the wanted set, then what
// is taken out is not usable, then what is put in is; and what is taken out is
// live only where nothing else could be.
func TestAnOverrideAlwaysWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run(t, drawCommands(t), func(w *world, _ engine.Event, _ engine.Effects) {
			v := w.engine.View(w.clock())
			for _, s := range v.Sets {
				mustRule(t, w, v, s)
			}
		})
	})
}

func mustRule(t *rapid.T, w *world, v engine.View, s engine.SetView) {
	wanted := s.Plan.Wanted
	decided := s.Listed && s.Ready
	pin := pinOf(v.Words, s.Spec)
	for i := range s.Spec.Len() {
		a := s.Spec.At(i)
		out := slices.ContainsFunc(v.Words, func(o engine.OverrideView) bool { return o.Kind.Out() && told(o, s.Spec, a) }) ||
			a.Site == "dc3" // in maintenance by the config, which goes before what is put in
		in := slices.ContainsFunc(v.Words, func(o engine.OverrideView) bool { return o.Kind == override.ForceUp && told(o, s.Spec, a) })
		switch {
		case out && s.Judged[i].Usable != steer.No:
			t.Fatalf("%s: %s of %s is taken out, and usable: %+v", w.now, a.Value, s.Spec.Key, s.Judged[i])
		case strings.Contains(s.Judged[i].Why, "is in maintenance"): // which goes before what is put in
		case in && !out && s.Judged[i].Usable != steer.Yes:
			t.Fatalf("%s: %s of %s is put in, and not usable: %+v", w.now, a.Value, s.Spec.Key, s.Judged[i])
		}
		stays := wanted.AllDown || len(wanted.Live) <= s.Spec.MinLive
		if decided && out && pin == nil && slices.Contains(wanted.Live, a.Value) && !stays {
			t.Fatalf("%s: %s of %s is taken out, and wanted beside %v", w.now, a.Value, s.Spec.Key, wanted.Live)
		}
	}
	live := slices.Clone(wanted.Live)
	slices.Sort(live)
	slices.Sort(pin)
	if decided && len(pin) > 0 && len(wanted.Stopped) == 0 && !slices.Equal(live, pin) {
		t.Fatalf("%s: %s is pinned to %v, and %v is wanted", w.now, s.Spec.Key, pin, live)
	}
}

// TestAnOverrideAlwaysEnds: at its end it is gone, and the engine asks for a tick
// no later than the next beginning or end.
func TestAnOverrideAlwaysEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run(t, drawCommands(t), func(w *world, _ engine.Event, effects engine.Effects) {
			now := w.clock()
			for _, o := range w.engine.View(now).Words {
				turn := o.Until
				switch {
				case o.Over(now.Wall):
					t.Fatalf("%s: %s of %s is still there", w.now, o.Override, o.Target)
				case o.Override.Begun(now.Wall) && !o.Begun:
					t.Fatalf("%s: %s of %s did not begin", w.now, o.Override, o.Target)
				case !o.Begun:
					turn = o.From
				}
				if at := now.Boot + turn.Sub(now.Wall); !turn.IsZero() && (effects.Next == 0 || effects.Next > at) {
					t.Fatalf("%s: %s of %s turns at %s, and the next tick is at %s", w.now, o.Override, o.Target, at, effects.Next)
				}
			}
		})
	})
}

// TestNothingIsWrittenFrozen: Work that is out, however old, writes nothing that
// is frozen.
func TestNothingIsWrittenFrozen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run(t, drawCommands(t), func(w *world, event engine.Event, _ engine.Effects) {
			words := w.engine.View(w.clock()).Words
			for name, work := range w.work {
				for _, s := range work.Plan(w.seen(name)).Sets {
					frozen := slices.ContainsFunc(words, func(o engine.OverrideView) bool {
						return o.Kind == override.Freeze && o.Begun && o.Inert == "" &&
							(o.Thing == override.All || o.Target == string(name) || o.Target == string(s.Key().Name))
					})
					if open := s.Open(); frozen && len(open) > 0 {
						t.Fatalf("%T at %s: %s is frozen, and this may be written: %v", event, w.now, s.Key(), open)
					}
				}
			}
		})
	})
}

// TestWhatTheProbesSeeIsNotErased plays the same twice, once without a single
// override: verdicts and counters are the same. Pauses are left out: whether a
// target is probed within one depends on what else is usable, by an override, too.
func TestWhatTheProbesSeeIsNotErased(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commands := append([]string{"config pauses=off", "reload"}, drawCommands(t)...)
		without := slices.DeleteFunc(slices.Clone(commands), func(c string) bool {
			return strings.HasPrefix(c, "override") || strings.HasPrefix(c, "clear")
		})
		with, plain := run(t, commands, nil), run(t, without, nil)
		if with.now != plain.now {
			t.Fatalf("ended at %s and at %s", with.now, plain.now)
		}
		others := plain.engine.View(plain.clock()).Targets
		for i, a := range with.engine.View(with.clock()).Targets {
			if b := others[i]; a.Verdict != b.Verdict || a.Passes != b.Passes || a.Fails != b.Fails || a.Since != b.Since || a.Cause != b.Cause {
				t.Fatalf("with overrides %+v\nwithout %+v", a, b)
			}
		}
	})
}

// TestForeseeingChangesNothing, and what was foreseen is what the engine then
// wants.
func TestForeseeingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := run(t, drawCommands(t), nil)
		now := w.clock()
		kind := rapid.SampledFrom(override.Kinds).Draw(t, "kind")
		word := override.Override{
			Kind: kind, Target: rapid.SampledFrom(overridden).Draw(t, "target"),
			By: "ann", Reason: "test", Said: now.Wall, From: now.Wall, Until: now.Wall.Add(time.Hour),
		}
		if kind == override.Pin {
			word.Values = []string{"192.0.2.2"}
		}
		state := func() string {
			s := w.engine.State()
			for i := range s.Sets {
				s.Sets[i].Written = nil // writes that are too old to count are forgotten whenever anything is planned
			}
			return string(marshal(t, s))
		}
		before := state()
		foreseen, err := w.engine.Foresee(now, engine.Override{Override: word})
		if after := state(); after != before {
			t.Fatalf("before %s\nafter %s", before, after)
		}
		effects := w.engine.Step(now, engine.Override{Override: word})
		if (err == nil) != (effects.Err == nil) {
			t.Fatalf("foreseen %v, then %v", err, effects.Err)
		}
		for _, f := range foreseen.Sets {
			for _, s := range w.engine.View(now).Sets {
				if s.Spec.Key != f.Key || !f.Known {
					continue
				}
				if want, got := f.After.Wanted.Live, s.Plan.Wanted.Live; !slices.Equal(want, got) {
					t.Fatalf("%s: foreseen %v, wanted %v", f.Key, want, got)
				}
			}
		}
	})
}

// TestWordsOfAKindReplaceEachOther, also when the target is spelled otherwise, and
// others stand beside them.
func TestWordsOfAKindReplaceEachOther(t *testing.T) {
	w := begin(t, `
check web interval=10s fall=1 rise=1
set www A policy=all check=web answers=192.0.2.1,192.0.2.2
set www AAAA policy=all check=web answers=2001:db8::1,2001:db8::2
start
override drain WWW.example.COM for=1h
override drain www.example.com. for=2h
override force-down www.example.com for=2h
override drain 2001:DB8:0::1 for=1h
override drain web@2001:db8::0:1 for=1h
`)
	var got []string
	for _, o := range w.engine.View(w.clock()).Words {
		got = append(got, string(o.Kind)+" "+o.Target+" "+string(o.Thing))
	}
	want := []string{
		"drain 2001:db8::1 address", "drain web@2001:db8::1 target", "drain www.example.com. record set", "force-down www.example.com. record set",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if stored := w.engine.State().Overrides; len(stored) != 4 {
		t.Errorf("stored %v", stored)
	}
}

// TestAWallClockThatJumps neither ends an override nor keeps it; one that was
// plainly wrong when the override was taken up is no measure of its time.
func TestAWallClockThatJumps(t *testing.T) {
	left := func(w *world, boot, jump time.Duration) int {
		now := w.clock()
		now.Boot, now.Wall = now.Boot+boot, now.Wall.Add(boot+jump)
		w.engine.Step(now, engine.Tick{})
		return len(w.engine.View(now).Words)
	}
	const commands = `
config built=2026-01-01T00:00:00Z
check web interval=10s fall=1 rise=1
set www A policy=all check=web answers=192.0.2.1,192.0.2.2
start
override drain 192.0.2.1 for=30m
`
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		w := begin(t, commands)
		if left(w, 30*time.Minute-1, jump) != 1 {
			t.Errorf("%s: it ended before its time", jump)
		}
		if left(w, 30*time.Minute, jump) != 0 {
			t.Errorf("%s: it did not end", jump)
		}
	}
	w := begin(t, commands)
	state := w.engine.State()
	early := w.clock()
	early.Wall = early.Wall.AddDate(-5, 0, 0)
	w.engine = engine.New(w.config, early)
	w.engine.Restore(state, false, false)
	w.engine.Step(early, engine.Tick{})
	if left(w, time.Minute, 0) != 1 || left(w, 30*time.Minute, 0) != 0 {
		t.Errorf("taken up by a clock of 5 years ago: %+v", w.engine.View(w.clock()).Words)
	}
}

// TestThereAreNotAnyNumberOfOverrides, but those that there are can be replaced.
func TestThereAreNotAnyNumberOfOverrides(t *testing.T) {
	w := begin(t, `
check web interval=10s fall=1 rise=1
set www A policy=all check=web answers=192.0.2.1
start
`)
	state, now := w.engine.State(), w.clock()
	for i := range 1000 {
		state.Overrides = append(state.Overrides, override.Override{
			Kind: override.Drain, Target: fmt.Sprintf("198.51.%d.%d", i/256, i%256), By: "ann", Reason: "test", Said: now.Wall, From: now.Wall,
		})
	}
	w.engine.Restore(state, false, false)
	say := func(target string) error {
		o := state.Overrides[0]
		o.Target = target
		return w.engine.Step(now, engine.Override{Override: o}).Err
	}
	if err := say("192.0.2.1"); err == nil || !strings.Contains(err.Error(), "there are 1000 overrides") {
		t.Errorf("got %v", err)
	}
	if effects := w.engine.Step(now, engine.Clear{Target: "198.51.0.0"}); len(effects.Cleared) != 1 {
		t.Errorf("cleared %v", effects.Cleared)
	}
	for range 2 {
		if err := say("192.0.2.1"); err != nil {
			t.Error(err)
		}
	}
}
