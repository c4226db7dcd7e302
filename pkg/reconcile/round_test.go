package reconcile

import (
	"context"
	"slices"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// A plan that a person approved by its checksum stays approved until it is
// carried out, although what is left of it has another checksum.
func TestApprovedPlanIsCarriedOutWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, want, other := twoSets(t, memory.Status)
		third := other
		third.Name = "third.example.com."
		for _, value := range values[:2] {
			w.hand(t, memory.Put(string(third.Name), "A", time.Minute, value))
		}
		work := w.want(values[1])
		work.Inputs = want(values[1])
		again := work.Inputs[0]
		spec := *again.Spec
		spec.Key, again.Spec = third, &spec
		work.Inputs = append(work.Inputs, again)
		work.Limits.MaxChanges = 1
		if report := w.round(work); report.Err != nil || len(report.Applied) > 0 || len(report.Final.Blocked) == 0 {
			t.Fatalf("not stopped: %+v", report)
		}
		listed := w.only().write.Plan(t.Context(), work)
		work.Limits.Plan = listed.Plan.Checksum()
		report := w.round(work)
		if report.Err != nil || len(report.Applied) != 3 {
			t.Errorf("applied %v (%v)", report.Applied, report.Err)
		}
		w.mustLive(t, values[1])
		if live := w.zone.Live(other); !slices.Equal(live, values[1:2]) {
			t.Errorf("%s has %v", other, live)
		}
	})
}

// Only adds were asked for: the rest is left, said, and never waited for.
func TestOnlyAddsLeaveTheRest(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, slow(class), values[0])
		began := w.clock.Boot()
		report := w.only().round(w.want(values[1]), Orders{OnlyAdd: true})
		if report.Err != nil || report.Verified || report.Detail == "" {
			t.Errorf("got %+v", report)
		}
		if waited := w.clock.Boot() - began; waited > time.Second || waited > 0 && !class.Fenced() {
			t.Errorf("waited %s", waited) // after a claim a list has to show it
		}
		if class == memory.Whole { // there a create waits until quiet
			w.mustLive(t, values[0])
			return
		}
		w.mustLive(t, values[:2]...)
		time.Sleep(time.Minute)
		began = w.clock.Boot()
		if report := w.only().round(w.want(values...), Orders{OnlyAdd: true}); report.Err != nil || !report.Verified {
			t.Errorf("when adds are all there is: %+v", report)
		}
		if waited := w.clock.Boot() - began; waited > 0 {
			t.Errorf("waited %s for nothing", waited)
		}
	}, memory.Classes()...)
}

// Plan lists and plans and sends nothing.
func TestPlanWritesNothing(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, slow(class), values[0])
		report := w.only().write.Plan(t.Context(), w.want(values[1]))
		if report.Err != nil || !report.Look || !report.Plan.Pending() || !report.Final.Pending() {
			t.Errorf("got %+v", report)
		}
		if e := w.effects(); len(e) > 0 {
			t.Errorf("written: %v", e)
		}
		unknown := w.want(values[1])
		unknown.Zone = "example.org."
		if report := w.only().write.Plan(t.Context(), unknown); report.Err == nil {
			t.Error("planned a zone that is not there")
		}
	}, memory.Classes()...)
}

// What an open call may still do is counted, and only where it can.
func TestOpenCallsAreCountedWhereTheyCanStillHappen(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, slow(class), values[0])
		time.Sleep(11 * time.Second)
		w.fault(memory.OpAdd, memory.LostRequest)
		s := w.shimmed()
		s.list = func(ctx context.Context, next func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
			if len(s.sent()) > 0 {
				return nil, provider.Failf(provider.Permanent, "list", "", "no more")
			}
			return next(ctx)
		}
		n := w.only()
		n.write.Lead(nil, true)
		if class == memory.Whole {
			time.Sleep(11 * time.Second) // a create waits for quiet
		}
		_ = w.round(w.want(values[:2]...))
		want := 1
		if class.Fenced() {
			want = 0
		}
		if got := n.write.OpenCalls(zoneName); got != want {
			t.Errorf("%d open calls, want %d", got, want)
		}
		if n.write.OpenCalls("example.org.") != 0 {
			t.Error("open calls in a zone that is not there")
		}
	}, memory.Classes()...)
}

func TestSetsErrorIsOneLine(t *testing.T) {
	err := &setsError{[]error{provider.Failf(provider.Permanent, "a", "", "x"), provider.Failf(provider.Conflict, "b", "", "y")}}
	if err.Error() != "a: x; b: y" || provider.ClassOf(err) != provider.Permanent {
		t.Errorf("%q of class %s", err, provider.ClassOf(err))
	}
}
