package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
	"sidestep/pkg/store"
)

// once makes a daemon for one command, and collects its progress.
func (w *world) once(write bool) (*Daemon, Progress, *[]string) {
	w.Helper()
	options := w.options()
	options.Once, options.Write = true, write
	d, err := New(options)
	if err != nil {
		w.Fatal(err)
	}
	said := &[]string{}
	return d, func(format string, args ...any) { *said = append(*said, fmt.Sprintf(format, args...)) }, said
}

// plan is the one-shot plan.
func (w *world) plan(request control.PlanRequest) (control.Plan, error) {
	w.Helper()
	d, progress, _ := w.once(false)
	return d.Once(w.Context(), request, progress)
}

// reconcile is the one-shot reconcile.
func (w *world) reconcile(request control.PlanRequest) (control.Plan, error) {
	w.Helper()
	d, progress, _ := w.once(true)
	return d.Once(w.Context(), request, progress)
}

// A plan judges by rounds of its own, two seconds apart, and leaves no trace:
// neither in a zone nor on the disk, whatever is there.
func TestPlanOnceLeavesNoTrace(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.site.fail(a)
		began := time.Now()
		plan, err := w.plan(control.PlanRequest{})
		if err != nil || len(plan.Undecided) > 0 || len(plan.Zones) != 1 {
			t.Fatalf("got %+v (%v)", plan, err)
		}
		zone := plan.Zones[0]
		if zone.InSync || len(zone.Changes) != 2 || zone.Checksum == "" || zone.Applied != nil || zone.Verified != nil || zone.Exit != control.ExitDone {
			t.Errorf("got %+v", zone)
		}
		if took := time.Since(began); took != 2*pace {
			t.Errorf("three rounds took %s", took)
		}
		if w.touched() {
			t.Error("written to the zone")
		}
		if files := w.files(w.config.State.Dir); len(files) > 0 {
			t.Errorf("written to the disk: %v", files)
		}
	})
}

// On a state that means nothing a plan
// rests on caution, and leaves it as it is, where it is.
func TestPlanOnceLeavesABrokenStateAlone(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, d := failedOver(t, class)
		d.end()
		s, _, err := store.Open(w.config.State.Dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Save([]byte(`[]`)); err != nil {
				t.Fatal(err)
			}
		}
		w.site.heal(a)
		w.site.fail(b)
		before := w.files(w.config.State.Dir)
		plan, err := w.plan(control.PlanRequest{})
		if err != nil || len(plan.Zones[0].Blocked) != 1 || plan.Zones[0].Blocked[0].Guard != "state" {
			t.Errorf("got %+v (%v)", plan, err)
		}
		after := w.files(w.config.State.Dir)
		for path, content := range after {
			if before[path] != content {
				t.Errorf("%s was changed or made", path)
			}
		}
	})
}

// Reconcile is a person's yes: it writes, verifies, stores, and lets go of the
// stamp and the lock.
func TestReconcileOnce(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Records[0].AskFirst = true
		w.config.Records[0].Failback.Hold = 0
		if err := w.zones[home].EditByHand(memory.Put(string(www.Name), "A", time.Minute, b)); err != nil {
			t.Fatal(err) // both are live and usable: one has to go
		}
		if plan, err := w.plan(control.PlanRequest{}); err != nil || len(plan.Zones[0].Blocked) != 1 {
			t.Fatalf("not asked first: %+v (%v)", plan, err)
		}
		answer, err := w.reconcile(control.PlanRequest{})
		if err != nil {
			t.Fatal(err)
		}
		zone := answer.Zones[0]
		if !zone.InSync || len(zone.Applied) != 1 || zone.Verified == nil || !*zone.Verified || zone.Exit != control.ExitDone {
			t.Errorf("got %+v", zone)
		}
		w.mustLive(a)
		answer, err = w.reconcile(control.PlanRequest{})
		if err != nil || !answer.Zones[0].InSync || len(answer.Zones[0].Applied) > 0 {
			t.Errorf("again: %+v (%v)", answer, err)
		}
		snapshot, err := w.zones[home].Adapter("witness").List(t.Context())
		if err != nil || !snapshot.Stamps[0].Released {
			t.Errorf("the stamp is %v (%v)", snapshot.Stamps, err)
		}
		if n := len(w.journal("write")); n != 1 {
			t.Errorf("%d writes in the journal", n)
		}
	})
}

