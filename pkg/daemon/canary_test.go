package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// anchors are the canary's addresses.
var anchors = []string{"198.51.100.53", "2001:db8::53"}

func canaryOf(addresses ...string) config.Canary {
	c := config.Canary{Need: 1}
	for _, address := range addresses {
		c.Targets = append(c.Targets, config.CanaryTarget{Address: address, Spec: &check.Spec{
			Name: address + ":53", Kind: check.KindTCP, TCP: &check.TCP{Port: 53},
			Interval: 5 * time.Second, Timeout: 2 * time.Second, Fall: 1, Rise: 1,
		}})
	}
	return c
}

// sightWorld is a node with a canary and three record sets of eight targets.
func sightWorld(t *testing.T) (w *world, pools [][]string) {
	t.Helper()
	w = newWorld(t, class)
	w.config.Canary = canaryOf(anchors...)
	pools = [][]string{{a, b}, {"192.0.2.31", "192.0.2.32", "192.0.2.33"}, {"192.0.2.41", "192.0.2.42", "192.0.2.43"}}
	for i, name := range []record.Name{"api.example.com.", "cdn.example.com."} {
		w.addSet(&steer.Spec{
			Key: record.Key{Zone: home, Name: name, Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
		}, pools[i+1]...)
	}
	return w, pools
}

// guardLines lists the details that the journal has of a guard.
func (w *world) guardLines(guard string) []string {
	w.Helper()
	var list []string
	for _, line := range w.journal("guard") {
		if line["guard"] == guard {
			list = append(list, fmt.Sprint(line["detail"]))
		}
	}
	return list
}

// TestCase21MonitorLosesItsOwnNetwork: the uplink of this node is gone for five
// minutes, and with it eight targets of three record sets, two anchors and the
// provider's API. Nothing is written then or afterwards, and the journal and the
// log tell of it once when it begins and once when it ends. Beginnings are spread
// over the interval of the probes, since anything may be under way.
func TestCase21MonitorLosesItsOwnNetwork(t *testing.T) {
	for offset := time.Duration(0); offset < 10*time.Second; offset += 1300 * time.Millisecond {
		t.Run(offset.String(), func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w, pools := sightWorld(t)
				all := slices.Concat(append(pools, anchors)...)
				d := w.run()
				time.Sleep(settled + offset)
				before := len(w.writes(home))

				w.site.fail(all...)
				w.zones[home].Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Hang} })
				time.Sleep(5 * time.Minute)
				s := d.status()
				if s.Canary == nil || s.Canary.State != "fail" || s.Canary.Answered != 0 || len(s.Canary.Targets) != 2 ||
					s.Canary.Targets[0].Target != anchors[0]+":53" || s.Canary.Targets[0].Result != "fail" {
					t.Errorf("status says of the canary: %+v", s.Canary)
				}
				if !strings.Contains(strings.Join(s.Notices, "\n"), "nothing is written: the canary fails") {
					t.Errorf("notices: %q", s.Notices)
				}
				w.site.heal(all...)
				w.zones[home].Faults(nil)
				time.Sleep(10 * time.Minute)

				if n := len(w.writes(home)) - before; n != 0 {
					t.Errorf("%d writes", n)
				}
				lines := w.guardLines("canary")
				if len(lines) != 2 || !strings.Contains(lines[0], anchors[0]+":53 connect/refused") || !strings.Contains(lines[1], "passes again") {
					t.Errorf("the journal says %q", lines)
				}
				if lines := w.log.with("guard=canary"); len(lines) != 2 || !strings.HasPrefix(lines[0], "WARN") {
					t.Errorf("the log says %q", lines)
				}
				if s := d.status(); s.Canary.State != "pass" || len(s.Notices) > 0 || s.Canary.Since == nil {
					t.Errorf("afterwards: %+v, notices %q", s.Canary, s.Notices)
				}
				for _, target := range d.status().Targets {
					if target.Verdict != "up" {
						t.Errorf("afterwards: %+v", target)
					}
				}
			})
		})
	}
}

// TestCase21OneTargetIsNoIsolation: a target of one record set fails, and no
// anchor: an ordinary failover, as fast as without a canary, which is asked once
// more for it.
func TestCase21OneTargetIsNoIsolation(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, _ := sightWorld(t)
		d := w.run()
		time.Sleep(settled)
		before := len(w.writes(home))
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)
		late := w.when(w.writes(home)[before]).Sub(w.site.failures(a)[2].Add(time.Second))
		if late < 0 || late > canaryGap {
			t.Errorf("written %s beyond the debounce after the third failure", late)
		}
		if s := d.status(); s.Canary.State != "pass" || len(w.guardLines("canary")) != 0 {
			t.Errorf("canary %+v, journal %q", s.Canary, w.guardLines("canary"))
		}
	})
}

