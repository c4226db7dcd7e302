package daemon

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/steer"
)

// savedState is what the state directory holds.
type savedState struct {
	SavedAt time.Time    `json:"saved_at"`
	Payload engine.State `json:"payload"`
}

func (w *world) saved() savedState {
	w.Helper()
	file, err := os.ReadFile(filepath.Join(w.config.State.Dir, "state.json"))
	if err != nil {
		w.Fatal(err)
	}
	var s savedState
	if err := json.Unmarshal(file, &s); err != nil {
		w.Fatal(err)
	}
	return s
}

// A transition is saved when it happens, before the write that it leads to.
func TestTransitionIsSavedBeforeTheWrite(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Reconcile.Debounce = 20 * time.Second
		w.run()
		time.Sleep(settled)
		w.site.fail(a)
		for len(w.site.failures(a)) < 3 {
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if v := w.saved().Payload.Targets["web@"+a].Verdict; v != "down" || w.touched() {
			t.Errorf("in the state it is %s, written: %v", v, w.touched())
		}
	})
}

// The state is saved each minute by the wall clock, also when that is set back,
// and at the end.
func TestStateIsSavedThoughNothingHappens(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled + 30*time.Second)
		w.clock.(*clock.Virtual).StepWall(-6 * time.Hour)
		for range 3 {
			time.Sleep(saveEvery + 10*time.Second) // until after the next result
			if age := w.clock.Wall().Sub(w.saved().SavedAt); age < 0 || age > saveEvery+10*time.Second {
				t.Errorf("the state is %s old", age)
			}
		}
		d.end()
		if age := w.clock.Wall().Sub(w.saved().SavedAt); age != 0 {
			t.Errorf("at the end the state is %s old", age)
		}
		before := w.files(w.config.State.Dir)
		d.journal("plan", nil)
		for path, content := range w.files(w.config.State.Dir) {
			if before[path] != content {
				t.Errorf("%s was written after the lock was let go of", path)
			}
		}
		if d.leader.leads() {
			t.Error("leads after the end")
		}
	})
}

// A hold that an old state tells of begins anew: nobody watched since.
func TestHoldOfAnOldStateBeginsAnew(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, d := failedOver(t, class)
		w.site.heal(a)
		time.Sleep(2 * time.Minute)
		d.end()
		time.Sleep(time.Hour)
		began := time.Now()
		w.run()
		time.Sleep(10 * time.Minute)
		w.mustLive(a)
		if after := w.when(w.writes(home)[1]).Sub(began); after < 5*time.Minute {
			t.Errorf("failed back %s after the start", after)
		}
	})
}

// What was written by a round that failed counts too.
func TestWritesOfAFailedRoundCount(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status})
		d := w.run()
		time.Sleep(settled)
		w.zones[home].Faults(func(op memory.Op, _ int) memory.Fault {
			if op == memory.OpTakeAway {
				return memory.Fault{Kind: memory.Refused}
			}
			return memory.Fault{}
		})
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(a, b)
		if n := len(w.saved().Payload.Sets[0].Written); n != 1 {
			t.Errorf("%d writes are counted, want the one that was accepted", n)
		}
		time.Sleep(5 * time.Minute)
		refused := 0
		for _, line := range w.journal("write") {
			if line["error"] != nil {
				refused++
			}
		}
		if refused != 1 {
			t.Errorf("that it was refused is in the journal %d times", refused)
		}
		if s := d.status().Zones[0]; s.Error == "" {
			t.Error("status does not say that the rest failed")
		}
		w.zones[home].Faults(nil)
		time.Sleep(2 * settled)
		w.mustLive(b)
		if len(w.log.with("can write the zone again zone=example.com.")) != 1 {
			t.Error("nobody says that it works again")
		}
	})
}

// A round that waits and gives way to newer work is no failure.
func TestGivingWayIsNoFailure(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status, Late: 5 * time.Minute})
		const c = "192.0.2.30"
		spec := w.config.Records[0]
		spec.Answers = append(spec.Answers, steer.Answer{Value: c, Probe: c})
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled) // b is in, a waits to be taken out
		w.site.fail(b)
		time.Sleep(settled) // c is in, which is newer work
		w.mustLive(a, b, c)
		if lines := w.log.with("ERROR"); len(lines) > 0 {
			t.Errorf("the log says %q", lines)
		}
		if s := d.status().Zones[0]; s.Error != "" {
			t.Errorf("status says %q", s.Error)
		}
		time.Sleep(10 * time.Minute)
		w.mustLive(c)
	})
}