// Of several zones only those that were named are touched: not probed, not
// listed, not written.
func TestOnceTouchesOnlyTheZonesItIsGiven(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		other := w.addZone("example.net.", class)
		w.addSet(&steer.Spec{
			Key: record.Key{Zone: "example.net.", Name: "www.example.net.", Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
		}, "198.51.100.1", "198.51.100.2")
		var asked atomic.Int64
		other.Faults(func(memory.Op, int) memory.Fault { asked.Add(1); return memory.Fault{} })
		w.site.fail(a, "198.51.100.1")
		answer, err := w.reconcile(control.PlanRequest{Zones: []string{"Example.COM"}})
		if err != nil || len(answer.Zones) != 1 || answer.Zones[0].Zone != string(home) {
			t.Fatalf("got %+v (%v)", answer, err)
		}
		w.mustLive(b)
		if asked.Load() > 0 || len(w.site.failures("198.51.100.1")) > 0 {
			t.Errorf("the other zone was asked %d times, its target probed %d times", asked.Load(), len(w.site.failures("198.51.100.1")))
		}
		_, err = w.reconcile(control.PlanRequest{Zones: []string{"example.org"}})
		if control.ExitOf(err) != control.ExitUsage {
			t.Errorf("a zone that is not there: %v", err)
		}
	})
}

// Targets that cannot be judged are named, and keep what they have.
func TestUndecidedTargetsAreNamed(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.site.play(a, strings.Repeat("?", 100))
		w.site.fail(b)
		answer, err := w.reconcile(control.PlanRequest{})
		if err != nil || !slices.Equal(answer.Undecided, []string{"web@" + a}) {
			t.Errorf("got %+v (%v)", answer, err)
		}
		w.mustLive(a)
	})
}

// At an unfenced provider a command waits, with progress, until no call of
// before can be open; told not to wait it adds only, and says what is left.
func TestReconcileOnceAtAnUnfencedProvider(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, open)
		w.site.fail(a)
		answer, err := w.reconcile(control.PlanRequest{NoWait: true})
		zone := answer.Zones[0]
		if err != nil || len(zone.Applied) != 1 || zone.Exit != control.ExitFailure || zone.Detail == "" {
			t.Errorf("without waiting: %+v (%v)", zone, err)
		}
		w.mustLive(a, b)
		d, progress, said := w.once(true)
		answer, err = d.Once(t.Context(), control.PlanRequest{}, progress)
		if err != nil || answer.Zones[0].Exit != control.ExitDone {
			t.Errorf("with waiting: %+v (%v)", answer.Zones[0], err)
		}
		w.mustLive(b)
		if !slices.ContainsFunc(*said, func(line string) bool {
			return strings.Contains(line, "waiting ") && strings.Contains(line, string(home))
		}) {
			t.Errorf("no word of the wait: %q", *said)
		}
	})
}

// A command waits 30 seconds for the lock, names who has it, soon as well, and exits with 4.
func TestLockOfADaemonIsWaitedFor(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		synctest.Wait()
		began := time.Now()
		time.AfterFunc(2*time.Second, func() {
			if lines := w.log.with("waiting for the lock"); len(lines) != 1 || !strings.Contains(lines[0], "held_by=mon-1 (process") || !strings.Contains(lines[0], "at_most=29s") {
				t.Errorf("after two seconds it was said: %q", lines)
			}
		})
		_, err := w.reconcile(control.PlanRequest{})
		if control.ExitOf(err) != control.ExitNotLeader || !strings.Contains(err.Error(), "mon-1 (process") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != lockWithin {
			t.Errorf("waited %s", took)
		}
		d.end()
		if _, err := w.reconcile(control.PlanRequest{}); err != nil {
			t.Error(err)
		}
	})
}

