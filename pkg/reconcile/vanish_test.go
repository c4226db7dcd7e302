package reconcile

import (
	"context"
	"slices"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
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
// is put back by the next round, or by looks where no work comes.
func TestAValueThatALateCallTakesIsPutBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := overtaken(t)
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[1], stranger)
	})
	bubble(t, func(t *testing.T) {
		w := overtaken(t)
		for range 2 { // the first one waits until no call is open
			if report := w.only().worker().look(t.Context()); report.Err != nil {
				t.Fatal(report.Err)
			}
		}
		w.mustLive(t, values[1], stranger)
		if left := w.only().worker().vanish; len(left.lost) > 0 {
			if w.only().worker().look(t.Context()); len(w.only().worker().vanish.lost) > 0 {
				t.Errorf("still %+v", left)
			}
		}
	})
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
