package reconcile

import (
	"context"
	"slices"
	"testing"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

const stranger = "198.51.100.9"

// overtaken is a zone in which a pause gets no answer, somebody puts a value in,
// the pause is sent again and accepted, and the first one comes late.
func overtaken(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, slow(memory.Whole), values[0], values[1])
	s := w.shimmed()
	s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
		if len(s.sent()) > 1 {
			return next(ctx, call)
		}
		w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
			if op.Write() {
				return memory.Fault{Kind: memory.Late}
			}
			return memory.Fault{}
		})
		err := next(ctx, call)
		w.zone.Faults(nil)
		w.hand(t, memory.Put("www.example.com.", "A", time.Minute, stranger))
		time.Sleep(2 * time.Second)
		return err
	}
	if report := w.round(w.want(values[1])); report.Err != nil {
		t.Fatal(report.Err)
	}
	w.mustLive(t, values[1], stranger)
	if err := w.zone.Deliver(0); err != nil {
		t.Fatal(err)
	}
	w.mustLive(t, values[1])
	return w
}

// A value that somebody put in goes with a late call which did not know it, and
// is put back by the next round, which tells of that write as of any other.
func TestAValueThatALateCallTakesIsPutBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := overtaken(t)
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[1], stranger)
		last := w.only().wrote[len(w.only().wrote)-1]
		if last.Err != nil || len(last.Changes) != 1 || last.Changes[0].Action != record.Create || last.Changes[0].Value != stranger || last.Changes[0].Reason == "" {
			t.Errorf("the last write told of is %+v", last)
		}
		if left := w.only().worker().vanish; len(left.lost) > 0 {
			t.Errorf("still %+v", left)
		}
	})
}

// A look writes nothing: what it tells of the zone lets whoever plans with it
// plan to put the value back. That is what plan, and the engine, do.
func TestALookOnlyTellsOfAValueThatALateCallTook(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := overtaken(t)
		sent := len(w.only().wrote)
		var seen *plan.Zone
		for range 3 {
			report := w.only().worker().look(t.Context())
			if report.Err != nil {
				t.Fatal(report.Err)
			}
			seen = report.Seen
			time.Sleep(time.Minute)
		}
		w.mustLive(t, values[1])
		if n := len(w.only().wrote); n != sent {
			t.Errorf("looks wrote %+v", w.only().wrote[sent:])
		}
		asked := w.only().write.Plan(t.Context(), w.want(values[1]))
		for _, p := range []plan.Plan{w.want(values[1]).Plan(*seen), asked.Final} {
			if changes := p.Changes(); !p.Pending() || len(changes) != 1 || changes[0].Value != stranger {
				t.Errorf("planned: %+v", p)
			}
		}
	})
}

// Every guard holds what would be put back, and says so.
func TestGuardsHoldAValueThatALateCallTook(t *testing.T) {
	for guard, limit := range map[string]func(*engine.Work){
		plan.GuardFreeze: func(work *engine.Work) {
			work.Limits.Frozen = map[record.Key]string{{Zone: zoneName}: "frozen by root"}
		},
		plan.GuardCanary: func(work *engine.Work) { work.Limits.Blind = "this node sees nothing" },
		plan.GuardMaxWrites: func(work *engine.Work) {
			work.Limits.MaxWrites, work.Limits.Now = plan.Writes{Count: 1, Window: time.Hour}, time.Hour
			work.Limits.Written = map[record.Key][]time.Duration{www: {time.Hour}}
		},
	} {
		t.Run(guard, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := overtaken(t)
				sent := len(w.only().wrote)
				work := w.want(values[1])
				limit(&work)
				report := w.round(work)
				if n := len(w.only().wrote); n != sent {
					t.Errorf("written: %+v", w.only().wrote[sent:])
				}
				w.mustLive(t, values[1])
				if b := report.Final.Blocked; len(b) != 1 || b[0].Guard != guard || len(report.Plan.Changes()) != 1 {
					t.Errorf("blocked %+v of %+v (%v)", b, report.Plan.Changes(), report.Err)
				}
			})
		})
	}
}

// Nobody's hand is undone: a value that is deleted while no call is open that
// could have taken it, or that the open call knew, stays away.
func TestAValueThatAPersonDeletesStaysAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, slow(memory.Whole), values[0], values[1], stranger)
		s := w.shimmed()
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			if len(s.sent()) > 1 {
				return next(ctx, call)
			}
			w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
				if op.Write() {
					return memory.Fault{Kind: memory.LostRequest}
				}
				return memory.Fault{}
			})
			err := next(ctx, call)
			w.zone.Faults(nil)
			return err
		}
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.hand(t, memory.Delete("www.example.com.", "A", stranger))
		for range 3 {
			time.Sleep(2 * time.Second)
			if report := w.round(w.want(values[1])); report.Err != nil {
				t.Fatal(report.Err)
			}
		}
		if live := w.zone.Live(www); slices.Contains(live, stranger) {
			t.Errorf("it is back: %v", live)
		}
	})
}
