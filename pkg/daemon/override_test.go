package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/override"
)

// drained is an override that drains an address for an hour from a moment.
func drained(address string, from time.Time) override.Override {
	return override.Override{
		Kind: override.Drain, Target: address, By: "ann", Reason: "new kernel",
		Said: from, From: from, Until: from.Add(time.Hour),
	}
}

// overrule sets an override that has to be taken.
func (r *running) overrule(request control.OverrideRequest) control.Overruled {
	r.w.Helper()
	if request.Reason == "" {
		request.Reason = "test"
	}
	answer, err := r.Override(context.Background(), request, "ann")
	if err != nil {
		r.w.Fatal(err)
	}
	return answer
}

// Case 87, an override that is forgotten. Input: a pin of www to its first address
// without an end, then with one of 30 minutes; the pinned address dies meanwhile;
// and a drain without an end that stays for days.
func TestCase87AnOverrideIsNotForgotten(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		for want, request := range map[string]control.OverrideRequest{
			"for how long: expected a duration": {Kind: "pin", Target: "www", Values: []string{a}, Reason: "test"},
			"expected a reason":                 {Kind: "pin", Target: "www", Values: []string{a}, For: "30m"},
		} {
			if _, err := d.Override(t.Context(), request, "ann"); err == nil || !strings.Contains(err.Error(), want) || control.ExitOf(err) != control.ExitUsage {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		d.overrule(control.OverrideRequest{Kind: "pin", Target: "www", Values: []string{a}, For: "30m", Reason: "debugging"})
		w.site.fail(a)
		time.Sleep(10 * time.Minute)
		w.mustLive(a)
		s := d.status()
		if o := s.Overrides; len(o) != 1 || o[0].By != "ann" || o[0].Reason != "debugging" || o[0].Until == nil || o[0].State != "in force" {
			t.Errorf("status says %+v", o)
		}
		if answer := s.Records[0].Answers[0]; answer.Override != "pin" || answer.Verdict != "down" || answer.State != "live" {
			t.Errorf("the dead address: %+v", answer)
		}
		if len(s.Notices) != 1 || !strings.Contains(s.Notices[0], "is pinned to "+a+", and the probes say it is down") {
			t.Errorf("notices: %q", s.Notices)
		}
		writes := len(w.writes(home))
		time.Sleep(21 * time.Minute)
		w.mustLive(b)
		if n := len(w.writes(home)) - writes; n == 0 || n > 2 {
			t.Errorf("the end of the pin made %d writes", n)
		}
		if o := d.status().Overrides; len(o) != 0 {
			t.Errorf("after its end: %+v", o)
		}
		w.site.heal(a)
		d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "forever", Reason: "bad disk"})
		time.Sleep(72*time.Hour + time.Minute)
		if n := len(w.log.with("is still there")); n != 3 {
			t.Errorf("the log was reminded %d times in three days", n)
		}
		if n := d.status().Notices; len(n) != 1 || !strings.Contains(n[0], a+" is drained by ann forever (bad disk), since ") {
			t.Errorf("notices: %q", n)
		}
		if lines := w.journal("override"); len(lines) != 6 || lines[0]["override"].(map[string]any)["kind"] != "pin" {
			t.Errorf("journal: %v", lines)
		}
	})
}

// Case 88, an override that is lost. Input: a drain of the first address; then a
// reload, an orderly restart, a kill, and another process that takes over.
func TestCase88AnOverrideOutlivesTheProcess(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		reloading := w.reloading(func(*config.Config) error { return nil })
		d := w.run(reloading)
		time.Sleep(settled)
		answer := d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "12h"})
		until := *answer.Override.Until
		if r := answer.Records; len(r) != 1 || !r[0].Known || strings.Join(r[0].Out, " ") != a || strings.Join(r[0].In, " ") != b || answer.Exit != 0 {
			t.Errorf("foreseen: %+v", answer)
		}
		time.Sleep(settled)
		check := func(r *running, after string) {
			t.Helper()
			time.Sleep(10 * time.Minute)
			w.mustLive(b)
			if o := r.status().Overrides; len(o) != 1 || o[0].Target != a || !o[0].Until.Equal(until) {
				t.Errorf("after %s: %+v", after, o)
			}
		}
		check(d, "nothing")
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		check(d, "a reload")
		d.end()
		time.Sleep(time.Hour) // the state is too old for verdicts
		d = w.run(reloading)
		check(d, "a restart")
		standby := w.run()
		time.Sleep(settled)
		d.end()
		time.Sleep(settled)
		check(standby, "another process took over")
		standby.kill()
		d = w.run()
		check(d, "a kill")
		time.Sleep(12 * time.Hour)
		w.mustLive(a)
	})
}

