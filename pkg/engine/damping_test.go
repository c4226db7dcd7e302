package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/record"
)

// prober probes the targets of a world as the schedule does: each at its own
// slots, none that is held, and the first probe after a hold at its end.
type prober struct {
	*world
	due     map[string]time.Duration // by target id, since the script's beginning
	every   time.Duration
	probed  func(id string) // told before each probe; nil is told nothing
	holding map[string]bool
}

func newProber(t interface{ Fatal(...any) }, every time.Duration, commands string) *prober {
	p := &prober{world: newWorld(), due: map[string]time.Duration{}, every: every, holding: map[string]bool{}}
	p.witness = func(w *world, _ engine.Event, effects engine.Effects) {
		for _, h := range effects.Hold {
			p.hold(h)
		}
	}
	for command := range strings.Lines(strings.TrimSpace(commands)) {
		if err := p.do(strings.TrimSpace(command)); err != nil {
			t.Fatal(command, err)
		}
	}
	targets := p.engine.Targets()
	for i, target := range targets {
		p.due[target.ID()] = every * time.Duration(i) / time.Duration(len(targets))
	}
	return p
}

func (p *prober) hold(h engine.Hold) {
	p.holding[h.Target.ID()] = h.Until > p.clock().Boot
	switch until := h.Until - bootStart; {
	case h.Until == engine.Never:
		p.due[h.Target.ID()] = 1 << 62
	case until > p.now:
		p.due[h.Target.ID()] = until
	default:
		p.due[h.Target.ID()] = p.now + p.every/2
	}
}

// run probes until a time; truth says what a probe finds.
func (p *prober) run(until time.Duration, truth func(id string) byte) error {
	for {
		ids := slices.Sorted(maps.Keys(p.due))
		first := slices.MinFunc(ids, func(a, b string) int { return int(p.due[a] - p.due[b]) })
		if p.due[first] >= until {
			break
		}
		p.advance(max(p.due[first]-p.now, 0))
		if err := p.writeAll(); err != nil {
			return err
		}
		if p.probed != nil {
			p.probed(first)
		}
		p.due[first] = p.now + p.every
		p.step(engine.Results{Results: []check.Result{p.result(first, truth(first))}})
		if err := p.writeAll(); err != nil {
			return err
		}
	}
	p.advance(until - p.now)
	return p.writeAll()
}

func (p *prober) writeAll() error {
	for len(p.work) > 0 {
		if err := p.write(home); err != nil {
			return err
		}
	}
	return nil
}

// sum is what everything adds up to: the verdicts, and the answers of each
// record set of which something is usable. What is kept when nothing is depends
// on what failed last, and with it on when that was seen.
func (p *prober) sum() string {
	var out strings.Builder
	verdicts := map[string]health.Verdict{}
	for _, t := range p.engine.View(p.clock()).Targets {
		fmt.Fprintln(&out, t.Target.ID(), t.Verdict, t.Shown)
		verdicts[t.Target.Address] = t.Verdict
	}
	for _, s := range p.zones[home].Sets {
		if slices.ContainsFunc(s.Answers, func(a record.Answer) bool { return verdicts[a.Value] == health.Up }) {
			fmt.Fprintln(&out, s.Key, s.Live())
		}
	}
	return out.String()
}

const (
	dampWeb = "check web interval=5s fall=2 rise=2"
	damped  = " cooldown=20s/3/2m"
	dampSet = `
set a A policy=all check=web answers=192.0.2.1,192.0.2.2,192.0.2.3
set b A policy=priority check=web answers=192.0.2.4,192.0.2.2 hold=30s
set c A policy=all check=web answers=192.0.2.5
zone a A: 192.0.2.1 live, 192.0.2.2 live, 192.0.2.3 live
zone b A: 192.0.2.4 live, 192.0.2.2 paused
zone c A: 192.0.2.5 live
start
look`
)

// phase is a stretch of time in which targets are what they are.
type phase struct {
	length time.Duration
	down   string // a digit for each target that fails: the last of its address
	flap   string // a digit for each that passes and fails by turns
}

func drawPhases(t *rapid.T) []phase {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) phase {
		return phase{
			length: time.Duration(rapid.IntRange(1, 200).Draw(t, "seconds")) * time.Second,
			down:   rapid.StringMatching("[1-5]{0,5}").Draw(t, "down"),
			flap:   rapid.StringMatching("[1-5]{0,2}").Draw(t, "flap"),
		}
	}), 1, 8).Draw(t, "phases")
}

