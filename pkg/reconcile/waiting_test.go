package reconcile

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// waits is what is said of the zone, and of what a plan against it takes away.
func (w *world) waits(usable ...string) (zone, set time.Duration, why string) {
	p := w.want(usable...).Plan(w.listed())
	s, _ := p.Find(www)
	write := w.only().write
	until, why := write.Waiting(zoneName)
	later, why2 := write.Delays(s)
	if why2 != "" && why2 != why {
		why += "; " + why2
	}
	return max(0, until-w.clock.Boot()), max(0, later-w.clock.Boot()), why
}

// listed is the zone as a list shows it now.
func (w *world) listed() plan.Zone {
	z := plan.Zone{Name: zoneName}
	set := record.Set{Key: www}
	for _, value := range w.zone.Live(www) {
		set.Answers = append(set.Answers, record.Answer{Value: value, Live: true, TTL: time.Minute})
	}
	z.Sets = []record.Set{set}
	return z
}

// What is waited for after a start, after a call without an answer, and inside the
// lag is said, with its end and its reason, and no longer than it lasts.
func TestWhatAZoneWaitsForIsSaid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status, Late: 5 * time.Minute, Lag: 30 * time.Second}, values...)
		w.runs(t)
		const all = 5*time.Minute + 30*time.Second
		if zone, set, why := w.waits(values[1]); zone != all || set != all || why != startWords {
			t.Errorf("after a start: %s and %s (%s)", zone, set, why)
		}
		if _, set, _ := w.waits(values...); set != 0 {
			t.Errorf("nothing is to be taken away, and it waits %s", set)
		}
		time.Sleep(all)
		if zone, set, why := w.waits(values[1]); zone != 0 || set != 0 || why != "" {
			t.Errorf("beyond doubt: %s and %s (%s)", zone, set, why)
		}
		w.fault(memory.OpTakeAway, memory.LostRequest)
		w.only().write.Submit(w.want(values[1], values[2])) // asks for values[0] to go
		synctest.Wait()
		zone, set, why := w.waits(values[0])
		if zone == 0 || zone > all || set != all || !strings.Contains(why, "may still change "+values[0]) {
			t.Errorf("a call without an answer: %s and %s (%s)", zone, set, why)
		}
		if _, set, why := w.waits(values[1]); set != 0 {
			t.Errorf("another survivor is certain, and it waits %s (%s)", set, why)
		}
		time.Sleep(2 * all)
		synctest.Wait()
		if zone, set, why := w.waits(values[1]); zone != 0 || set != 0 {
			t.Errorf("at rest: %s and %s (%s)", zone, set, why)
		}
	})
}

// Where the provider compares and swaps nothing waits for older calls.
func TestAFencedZoneWaitsForNoOlderCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact, Late: 5 * time.Minute}, values...)
		if zone, set, why := w.waits(values[1]); zone != 0 || set != 0 {
			t.Errorf("it waits %s and %s (%s)", zone, set, why)
		}
		write := w.only().write
		if until, _ := write.Waiting("example.org."); until != 0 {
			t.Error("a zone that is not there waits")
		}
		if until, _ := write.Delays(plan.Set{Wanted: &steer.Wanted{Spec: &steer.Spec{Key: record.Key{Zone: "example.org."}}}}); until != 0 {
			t.Error("a set of a zone that is not there waits")
		}
	})
}

// A round that waits for the list to show its write says so, and until when.
func TestARoundThatWaitsSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const lag = 30 * time.Second
		w := newWorld(t, memory.Options{Class: memory.Exact, Lag: lag}, values...)
		w.runs(t)
		w.only().write.Submit(w.want(values[1:]...))
		for w.zone.Live(www)[0] == values[0] {
			time.Sleep(time.Second)
		}
		synctest.Wait()
		until, why := w.only().write.Waiting(zoneName)
		if left := until - w.clock.Boot(); left <= 0 || left > lag || !strings.Contains(why, "may not be in the list yet") {
			t.Errorf("waits %s (%s)", left, why)
		}
		time.Sleep(2 * lag)
		if until, why := w.only().write.Waiting(zoneName); until != 0 {
			t.Errorf("at rest it waits until %s (%s)", until, why)
		}
	})
}