// A word that cannot be kept is refused, and does nothing.
func TestAWordThatCannotBeStored(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, open)
		w.config.Leader = config.Leader{Lock: config.LockNone, IAmAlone: true}
		d, err := New(w.options())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.RemoveAll(w.config.State.Dir), os.WriteFile(w.config.State.Dir, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		r := w.start(d)
		time.Sleep(settled)
		_, err = r.Override(t.Context(), control.OverrideRequest{Kind: "drain", Target: a, For: "1h", Reason: "test"}, "ann")
		if err == nil || !strings.Contains(err.Error(), "refused, because it could not be stored") || control.ExitOf(err) != control.ExitFailure {
			t.Errorf("got %v", err)
		}
		if _, err := r.ClearOverride(t.Context(), control.ClearRequest{Target: a}, "ann"); err == nil || !strings.Contains(err.Error(), "could not be stored") {
			t.Errorf("clear: got %v", err)
		}
		time.Sleep(settled)
		w.mustLive(a)
		if o := r.status().Overrides; len(o) != 0 {
			t.Errorf("there is %+v", o)
		}
	})
}

// Who does not lead stores nothing, and says who does.
func TestAStandbyTakesNoWord(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.run()
		time.Sleep(settled)
		standby := w.run()
		time.Sleep(settled)
		request := control.OverrideRequest{Kind: "drain", Target: a, For: "1h", Reason: "test"}
		if _, err := standby.Override(t.Context(), request, "ann"); control.ExitOf(err) != control.ExitNotLeader {
			t.Errorf("got %v", err)
		}
		if _, err := standby.ClearOverride(t.Context(), control.ClearRequest{Target: a}, "ann"); control.ExitOf(err) != control.ExitNotLeader {
			t.Errorf("clear: got %v", err)
		}
		request.DryRun = true
		if answer, err := standby.Override(t.Context(), request, "ann"); err != nil || !answer.DryRun || len(answer.Records) != 1 {
			t.Errorf("a dry run: %+v, %v", answer, err)
		}
	})
}

// While it is frozen nothing is written, through a restart too; then what is
// seen is.
func TestFrozen(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		if answer := d.overrule(control.OverrideRequest{Kind: "freeze", Target: "all", For: "2h", Reason: "audit"}); answer.Exit != control.ExitDone {
			t.Errorf("%+v", answer)
		}
		w.site.fail(a)
		time.Sleep(30 * time.Minute)
		w.mustLive(a)
		s := d.status()
		if s.Frozen == nil || s.Frozen.By != "ann" || s.Frozen.Reason != "audit" || s.Frozen.Until == nil {
			t.Errorf("status says %+v", s.Frozen)
		}
		if b := s.Records[0].Blocked; len(b) != 1 || b[0].Guard != "freeze" {
			t.Errorf("blocked: %+v", b)
		}
		for _, zone := range []bool{false, true} {
			plan, err := d.Reconcile(t.Context(), control.PlanRequest{})
			if err != nil || len(plan.Zones[0].Applied) > 0 || plan.Zones[0].Exit != control.ExitFrozen {
				t.Errorf("reconcile: %+v, %v", plan, err)
			}
			if !zone { // then the zone alone
				d.overrule(control.OverrideRequest{Kind: "freeze", Target: "example.com", For: "2h"})
				if answer, err := d.ClearOverride(t.Context(), control.ClearRequest{Target: "all", Kind: "freeze"}, "ann"); err != nil || len(answer.Replaced) != 1 || answer.Exit != control.ExitFrozen {
					t.Errorf("unfreeze: %+v, %v", answer, err)
				}
			}
		}
		if s := d.status(); s.Frozen != nil {
			t.Errorf("the zone alone: %+v", s.Frozen)
		}
		d.end()
		w.run()
		time.Sleep(30 * time.Minute)
		w.mustLive(a)
		time.Sleep(2 * time.Hour)
		w.mustLive(b)
	})
}

