package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

// patient is how the daemon tries again where the config does not say.
var patient = provider.Backoff{Base: time.Second, Max: 30 * time.Second, Attempts: 3}

// outage is a world whose API is out of order from now on, as the kind says, with
// a failover to be written. It returns what mends it and the times of the calls.
func outage(t *testing.T, kind memory.Kind) (w *world, mend func(), calls func() []time.Duration) {
	t.Helper()
	w = newWorld(t, memory.Options{Class: memory.Rename, Call: 10 * time.Second}, values[0], values[1])
	w.retry = patient
	w.start(w.only())
	w.runs(t)
	if report := <-w.only().do(t.Context(), w.want(values[0], values[1])); report.Err != nil {
		t.Fatal(report.Err)
	}
	var mu sync.Mutex
	var at []time.Duration
	broken := true
	w.zone.Faults(func(memory.Op, int) memory.Fault {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, w.clock.Boot())
		if !broken {
			return memory.Fault{}
		}
		return memory.Fault{Kind: kind}
	})
	w.only().write.Submit(w.want(values[1]))
	mend = func() {
		mu.Lock()
		defer mu.Unlock()
		broken = false
	}
	calls = func() []time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(at)
	}
	return w, mend, calls
}

// An API that is out of order for an hour is asked by one call after each pause,
// and the failover that waits for it is written one pause after its return at the
// latest, whenever that is.
func TestBrokenAPIIsAskedOnceAPause(t *testing.T) {
	for _, kind := range []memory.Kind{memory.Throttled, memory.Hang, memory.Refused} {
		for _, rest := range []time.Duration{0, 7 * time.Second, 19 * time.Second, 29 * time.Second} {
			bubble(t, func(t *testing.T) {
				w, mend, calls := outage(t, kind)
				time.Sleep(2 * time.Minute) // until the pause is at its longest
				begun := len(calls())
				time.Sleep(time.Hour + rest)
				during := calls()[begun:]
				for i := 1; i < len(during); i++ {
					if gap := during[i] - during[i-1]; gap < patient.Max/2 {
						t.Fatalf("%s: two calls within %s", kind, gap)
					}
				}
				most := patient.Max
				if kind == memory.Refused {
					most = slowly
				}
				if n := len(during); n < 60 || n > 245 {
					t.Errorf("%s: %d calls in an hour", kind, n)
				}
				failures, next := w.only().write.Trouble(zoneName)
				if left := next - w.clock.Boot(); failures < len(during) || left < -10*time.Second || left > most {
					t.Errorf("%s: failed %d times, next in %s", kind, failures, left)
				}
				mend()
				back := w.clock.Boot()
				for w.zone.Live(www)[0] != values[1] {
					time.Sleep(time.Second)
				}
				if kind == memory.Hang {
					most += 10 * time.Second // a call that began before has its deadline to come to
				}
				if took := w.clock.Boot() - back; took > most {
					t.Errorf("%s: written %s after the API came back", kind, took)
				}
				synctest.Wait()
				if failures, _ := w.only().write.Trouble(zoneName); failures != 0 {
					t.Errorf("%s: still counted as out of order, %d times", kind, failures)
				}
				w.check(t)
			})
		}
	}
}

// TestCase74RevokedKeyIsTriedTwiceAMinute: the key is revoked, or may only read any
// more, and a failover waits for it for an hour. In no minute are there more than two
// calls, whatever pauses the config has, and in any two there is one.
func TestCase74RevokedKeyIsTriedTwiceAMinute(t *testing.T) {
	for name, refused := range map[string]func(memory.Op) bool{
		"revoked":    func(memory.Op) bool { return true },
		"may read":   func(op memory.Op) bool { return op != memory.OpList },
		"short ones": func(memory.Op) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
				w.retry = patient
				if name == "short ones" {
					w.retry.Max = 2 * time.Second
				}
				w.start(w.only())
				w.runs(t)
				var mu sync.Mutex
				var at []time.Duration
				w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
					mu.Lock()
					defer mu.Unlock()
					if at = append(at, w.clock.Boot()); refused(op) {
						return memory.Fault{Kind: memory.Refused}
					}
					return memory.Fault{}
				})
				w.only().write.Submit(w.want(values[1]))
				time.Sleep(time.Hour)
				mu.Lock()
				calls := slices.Clone(at)
				mu.Unlock() // a call may be under way at this very moment
				for i := range calls[2:] {
					if calls[i+2]-calls[i] < time.Minute {
						t.Fatalf("three calls within %s", calls[i+2]-calls[i])
					}
				}
				if len(calls) < 60 {
					t.Errorf("%d calls in an hour", len(calls))
				}
				w.zone.Faults(nil)
				time.Sleep(slowly + time.Second)
				w.mustLive(t, values[1])
			})
		})
	}
}

