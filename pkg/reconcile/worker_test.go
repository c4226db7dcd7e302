package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

// runs starts the first node's workers, and stops them when the test ends.
func (w *world) runs(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.only().write.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	synctest.Wait()
}

// do asks for work beside the test and returns where its report will come.
func (n *node) do(ctx context.Context, work engine.Work) <-chan Report {
	got := make(chan Report, 1)
	go func() { got <- n.write.Do(ctx, work, Orders{}) }()
	synctest.Wait()
	return got
}

// A list that fails is tried three times, then the work is tried again after a
// pause that grows to the longest and begins anew after a success.
func TestPausesGrowWhileItFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status}, values[0], values[1])
		s := w.shimmed()
		at := make(chan time.Duration, 1000)
		var fails atomic.Bool
		fails.Store(true)
		s.list = func(ctx context.Context, next func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
			if fails.Load() {
				at <- w.clock.Boot()
				return nil, provider.Failf(provider.Ambiguous, "list", "500", "an odd day")
			}
			return next(ctx)
		}
		w.runs(t)
		w.only().write.Submit(w.want(values[1]))
		time.Sleep(20 * time.Second)
		last, tries := <-at, len(at)
		if tries < 10 {
			t.Fatalf("tried %d times in 20 s", tries)
		}
		for i := range tries {
			next := <-at
			most := min(100*time.Millisecond<<i, time.Second)
			if pause := next - last; pause > most || pause < most/2 {
				t.Errorf("pause %d was %s, want %s at most and half of it at least", i, pause, most)
			}
			last = next
		}
		fails.Store(false)
		time.Sleep(time.Second)
		w.mustLive(t, values[1])
		fails.Store(true)
		w.only().write.Look(zoneName)
		time.Sleep(300 * time.Millisecond)
		if first, second := <-at, <-at; second-first > 100*time.Millisecond {
			t.Errorf("after a success the first pause was %s", second-first)
		}
	})
}

// Where only a person can help, the longest pause comes at once; and a provider
// that says when to come back is not asked before.
func TestPausesObeyTheError(t *testing.T) {
	for name, row := range map[string]struct {
		err   error
		least time.Duration
	}{
		"permanent":         {provider.Failf(provider.Permanent, "list", "403", "no"), 500 * time.Millisecond},
		"comes with a time": {&provider.Error{Class: provider.Ambiguous, Op: "list", After: 7 * time.Second}, 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, memory.Options{Class: memory.Status}, values[0])
				s := w.shimmed()
				at := make(chan time.Duration, 100)
				s.list = func(context.Context, func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
					at <- w.clock.Boot()
					return nil, row.err
				}
				w.runs(t)
				w.only().write.Look(zoneName)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if first, second := <-at, <-at; second-first < row.least {
					t.Errorf("tried again after %s, want %s at least", second-first, row.least)
				}
			})
		})
	}
}

// Newer work takes the place of what waits, and does not wait for the pause of
// what failed; a look never does either.
func TestNewestWorkWins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		n := w.only()
		n.write.Submit(w.want(values[0]))
		n.write.Look(zoneName)
		n.write.Submit(w.want(values[1]))
		n.write.Look(zoneName)
		w.runs(t)
		w.mustLive(t, values[1])
		if len(n.told) != 1 || n.told[0].Look {
			t.Errorf("%d rounds, want one for all that waited: %v", len(n.told), n.told)
		}
		w.fault(memory.OpList, memory.Refused)
		n.write.Submit(w.want(values[0]))
		synctest.Wait()
		if last := n.told[len(n.told)-1]; last.Err == nil {
			t.Fatal("did not fail")
		}
		n.write.Submit(w.want(values[2]))
		synctest.Wait()
		w.mustLive(t, values[2])
		time.Sleep(time.Minute)
		synctest.Wait()
		w.mustLive(t, values[2])
		if last := n.told[len(n.told)-1]; last.Err != nil || len(n.told) != 3 {
			t.Errorf("the work that failed was tried again after newer had come: %v", n.told[2:])
		}
	})
}

// A look that comes while failed work waits for its pause does not lose it.
func TestLookDoesNotLoseFailedWork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		w.fault(memory.OpList, memory.Refused, memory.None, memory.Refused)
		w.runs(t)
		w.only().write.Submit(w.want(values[1]))
		synctest.Wait()
		w.only().write.Look(zoneName) // comes well
		synctest.Wait()
		w.only().write.Look(zoneName) // fails
		synctest.Wait()
		time.Sleep(slowly)
		synctest.Wait()
		w.mustLive(t, values[1])
	})
}

// Those who wait for work that newer work replaced get the newer report.
func TestWhoWaitsGetsTheNewerReport(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		n := w.only()
		first := n.do(t.Context(), w.want(values[0]))
		second := n.do(t.Context(), w.want(values[1]))
		w.runs(t)
		for _, got := range []<-chan Report{first, second} {
			if report := <-got; report.Err != nil || len(report.Final.Sets) != 1 || report.Final.Sets[0].Wanted.Live[0] != values[1] {
				t.Errorf("got %+v", report)
			}
		}
	})
}

