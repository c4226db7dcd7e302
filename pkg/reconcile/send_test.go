package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/lease"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// A gate that is shut before a claim, an add or a take-away stops the call, and
// the round says so with the gate's own words.
func TestGateStopsEveryCall(t *testing.T) {
	errGate := errors.New("the lease ends in 3s")
	forClasses(t, func(t *testing.T, class memory.Class) {
		for open := range 12 {
			w := newWorld(t, slow(class), values[0])
			n := w.only()
			asked := 0
			n.write.options.Leader = gateFunc(func(call time.Duration) error {
				if call != w.zone.Adapter("x").Promises().Call {
					t.Errorf("asked for %s", call)
				}
				if asked++; asked > open {
					return errGate
				}
				return nil
			})
			report := w.round(w.want(values[1]))
			if report.Err == nil {
				if open < 3 {
					t.Errorf("with %d openings: no error", open)
				}
				w.mustLive(t, values[1])
				continue
			}
			if !errors.Is(report.Err, ErrNotLeader) || !errors.Is(report.Err, errGate) {
				t.Errorf("with %d openings: %v", open, report.Err)
			}
			if len(n.notes.open) > 0 {
				t.Errorf("with %d openings: a note of a call that was never sent is open", open)
			}
			for _, write := range n.wrote {
				if write.Err != nil {
					t.Errorf("with %d openings: told of a write that was never sent: %v", open, write)
				}
			}
			if open == 0 && len(w.effects()) > 0 {
				t.Errorf("written with the gate shut: %v", w.effects())
			}
			w.check(t)
		}
	}, memory.Classes()...)
}

type gateFunc func(time.Duration) error

func (f gateFunc) Gate(call time.Duration) error { return f(call) }
func (gateFunc) Term() lease.Term                { return lease.Term{Epoch: 1} }

// TestCase79LeaseLostBetweenDecisionAndCall loses the lease after the call was
// decided: the gate is asked by the adapter, last, and nothing is sent.
func TestCase79LeaseLostBetweenDecisionAndCall(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		if report := w.round(w.want(values[:2]...)); report.Err != nil {
			t.Fatal(report.Err)
		}
		before := len(w.effects())
		s := w.shimmed()
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			w.only().shut(errors.New("lost a moment ago"))
			return next(ctx, call)
		}
		report := w.round(w.want(values[1]))
		if !errors.Is(report.Err, ErrNotLeader) {
			t.Errorf("got %v", report.Err)
		}
		if n := len(w.effects()) - before; len(s.sent()) != 1 || n > 2 { // a claim and a proof may come before
			t.Errorf("%d calls left the reconciler, %d effects", len(s.sent()), n)
		}
		w.mustLive(t, values[0], values[1])
	}, memory.Classes()...)
}

// A call in hand has a deadline of its own and a signal to stop does not end it.
func TestCase96SignalLetsTheCallInHandEnd(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class, Call: 10 * time.Second}, values[0], values[1])
		s := w.shimmed()
		ctx, stop := context.WithCancel(t.Context())
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			deadline, ok := ctx.Deadline()
			if left := time.Until(deadline); !ok || left != 10*time.Second {
				t.Errorf("the call may take %s", left)
			}
			stop()
			time.Sleep(2 * time.Second) // the answer is slow
			if ctx.Err() != nil {
				t.Error("the call in hand was cut off")
			}
			return next(ctx, call)
		}
		report := w.only().worker().round(ctx, w.want(values[1]), Orders{})
		if !errors.Is(report.Err, context.Canceled) {
			t.Errorf("got %v, want that it was stopped", report.Err)
		}
		if len(report.Applied) == 0 || len(s.sent()) != 1 {
			t.Errorf("applied %v in %d calls", report.Applied, len(s.sent()))
		}
		w.check(t)
	}, memory.Classes()...)
}

// A conflict means that the list is out of date: list, and derive the call anew.
// What fails once this process is to end is told as its end, whatever the error
// says: an API answers oddly to a connection that is cut.
func TestFailureOfOurOwnEndIsNoWordAboutTheZone(t *testing.T) {
	for op, fault := range map[memory.Op]memory.Kind{memory.OpList: memory.Refused, memory.OpAdd: memory.Throttled} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, memory.Options{Class: memory.Exact}, values[0])
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			w.zone.Faults(func(o memory.Op, _ int) memory.Fault {
				if o != op {
					return memory.Fault{}
				}
				stop()
				return memory.Fault{Kind: fault}
			})
			work := w.want(values[0], values[1])
			report := w.only().worker().serve(ctx, job{work: &work})
			if !errors.Is(report.Err, context.Canceled) || len(w.only().told) != 1 || !errors.Is(w.only().told[0].Err, report.Err) {
				t.Errorf("%s: %v, told %+v", op, report.Err, w.only().told)
			}
			if _, is := errors.AsType[*provider.Error](report.Err); !is {
				t.Errorf("%s: the cause is lost: %v", op, report.Err)
			}
		})
	}
}

