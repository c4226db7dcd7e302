package daemon

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/provider/memory"
)

// planned is what plan says of the zone, without a daemon.
func (w *world) planned() control.ZonePlan {
	w.Helper()
	d, progress, _ := w.once(false)
	answer, err := d.Once(w.Context(), control.PlanRequest{}, progress)
	if err != nil {
		w.Fatal(err)
	}
	return answer.Zones[0]
}

// The stamp is shown before it is written: with the first change, and where it is the
// lease in any case. It is no change, and once it is this node's no news.
func TestPlanShowsTheStampBeforeItIsWritten(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		if z := w.planned(); !z.InSync || z.Stamp != nil {
			t.Errorf("nothing is to be written: %+v", z.Stamp)
		}
		w.site.fail(a)
		z := w.planned()
		if s := z.Stamp; s == nil || s.Action != "create" || s.Name != "_sidestep.example.com." || s.From != "" || len(z.Changes) != 2 {
			t.Errorf("the first change: %+v", s)
		}
		d := w.run()
		time.Sleep(settled)
		w.mustLive(b)
		if z := w.planned(); z.Stamp != nil {
			t.Errorf("the stamp is this node's: %+v", z.Stamp)
		}
		d.end() // which releases it
		w.site.heal(a)
		w.site.fail(b)
		if s := w.planned().Stamp; s == nil || s.Action != "take-over" || s.From != "mon-1" || !strings.Contains(s.Reason, "released") {
			t.Errorf("one that was let go of: %+v", s)
		}
		if err := w.zones[home].EditByHand(memory.Put("_sidestep.example.com.", "TXT", time.Minute, "v=9 lord=mon-7")); err != nil {
			t.Fatal(err)
		}
		if s := w.planned().Stamp; s != nil {
			t.Errorf("nobody writes beside a stamp of another version: %+v", s)
		}
	})
}

// A stamp of another version keeps everybody from writing, and is told before there is
// something to write.
func TestStampOfAnotherVersionIsTold(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		strange := memory.Put("_sidestep.example.com.", "TXT", time.Minute, "v=9 lord=mon-7")
		if err := w.zones[home].EditByHand(strange); err != nil {
			t.Fatal(err)
		}
		d := w.run()
		for range 2 {
			time.Sleep(settled)
			if got := d.status().Zones[0].Error; !strings.Contains(got, `is of a version that this sidestep does not know, "v=9 lord=mon-7"; run the version that wrote it`) {
				t.Errorf("status says %q", got)
			}
			w.site.fail(a)
		}
		if w.touched() {
			t.Error("written")
		}
		if err := w.zones[home].EditByHand(memory.Delete("_sidestep.example.com.", "TXT", "v=9 lord=mon-7")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Minute)
		w.mustLive(b)
		if got := d.status().Zones[0].Error; got != "" {
			t.Errorf("afterwards status says %q", got)
		}
	})
}

func TestPlanShowsTheStampThatIsToBeTheLease(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, v := pair(t)
		if z := w.planned(); !z.InSync || z.Stamp == nil || !strings.Contains(z.Stamp.Reason, "who leads") {
			t.Errorf("in sync %v, %+v", z.InSync, z.Stamp)
		}
		w.run()
		time.Sleep(settled)
		if s := v.planned().Stamp; s != nil {
			t.Errorf("the stamp of a node that leads: %+v", s)
		}
	})
}

// Two hosts by mistake, and nothing to write: each that sees the other's stamp says so
// in status, plan and log, until a person takes the zone over or an hour has passed.
func TestTwoWritersAreToldInAZoneThatIsInSync(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		first := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)
		other := *w
		cfg := *w.config
		cfg.Node.Name, cfg.State.Dir, cfg.Leader = "mon-2", filepath.Join(memoryDir(t), "state"), config.Leader{Lock: config.LockFile}
		other.config, other.log = &cfg, &logBook{}
		second := other.run()
		time.Sleep(settled)
		if s := second.status().Leader; s.State != "two-writers" || s.Holder != "mon-1" || !strings.Contains(s.Detail, "--take-over") {
			t.Errorf("the second says %+v", s)
		}
		answer, err := second.Plan(t.Context(), control.PlanRequest{})
		if z := answer.Zones[0]; err != nil || !z.InSync || z.Stamp != nil || !strings.Contains(z.Rival, "two writers: node mon-1") {
			t.Errorf("plan: %+v (%v)", z, err)
		}
		for _, request := range []control.OverrideRequest{
			{Kind: "drain", Target: a, For: "1h", Reason: "new kernel", DryRun: true},
			{Kind: "drain", Target: a, For: "1h", Reason: "new kernel"},
			{Kind: "freeze", Target: "all", For: "1h", Reason: "audit"},
		} {
			said, err := second.Override(t.Context(), request, "ann")
			if err != nil || said.Exit != control.ExitNotLeader || !strings.Contains(said.Noted, "nothing is written by this node: zone "+string(home)) {
				t.Errorf("%s at one of two writers: %+v (%v)", request.Kind, said, err)
			}
			for _, r := range said.Records {
				if r.At != nil || r.Noted == "" {
					t.Errorf("%s at one of two writers foresees %+v", request.Kind, r)
				}
			}
		}
		for _, target := range []string{"all", a} {
			if said, err := second.ClearOverride(t.Context(), control.ClearRequest{Target: target}, "ann"); err != nil || said.Exit != control.ExitNotLeader || said.Noted == "" {
				t.Errorf("cleared at one of two writers: %+v (%v)", said, err)
			}
		}
		if said, err := second.ClearOverride(t.Context(), control.ClearRequest{Target: a}, "ann"); err != nil || said.Exit != control.ExitDone || said.Noted != "" {
			t.Errorf("cleared again: %+v (%v)", said, err)
		}
		time.Sleep(20 * time.Minute) // and lists in between
		if n := len(other.log.with("ERROR two writers")); n != 1 {
			t.Errorf("%d lines tell of it", n)
		}
		answer, err = second.Reconcile(t.Context(), control.PlanRequest{TakeOver: true})
		if z := answer.Zones[0]; err != nil || z.Exit != control.ExitDone || z.TookOver != "mon-1" || z.Rival != "" {
			t.Errorf("reconcile --take-over: %+v (%v)", z, err)
		}
		if s := second.status().Leader; s.State != "leader" {
			t.Errorf("afterwards the second says %+v", s)
		}
		synctest.Wait()
		if n := len(other.log.with("INFO no second writer any more")); n != 1 {
			t.Errorf("%d lines tell of its end", n)
		}
		time.Sleep(6 * time.Minute)
		if s := first.status().Leader; s.State != "two-writers" || s.Holder != "mon-2" {
			t.Errorf("the first says %+v", s)
		}
		second.end()
		time.Sleep(6 * time.Minute)
		if s := first.status().Leader; s.State != "leader" {
			t.Errorf("once the second let go, the first says %+v", s)
		}
	})
}
