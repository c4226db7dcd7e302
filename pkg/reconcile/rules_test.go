package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/provider/memory"
)

// act is one step of a hostile schedule.
type act struct {
	usable  []string      // what is wanted from here on
	faults  []memory.Kind // what happens to the writes of this round, in order
	deliver int           // the open call that happens before the round; -1 for none
	restart bool          // the process was killed before the round
	forget  bool          // and its disk was lost with it
	sleep   time.Duration
}

func drawAct(t *rapid.T) act {
	faults := []memory.Kind{memory.None, memory.None, memory.LostReply, memory.LostRequest, memory.Late, memory.Throttled}
	return act{
		usable:  rapid.SliceOfDistinct(rapid.SampledFrom(values), rapid.ID[string]).Draw(t, "usable"),
		faults:  rapid.SliceOfN(rapid.SampledFrom(faults), 0, 4).Draw(t, "faults"),
		deliver: rapid.IntRange(-1, 2).Draw(t, "deliver"),
		restart: rapid.Bool().Draw(t, "restart"),
		forget:  rapid.Bool().Draw(t, "forget"),
		sleep:   time.Duration(rapid.IntRange(0, 8).Draw(t, "sleep")) * time.Second,
	}
}

// TestRulesHoldUnderEverySchedule plays random schedules of lost, late and
// doubled calls, kills and lost disks against every class of provider. After
// each effect on the zone no set is empty that had an answer, and nothing is
// lost; and once the faults end, the zone comes to the wanted state.
func TestRulesHoldUnderEverySchedule(t *testing.T) {
	for _, class := range memory.Classes() {
		t.Run(string(class), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				script := rapid.SliceOfN(rapid.Custom(drawAct), 1, 8).Draw(rt, "script")
				var err error
				synctest.Test(t, func(t *testing.T) { err = play(t, class, script) })
				if err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// tolerated is what a class cannot rule out even for one careful writer, because
// adds never wait for doubts: waiting would leave the name without a value.
var tolerated = map[memory.Class][]memory.Tolerance{
	// After a kill nobody knows that a create is open; two of one value answer as one.
	memory.Status: {memory.Doubled},
	// The same, and for every add, since a value is put in by appending it.
	memory.Append: {memory.Doubled},
	// A late write of the whole set is a legal set, but an older one: the next round mends it.
	memory.Whole: {memory.Overwritten},
}

func play(t *testing.T, class memory.Class, script []act) error {
	w := newWorld(t, memory.Options{Class: class, Late: 10 * time.Second, Lag: time.Second}, values[0], values[1])
	var want []string
	for _, a := range script {
		want = a.usable
		w.before(a)
		if report := w.round(w.want(want...)); report.Err == nil {
			w.notes.trusted = true // quiet has passed, or was known
		}
	}
	w.zone.Faults(nil)
	for range 2 {
		w.settle(t, w.want(want...))
		for len(w.zone.Open()) > 0 {
			_ = w.zone.Deliver(0) // a refusal is as good as an effect
		}
	}
	w.settle(t, w.want(want...))
	if err := memory.Check(w.zone.History(), tolerated[class]...); err != nil {
		return err
	}
	if err := nothingGone(w.zone.History()); err != nil {
		return err
	}
	if live := w.zone.Live(www); len(want) > 0 && !slices.Equal(live, slices.Sorted(slices.Values(want))) {
		return fmt.Errorf("at rest the zone answers with %v, want %v", live, want)
	}
	return nil
}

// nothingGone reports a value that the zone had at some time and has no more,
// neither live nor paused.
func nothingGone(history []memory.Version) error {
	holds := func(v memory.Version, value string) bool {
		return slices.ContainsFunc(v.Records, func(r memory.Record) bool { return strings.Contains(r.Value, value) })
	}
	last := history[len(history)-1]
	for _, value := range values {
		had := slices.ContainsFunc(history, func(v memory.Version) bool { return holds(v, value) })
		if had && !holds(last, value) {
			return fmt.Errorf("%s is gone from the zone", value)
		}
	}
	return nil
}

// before is everything that happens to the world ahead of a round.
func (w *world) before(a act) {
	time.Sleep(a.sleep)
	if a.deliver >= 0 && a.deliver < len(w.zone.Open()) {
		_ = w.zone.Deliver(a.deliver) // a refusal is as good as an effect
	}
	if a.restart {
		if a.forget {
			w.notes = &memoNotes{open: map[string]bool{}}
		}
		w.start()
	}
	faults := a.faults
	w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
		if !op.Write() || len(faults) == 0 {
			return memory.Fault{}
		}
		kind := faults[0]
		faults = faults[1:]
		return memory.Fault{Kind: kind}
	})
}