// A provider in trouble is an answer with its exit code, not an error of the
// command, and the other zones are done.
func TestOnceGoesOnBesideAZoneInTrouble(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		bad := w.addZone("a.example.", class)
		bad.Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Refused} })
		w.site.fail(a)
		answer, err := w.reconcile(control.PlanRequest{})
		if err != nil || len(answer.Zones) != 2 {
			t.Fatalf("got %+v (%v)", answer, err)
		}
		for _, zone := range answer.Zones {
			if zone.Zone == "a.example." && (zone.Exit != control.ExitProvider || zone.Error == "" || zone.Checksum != "") {
				t.Errorf("the zone in trouble: %+v", zone)
			}
		}
		w.mustLive(b)
	})
}

// A signal while targets are probed or the lock is waited for ends the command.
func TestOnceEndsWithItsContext(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.site.fail(a)
		d, progress, _ := w.once(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.Once(ctx, control.PlanRequest{}, progress); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if w.touched() {
			t.Error("written")
		}
	})
}

// An approval without a daemon is written into the state directory under its
// lock; one that means nothing, or cannot be stored, is an error.
func TestApproveOnce(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Records[0].AskFirst = true
		approve := func(request control.ApproveRequest) error {
			d, progress, _ := w.once(true)
			_, err := d.ApproveOnce(t.Context(), request, "ops", progress)
			return err
		}
		if err := approve(control.ApproveRequest{Target: "nosuch"}); control.ExitOf(err) != control.ExitUsage {
			t.Errorf("nothing of that name: %v", err)
		}
		if err := approve(control.ApproveRequest{Target: "www"}); err != nil {
			t.Fatal(err)
		}
		lines := w.journal("guard")
		if len(lines) != 1 || lines[0]["by"] != "ops" || lines[0]["target"] != "www.example.com." {
			t.Errorf("the journal says %v", lines)
		}
		w.zones[home].Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Refused} })
		if err := approve(control.ApproveRequest{Target: "www"}); control.ExitOf(err) != control.ExitProvider {
			t.Errorf("a zone that cannot be listed: %v", err)
		}
	})
}

// A plan that max_changes stopped is approved by its checksum, once.
func TestApprovePlanOnce(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Guard.MaxChanges = 1
		w.addSet(&steer.Spec{
			Key: record.Key{Zone: home, Name: "api.example.com.", Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
		}, a, b)
		w.site.fail(a)
		plan, err := w.plan(control.PlanRequest{})
		if err != nil || len(plan.Zones[0].Blocked) != 1 || plan.Zones[0].Blocked[0].Guard != "max_changes" {
			t.Fatalf("got %+v (%v)", plan, err)
		}
		for sum, exit := range map[string]int{"0123456789ab": control.ExitUsage, plan.Zones[0].Checksum: control.ExitDone} {
			d, progress, _ := w.once(true)
			_, err := d.ApproveOnce(t.Context(), control.ApproveRequest{Target: "example.com", Plan: sum}, "ops", progress)
			if control.ExitOf(err) != exit {
				t.Errorf("plan %s: %v", sum, err)
			}
		}
		answer, err := w.reconcile(control.PlanRequest{})
		if err != nil || answer.Zones[0].Exit != control.ExitDone {
			t.Errorf("got %+v (%v)", answer, err)
		}
		w.mustLive(b)
	})
}

// What is wrong with an adapter is an error of the config, with its place.
func TestAdapterThatCannotBeMade(t *testing.T) {
	w := &world{T: t, clock: clock.System(), config: &config.Config{
		State: config.State{Dir: filepath.Join(t.TempDir(), "state")},
		Zones: []config.Zone{{Name: home, Provider: "memory"}},
	}}
	options := w.options()
	options.Registry = provider.Registry{"memory": func(provider.Settings) (provider.Adapter, error) {
		return nil, errors.New("the key has no secret")
	}}
	if _, err := New(options); control.ExitOf(err) != control.ExitUsage || !strings.Contains(err.Error(), "open zone example.com.: the key has no secret") {
		t.Errorf("got %v", err)
	}
	options.Registry = provider.Registry{}
	if _, err := New(options); err == nil || !strings.Contains(err.Error(), `no provider "memory"`) {
		t.Errorf("got %v", err)
	}
}
