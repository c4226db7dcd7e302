package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// records is the zone as a list of lines, without ids.
func (w *world) records() []string {
	var lines []string
	for _, r := range w.zone.Records() {
		lines = append(lines, r.String())
	}
	slices.Sort(lines)
	return lines
}

func (w *world) leave(n *node) Departure {
	return n.write.Leave(context.Background(), zoneName, []*steer.Spec{w.spec}, Orders{})
}

// operate leaves a zone as sidestep does that has steered it: one value live, the
// others paused.
func operate(t *testing.T, class memory.Class) (w *world, before []string) {
	w = newWorld(t, memory.Options{Class: class, Late: 30 * time.Second, Lag: 5 * time.Second}, values...)
	w.hand(t, memory.Put("mail.example.com.", "MX", time.Hour, "10 mx.example.net."))
	before = w.records()
	if report := w.round(w.want(values[0])); report.Err != nil {
		t.Fatal(report.Err)
	}
	w.mustLive(t, values[0])
	return w, before
}

func (w *world) mustHaveLeft(t *testing.T, d Departure, before []string) {
	t.Helper()
	if d.Err != nil || len(d.Remains) > 0 || len(d.LeftOut) > 0 || !d.Final.InSync() {
		t.Errorf("departure %+v: expected nothing left and no error", d)
	}
	if after := w.records(); !slices.Equal(after, before) {
		t.Errorf("the operator's zone was\n%s\nand is\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	w.check(t)
}

func TestLeaveGivesTheZoneBack(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w, before := operate(t, class)
		shown := w.only().write.Leaving(context.Background(), zoneName, []*steer.Spec{w.spec})
		if shown.Err != nil || len(shown.Plan.Changes()) != 2 || slices.Equal(w.records(), before) {
			t.Errorf("plan %v, error %v: expected two values to come back, and nothing written yet", shown.Plan.Lines(), shown.Err)
		}
		d := w.leave(w.only())
		w.mustHaveLeft(t, d, before)
		if len(d.Applied) != 2 {
			t.Errorf("applied %v, want two", d.Applied)
		}
		if again := w.leave(w.only()); again.Err != nil || !again.Verified || len(again.Plan.Changes())+len(again.Removed) > 0 {
			t.Errorf("again: %+v, want nothing to do", again)
		}
		if err := w.only().write.Release(context.Background()); err != nil {
			t.Error(err)
		}
		w.mustHaveLeft(t, d, before) // the end of the process leaves no stamp either
	}, memory.Classes()...)
}

// TestLeaveIsKilledAnywhere ends the process before each of its messages in turn,
// and loses the reply to each; a new one with an empty disk goes on.
func TestLeaveIsKilledAnywhere(t *testing.T) {
	killed := errors.New("killed")
	for _, kind := range []memory.Kind{memory.None, memory.LostReply, memory.LostRequest} {
		forClasses(t, func(t *testing.T, class memory.Class) {
			for last := 1; ; last++ {
				w, before := operate(t, class)
				n, sent := w.only(), 0
				w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
					if !op.Write() {
						return memory.Fault{}
					}
					if sent++; sent == last && kind != memory.None {
						n.shut(killed) // nothing more from this process
						return memory.Fault{Kind: kind}
					} else if sent == last {
						n.shut(killed)
					}
					return memory.Fault{}
				})
				d := w.leave(n)
				n.shut(nil)
				w.zone.Faults(nil)
				if sent < last {
					w.mustHaveLeft(t, d, before)
					return
				}
				if d.Err == nil && kind == memory.None {
					t.Fatalf("message %d: the killed process says that it is done", last)
				}
				if len(w.zone.Live(www)) == 0 {
					t.Fatalf("message %d: the name is empty", last)
				}
				n.notes = newMemoNotes()
				w.start(n)
				w.mustHaveLeft(t, w.leave(n), before)
				if t.Failed() {
					t.Fatalf("message %d, %s", last, kind)
				}
			}
		}, memory.Classes()...)
	}
}

// TestLeaveRemovesNoCopyInDoubt: where nothing is compared, the call of a process
// that was killed may still take a value out, and then its copy is all there is.
func TestLeaveRemovesNoCopyInDoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, _ := operate(t, memory.Append)
		n := w.only()
		if report := n.round(w.want(values...), Orders{}); report.Err != nil {
			t.Fatal(report.Err)
		}
		n.notes = newMemoNotes() // of the process before nothing is known
		w.start(n)
		copies := len(w.records())
		n.write.options.Waits = func(wait Wait) {
			n.waits = append(n.waits, wait)
			if len(w.records()) != copies {
				t.Error("a copy went before the wait")
			}
		}
		began := w.clock.Boot()
		d := w.leave(n)
		if waited := w.clock.Boot() - began; d.Err != nil || len(d.Removed) == 0 || waited < 35*time.Second || len(n.waits) == 0 {
			t.Errorf("%v: removed %v after %s and %d waits; an open call may take 35s", d.Err, d.Removed, waited, len(n.waits))
		}
	})
}

func TestLeaveGivesWayToTwoWriters(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w, _ := operate(t, class)
		other := w.join("node-2")
		var two *TwoWritersError
		if d := w.leave(other); !errors.As(d.Err, &two) {
			t.Errorf("expected two writers, got %v", d.Err)
		}
		if d := other.write.Leave(context.Background(), zoneName, []*steer.Spec{w.spec}, Orders{TakeOver: true}); d.Err != nil || len(d.Remains) > 0 {
			t.Errorf("with the order to take over: %+v", d)
		}
	}, memory.Rename, memory.Exact, memory.Prerequisites)
}

// TestLeaveResumesNothingThatTheConfigDoesNotName: what the config does not name stays out,
// whatever a parked copy says.
func TestLeaveResumesNothingThatTheConfigDoesNotName(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w, _ := operate(t, class)
		w.spec.Answers = w.spec.Answers[:2]
		d := w.leave(w.only())
		w.mustLive(t, values[0], values[1])
		if d.Err != nil || len(d.Applied) != 1 || len(d.LeftOut) != 1 || d.LeftOut[0].Value != values[2] || !strings.Contains(d.LeftOut[0].Why, "put it into the config") {
			t.Errorf("%+v: expected %s to be left out and the way on to be named", d, values[2])
		}
	}, memory.Classes()...)
}

func TestLeaveKeepsTheLastMemory(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		cname := record.Key{Zone: zoneName, Name: "alias.example.com.", Type: record.CNAME}
		w := newWorldOf(t, memory.Options{Class: class}, &steer.Spec{Key: cname, Policy: steer.All, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep}, []string{"a.example.net.", "b.example.net."}, []string{"a.example.net."})
		if report := w.round(w.want("b.example.net.")); report.Err != nil {
			t.Fatal(report.Err)
		}
		d := w.leave(w.only())
		w.mustLive(t, "b.example.net.")
		if d.Err != nil || len(d.Remains) > 0 || len(d.LeftOut) != 1 || d.LeftOut[0].Value != "a.example.net." {
			t.Errorf("%+v: expected the value that was switched away from to be left out", d)
		}
		if text := fmt.Sprint(w.records()); strings.Contains(text, "_sidestep.example.com.") || !strings.Contains(text, "value=a.example.net.") {
			t.Errorf("expected the copy without a stamp, got %s", text)
		}
	}, memory.Rename, memory.Exact, memory.Prerequisites, memory.Whole, memory.Status)
}