func TestConflictListsAgain(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		if report := w.round(w.want(values[:2]...)); report.Err != nil {
			t.Fatal(report.Err)
		}
		s := w.shimmed()
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			if len(s.sent()) == 1 { // the survivor gets another TTL in the gap
				w.hand(t, memory.Retime("www.example.com.", "A", values[1], 5*time.Minute))
			}
			return next(ctx, call)
		}
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[1])
		w.check(t)
	}, memory.Exact, memory.Prerequisites)
}

// A busy zone never holds its serial still. After three refusals in a row the
// serial is not compared any more.
func TestBusySerialIsLetGoAfterThreeRefusals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Prerequisites}, values[0], values[1])
		if report := w.round(w.want(values[:2]...)); report.Err != nil {
			t.Fatal(report.Err)
		}
		s := w.shimmed()
		n := 0
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			n++
			w.hand(t, memory.Put("busy.example.com.", "A", time.Minute, fmt.Sprintf("198.51.100.%d", n)))
			return next(ctx, call)
		}
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[1])
		var loose []bool
		for _, call := range s.sent() {
			loose = append(loose, call.Loose)
		}
		if want := []bool{false, false, false, true}; !slices.Equal(loose, want) {
			t.Errorf("the calls did without the serial: %v, want %v", loose, want)
		}
	})
}

// twoSets is a world with a second record set, which comes before www.
func twoSets(t *testing.T, class memory.Class) (w *world, want func(string) []steer.Input, other record.Key) {
	t.Helper()
	w = newWorld(t, memory.Options{Class: class}, values[0], values[1])
	other = record.Key{Zone: zoneName, Name: "api.example.com.", Type: record.A}
	for _, value := range values[:2] {
		w.hand(t, memory.Put("api.example.com.", "A", time.Minute, value))
	}
	return w, func(value string) []steer.Input {
		work := w.want(value)
		first := work.Inputs[0]
		spec := *first.Spec
		spec.Key = other
		first.Spec = &spec
		return []steer.Input{first, work.Inputs[0]}
	}, other
}

// What a provider refuses for one record set keeps no other from being written:
// neither what it never takes, nor what stays refused.
func TestOneBadSetStopsNoOther(t *testing.T) {
	for _, refusal := range []provider.Class{provider.Permanent, provider.Conflict} {
		t.Run(refusal.String(), func(t *testing.T) {
			forClasses(t, func(t *testing.T, class memory.Class) {
				w, want, other := twoSets(t, class)
				s := w.shimmed()
				s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
					if call.Key == other {
						return provider.Failf(refusal, "write", "1004", "the record is locked")
					}
					return next(ctx, call)
				}
				work := w.want(values[1])
				work.Inputs = want(values[1])
				report := w.round(work)
				if report.Err == nil || !strings.Contains(report.Err.Error(), "locked") || provider.ClassOf(report.Err) != refusal {
					t.Errorf("got %v", report.Err)
				}
				w.mustLive(t, values[1])
				if live := w.zone.Live(other); len(live) != 2 {
					t.Errorf("the other set has %v", live)
				}
				if report.Verified {
					t.Error("verified, although a set is not as wanted")
				}
			}, memory.Classes()...)
		})
	}
}

// Trouble of the API as a whole ends the round: going on would only add to it.
func TestTroubleOfTheAPIEndsTheRound(t *testing.T) {
	for _, class := range []provider.Class{provider.Retryable, provider.Ambiguous, provider.FencedOut} {
		t.Run(class.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, want, other := twoSets(t, memory.Exact)
				s := w.shimmed()
				s.write = func(context.Context, provider.Call, func(context.Context, provider.Call) error) error {
					return provider.Failf(class, "write", "503", "try later")
				}
				work := w.want(values[1])
				work.Inputs = want(values[1])
				if report := w.round(work); provider.ClassOf(report.Err) != class {
					t.Errorf("got %v", report.Err)
				}
				if n := len(s.sent()); n > unclearAfter+1 {
					t.Errorf("%d calls were sent into an API in trouble", n)
				}
				for _, call := range s.sent() {
					if call.Key != other {
						t.Errorf("went on with %s", call.Key)
					}
				}
			})
		})
	}
}