// A verification is told of when something was written, and only then.
func TestVerificationIsToldOfOnceAWrite(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, d := failedOver(t, class)
		for range 3 {
			if _, err := d.Reconcile(t.Context(), control.PlanRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(w.journal("verify")); n != 1 {
			t.Errorf("%d lines, want one", n)
		}
	})
}

// A leader whose gate does not let it write says so: that is not the ordinary
// case of a standby.
func TestLeaderThatMayNotWriteSaysSo(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		r := w.runUnder(&shortLease{})
		w.site.fail(a)
		time.Sleep(settled)
		if w.touched() {
			t.Error("written")
		}
		if s := r.status().Zones[0]; s.Error != lease.ErrShort.Error() {
			t.Errorf("status says %q", s.Error)
		}
		if len(w.log.with("ERROR cannot write the zone zone=example.com.")) != 1 {
			t.Errorf("the log says %q", w.log.with("ERROR"))
		}
	})
}

// shortLease is held, and never for as long as a call takes.
type shortLease struct{}

func (*shortLease) Acquire(context.Context) (lease.Held, error) { return &shortHeld{}, nil }

type shortHeld struct{ lostHeld }

func (*shortHeld) Gate(time.Duration) error { return lease.ErrShort }
func (*shortHeld) Lost() <-chan struct{}    { return nil }

// Guards that a person switches off are off for that one plan.
func TestGuardIsOverriddenOnce(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Records[0].Failback.Hold = 0
		w.config.Guard.MaxWrites.Count, w.config.Guard.MaxWrites.Window = 1, time.Hour
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled)
		w.site.heal(a)
		time.Sleep(settled)
		w.mustLive(b) // one write an hour, unless it mends something
		answer, err := d.Reconcile(t.Context(), control.PlanRequest{})
		if err != nil || answer.Zones[0].Exit != control.ExitGuard {
			t.Errorf("with the guard: %+v (%v)", answer, err)
		}
		answer, err = d.Reconcile(t.Context(), control.PlanRequest{Override: []string{"max_writes"}})
		if err != nil || answer.Zones[0].Exit != control.ExitDone {
			t.Errorf("without: %+v (%v)", answer, err)
		}
		w.mustLive(a)
	})
}

// What a command judges by its own rounds it judges at its own pace: a target
// that stays unjudged is not waited for at the interval of its check.
func TestUndecidedTargetIsNotWaitedForAtItsInterval(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Checks["web"].Interval = time.Minute
		w.site.play(a, "????????")
		began := time.Now()
		if plan, err := w.plan(control.PlanRequest{}); err != nil || len(plan.Undecided) != 1 {
			t.Errorf("got %+v (%v)", plan, err)
		}
		if took := time.Since(began); took > 6*pace {
			t.Errorf("it took %s", took)
		}
	})
}

// The state of a leader before, unusable by the time this one takes over, is a
// lost one, whatever this one has read at its start.
func TestStandbyThatInheritsNonsense(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		first := w.run()
		time.Sleep(settled)
		standby := w.run()
		time.Sleep(settled)
		first.end()
		for _, name := range []string{"state.json", "state.json.1"} {
			if err := os.WriteFile(filepath.Join(w.config.State.Dir, name), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		if s := standby.status(); s.Leader.State != "leader" || len(s.Notices) != 1 {
			t.Errorf("status says %+v %v", s.Leader, s.Notices)
		}
	})
}

// With fastinter a target that fails is down after one interval at most and two
// short waits, and nothing else is probed faster.
func TestFastInterReachesTheSchedule(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Checks["web"].FastInter = 250 * time.Millisecond
		d := w.run()
		time.Sleep(settled)
		before := d.schedule.Stats().Started
		w.site.fail(a)
		began := time.Now()
		for len(w.site.failures(a)) < 3 {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(began); took > 10*time.Second+600*time.Millisecond {
			t.Errorf("three failures took %s", took)
		}
		if n := d.schedule.Stats().Started - before; n > 6 {
			t.Errorf("%d probes of two targets meanwhile", n)
		}
	})
}
