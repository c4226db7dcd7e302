package reconcile

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// another is a new adapter of the world's zone, as a reload makes it.
func (w *world) another() Zone {
	return Zone{Name: zoneName, Adapter: w.zone.Adapter(w.only().name)}
}

// A new adapter is used from the next round on, what failed is tried at once with
// it, and the breaker is closed.
func TestSwapIsTriedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, mend, calls := outage(t, memory.Refused)
		time.Sleep(10 * time.Minute)
		n := len(calls())
		mend()
		w.only().write.Swap(w.another())
		synctest.Wait()
		w.mustLive(t, values[1])
		if failures, _ := w.only().write.Trouble(zoneName); failures != 0 || len(calls()) == n {
			t.Errorf("still counted as out of order, %d times, after %d calls", failures, len(calls())-n)
		}
		w.check(t)
	})
}

// A round that waits does not go on to wait with the adapter before. What it waited
// for is still waited for: doubts are about the zone.
func TestSwapKeepsDoubts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status, Late: 5 * time.Minute}, values[0], values[1])
		w.runs(t)
		begun := w.clock.Boot()
		w.only().write.Submit(w.want(values[1]))
		time.Sleep(time.Minute)
		old := w.only().worker().adapter()
		w.only().write.Swap(w.another())
		synctest.Wait()
		if w.only().worker().adapter() == old {
			t.Error("the adapter before is still in use")
		}
		for len(w.zone.Live(www)) == 2 {
			time.Sleep(time.Second)
		}
		if took := w.clock.Boot() - begun; took < 5*time.Minute || took > 5*time.Minute+2*time.Second {
			t.Errorf("taken away after %s, and everything is in doubt for 5m", took)
		}
		w.check(t)
	})
}

// With other bounds, what was beyond doubt by those before may not be.
func TestSwapWithOtherBoundsDoubtsAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status, Late: time.Minute}, values[0], values[1])
		w.runs(t)
		time.Sleep(10 * time.Minute)
		for _, row := range []struct {
			late, wait time.Duration
		}{{time.Minute, 0}, {time.Hour, time.Hour}} {
			w.only().write.Swap(Zone{Name: zoneName, Adapter: bounded{&shim{Adapter: w.zone.Adapter("node-1")}, row.late}})
			synctest.Wait()
			until, why := w.only().write.Waiting(zoneName)
			if wait := max(0, until-w.clock.Boot()); wait != row.wait {
				t.Errorf("with %s: waits %s (%s)", row.late, wait, why)
			}
		}
	})
}

// With another lag the lease of a zone has other times: a leader waits for longer until
// a list must show its last stamp.
func TestSwapWithAnotherLagRetimesTheLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPack(t, memory.Options{Class: memory.Exact}, 1)
		defer p.end()
		time.Sleep(10 * time.Minute)
		n := p.wolf[0]
		lease := n.write.workers[zoneName].lease
		slower := leaseTimes
		slower.Lag = 20 * time.Second
		for _, row := range []struct {
			to     Zone
			lag    time.Duration
			behind bool // a list may lack the last stamp of the times before
		}{
			{Zone{Name: zoneName, Adapter: n.line.Whole(), Lease: leaseTimes}, leaseTimes.Lag, false},
			{Zone{Name: zoneName, Adapter: n.line.Whole(), Lease: slower}, slower.Lag, true},
		} {
			time.Sleep(15 * time.Second) // between two heartbeats, and beyond the lag
			n.write.Swap(row.to)
			synctest.Wait()
			if got := lease.times().Lag; got != row.lag {
				t.Errorf("goes by a lag of %s, expected %s", got, row.lag)
			}
			if behind := lease.behind(nil) > n.clock.Boot(); behind != row.behind {
				t.Errorf("with a lag of %s, a list may lack the last stamp: %v", row.lag, behind)
			}
		}
		time.Sleep(10 * time.Minute)
		if !n.leading() {
			t.Error("it leads no more")
		}
	})
}

// bounded is an adapter with another bound on how late its calls may be.
type bounded struct {
	*shim

	late time.Duration
}

func (b bounded) Promises() provider.Promises {
	p := b.Adapter.Promises()
	p.Late = b.late
	return p
}

// What a new adapter promises is put to the proof again.
func TestSwapProvesTheFenceAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		w.runs(t)
		proofs := w.calls(memory.OpProve)
		for i, want := range [][]string{{values[0]}, {values[1]}} {
			if report := <-w.only().do(t.Context(), w.want(want...)); report.Err != nil || proofs.Load() != int64(i+1) {
				t.Errorf("%d proofs, and %v", proofs.Load(), report.Err)
			}
			w.only().write.Swap(w.another())
		}
		w.check(t)
	})
}

// A zone that has the name and is not the one before is not written.
func TestSwapToAnotherZoneOfTheNameIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		named := func(id string) Zone {
			adapter := w.zone.Adapter("node-1")
			s := &shim{Adapter: adapter, list: func(ctx context.Context, next func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
				snapshot, err := next(ctx)
				snapshot.ID = id
				return snapshot, err
			}}
			return Zone{Name: zoneName, Adapter: fencedShim{s, adapter.(provider.Fencer)}}
		}
		w.startWith(w.only(), named("Z1"))
		w.runs(t)
		if report := <-w.only().do(t.Context(), w.want(values[0], values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.only().write.Swap(named("Z2"))
		report := <-w.only().do(t.Context(), w.want(values[1]))
		if report.Err == nil || provider.ClassOf(report.Err) != provider.Permanent || !strings.Contains(report.Err.Error(), "expected Z1, got Z2") {
			t.Errorf("got %v", report.Err)
		}
		w.mustLive(t, values[0], values[1])
		w.only().write.Swap(named("")) // may not say which it is
		report = <-w.only().do(t.Context(), w.want(values[1]))
		if report.Err == nil || !strings.Contains(report.Err.Error(), "it cannot be told") {
			t.Errorf("got %v", report.Err)
		}
		w.mustLive(t, values[0], values[1])
		w.only().write.Swap(named("Z1"))
		time.Sleep(time.Second)
		w.mustLive(t, values[1])
	})
}