// A call whose outcome nobody knows is never sent again from memory: the list
// decides, and here it shows after a while that the call happened. Where the
// provider compares and swaps, nothing else waits for that.
func TestUnknownOutcomeIsReadFromTheList(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		options := slow(class)
		if !class.Fenced() {
			options.Behind = options.Lag
		}
		w := newWorld(t, options, values[0], values[1])
		if report := w.round(w.want(values[0])); report.Err != nil { // b is paused
			t.Fatal(report.Err)
		}
		adds := 0
		w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
			if op != memory.OpAdd && op != memory.OpTakeAway {
				return memory.Fault{}
			}
			if adds++; adds == 1 {
				return memory.Fault{Kind: memory.LostReply}
			}
			return memory.Fault{}
		})
		began := w.clock.Boot()
		if report := w.round(w.want(values[:2]...)); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[:2]...)
		if adds != 1 {
			t.Errorf("added %d times", adds)
		}
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		if waited := w.clock.Boot() - began; class.Fenced() != (waited < 5*time.Second) {
			t.Errorf("the take-away beside it came after %s", waited)
		}
		w.check(t)
	}, memory.Classes()...)
}

// What was refused a few times and then went through begins anew: only refusals
// in a row give a record set up.
func TestRefusalsAreCountedInARow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status}, values...)
		s := w.shimmed()
		n := 0
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			if n++; n%(giveUpAfter+1) != 0 {
				return provider.Failf(provider.Conflict, "write", "", "somebody was faster")
			}
			return next(ctx, call)
		}
		if report := w.round(w.want(values[2])); report.Err != nil {
			t.Error(report.Err)
		}
		w.mustLive(t, values[2])
	})
}

// Of several record sets that wait, the first that may be written is.
func TestShortestWaitIsWaited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, want, other := twoSets(t, memory.Status)
		n := w.only()
		long := plan.Change{Change: record.Change{Action: record.Pause, Key: other, Value: values[1]}}
		short := long
		short.Key = www
		d := newDoubts(w.clock.Boot(), provider.Promises{Late: 10 * time.Second})
		d.begin(w.clock.Boot(), true, 0)
		d.ambiguous(w.clock.Boot()-7*time.Second, []plan.Change{short})
		d.ambiguous(w.clock.Boot(), []plan.Change{long})
		n.worker().doubt = d
		work := w.want(values[1])
		work.Inputs = want(values[1])
		began := w.clock.Boot()
		if report := w.round(work); report.Err != nil {
			t.Fatal(report.Err)
		}
		history := w.zone.History()
		first := history[len(history)-2]
		if first.Cause.Call.Key != www || first.At-began != 3*time.Second {
			t.Errorf("first %s after %s", first.Cause, first.At-began)
		}
	})
}

// A provider that accepts everything and shows nothing of it is found out.
func TestProviderThatNeverShowsWhatItAcceptedEndsTheRound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status}, values[0])
		s := w.shimmed()
		s.write = func(context.Context, provider.Call, func(context.Context, provider.Call) error) error { return nil }
		report := w.round(w.want(values[1]))
		if report.Err == nil || !strings.Contains(report.Err.Error(), "does not show") {
			t.Errorf("got %v", report.Err)
		}
		if n := len(s.sent()); n != acceptedAfter {
			t.Errorf("%d calls", n)
		}
	})
}

// A panic of an adapter is an error of the call that it happened in: unknown of
// a write, to be tried again of a list.
func TestPanicOfAnAdapterIsAnError(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, slow(class), values[0])
		s := w.shimmed()
		s.list = func(context.Context, func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
			panic("index out of range")
		}
		if report := w.round(w.want(values[1])); provider.ClassOf(report.Err) != provider.Retryable || !strings.Contains(report.Err.Error(), "panicked") {
			t.Errorf("a list that panics: %v", report.Err)
		}
		s.list = nil
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			if len(s.sent()) == 1 {
				_ = next(ctx, call)
				panic("after it was sent")
			}
			return next(ctx, call)
		}
		if report := w.round(w.want(values[:2]...)); report.Err != nil {
			t.Errorf("a write that panics once: %v", report.Err)
		}
		if n := w.only(); len(n.wrote) == 0 || provider.ClassOf(n.wrote[0].Err) != provider.Ambiguous {
			t.Errorf("told of %v", n.wrote)
		}
		w.mustLive(t, values[:2]...)
	}, memory.Classes()...)
}
