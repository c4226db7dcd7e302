package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

const foreign = "198.51.100.7"

// TestCase58EditsByHandInEveryGap lets an operator edit the record set before
// every single request of a failover, in each of his ways. What he put in stays,
// the name is never empty, and what he paused is not resumed.
func TestCase58EditsByHandInEveryGap(t *testing.T) {
	name := string(www.Name)
	edits := map[string]struct {
		edit memory.Edit
		then func(w *world, t *testing.T, report Report)
	}{
		"a foreign value comes": {memory.Put(name, "A", time.Minute, foreign), func(w *world, t *testing.T, _ Report) {
			if !slices.Contains(w.zone.Live(www), foreign) {
				t.Errorf("the foreign value is gone: %v", w.zone.Live(www))
			}
		}},
		"the dead value goes": {memory.Delete(name, "A", values[0]), func(w *world, t *testing.T, _ Report) {
			w.mustLive(t, values[1])
		}},
		"the survivor goes": {memory.Delete(name, "A", values[1]), func(w *world, t *testing.T, _ Report) {
			w.mustLive(t, values[1]) // created again
		}},
		"the survivor gets another TTL": {memory.Retime(name, "A", values[1], 5*time.Minute), nil},
	}
	for what, row := range edits {
		t.Run(what, func(t *testing.T) {
			forClasses(t, func(t *testing.T, class memory.Class) {
				if class == memory.Append && strings.HasSuffix(what, "TTL") {
					t.Skip("nothing can be changed in place here")
				}
				ran := true
				for gap := 1; ran; gap++ {
					w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
					ran = false
					w.before(gap, func() {
						ran = true
						if err := w.zone.EditByHand(row.edit); err != nil {
							t.Logf("gap %d: %v", gap, err) // it is out of the set already
						}
					})
					report := w.round(w.want(values[1]))
					w.zone.Between(nil)
					if !ran {
						break
					}
					if report.Err != nil {
						t.Errorf("gap %d: %v", gap, report.Err)
					}
					if report = w.round(w.want(values[1])); report.Err != nil {
						t.Errorf("gap %d, next round: %v", gap, report.Err)
					}
					if overwritten := class == memory.Whole && strings.HasPrefix(what, "a foreign"); row.then != nil && !overwritten {
						row.then(w, t, report)
					}
					w.check(t, gapTolerance(class)...)
				}
			}, memory.Classes()...)
		})
	}
}

// gapTolerance is what an edit in the gap between a list and its write can do
// where nothing is compared.
func gapTolerance(class memory.Class) []memory.Tolerance {
	switch class {
	case memory.Status:
		return []memory.Tolerance{memory.Emptied, memory.Doubled, memory.Overwritten}
	case memory.Append:
		return []memory.Tolerance{memory.Emptied, memory.Doubled}
	case memory.Whole:
		return []memory.Tolerance{memory.Overwritten}
	}
	return nil
}

// TestCase58ValuePausedByHandIsHeld pauses the standby by hand before it is
// needed: it is shown, and not resumed before a person says so.
func TestCase58ValuePausedByHandIsHeld(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		w.hand(t, memory.Disable(string(www.Name), "A", values[1]))
		work := w.want(values[1])
		report := w.round(work)
		if report.Err != nil || len(report.Final.Blocked) != 1 || report.Final.Blocked[0].Guard != plan.GuardHeld {
			t.Fatalf("got %+v", report)
		}
		if held := report.Final.Sets[0].Held; !slices.Equal(held, values[1:2]) {
			t.Errorf("held: %v", held)
		}
		if e := w.effects(); len(e) > 0 {
			t.Errorf("written: %v", e)
		}
		work.Inputs[0].Resume = values[1:2]
		if report := w.round(work); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[1])
	}, memory.Status, memory.Whole)
}

// TestCase58ForeignValueStopsASwap puts another alias in the place of ours: a
// set that can have one value is then somebody else's.
func TestCase58ForeignValueStopsASwap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := aliasWorld(t, memory.Rename)
		w.hand(t, memory.Delete("www.example.com.", "CNAME", "b1.example.net."), memory.Put("www.example.com.", "CNAME", time.Minute, "shop.example.org."))
		report := w.round(w.want("b2.example.net."))
		if report.Err != nil || len(report.Final.Blocked) != 1 || report.Final.Blocked[0].Guard != plan.GuardForeign {
			t.Errorf("got %+v", report)
		}
		w.mustLive(t, "shop.example.org.")
	})
}

// aliasWorld is a world whose www is an alias of b1, or could be of b2.
func aliasWorld(t *testing.T, class memory.Class) *world {
	t.Helper()
	spec := &steer.Spec{
		Key: www, Policy: steer.Priority, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, TTL: time.Minute,
	}
	spec.Key.Type = record.CNAME
	answers := []string{"b1.example.net.", "b2.example.net."}
	return newWorldOf(t, memory.Options{Class: class, Late: 10 * time.Second}, spec, answers, answers[:1])
}

