package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

// stamps lists the stamps of the zone as a witness sees them.
func (w *world) stamps(t *testing.T) []provider.Stamp {
	t.Helper()
	snapshot, err := w.zone.Adapter("witness").List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return snapshot.Stamps
}

// putStamp puts a stamp into the zone by hand.
func (w *world) putStamp(t *testing.T, holder string, age time.Duration, released bool) {
	t.Helper()
	s := provider.Stamp{Holder: holder, At: w.clock.Wall().Add(-age), Epoch: 1, Seq: 1, Nonce: fmt.Sprintf("%x%s", age, holder), Released: released}
	w.hand(t, memory.Put("_sidestep.example.com.", "TXT", time.Minute, s.String()))
}

// The first write of a process claims the zone, whoever's stamp is in it, and
// proves the fence once.
func TestClaim(t *testing.T) {
	for name, prepare := range map[string]func(w *world, t *testing.T){
		"first claim":            func(*world, *testing.T) {},
		"an old stamp":           func(w *world, t *testing.T) { w.putStamp(t, "node-2", 2*time.Hour, false) },
		"a released stamp":       func(w *world, t *testing.T) { w.putStamp(t, "node-2", time.Minute, true) },
		"a stamp of my own name": func(w *world, t *testing.T) { w.putStamp(t, "node-1", time.Minute, false) },
		"two stamps": func(w *world, t *testing.T) {
			w.putStamp(t, "node-2", 2*time.Hour, false)
			w.putStamp(t, "node-1", time.Minute, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			forClasses(t, func(t *testing.T, class memory.Class) {
				w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
				prepare(w, t)
				proofs := w.calls(memory.OpProve)
				for _, want := range []string{values[1], values[0]} {
					if report := w.round(w.want(want)); report.Err != nil {
						t.Fatal(report.Err)
					}
					w.mustLive(t, want)
				}
				stamps := w.stamps(t)
				if len(stamps) != 1 || stamps[0].Holder != "node-1" || stamps[0].Epoch != 7 {
					t.Errorf("the stamps are %v, want one of node-1 in epoch 7", stamps)
				}
				if n := len(w.only().worker().mine); n > 2 {
					t.Errorf("%d stamps are remembered, of which one can be in force and one be tried", n)
				}
				if proofs.Load() != 1 {
					t.Errorf("the fence was proved %d times", proofs.Load())
				}
				w.check(t)
			}, fencing...)
		})
	}
}

// A fresh stamp of another node, which did not let go of it, is a second
// writer. A person can say that it is not.
func TestFreshStampOfAnotherNodeIsTwoWriters(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		w.putStamp(t, "node-2", 10*time.Minute, false)
		report := w.round(w.want(values[1]))
		two, ok := errors.AsType[*TwoWritersError](report.Err)
		if !ok || two.Holder != "node-2" || w.clock.Wall().Sub(two.At).Round(time.Minute) != 10*time.Minute {
			t.Fatalf("got %v, want two writers, the other node-2", report.Err)
		}
		if !strings.Contains(report.Err.Error(), "--take-over") {
			t.Errorf("%q does not say what can be done", report.Err)
		}
		if e := w.effects(); len(e) != 0 {
			t.Errorf("written: %v", e)
		}
		if report := w.only().round(w.want(values[1]), Orders{TakeOver: true}); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[1])
	}, fencing...)
}

// In a zone that is frozen nothing is taken over, whether it is as wanted or not, and
// what was asked for is stopped by the freeze.
func TestNothingIsTakenOverFrozen(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		w.putStamp(t, "node-2", 10*time.Minute, false)
		frozen := func(wanted ...string) engine.Work {
			work := w.want(wanted...)
			work.Limits.Frozen = map[record.Key]string{{Zone: zoneName}: "everything is frozen by ann"}
			return work
		}
		report := w.only().round(frozen(values[0], values[1]), Orders{TakeOver: true})
		if report.Err != nil || report.Detail != "the zone is not taken over from node-2: everything is frozen by ann" ||
			len(report.Final.Blocked) != 1 || report.Final.Blocked[0].Guard != plan.GuardFreeze || report.TookOver != "" {
			t.Errorf("got %+v", report)
		}
		report = w.only().round(frozen(values[1]), Orders{TakeOver: true})
		if report.Err != nil || len(report.Final.Blocked) == 0 || report.TookOver != "" {
			t.Errorf("got %+v", report)
		}
		if e := w.effects(); len(e) != 0 {
			t.Errorf("written: %v", e)
		}
		if report := w.only().round(w.want(values[1]), Orders{TakeOver: true}); report.Err != nil || report.TookOver != "node-2" {
			t.Errorf("got %+v", report)
		}
	}, fencing...)
}

