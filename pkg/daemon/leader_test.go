package daemon

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/reconcile"
)

// A shadow decides and shows, and neither writes nor saves anything.
func TestShadowLeavesNoTrace(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run(func(o *Options) { o.ReadOnly = true })
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(time.Hour)
		if w.touched() {
			t.Error("written")
		}
		if files := w.files(w.config.State.Dir); len(files) > 0 {
			t.Errorf("saved: %v", files)
		}
		s := d.status()
		if s.Leader.State != "none" || s.Records[0].Wanted[0] != b || s.Zones[0].Error != "" {
			t.Errorf("status: %+v", s)
		}
		if len(s.Notices) != 1 || !strings.Contains(s.Notices[0], "read-only") {
			t.Errorf("notices: %v", s.Notices)
		}
		plan, err := d.Plan(t.Context(), control.PlanRequest{})
		if err != nil || len(plan.Zones[0].Changes) != 2 {
			t.Errorf("plan: %+v (%v)", plan, err)
		}
		_, err = d.Approve(t.Context(), control.ApproveRequest{Target: "www.example.com"}, "ops")
		if control.ExitOf(err) != control.ExitNotLeader {
			t.Errorf("approve: %v", err)
		}
		answer, err := d.Reconcile(t.Context(), control.PlanRequest{})
		if err != nil || answer.Zones[0].Exit != control.ExitNotLeader || !strings.Contains(answer.Zones[0].Error, "start it again without --read-only") || w.touched() {
			t.Errorf("reconcile: %+v (%v)", answer, err)
		}
	})
}

// A standby leaves the directory of the leader alone, becomes the leader when
// the lock is free, and knows what was approved at the leader meanwhile.
func TestStandbyTakesOver(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Records[0].AskFirst = true
		first := w.run()
		time.Sleep(settled)
		standby := w.run()
		time.Sleep(settled)
		s := standby.status()
		if s.Leader.State != "standby" || !strings.HasPrefix(s.Leader.Holder, "mon-1 (process") {
			t.Errorf("the standby says %+v", s.Leader)
		}
		if _, err := standby.Approve(t.Context(), control.ApproveRequest{Target: "www.example.com"}, "ops"); control.ExitOf(err) != control.ExitNotLeader {
			t.Errorf("the standby approves: %v", err)
		}
		if _, err := first.Approve(t.Context(), control.ApproveRequest{Target: "www.example.com"}, "ops"); err != nil {
			t.Fatal(err)
		}
		before := w.files(w.config.State.Dir)
		time.Sleep(30 * time.Second)
		if after := w.files(w.config.State.Dir); len(after) != len(before) {
			t.Errorf("files came or went: %d, then %d", len(before), len(after))
		}
		first.end()
		time.Sleep(3 * time.Second)
		if s := standby.status(); s.Leader.State != "leader" {
			t.Errorf("after the end of the leader: %+v", s.Leader)
		}
		time.Sleep(saveEvery + 10*time.Second)
		if !w.saved().Payload.Sets[0].Adopted {
			t.Error("the approval is lost")
		}
		if n := len(w.log.with("INFO standby")); n != 1 {
			t.Errorf("%d lines say that it stands by", n)
		}
		w.site.fail(a)
		time.Sleep(2 * time.Minute)
		w.mustLive(b)
	})
}

// One host, two daemons with a lock each: the second does not write a zone whose
// stamp is the first's, and says so, until a person says that it takes over.
func TestTwoHostsByMistake(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)

		other := *w
		cfg := *w.config
		cfg.Node.Name, cfg.State.Dir = "mon-2", filepath.Join(t.TempDir(), "state")
		other.config, other.site, other.log = &cfg, newSite(), &logBook{}
		other.site.fail(b)
		d := other.run()
		before := len(w.zones[home].History())
		time.Sleep(5 * time.Minute)
		if n := len(w.zones[home].History()) - before; n > 0 {
			t.Errorf("%d writes of the second", n)
		}
		s := d.status().Leader
		if s.State != "two-writers" || s.Holder != "mon-1" || !strings.Contains(s.Detail, "--take-over") {
			t.Errorf("status says %+v", s)
		}
		answer, err := d.Reconcile(t.Context(), control.PlanRequest{})
		if err != nil || answer.Zones[0].Exit != control.ExitNotLeader {
			t.Errorf("reconcile: %+v (%v)", answer, err)
		}
		answer, err = d.Reconcile(t.Context(), control.PlanRequest{TakeOver: true})
		if err != nil || answer.Zones[0].Exit != control.ExitDone {
			t.Errorf("reconcile --take-over: %+v (%v)", answer, err)
		}
		w.mustLive(a)
		if s := d.status().Leader; s.State != "leader" || s.Holder != "mon-2" {
			t.Errorf("afterwards status says %+v", s)
		}
	})
}