// A drain that is lost with a corrupt state brings nothing back.
func TestADrainThatIsLost(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "12h"})
		time.Sleep(settled)
		d.end()
		for _, name := range []string{"state.json", "state.json.1"} {
			if err := os.WriteFile(filepath.Join(w.config.State.Dir, name), []byte(`{"half of`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d = w.run()
		time.Sleep(10 * time.Minute)
		w.mustLive(b) // a is not resumed
		s := d.status()
		if len(s.Notices) != 1 || !strings.Contains(s.Notices[0], "sidestep approve all") {
			t.Errorf("notices: %q", s.Notices)
		}
	})
}

// What was written for an operator's word is explained by it.
func TestExplainAnOverride(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "1h", Reason: "new kernel"})
		time.Sleep(settled)
		_, r := d.why()
		if answer := r.Answers[0]; answer.Override != "drain" || answer.Verdict != "up" || answer.State != "paused" || !strings.Contains(answer.Reason, "(new kernel); web@"+a+" up") {
			t.Errorf("%+v", answer)
		}
		evidence := r.Writes[0].Evidence
		if n := len(evidence); n == 0 || evidence[n-1].Kind != "override" || evidence[n-1].By != "ann" || !strings.HasPrefix(evidence[n-1].Detail, "drain set, until ") {
			t.Errorf("%+v", r.Writes[0])
		}
	})
}

// What cannot be meant is refused with what to do, before anything is kept.
func TestWordsThatCannotBeMeant(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		yesterday, never := time.Now().AddDate(0, 0, -1), time.Now().AddDate(5000, 0, 0)
		good := control.OverrideRequest{Kind: "drain", Target: a, For: "1h", Reason: "test"}
		for want, spoil := range map[string]func(*control.OverrideRequest){
			`expected one of pin, drain`:          func(r *control.OverrideRequest) { r.Kind = "melt" },
			`override "192.0.2.10": expected one`: func(r *control.OverrideRequest) { r.Kind = "" },
			`; perhaps 192.0.2.10`:                func(r *control.OverrideRequest) { r.Target = "192.0.2.100" },
			`the config has no ""`:                func(r *control.OverrideRequest) { r.Target = "" },
			`expected a duration`:                 func(r *control.OverrideRequest) { r.For = "1" },
			`ten years or less`:                   func(r *control.OverrideRequest) { r.For = "4000d" },
			`leave the time out to begin now`:     func(r *control.OverrideRequest) { r.At = &yesterday },
			`ten years from now at most`:          func(r *control.OverrideRequest) { r.At = &never },
			`expected a reason`:                   func(r *control.OverrideRequest) { r.Reason = " " },
			`holds what is no text`:               func(r *control.OverrideRequest) { r.Reason = "\x1b[31mred" },
			`takes no value`:                      func(r *control.OverrideRequest) { r.Values = []string{b} },
			`is no answer of www.example.com`: func(r *control.OverrideRequest) {
				r.Kind, r.Target, r.Values = "pin", "www", []string{"192.0.2.99"}
			},
		} {
			request := good
			spoil(&request)
			for _, dry := range []bool{true, false} {
				request.DryRun = dry
				if _, err := d.Override(t.Context(), request, "ann"); err == nil || !strings.Contains(err.Error(), want) || control.ExitOf(err) != control.ExitUsage {
					t.Errorf("%+v: got %v, want %s", request, err, want)
				}
			}
		}
		if _, err := d.ClearOverride(t.Context(), control.ClearRequest{Target: "nobody"}, "ann"); control.ExitOf(err) != control.ExitUsage {
			t.Errorf("clear: %v", err)
		}
		if answer, err := d.ClearOverride(t.Context(), control.ClearRequest{Target: a}, "ann"); err != nil || answer.Idle != "nothing to clear: no override on "+a+"; there are no overrides" {
			t.Errorf("clear: %+v, %v", answer, err)
		}
		if list, err := d.Overrides(t.Context()); err != nil || len(list.Overrides) != 0 || len(w.journal("override")) > 0 {
			t.Errorf("there is %+v, %v", list, err)
		}
	})
}