// Beside a stamp of a version that is not known here nothing is written, whatever a
// person allows: nobody knows what its holder may do.
func TestStampOfAnUnknownVersionIsNeverAWrite(t *testing.T) {
	for _, text := range []string{"v=2 holder=node-9 nonce=5f0c", "written by hand"} {
		forClasses(t, func(t *testing.T, class memory.Class) {
			w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
			w.hand(t, memory.Put("_sidestep.example.com.", "TXT", time.Minute, text))
			for _, takeOver := range []bool{false, true} {
				err := w.only().round(w.want(values[1]), Orders{TakeOver: takeOver}).Err
				want := fmt.Sprintf("the stamp of zone example.com. is of a version that this sidestep does not know, %q; "+
					"run the version that wrote it, or delete the TXT record _sidestep.example.com. by hand", text)
				if err == nil || err.Error() != want {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
			if e := w.effects(); len(e) != 0 {
				t.Errorf("written: %v", e)
			}
			w.hand(t, memory.Delete("_sidestep.example.com.", "TXT", text))
			if err := w.round(w.want(values[1])).Err; err != nil {
				t.Errorf("once it is gone: %v", err)
			}
			w.mustLive(t, values[1])
		}, fencing...)
	}
}

// A stamp of the future is of another clock, and as good as a fresh one: its age
// cannot be known.
func TestCase81StampOfTheFutureIsNotTakenOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		w.putStamp(t, "node-2", -time.Hour, false)
		two, ok := errors.AsType[*TwoWritersError](w.round(w.want(values[1])).Err)
		if !ok || two.Holder != "node-2" {
			t.Errorf("got %v", two)
		}
	})
}

// A stamp that was deleted by hand is claimed anew, one that another node took
// makes the holder list and look whose it is.
func TestStampThatIsGoneIsClaimedAnew(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.hand(t, memory.Delete("_sidestep.example.com.", "TXT", w.stamps(t)[0].Raw))
		if report := w.round(w.want(values[0])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[0])
		w.check(t)
	}, fencing...)
}

// FencedOut means that somebody else wrote: list, decide anew, never send the
// same again. Here the other node wrote between the list and the write.
func TestFencedOutListsAndDecidesAnew(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		other := w.join("node-2")
		if report := w.round(w.want(values...)); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.before(2, func() { // after the list
			w.zone.Between(nil)
			if report := other.round(w.want(values[2]), Orders{TakeOver: true}); report.Err != nil {
				t.Error(report.Err)
			}
		})
		report := w.round(w.want(values[0]))
		if _, two := errors.AsType[*TwoWritersError](report.Err); !two {
			t.Errorf("got %v, want two writers", report.Err)
		}
		w.mustLive(t, values[2])
		w.check(t)
	}, fencing...)
}

// A claim whose answer was lost is recognized in the list by its nonce.
func TestClaimWithoutAnswerIsRecognized(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		claims := 0
		w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
			if op == memory.OpClaim {
				claims++
				return memory.Fault{Kind: memory.LostReply}
			}
			return memory.Fault{}
		})
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[1])
		if most := 2; claims > most { // Rename makes a first claim in two calls
			t.Errorf("%d claims were sent", claims)
		}
	}, fencing...)
}

// A zone that changes under every claim ends the round instead of looping.
func TestClaimsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		n := 0
		w.zone.Between(func() {
			n++
			stamp := provider.Stamp{Holder: "node-1", Nonce: fmt.Sprint(n)}
			w.hand(t, memory.Put("_sidestep.example.com.", "TXT", time.Minute, stamp.String()))
		})
		report := w.round(w.want(values[1]))
		if report.Err == nil || !strings.Contains(report.Err.Error(), "another sidestep") {
			t.Errorf("got %v", report.Err)
		}
	})
}

// A provider that accepts what it must refuse is treated as what it is: its
// promise is gone, and take-aways wait until quiet.
func TestFenceThatDoesNotCompareIsNotBelieved(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class, Blind: true, Late: 10 * time.Second}, values[0], values[1])
		began := w.clock.Boot()
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[1])
		if waited := w.clock.Boot() - began; waited < 10*time.Second {
			t.Errorf("took away after %s", waited)
		}
		if p, found := w.only().write.Promises(zoneName); !found || p.Fenced {
			t.Errorf("still promises %+v", p)
		}
	}, fencing...)
}