// A round that waits until quiet gives way to newer work at once: nobody is
// told of a failure, and who waits for the older gets the report of the newer.
func TestWaitingRoundGivesWay(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, slow(class), values[0], values[1])
		w.runs(t)
		n := w.only()
		started := w.clock.Boot()
		old := n.do(t.Context(), w.want(values[1])) // takes the first out, in 11 s
		time.Sleep(time.Second)
		synctest.Wait()
		if len(n.waits) != 1 || n.waits[0].For < 5*time.Second || n.waits[0].Why == "" {
			t.Fatalf("told of the waits %v", n.waits)
		}
		n.write.Submit(w.want(values[2])) // which has to be added
		time.Sleep(time.Second)
		synctest.Wait()
		if class != memory.Whole { // there a create waits until quiet
			w.mustLive(t, values...)
		}
		report := <-old
		if report.Err != nil || w.clock.Boot()-started < 11*time.Second {
			t.Errorf("after %s: %v", w.clock.Boot()-started, report.Err)
		}
		w.mustLive(t, values[2])
		for _, told := range n.told {
			if told.Err != nil && !errors.Is(told.Err, ErrGaveWay) {
				t.Errorf("told of a failure: %v", told.Err)
			}
		}
		if len(n.waits) > 1+len(n.wrote) {
			t.Errorf("told of %d waits, with %d writes between", len(n.waits), len(n.wrote))
		}
		w.check(t)
	}, unfenced...)
}

// A look gives no way to nothing: the work that waits goes on.
func TestWaitingRoundOutlivesALook(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, slow(memory.Status), values[0], values[1])
		w.runs(t)
		n := w.only()
		got := n.do(t.Context(), w.want(values[1]))
		for range 5 {
			time.Sleep(time.Second)
			synctest.Wait()
			n.write.Look(zoneName)
		}
		if report := <-got; report.Err != nil {
			t.Error(report.Err)
		}
		w.mustLive(t, values[1])
	})
}

// Newer work is let in between two calls, and never before the first: work that
// comes faster than lists do must not keep everything from being written.
func TestNewerWorkIsLetInBetweenCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status}, values[0], values[1])
		s := w.shimmed()
		n := w.only()
		s.list = func(ctx context.Context, next func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
			time.Sleep(2 * time.Second)
			return next(ctx)
		}
		w.runs(t)
		for range 5 {
			n.write.Submit(w.want(values[1:]...)) // needs an add, then a take-away
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if len(s.sent()) == 0 {
			t.Error("nothing was sent in five seconds of newer work")
		}
		n.write.Submit(w.want(values[1]))
		time.Sleep(time.Minute)
		synctest.Wait()
		w.mustLive(t, values[1])
		applied := 0
		for _, r := range n.told {
			applied += len(r.Applied)
		}
		if applied != len(s.sent()) {
			t.Errorf("%d calls were accepted, the reports tell of %d", len(s.sent()), applied)
		}
	})
}

// The calls of a plan that newer work replaced are not sent any more.
func TestRestOfAReplacedPlanIsNotSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status}, values[0])
		s := w.shimmed()
		n := w.only()
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			if len(s.sent()) == 1 {
				n.write.Submit(w.want(values[:2]...))
			}
			return next(ctx, call)
		}
		n.write.Submit(w.want(values...)) // two creates, one by one
		w.runs(t)
		w.mustLive(t, values[:2]...)
		if len(s.sent()) != 1 {
			t.Errorf("sent %v", s.sent())
		}
	})
}

// A list inside the lag of the last write is no ground to end by: it shows what
// newer work wants, and the zone does not have it.
func TestRoundEndsByNoListInsideTheLag(t *testing.T) {
	options := memory.Options{Class: memory.Status, Lag: 5 * time.Second, Behind: 5 * time.Second}
	t.Run("of this process", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, options, values[0], values[1])
			w.runs(t)
			time.Sleep(time.Minute)
			w.only().write.Submit(w.want(values[1]))
			time.Sleep(time.Second)
			w.mustLive(t, values[1])
			w.only().write.Submit(w.want(values[:2]...))
			time.Sleep(time.Minute)
			synctest.Wait()
			w.mustLive(t, values[:2]...)
			if waits := w.only().waits; len(waits) != 2 || waits[0].Why == "" {
				t.Errorf("told of the waits %v, want one after each write", waits)
			}
		})
	})
	t.Run("of the process before", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, options, values[0], values[1])
			n := w.only()
			n.notes.trusted = true
			time.Sleep(time.Minute)
			ctx, kill := context.WithTimeout(t.Context(), 6*time.Second) // while it waits for the lag
			defer kill()
			n.write.Lead(n.notes, true)
			_ = n.worker().round(ctx, w.want(values[1]), Orders{})
			w.mustLive(t, values[1])
			w.start(n)
			if report := w.round(w.want(values[:2]...)); report.Err != nil {
				t.Error(report.Err)
			}
			w.mustLive(t, values[:2]...)
		})
	})
}

