package drill

import (
	"context"
	"strings"
	"testing"

	"sidestep/pkg/control"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// TestRehearsalFitsInTheWritesThatAreLeft spends what guard max_writes allows to db
// and cdn, and then rehearses with db, with www, which would move cdn too, and with
// app, which moves neither.
func TestRehearsalFitsInTheWritesThatAreLeft(t *testing.T) {
	t.Parallel()
	s := newStage(t, "guard: {max_writes: 0}", "guard: {max_writes: {count: 3, window: 1h}}")
	if _, err := s.client.Override(t.Context(), control.OverrideRequest{Kind: "drain", Target: "dc1", For: "1h", Reason: "new kernel"}); err != nil {
		t.Fatal(err)
	}
	s.wait("it to be taken out of db and cdn", func() bool {
		status, err := s.client.Status(t.Context(), "")
		return err == nil && len(status.Records) == 4 && strings.Join(liveOf(status, "db"), " ") == "127.0.0.12" && strings.Join(liveOf(status, "cdn"), " ") == "127.0.0.13"
	})
	if _, err := s.client.ClearOverride(t.Context(), control.ClearRequest{Target: "dc1"}); err != nil {
		t.Fatal(err)
	}
	s.settle()
	for name, of := range map[string]string{"db.stage.test.": "db", "www.stage.test.": "cdn"} {
		for _, dry := range []bool{true, false} {
			o := s.options(record.Name(name))
			o.DryRun = dry
			wantRefusal(t, o, control.ExitGuard, "guard max_writes would stop the way back of "+of+".stage.test: "+
				"it was written 2 times in the last 1h0m0s, out and back need 2, and it allows 3; it fits from 20")
		}
	}
	s.wantNoDrain(t)
	o := s.options("app.stage.test.")
	o.DryRun = true
	if report, err := Run(t.Context(), o); err != nil || !report.Held() {
		t.Errorf("app is not moved by that: %v, %+v", err, report)
	}
}

func liveOf(status control.Status, name string) []string {
	for _, r := range status.Records {
		if r.Name == name+".stage.test." {
			return r.Live
		}
	}
	return nil
}

// TestRehearsalNeverFits has a budget that no rehearsal can do with.
func TestRehearsalNeverFits(t *testing.T) {
	r := &rehearsal{plan: Plan{Name: "www.example.com."}}
	for most, want := range map[int]string{1: "it never fits: raise guard.max_writes to 2 or more", 2: ""} {
		err := r.fits(control.Foreseen{Name: "www.example.com.", Writes: &control.Writes{Most: most, Window: "10m0s"}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", most, err)
		}
	}
	apart := control.Foreseen{Name: "www.example.com.", In: []string{"192.0.2.2"}, Waits: &control.Wait{}, Writes: &control.Writes{Most: 3}}
	if err := r.fits(apart); err == nil {
		t.Error("what comes in and what goes out are written apart, and 3 writes are taken for enough")
	}
}

// TestRehearsalIsKeptFromComingBack has a guard that stops the way back although it
// looked free, and names the command that goes on.
func TestRehearsalIsKeptFromComingBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	out := false
	o := s.options("app.stage.test.")
	stopped := []control.Blocked{{Guard: plan.GuardMaxWrites, Detail: "written 6 times, or: sidestep reconcile --override-guard max_writes"}}
	o.Daemon = altered{s.client, func(status *control.Status) {
		if out && len(status.Overrides) == 0 {
			s.setOf(status).Blocked = stopped
		}
	}}
	o.Progress = func(text string) {
		out = out || strings.HasPrefix(text, "way out")
		if strings.HasPrefix(text, "way back") {
			cancel()
		}
	}
	report, err := Run(ctx, o)
	if err != nil || report.Held() || report.Next != "sidestep reconcile --override-guard max_writes" {
		t.Errorf("%v, %+v", err, report)
	}
	s.settle()

	o = s.options("app.stage.test.")
	o.Daemon = altered{s.client, func(status *control.Status) { s.setOf(status).Blocked = stopped }}
	wantRefusal(t, o, control.ExitGuard, "guard max_writes stops app.stage.test already: written 6 times")
}