// A target that has failed often enough is shown as waiting until a round of the
// canary passes; one round that does not is no outage, and the next one follows
// at once.
func TestTargetWaitsForTheCanary(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, _ := sightWorld(t)
		var left atomic.Int64
		left.Store(int64(len(anchors)))
		d := w.run(func(o *Options) {
			o.Probe = func(ctx context.Context, spec *check.Spec, address string) check.Result {
				if slices.Contains(anchors, address) && len(w.site.failures(a)) >= 3 && left.Add(-1) >= 0 {
					return check.Result{Outcome: check.Fail, Phase: check.PhaseConnect, Cause: check.CauseTimeout}
				}
				return w.site.probe(ctx, spec, address)
			}
		})
		time.Sleep(settled)
		before := len(w.writes(home))
		w.site.fail(a)
		for left.Load() > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if s := d.status(); s.Targets[0].Address != a || s.Targets[0].Waiting != "canary" || s.Targets[0].Verdict != "up" || s.Canary.State != "pass" || s.Canary.Answered != 0 {
			t.Errorf("got %+v, canary %+v", s.Targets[0], s.Canary)
		}
		time.Sleep(settled)
		w.mustLive(b)
		if late := w.when(w.writes(home)[before]).Sub(w.site.failures(a)[2].Add(time.Second)); late > 2*canaryGap {
			t.Errorf("written %s beyond the debounce after the third failure", late)
		}
		if n := len(w.guardLines("canary")); n != 0 {
			t.Errorf("%d lines about a canary that missed one round", n)
		}
	})
}

// However many targets wait for it, the canary is not asked more often than every
// quarter of a second, and every five seconds when nobody does.
func TestCanaryIsSpared(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Canary = canaryOf(anchors[0])
		w.config.Checks["web"].Fall = 1
		var many []string
		for i := range 200 {
			many = append(many, fmt.Sprintf("203.0.113.%d", i+1))
		}
		w.addSet(&steer.Spec{
			Key: record.Key{Zone: home, Name: "many.example.com.", Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
		}, many...)
		var rounds atomic.Int64
		w.run(func(o *Options) {
			o.Probe = func(ctx context.Context, spec *check.Spec, address string) check.Result {
				if address == anchors[0] {
					rounds.Add(1)
					time.Sleep(20 * time.Millisecond)
				}
				return w.site.probe(ctx, spec, address)
			}
		})
		time.Sleep(settled)
		quiet := rounds.Swap(0)
		if quiet < 12 || quiet > 13 {
			t.Errorf("%d rounds in a quiet minute", quiet)
		}
		w.site.fail(many...)
		time.Sleep(10 * time.Second) // in which each is probed, and falls
		if n := rounds.Load(); n < 20 || n > 41 {
			t.Errorf("%d rounds in ten seconds in which 200 targets fell one after the other", n)
		}
	})
}

// suspended makes a probe function of which the first probes of the canary fail
// while the machine is suspended.
func (w *world) suspended(n int64, sleep time.Duration) (probe func(context.Context, *check.Spec, string) check.Result, left *atomic.Int64) {
	left = &atomic.Int64{}
	left.Store(n)
	return func(ctx context.Context, spec *check.Spec, address string) check.Result {
		if slices.Contains(anchors, address) && left.Add(-1) >= 0 {
			w.clock.(*clock.Virtual).Suspend(sleep)
			return check.Result{Outcome: check.Fail, Phase: check.PhaseConnect, Cause: check.CauseUnreachable}
		}
		return w.site.probe(ctx, spec, address)
	}, left
}

// A round during which the machine was suspended, or the process stood still,
// says nothing, and another one follows at once.
func TestCanaryRoundInASuspend(t *testing.T) {
	for _, sleep := range []time.Duration{700 * time.Millisecond, time.Minute} {
		bubbled(t, func(t *testing.T) {
			w, _ := sightWorld(t)
			w.config.Canary = canaryOf(anchors[0])
			probe, left := w.suspended(0, sleep)
			d := w.run(func(o *Options) { o.Probe = probe })
			time.Sleep(settled)
			left.Store(3)
			time.Sleep(CanaryEvery + 4*canaryGap)
			if left.Load() >= 0 {
				t.Errorf("suspended for %s: the round was not made again at once", sleep)
			}
			time.Sleep(settled)
			if s := d.status(); s.Canary.State != "pass" || s.Canary.Answered != 1 || len(w.guardLines("canary")) != 0 {
				t.Errorf("suspended for %s: canary %+v, journal %q", sleep, s.Canary, w.guardLines("canary"))
			}
		})
	}
}

func TestOnceInASuspend(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, _ := sightWorld(t)
		_, progress, _ := w.once(false)
		probe, _ := w.suspended(4, time.Minute)
		options := w.options()
		options.Once, options.Write, options.Probe = true, false, probe
		d, err := New(options)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := d.Once(t.Context(), control.PlanRequest{}, progress)
		if err != nil || len(plan.Zones[0].Blocked) > 0 {
			t.Errorf("got %+v (%v)", plan, err)
		}
	})
}

