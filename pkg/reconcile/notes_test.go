package reconcile

import (
	"context"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// unfenced are the classes where only time can tell what became of a call.
var unfenced = []memory.Class{memory.Status, memory.Whole, memory.Append}

// fencing are those that compare and swap.
var fencing = []memory.Class{memory.Rename, memory.Exact, memory.Prerequisites}

// slow is a zone whose calls may be late by ten seconds and whose lists by one.
func slow(class memory.Class) memory.Options {
	return memory.Options{Class: class, Late: 10 * time.Second, Lag: time.Second}
}

// A note is durable before a call goes out, and cleared after its definite
// answer.
func TestNoteIsStoredBeforeACallAndClearedAfter(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, slow(class), values[0])
		s := w.shimmed()
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			if open := len(w.only().notes.open); open != 1 {
				t.Errorf("%d notes are open while %v and %v are sent", open, call.Add, call.Away)
			}
			return next(ctx, call)
		}
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[1])
		if n := w.only().notes; len(n.open) != 0 || n.opened == 0 {
			t.Errorf("%d notes were written, %d are open", n.opened, len(n.open))
		}
	}, unfenced...)
}

// After an unknown outcome the note stays, so that the next process waits.
func TestNoteStaysAfterAnUnknownOutcome(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, slow(class), values[0], values[1])
		w.only().notes.trusted = true
		w.start(w.only())
		w.fault(memory.OpTakeAway, memory.Late)
		s := w.shimmed()
		s.list = func(ctx context.Context, next func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
			if len(s.sent()) > 0 {
				return nil, provider.Failf(provider.Permanent, "list", "", "killed here")
			}
			return next(ctx)
		}
		if report := w.round(w.want(values[1])); report.Err == nil {
			t.Fatal("the round ended well")
		}
		if len(w.only().notes.open) != 1 {
			t.Fatalf("%d notes are open, want 1", len(w.only().notes.open))
		}
		w.start(w.only())
		began := w.clock.Boot()
		if report := w.round(w.want(values[0])); report.Err != nil { // the other way round: b out beside a
			t.Fatal(report.Err)
		}
		if waited := w.clock.Boot() - began; waited < 11*time.Second {
			t.Errorf("took away after %s, while the call before could still take its survivor", waited)
		}
		w.mustLive(t, values[0])
		w.check(t)
	}, unfenced...)
}

// killAfterWrite lets no list come after the first write, as in a process that
// was killed there.
func killAfterWrite(w *world) {
	s := w.shimmed()
	s.list = func(ctx context.Context, next func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
		if len(s.sent()) > 0 {
			return nil, provider.Failf(provider.Permanent, "list", "", "killed here")
		}
		return next(ctx)
	}
}

// An add of a process that was killed may come late. It must not write over what
// the next process created meanwhile.
func TestLateAddOfAKilledProcessLosesNothing(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, slow(class), values[0])
		w.only().notes.trusted = true
		w.start(w.only())
		w.fault(memory.OpAdd, memory.Late)
		killAfterWrite(w)
		if report := w.round(w.want(values[0], values[1])); report.Err == nil {
			t.Fatal("the round ended well")
		}
		w.fault(memory.OpAdd)
		w.start(w.only())
		began := w.clock.Boot()
		time.AfterFunc(9*time.Second, func() { _ = w.zone.Deliver(0) })
		if report := w.round(w.want(values[0], values[2])); report.Err != nil {
			t.Fatal(report.Err)
		}
		if waited := w.clock.Boot() - began; waited < 11*time.Second {
			t.Errorf("created after %s, while the call before could still write over it", waited)
		}
		w.mustLive(t, values[0], values[2])
		w.check(t)
	}, unfenced...)
}

// What a process created just before it was killed is not created again by the
// next one, which cannot see it yet.
func TestCreateBeforeAKillIsNotDoubled(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		for _, kind := range []memory.Kind{memory.None, memory.LostReply} {
			o := slow(class)
			o.Lag, o.Behind = 5*time.Second, 4*time.Second
			w := newWorld(t, o, values[0])
			w.only().notes.trusted = true
			w.start(w.only())
			w.fault(memory.OpAdd, kind)
			killAfterWrite(w)
			if report := w.round(w.want(values[0], values[1])); report.Err == nil {
				t.Fatal("the round ended well")
			}
			w.start(w.only())
			if report := w.round(w.want(values[0], values[1])); report.Err != nil {
				t.Fatal(report.Err)
			}
			w.mustLive(t, values[0], values[1])
			w.check(t)
		}
	}, unfenced...)
}

// With notes that can be trusted a new process takes away as soon as lists show
// what the one before did.
func TestTrustedNotesSpareTheWait(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		for _, trusted := range []bool{true, false} {
			w := newWorld(t, slow(class), values[0], values[1])
			w.only().notes.trusted = trusted
			w.start(w.only())
			began := w.clock.Boot()
			if report := w.round(w.want(values[1])); report.Err != nil {
				t.Fatal(report.Err)
			}
			waited := w.clock.Boot() - began
			if quick := waited < 11*time.Second; quick != trusted {
				t.Errorf("trusted %v: took away after %s", trusted, waited)
			}
			w.mustLive(t, values[1])
		}
	}, unfenced...)
}

// Where the provider compares and swaps, no note is needed and none is written.
func TestNoNotesWhereFenced(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class, Late: 10 * time.Second}, values[0], values[1])
		began := w.clock.Boot()
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		if n := w.only().notes.opened; n != 0 {
			t.Errorf("%d notes were written", n)
		}
		if waited := w.clock.Boot() - began; waited != 0 {
			t.Errorf("waited %s: an accepted claim is quiet at once", waited)
		}
	}, fencing...)
}

// A disk that is full stops no failover; it only makes the next start slower.
func TestCase31NoteThatCannotBeStoredStopsNothing(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, slow(class), values[0], values[1])
		w.only().notes.trusted, w.only().notes.full = true, true
		w.start(w.only())
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[1])
		if open := len(w.only().notes.open); open != 0 {
			t.Errorf("%d notes of definite calls stay open in memory", open)
		}
	}, unfenced...)
}