// What is doubtful stays so at a provider that was found not to compare,
// although the stamp is ours.
func TestFenceThatDoesNotCompareClearsNoDoubt(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class, Blind: true, Late: 10 * time.Second}, values[0], values[1])
		if report := w.round(w.want(values[:2]...)); report.Err != nil {
			t.Fatal(report.Err)
		}
		if report := w.round(w.want(values[1])); report.Err != nil { // proves, waits, takes a out
			t.Fatal(report.Err)
		}
		if report := w.round(w.want(values[:2]...)); report.Err != nil {
			t.Fatal(report.Err)
		}
		time.Sleep(time.Minute)
		w.fault(memory.OpTakeAway, memory.Late, memory.Throttled)
		if report := w.round(w.want(values[1])); report.Err == nil {
			t.Fatal("the throttled call did not end the round")
		}
		w.zone.Faults(nil)
		began := w.clock.Boot()
		if report := w.round(w.want(values[0])); report.Err != nil { // whose open call may still take a out
			t.Fatal(report.Err)
		}
		if waited := w.clock.Boot() - began; waited < 10*time.Second {
			t.Errorf("b was taken away after %s", waited)
		}
		w.check(t)
	}, fencing...)
}

// A signal to stop lets a claim in hand end.
func TestCase96SignalLetsTheClaimInHandEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		ctx, stop := context.WithCancel(t.Context())
		w.shimmed().claimed = func(ctx context.Context) {
			stop()
			if ctx.Err() != nil {
				t.Error("the claim was cut off")
			}
		}
		if report := w.only().worker().round(ctx, w.want(values[1]), Orders{}); !errors.Is(report.Err, context.Canceled) {
			t.Errorf("got %v", report.Err)
		}
		if len(w.stamps(t)) != 1 {
			t.Error("the claim did not arrive")
		}
	})
}

// Lists that lag show the stamp from before the claim: no reason to claim
// again.
func TestClaimAtAProviderWhoseListsLag(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class, Lag: 5 * time.Second, Behind: 5 * time.Second}, values[0], values[1])
		refused := 0
		s := w.shimmed()
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			err := next(ctx, call)
			if err != nil {
				refused++
			}
			return err
		}
		for _, want := range []string{values[1], values[0]} {
			if report := w.round(w.want(want)); report.Err != nil {
				t.Fatal(report.Err)
			}
			w.mustLive(t, want)
		}
		if refused > 0 {
			t.Errorf("%d calls were refused", refused)
		}
	}, fencing...)
}

// At an orderly end a stamp of this process is replaced by one that is
// nobody's, and no other stamp is touched.
func TestReleaseReplacesOnlyOurOwnStamp(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		if err := w.only().write.Release(t.Context()); err != nil || len(w.stamps(t)) != 0 {
			t.Fatalf("nothing written, and the release left %v (%v)", w.stamps(t), err)
		}
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		if err := w.only().write.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		stamps := w.stamps(t)
		if len(stamps) != 1 || !stamps[0].Released {
			t.Fatalf("after the release: %v", stamps)
		}
		other := w.join("node-2")
		if report := other.round(w.want(values[0]), Orders{}); report.Err != nil {
			t.Fatalf("the next node: %v", report.Err)
		}
		before := w.stamps(t)[0].Raw
		if err := w.only().write.Release(t.Context()); err != nil || w.stamps(t)[0].Raw != before {
			t.Errorf("released another's stamp: %v (%v)", w.stamps(t), err)
		}
		w.check(t)
	}, fencing...)
}

// Of several zones, one that hangs keeps no other's stamp.
func TestReleaseOfOneZoneDoesNotWaitForAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		stuck := memory.NewZone("a.example.", memory.Options{Class: memory.Exact, Now: w.clock.Boot})
		n := w.only()
		w.startWith(n, Zone{Name: zoneName, Adapter: w.zone.Adapter(n.name)}, Zone{Name: "a.example.", Adapter: stuck.Adapter(n.name)})
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		n.write.workers["a.example."].mine["tried"] = 1
		stuck.Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Hang} })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := n.write.Release(ctx); err == nil || !strings.Contains(err.Error(), "a.example.") {
			t.Errorf("got %v, want the zone that hangs", err)
		}
		if stamps := w.stamps(t); !slices.ContainsFunc(stamps, func(s provider.Stamp) bool { return s.Released }) {
			t.Errorf("not released: %v", stamps)
		}
	})
}