// A rival in a zone matters to the leader only: a shadow or a standby does not
// write whoever else does.
func TestRivalOfAShadowIsNone(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run(func(o *Options) { o.ReadOnly = true })
		d.ask(func(*engine.Engine) { d.rivals[home] = rivalry{seen: &reconcile.TwoWritersError{Holder: "mon-2"}} })
		if s := d.status().Leader; s.State != "none" {
			t.Errorf("status says %+v", s)
		}
	})
}

// TestCase96StopInTheMiddleOfAWrite stops the daemon while a call is under way:
// the call is finished, the state is saved, the stamp is released, and the lock
// is free at once.
func TestCase96StopInTheMiddleOfAWrite(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		var stopped time.Time
		w.zones[home].Faults(func(op memory.Op, _ int) memory.Fault {
			if op == memory.OpTakeAway && stopped.IsZero() {
				stopped = time.Now()
				d.stop()
				time.Sleep(800 * time.Millisecond) // the provider is slow
			}
			return memory.Fault{}
		})
		<-d.done
		if took := time.Since(stopped); took != 800*time.Millisecond || d.err != nil {
			t.Errorf("it took %s to end: %v", took, d.err)
		}
		w.mustLive(b)
		snapshot, err := w.zones[home].Adapter("witness").List(context.Background())
		if err != nil || len(snapshot.Stamps) != 1 || !snapshot.Stamps[0].Released {
			t.Errorf("the stamp is %v (%v)", snapshot.Stamps, err)
		}
		before := len(w.writes(home))
		next := w.run()
		synctest.Wait()
		if s := next.status(); s.Leader.State != "leader" || s.Targets[0].Verdict != "down" {
			t.Errorf("the next one: %+v %+v", s.Leader, s.Targets[0])
		}
		time.Sleep(2 * time.Minute)
		if n := len(w.writes(home)) - before; n > 0 {
			t.Errorf("%d writes after the restart", n)
		}
	})
}

// A provider that hangs at the end does not keep the daemon from ending.
func TestEndIsBounded(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, d := failedOver(t, class)
		w.zones[home].Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Hang} })
		began := time.Now()
		d.end()
		if took := time.Since(began); took > releaseWithin || d.err == nil {
			t.Errorf("ended after %s: %v", took, d.err)
		}
		again := w.run()
		synctest.Wait()
		if s := again.status(); s.Leader.State != "leader" {
			t.Errorf("the lock is not free: %+v", s.Leader)
		}
	})
}

func TestLockNoneLeadsAtOnce(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Leader = config.Leader{Lock: config.LockNone, IAmAlone: true}
		d := w.run()
		synctest.Wait()
		if s := d.status().Leader; s.State != "leader" || s.Until != nil {
			t.Errorf("status says %+v", s)
		}
	})
}

// Who begins to write where an earlier process may still have calls on their way
// says what waits for that: nothing where the provider will refuse them.
func TestNewLeaderSaysWhatWaits(t *testing.T) {
	for class, first := range map[memory.Class]string{
		memory.Status: "first=paused answers come in at once, and nothing is taken away for 1m0s, until 2000-01-01T00:01:00Z, for what another process may have sent",
		memory.Exact:  "first=",
	} {
		t.Run(string(class), func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w := newWorld(t, memory.Options{Class: class, Late: time.Minute})
				w.run()
				time.Sleep(settled)
				if lines := w.log.with("INFO leader"); len(lines) != 1 || !strings.HasSuffix(lines[0], first) {
					t.Errorf("got %q, want %q at the end", lines, first)
				}
			})
		})
	}
}
