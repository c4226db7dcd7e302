package reconcile

import (
	"context"
	"testing"
	"time"

	"sidestep/pkg/lease/zone"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider/memory"
)

// A --take-over that failed was told to have failed: nothing is taken over later,
// neither where the stamp is the lease nor where it only keeps two writers apart.
func TestFailedTakeOverIsOver(t *testing.T) {
	run := func(times zone.Times, newer bool) {
		bubble(t, func(t *testing.T) {
			p := newPack(t, memory.Options{Class: memory.Exact}, 0)
			defer p.end()
			p.times = times
			p.add(2)
			time.Sleep(2 * time.Minute)
			first := p.wolf[0]
			if lead := p.leader(); lead != nil {
				first = lead
			}
			second := p.other(first)
			if r := first.write.Do(t.Context(), p.want(values[1]), Orders{}); r.Err != nil {
				t.Fatal(r.Err)
			}
			second.line.Set(func(l *memory.Line) { l.Cut = true })
			if r := second.write.Do(t.Context(), p.want(values[0]), Orders{TakeOver: true}); r.Err == nil {
				t.Fatal("taken over without a way to the provider")
			}
			time.Sleep(20 * time.Minute)
			if r := first.write.Do(t.Context(), p.want(values[1], values[2]), Orders{}); r.Err != nil {
				t.Fatal(r.Err)
			}
			if newer {
				second.write.Submit(p.want(values[0])) // the engine's own
			}
			time.Sleep(time.Minute)
			second.line.Set(func(l *memory.Line) { l.Cut = false })
			time.Sleep(5 * time.Minute)
			p.mustLive(t, values[1], values[2])
		})
	}
	for _, newer := range []bool{false, true} {
		run(leaseTimes, newer)
		run(zone.Times{}, newer)
	}
}

// Who goes away before the take-over could be tried takes what was ordered along.
func TestTakeOverOfSomebodyWhoWent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPack(t, memory.Options{Class: memory.Exact}, 2)
		defer p.end()
		time.Sleep(time.Minute)
		first := p.leader()
		second := p.other(first)
		second.line.Freeze()
		second.write.Look(zoneName)
		time.Sleep(time.Second)
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if r := second.write.Do(ctx, p.want(values[1]), Orders{TakeOver: true}); r.Err == nil {
			t.Fatal("a stopped process took over")
		}
		second.line.Thaw()
		time.Sleep(5 * time.Minute)
		if !first.leading() {
			t.Error("taken over with nobody there")
		}
		p.mustLive(t, values[0])
	})
}

// The same of a guard that a person switched off for once.
func TestFailedOverrideIsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPack(t, memory.Options{Class: memory.Exact}, 1)
		defer p.end()
		time.Sleep(time.Minute)
		n := p.wolf[0]
		plain := p.want(values[1])
		plain.Limits.Blind = "nothing answers here"
		allowed := p.want(values[1])
		allowed.Limits.Override = map[string]bool{plan.GuardMaxChanges: true}
		n.line.Set(func(l *memory.Line) { l.Cut = true })
		if r := n.write.Do(t.Context(), allowed, Orders{Again: &plain}); r.Err == nil {
			t.Fatal("written without a way to the provider")
		}
		n.line.Set(func(l *memory.Line) { l.Cut = false })
		time.Sleep(10 * time.Minute)
		p.mustLive(t, values[0])
	})
}