// A failover that comes while an API is out of order does not wait for the pause.
func TestNewWorkAsksABrokenAPIAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, mend, calls := outage(t, memory.Throttled)
		time.Sleep(5 * time.Minute)
		_, next := w.only().write.Trouble(zoneName)
		time.Sleep(next - w.clock.Boot() - time.Second)
		n := len(calls())
		mend()
		w.only().write.Submit(w.want(values[2], values[1]))
		synctest.Wait()
		if len(calls()) == n {
			t.Error("it waits for the pause")
		}
		w.mustLive(t, values[1], values[2])
	})
}

// What the provider asked for is waited for, and what says nothing of the API as
// a whole is no outage of it.
func TestWhatTripsABreaker(t *testing.T) {
	fail := func(class provider.Class) error { return provider.Failf(class, "list", "503", "no") }
	for name, row := range map[string]struct {
		err     error
		tripped bool
		least   time.Duration
	}{
		"out of order":          {fail(provider.Retryable), true, time.Second / 2},
		"unclear":               {fail(provider.Ambiguous), true, time.Second / 2},
		"the key is refused":    {fail(provider.Permanent), true, 30 * time.Second},
		"told to wait":          {&provider.Error{Class: provider.Retryable, After: 5 * time.Minute}, true, 5 * time.Minute},
		"wrapped":               {fmt.Errorf("claim: %w", fail(provider.Retryable)), true, time.Second / 2},
		"another writer":        {fail(provider.FencedOut), false, time.Second / 2},
		"a stale view":          {fail(provider.Conflict), false, time.Second / 2},
		"a record set":          {&setsError{[]error{fail(provider.Permanent)}}, false, 30 * time.Second},
		"no lease":              {&closedError{errors.New("lost")}, false, time.Second / 2},
		"two writers":           {&TwoWritersError{}, false, time.Second / 2},
		"an error of no class,": {errors.New("odd"), false, time.Second / 2},
	} {
		b := newBreaker(patient)
		var first time.Duration
		for i := range tripAfter {
			if failures, _ := b.tripped(); failures != 0 {
				t.Errorf("%s: tripped after %d", name, i)
			}
			wait := b.failed(time.Hour, row.err, false)
			if i == 0 {
				first = wait
			}
		}
		failures, next := b.tripped()
		if (failures == tripAfter) != row.tripped || row.tripped && next < time.Hour+row.least {
			t.Errorf("%s: failed %d times, next at %s", name, failures, next)
		}
		if first < row.least || first > max(patient.Max, 2*row.least) {
			t.Errorf("%s: the first pause is %s", name, first)
		}
		b.answered()
		if failures, _ := b.tripped(); failures != 0 || b.pause != patient.Base {
			t.Errorf("%s: not mended by a success", name)
		}
	}
	var other record.Name = "example.org."
	if failures, next := New(Options{}).Trouble(other); failures != 0 || next != 0 {
		t.Error("a zone that is not there is in trouble")
	}
}

// A node that may not write lists nothing for what it would write: it plans by the
// list that it looked at last, and asks the lease again and again, not the zone.
// Who asks for the plan is told of the zone as it is.
func TestNodeThatMayNotWriteDoesNotList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		n := w.only()
		n.shut(errors.New("another node leads"))
		w.runs(t)
		n.write.Look(zoneName)
		synctest.Wait()
		lists := w.calls(memory.OpList)
		n.write.Submit(w.want(values[1]))
		time.Sleep(time.Hour)
		synctest.Wait()
		last := n.told[len(n.told)-1]
		if lists.Load() != 0 || len(n.told) != 2 || !errors.Is(last.Err, ErrNotLeader) || !last.Plan.Pending() || last.Seen == nil {
			t.Errorf("%d lists, %d reports, the last is %+v", lists.Load(), len(n.told), last)
		}
		report := <-n.do(t.Context(), w.want(values[1]))
		if lists.Load() != 1 || !errors.Is(report.Err, ErrNotLeader) || !report.Plan.Pending() {
			t.Errorf("%d lists for one who asks, told %+v", lists.Load(), report)
		}
		n.shut(nil)
		time.Sleep(2 * time.Second)
		w.mustLive(t, values[1])
	})
}
