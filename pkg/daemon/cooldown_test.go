package daemon

import (
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
)

// cooled gives the check of a world pauses of 30s, 1m and 2m.
func (w *world) cooled() {
	w.config.Checks["web"].Cooldown = &check.Cooldown{Base: 30 * time.Second, Factor: 2, Max: 2 * time.Minute}
}

// pauses are the times between the failures of an address from the third on.
func (w *world) pauses(address string) []time.Duration {
	failures := w.site.failures(address)
	var list []time.Duration
	for i := 3; i < len(failures); i++ {
		list = append(list, failures[i].Sub(failures[i-1]))
	}
	return list
}

// mustPause holds pauses against what they are meant to be: each is up to a tenth
// shorter, and its end is met to the grid of the schedule.
func (w *world) mustPause(address string, want ...time.Duration) {
	w.Helper()
	got := w.pauses(address)
	if len(got) != len(want) {
		w.Errorf("%s: paused for %v, want %v", address, got, want)
		return
	}
	for i, pause := range got {
		if pause < want[i]-want[i]/10 || pause > want[i]+2*handOver {
			w.Errorf("%s: paused for %v, want %v, each up to a tenth shorter", address, got, want)
		}
	}
}

func (r *running) target(address string) control.Target {
	r.w.Helper()
	for _, t := range r.status().Targets {
		if t.Address == address {
			return t
		}
	}
	r.w.Fatalf("no target at %s", address)
	return control.Target{}
}

// A target that is down is left alone between two attempts, is not shown as
// unknown meanwhile, and comes up after rise passes, the first of them at the end
// of a pause.
func TestATargetThatIsDownIsLeftAlone(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.cooled()
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)
		c := d.target(a)
		if c.Cooldown.State != "cooling" || c.Cooldown.Until == nil || c.Verdict != "down" {
			t.Errorf("after its fall: %+v", c)
		}
		time.Sleep(6 * time.Minute)
		w.mustPause(a, 30*time.Second, time.Minute, 2*time.Minute, 2*time.Minute)
		if c = d.target(a); c.Cooldown.State != "cooling" || c.Verdict != "down" || c.Cooldown.Attempts != 4 {
			t.Errorf("after four attempts: %+v", c)
		}
		if d.target(b).Cooldown != (control.Cooldown{State: "eligible"}) {
			t.Errorf("beside it: %+v", d.target(b))
		}
		w.site.heal(a)
		end := *c.Cooldown.Until
		time.Sleep(time.Until(end) + 15*time.Second)
		if c = d.target(a); c.Cooldown.State != "probing" || c.Passes != 2 || c.Verdict != "down" {
			t.Errorf("after two of three passes: %+v", c)
		}
		time.Sleep(10 * time.Second)
		if c = d.target(a); c.Cooldown.State != "eligible" || c.Verdict != "up" {
			t.Errorf("after three: %+v", c)
		}
	})
}

// A reload and a restart go on with a pause.
func TestAPauseGoesOn(t *testing.T) {
	for name, interrupt := range map[string]func(w *world, d *running) *running{
		"reload":  func(w *world, d *running) *running { _ = d.Reload(); return d },
		"SIGTERM": func(w *world, d *running) *running { d.end(); time.Sleep(20 * time.Second); return w.run() },
		"SIGKILL": func(w *world, d *running) *running { d.kill(); time.Sleep(20 * time.Second); return w.run() },
	} {
		t.Run(name, func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w := newWorld(t, class)
				w.cooled()
				d := w.run(w.reloading(func(*config.Config) error { return nil }))
				time.Sleep(settled)
				w.site.fail(a)
				time.Sleep(3 * time.Minute) // the pause of two minutes has begun
				before := len(w.site.failures(a))
				until := d.target(a).Cooldown.Until
				d = interrupt(w, d)
				time.Sleep(time.Second)
				if c := d.target(a); c.Cooldown.State != "cooling" || c.Verdict != "down" || until == nil ||
					c.Cooldown.Until.Sub(*until).Abs() > time.Second {
					t.Fatalf("the pause until %v became %+v", until, c)
				}
				time.Sleep(time.Until(*until) - time.Second)
				if n := len(w.site.failures(a)); n != before {
					t.Errorf("%d probes within the pause", n-before)
				}
				time.Sleep(2 * time.Second)
				if n := len(w.site.failures(a)); n != before+1 {
					t.Errorf("%d probes at the end of the pause, want one", n-before)
				}
			})
		})
	}
}