// A canary that is gone for good is replaced, or given up, by a reload: the next
// one is probed at once, and what waited is written.
func TestReloadOfTheCanary(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		for _, next := range []config.Canary{{}, canaryOf("198.51.100.99")} {
			w, _ := sightWorld(t)
			d := w.run(w.reloading(func(c *config.Config) error { c.Canary = next; return nil }))
			time.Sleep(settled)
			w.site.fail(anchors...)
			time.Sleep(settled)
			w.site.fail(a)
			time.Sleep(settled)
			w.mustLive(a)
			if err := d.Reload(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(canaryGap)
			synctest.Wait()
			if s := d.status(); len(next.Targets) > 0 && (s.Canary.State != "pass" || s.Canary.Targets[0].Target != "198.51.100.99:53") {
				t.Errorf("after the reload: %+v", s.Canary)
			}
			time.Sleep(settled)
			w.mustLive(b)
			d.end()
		}
	})
}

// A round that is under way when another canary comes into force says nothing of
// that one.
func TestRoundOfTheCanaryBefore(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, _ := sightWorld(t)
		began := make(chan struct{}, 100)
		d := w.run(w.reloading(func(c *config.Config) error { c.Canary = canaryOf("198.51.100.99"); return nil }), func(o *Options) {
			o.Probe = func(ctx context.Context, spec *check.Spec, address string) check.Result {
				if !strings.HasPrefix(address, "192.") {
					began <- struct{}{}
					time.Sleep(time.Second)
				}
				return w.site.probe(ctx, spec, address)
			}
		})
		<-began
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond) // the first round is over, the next one is not
		if s := d.status(); s.Canary.State != "unknown" || len(s.Canary.Targets) > 0 {
			t.Errorf("got %+v", s.Canary)
		}
		time.Sleep(time.Second)
		if s := d.status(); s.Canary.State != "pass" || s.Canary.Targets[0].Target != "198.51.100.99:53" {
			t.Errorf("got %+v", s.Canary)
		}
	})
}

// One-shot commands probe the canary in each round. While it fails they stop at a
// guard, whatever the targets say, and write nothing.
func TestOnceWithACanary(t *testing.T) {
	for _, c := range []struct {
		name  string
		down  []string
		exit  int
		guard string
		live  string
	}{
		{"passes", []string{a}, control.ExitDone, "", b},
		{"fails", append([]string{a}, anchors...), control.ExitGuard, "canary", a},
		{"fails alone", anchors, control.ExitGuard, "canary", a},
		{"one of two fails", []string{a, anchors[0]}, control.ExitDone, "", b},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w, _ := sightWorld(t)
				w.config.Records = w.config.Records[:1]
				w.site.fail(c.down...)
				plan, err := w.plan(control.PlanRequest{})
				if err != nil || len(plan.Undecided) > 0 {
					t.Fatalf("got %+v (%v)", plan, err)
				}
				answer, err := w.reconcile(control.PlanRequest{Override: []string{"max_writes"}})
				if err != nil || len(answer.Undecided) > 0 {
					t.Fatalf("got %+v (%v)", answer, err)
				}
				zone := answer.Zones[0]
				if zone.Exit != c.exit || zone.InSync == (c.guard != "") {
					t.Errorf("got %+v", zone)
				}
				for _, z := range []control.ZonePlan{zone, plan.Zones[0]} {
					if c.guard != "" && (len(z.Blocked) != 1 || z.Blocked[0].Guard != c.guard || !strings.Contains(z.Blocked[0].Detail, anchors[1]+":53")) {
						t.Errorf("blocked: %+v", z.Blocked)
					}
				}
				w.mustLive(c.live)
			})
		})
	}
}

// A clock that shows less than the time of the build is told of, once, and its end
// after a minute.
func TestClockBeforeTheBuild(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run(func(o *Options) { o.Built = w.clock.Wall().Add(time.Hour) })
		time.Sleep(settled)
		if s := d.status(); len(s.Notices) != 1 || !strings.Contains(s.Notices[0], "timedatectl") {
			t.Errorf("notices: %q", s.Notices)
		}
		time.Sleep(time.Hour + 2*time.Minute)
		if s := d.status(); len(s.Notices) != 0 {
			t.Errorf("notices: %q", s.Notices)
		}
		if lines := w.log.with("guard=clock"); len(lines) != 2 {
			t.Errorf("the log says %q", lines)
		}
	})
}

// One round of probes is enough where one pass is, but one round of the canary
// does not tell that it fails: another follows, and nothing is written blind.
func TestOnceAsksAFailingCanaryTwice(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, _ := sightWorld(t)
		for _, spec := range w.config.Checks {
			spec.Fall, spec.Rise = 1, 1
		}
		w.site.fail(anchors...)
		if err := w.zones[home].EditByHand(memory.Put(string(www.Name), "A", time.Minute, b)); err != nil {
			t.Fatal(err) // both are live, and one has to go
		}
		answer, err := w.reconcile(control.PlanRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if zone := answer.Zones[0]; len(zone.Applied) > 0 || zone.Exit != control.ExitGuard {
			t.Errorf("got %+v", zone)
		}
	})
}