func (p *prober) play(t *rapid.T, phases []phase) {
	turn := map[string]int{}
	for _, ph := range phases {
		err := p.run(p.now+ph.length, func(id string) byte {
			digit := id[len(id)-1:]
			turn[id]++
			if strings.Contains(ph.down, digit) || strings.Contains(ph.flap, digit) && turn[id]%2 == 0 {
				return 'F'
			}
			return 'S'
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestDampingDelaysAndNeverSwallows: whatever happened, once everything has
// been what it is for longer than any pause, verdicts and answers are those of an
// engine without cooldown, without guard mass and without max_writes.
func TestDampingDelaysAndNeverSwallows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		phases := drawPhases(t)
		last := phase{length: 20 * time.Minute, down: rapid.StringMatching("[1-5]{0,5}").Draw(t, "end")}
		phases = append(phases, last)
		plain := newProber(t, 5*time.Second, "config mass=none max_writes=0/1m\n"+dampWeb+dampSet)
		plain.play(t, phases)
		chance := rapid.IntRange(0, 1<<30).Draw(t, "chance")
		for _, guards := range []string{"mass=none max_writes=0/1m", "mass=50/3/1m/2 max_writes=2/1m"} {
			slow := newProber(t, 5*time.Second, fmt.Sprintf("config %s chance=%d\n", guards, chance)+dampWeb+damped+dampSet)
			slow.play(t, phases)
			if got, want := slow.sum(), plain.sum(); got != want {
				t.Fatalf("%s: after %+v\ngot\n%s\nwithout\n%s", guards, phases, got, want)
			}
		}
	})
}

// TestNothingIsSentWhileCooling holds what is sent against the rule as it is
// written: after a target went down, and after each attempt that failed, nothing
// is sent to it for as long as the pause takes, but when a record set that rests
// on it has no usable answer.
func TestNothingIsSentWhileCooling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chance := rapid.SampledFrom([]string{"0", "12345"}).Draw(t, "chance")
		p := newProber(t, 5*time.Second, "config chance="+chance+"\n"+dampWeb+damped+dampSet)
		sets := [][]string{{"1", "2", "3"}, {"4", "2"}, {"5"}}
		type pause struct{ length, end time.Duration }
		pauses, up, before := map[string]pause{}, map[string]time.Duration{}, map[string]engine.TargetView{}
		starved := func(digit string) bool {
			return slices.ContainsFunc(sets, func(set []string) bool {
				return slices.Contains(set, digit) && !slices.ContainsFunc(set, func(d string) bool {
					return before["web@192.0.2."+d].Verdict == health.Up
				})
			})
		}
		look := func() {
			now := map[string]engine.TargetView{}
			for _, v := range p.engine.View(p.clock()).Targets {
				now[v.Target.ID()] = v
			}
			for id, v := range now {
				was, last := before[id], pauses[id]
				fell := v.Verdict == health.Down && was.Verdict != health.Down
				failed := v.Verdict == health.Down && !fell && v.Fails > was.Fails && !starved(id[len(id)-1:])
				switch {
				case fell && (last.length == 0 || p.now-up[id] >= 2*time.Minute):
					last.length = 20 * time.Second
				case fell, failed:
					last.length = min(3*last.length, 2*time.Minute)
				case v.Verdict == health.Up && was.Verdict == health.Down:
					up[id] = p.now
				}
				if fell || failed {
					last.end = p.now + last.length
				}
				pauses[id] = last
			}
			before = now
		}
		p.probed = func(id string) {
			look()
			earliest := pauses[id].end
			if chance != "0" {
				earliest -= pauses[id].length / 10
			}
			if before[id].Verdict == health.Down && p.now < earliest && !starved(id[len(id)-1:]) {
				t.Fatalf("%s: probed at %s, within its pause, which ends at %s", id, p.now, earliest)
			}
		}
		witness := p.witness
		p.witness = func(w *world, event engine.Event, effects engine.Effects) {
			witness(w, event, effects)
			if _, results := event.(engine.Results); results {
				look()
			}
		}
		p.play(t, drawPhases(t))
	})
}