// TestCase77SwapIsNeverEmpty replaces the one value of a name, with every call
// failing in every way at every point: at no moment is the name without a value.
func TestCase77SwapIsNeverEmpty(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		for _, kind := range []memory.Kind{memory.None, memory.LostReply, memory.LostRequest, memory.Late, memory.Throttled, memory.Refused} {
			for at := range 6 {
				for _, single := range []bool{false, true} {
					swapUnder(t, class, single, kind, at)
				}
			}
		}
	}, memory.Classes()...)
}

func swapUnder(t *testing.T, class memory.Class, single bool, kind memory.Kind, at int) {
	t.Helper()
	w := newWorld(t, slow(class), values[0])
	from, to := values[0], values[1]
	if single {
		if class == memory.Append {
			return // refuses them
		}
		w, from, to = aliasWorld(t, class), "b1.example.net.", "b2.example.net."
	}
	n := 0
	w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
		if !op.Write() {
			return memory.Fault{}
		}
		if n++; n == at+1 {
			return memory.Fault{Kind: kind}
		}
		return memory.Fault{}
	})
	_ = w.round(w.want(to)) // may fail; a kill comes after it
	w.zone.Faults(nil)
	w.start(w.only())
	if err := w.comeToRest([]string{to}); err != nil {
		t.Errorf("%s at call %d: %v", kind, at, err)
	}
	w.mustLive(t, to)
	for _, v := range w.zone.History()[2:] {
		if !slices.ContainsFunc(v.Records, func(r memory.Record) bool {
			return strings.EqualFold(r.Name, string(www.Name)) && !r.Disabled && (r.Value == from || r.Value == to)
		}) {
			t.Errorf("%s at call %d: empty after %s", kind, at, v.Cause)
		}
	}
	w.check(t, gapTolerance(class)...)
}

// TestCase76ListThatFailsIsNotAnEmptyList lets the list fail in every way while
// writes would work. Nothing is written.
func TestCase76ListThatFailsIsNotAnEmptyList(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		for _, kind := range []memory.Kind{memory.Refused, memory.Short, memory.Empty, memory.Throttled, memory.Hang} {
			w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
			w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
				if op == memory.OpList {
					return memory.Fault{Kind: kind}
				}
				return memory.Fault{}
			})
			report := w.round(w.want(values[1]))
			if report.Err == nil || report.Seen != nil || len(report.Plan.Sets) > 0 {
				t.Errorf("%s: %+v", kind, report)
			}
			if e := w.effects(); len(e) > 0 {
				t.Errorf("%s: written %v", kind, e)
			}
		}
	}, memory.Classes()...)
}

// TestCase76ListThatFailsLaterEndsTheRound lets the first list through and none
// after the first call: a second call rests on no list.
func TestCase76ListThatFailsLaterEndsTheRound(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0])
		s := w.shimmed()
		w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
			if op == memory.OpList && len(s.sent()) > 0 {
				return memory.Fault{Kind: memory.Refused}
			}
			return memory.Fault{}
		})
		report := w.round(w.want(values[1]))
		if report.Err == nil || len(s.sent()) != 1 || len(report.Applied) == 0 {
			t.Errorf("%d calls, applied %v: %v", len(s.sent()), report.Applied, report.Err)
		}
	}, memory.Classes()...)
}

// TestCase63OddRecordsStopNoFailover fills the zone with what few programs can
// read. A set that cannot be read is not ours; the failover of www goes on.
func TestCase63OddRecordsStopNoFailover(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		odd := []memory.Edit{
			memory.Put("loc.example.com.", "LOC", time.Minute, "somewhere"),
			memory.Put("naptr.example.com.", "NAPTR", time.Minute, ""),
			memory.Put("new.example.com.", "TYPE65534", time.Minute, `\# 4 0a000001`),
			memory.Put("example.com.", "CAA", time.Minute, "0"),
			memory.Put("_sip._tcp.example.com.", "SRV", time.Minute, ""),
			memory.Put("six.example.com.", "A", time.Minute, "100::"),
			memory.Put("example.com.", "MX", time.Minute, "null"),
			memory.Put("no name at all", "A", time.Minute, "192.0.2.200"),
			memory.Put("_sidestep-paused.www.example.com.", "TXT", time.Minute, "v=sidestep1 type=A value=everything ttl=-3"),
		}
		w.hand(t, odd...)
		before := len(w.zone.Records())
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.mustLive(t, values[1])
		if after := len(w.zone.Records()); after < before {
			t.Errorf("%d records are left of %d", after, before)
		}
		w.check(t)
	}, memory.Classes()...)
}

// TestCase82NoLeaderNoWrite shuts the gate for ten minutes in which the first
// address dies: nothing is written, and when it opens the failover is.
func TestCase82NoLeaderNoWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		n := w.only()
		n.shut(fmt.Errorf("the lock service does not answer"))
		w.runs(t)
		n.write.Submit(w.want(values[1]))
		time.Sleep(10 * time.Minute)
		if e := w.effects(); len(e) > 0 {
			t.Fatalf("written without a lease: %v", e)
		}
		n.shut(nil)
		time.Sleep(2 * time.Second)
		w.mustLive(t, values[1])
	})
}