// When the last usable answer of a record set fails, its targets are probed at
// the interval again; what is disabled is not, and comes back by a person's word.
func TestNothingUsableAndDisabled(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.cooled()
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(4 * time.Minute)
		w.site.fail(b)
		time.Sleep(settled)
		before := len(w.site.failures(a))
		time.Sleep(time.Minute)
		if n := len(w.site.failures(a)) - before; n != 6 {
			t.Errorf("nothing is usable, and %s was probed %d times in a minute, want 6", a, n)
		}
		d.end()

		copied := *w.config.Checks["web"]
		copied.Causes = check.Causes{check.CauseRefused: check.CountDisable}
		w.config.Checks["web"] = &copied
		w.site.heal(b)
		d = w.run()
		time.Sleep(settled)
		if c := d.target(a); c.Cooldown.State != "disabled" || c.Verdict != "down" {
			t.Errorf("its cause disables: %+v", c)
		}
		before = len(w.site.failures(a))
		time.Sleep(10 * time.Minute)
		w.site.heal(a)
		time.Sleep(10 * time.Minute)
		if c := d.target(a); c.Cooldown.State != "disabled" || c.Verdict != "down" || c.Passes != 0 || len(w.site.failures(a)) != before {
			t.Errorf("left alone for good, and probed %d times: %+v", len(w.site.failures(a))-before, c)
		}
		if _, err := d.Approve(t.Context(), control.ApproveRequest{Target: a}, "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settled)
		if c := d.target(a); c.Cooldown.State != "eligible" || c.Verdict != "up" {
			t.Errorf("approved: %+v", c)
		}
	})
}

// What a daemon left disabled a command leaves alone as well: it would come back
// by its first passes, and nobody has said that it may. A person's word reaches it
// without a daemon, too.
func TestACommandLeavesAloneWhatIsDisabled(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Checks["web"].Causes = check.Causes{check.CauseRefused: check.CountDisable}
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled)
		d.end()
		w.mustLive(b)
		w.site.heal(a)
		before := len(w.site.failures(a))
		time.Sleep(24 * time.Hour)
		if _, err := w.reconcile(control.PlanRequest{}); err != nil {
			t.Fatal(err)
		}
		w.mustLive(b)
		one, progress, _ := w.once(true)
		if _, err := one.ApproveOnce(t.Context(), control.ApproveRequest{Target: a}, "ann", progress); err != nil {
			t.Fatal(err)
		}
		d = w.run()
		time.Sleep(settled)
		if c := d.target(a); c.Cooldown.State != "eligible" || c.Verdict != "up" || len(w.site.failures(a)) != before {
			t.Errorf("approved: %+v", c)
		}
	})
}

// Two addresses of two die together: guard mass keeps them as they are, says so with
// the numbers, and lets them go down once each has failed on. One-shot commands
// wait for that as well.
func TestMassIsSuspectedFirst(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Guard.Mass = config.Mass{Percent: 50, AtLeast: 2, Within: 2 * time.Minute, Confirm: 2}
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a, b)
		time.Sleep(35 * time.Second)
		s := d.status()
		if s.Targets[0].Verdict != "suspected" || s.Targets[1].Verdict != "suspected" || !s.Records[0].Answers[0].Usable {
			t.Errorf("after the fall: %+v", s.Targets)
		}
		if len(s.Records[0].Blocked) != 1 || s.Records[0].Blocked[0].Guard != "mass" || len(w.writes(home)) != 0 {
			t.Errorf("blocked by %+v, %d writes", s.Records[0].Blocked, len(w.writes(home)))
		}
		time.Sleep(25 * time.Second)
		if s = d.status(); s.Targets[0].Verdict != "down" || s.Targets[1].Verdict != "down" || len(s.Records[0].Blocked) != 0 {
			t.Errorf("after two more failures: %+v, blocked by %+v", s.Targets, s.Records[0].Blocked)
		}
		d.end()
		if n := len(w.journal("guard")); n != 2 {
			t.Errorf("%d lines of guards in the journal, want its beginning and its end", n)
		}
		w.site.heal(b)
		answer, err := w.reconcile(control.PlanRequest{})
		w.mustLive(b)
		if err != nil || len(answer.Undecided) != 0 {
			t.Errorf("reconcile: undecided %v, error %v", answer.Undecided, err)
		}
	})
}