// What a person ordered stays in force when newer work takes the place of what
// was asked for.
func TestTakeOverOutlivesNewerWork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		w.putStamp(t, "node-2", time.Minute, false)
		n := w.only()
		got := make(chan Report, 1)
		go func() { got <- n.write.Do(t.Context(), w.want(values[0]), Orders{TakeOver: true}) }()
		synctest.Wait()
		n.write.Submit(w.want(values[1]))
		w.runs(t)
		if report := <-got; report.Err != nil {
			t.Error(report.Err)
		}
		w.mustLive(t, values[1])
	})
}

// At the end nobody is left waiting, neither for what waited nor for what comes
// later.
func TestEndLeavesNobodyWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, slow(memory.Status), values[0], values[1])
		n := w.only()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			n.write.Run(ctx)
		}()
		running := n.do(t.Context(), w.want(values[1])) // waits until quiet
		stop()
		<-ended
		later := n.do(t.Context(), w.want(values[1]))
		for _, got := range []<-chan Report{running, later} {
			if report := <-got; !errors.Is(report.Err, context.Canceled) {
				t.Errorf("got %v", report.Err)
			}
		}
		w.mustLive(t, values[0], values[1])
	})
}

// Who gives up waiting takes nothing back, and a zone that is not there is an
// error.
func TestDoEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if report := w.only().write.Do(ctx, w.want(values[1]), Orders{}); !errors.Is(report.Err, context.DeadlineExceeded) {
			t.Errorf("got %v", report.Err)
		}
		w.runs(t)
		w.mustLive(t, values[1])
		other := engine.Work{Zone: "example.org."}
		if report := w.only().write.Do(t.Context(), other, Orders{}); report.Err == nil {
			t.Error("did work in a zone that is not there")
		}
		w.only().write.Submit(other)
		w.only().write.Look(other.Zone)
		if _, found := w.only().write.Promises(other.Zone); found {
			t.Error("a zone that is not there promises something")
		}
	})
}

// A look lists, tells what is there, and writes nothing.
func TestLookTellsWhatIsThere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0])
		w.runs(t)
		n := w.only()
		n.write.Look(zoneName)
		synctest.Wait()
		if len(n.told) != 1 || !n.told[0].Look || n.told[0].Seen == nil || len(n.told[0].Seen.Sets) != 1 {
			t.Errorf("told %+v", n.told)
		}
		w.fault(memory.OpList, memory.Refused)
		n.write.Look(zoneName)
		synctest.Wait()
		if last := n.told[len(n.told)-1]; !last.Look || last.Err == nil {
			t.Errorf("told %+v", last)
		}
	})
}

// TestCase78TroubleInOneZoneDelaysNoOther runs four zones: one hangs, one
// refuses the key, one has a panicking adapter, and the fourth is written as if
// it were alone.
func TestCase78TroubleInOneZoneDelaysNoOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		n := w.only()
		zones := []Zone{{Name: zoneName, Adapter: w.zone.Adapter(n.name)}}
		for i, kind := range []memory.Kind{memory.Hang, memory.Refused, "panic"} {
			name := record.Name(fmt.Sprintf("z%d.example.", i))
			zone := memory.NewZone(name, memory.Options{Class: memory.Exact, Now: w.clock.Boot})
			zone.Faults(func(memory.Op, int) memory.Fault {
				if kind == "panic" {
					panic("no such record")
				}
				return memory.Fault{Kind: kind}
			})
			zones = append(zones, Zone{Name: name, Adapter: zone.Adapter(n.name)})
		}
		w.startWith(n, zones...)
		n.write.options.Report = nil
		w.runs(t)
		for _, z := range zones {
			if z.Name != zoneName {
				n.write.Submit(engine.Work{Zone: z.Name})
			}
		}
		synctest.Wait()
		began := w.clock.Boot()
		if report := <-n.do(t.Context(), w.want(values[1])); report.Err != nil || w.clock.Boot() != began {
			t.Errorf("the healthy zone took %s: %v", w.clock.Boot()-began, report.Err)
		}
		w.mustLive(t, values[1])
		for _, z := range zones {
			if z.Name == zoneName {
				continue
			}
			report := n.write.Do(t.Context(), engine.Work{Zone: z.Name}, Orders{})
			if report.Err == nil {
				t.Errorf("zone %s: no error", z.Name)
			}
		}
	})
}

func TestAdaptersAndQuietAreOfAllZones(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, slow(memory.Status), values[0])
		n := w.only()
		longer := memory.NewZone("z.example.", memory.Options{Class: memory.Append, Late: time.Minute})
		w.startWith(n, Zone{Name: zoneName, Adapter: w.zone.Adapter("a")}, Zone{Name: "z.example.", Adapter: longer.Adapter("a")})
		if q := n.write.Quiet(); q != time.Minute {
			t.Errorf("quiet after %s", q)
		}
		if l := n.write.Adapters(); len(l) != 2 || slices.Contains(l, nil) {
			t.Errorf("adapters %v", l)
		}
	})
}
