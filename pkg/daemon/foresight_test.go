package daemon

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider/memory"
)

// A drain of an answer whose zone cannot be written is kept, and the answer does
// not say that it goes out now.
func TestAWordOnAZoneThatCannotBeWritten(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		w.zones[home].Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Refused} })
		time.Sleep(10 * time.Minute)
		answer := d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "2h"})
		if r := answer.Records[0]; answer.Exit != control.ExitProvider || !strings.Contains(r.Error, "refused") || r.Zone != string(home) {
			t.Errorf("exit %d, %+v", answer.Exit, r)
		}
		if o := d.status().Overrides; len(o) != 1 {
			t.Errorf("it was not kept: %+v", o)
		}
		nothing := d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "3h", DryRun: true})
		if r := nothing.Records[0]; nothing.Exit != control.ExitProvider || !strings.Contains(r.Error, "refused") {
			t.Errorf("with nothing to change: exit %d, %+v", nothing.Exit, r)
		}
		w.zones[home].Faults(nil)
		time.Sleep(10 * time.Minute)
		w.mustLive(b)
		if answer := d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "3h"}); answer.Exit != control.ExitDone || answer.Records[0].Error != "" {
			t.Errorf("mended: %+v", answer)
		}
	})
}

// A pin to a dead answer, or one that is forced up, is warned of when it is said;
// and a drain of what is pinned says what holds it.
func TestAWordThatKeepsADeadAnswer(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		w.site.fail(a)
		time.Sleep(settled)
		for _, request := range []control.OverrideRequest{
			{Kind: "pin", Target: "www", Values: []string{a}, For: "1h", DryRun: true},
			{Kind: "force-up", Target: a, For: "1h", DryRun: true},
			{Kind: "pin", Target: "www", Values: []string{a}, For: "1h"},
		} {
			if r := d.overrule(request).Records[0]; strings.Join(r.Down, " ") != a {
				t.Errorf("%s: %+v", request.Kind, r)
			}
		}
		if r := d.overrule(control.OverrideRequest{Kind: "pin", Target: "www", Values: []string{b}, For: "1h", DryRun: true}).Records[0]; len(r.Down) > 0 {
			t.Errorf("b is up: %+v", r)
		}
		answer := d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "1h"})
		if s := answer.Records[0].Stays; len(s) != 1 || !s[0].Pinned || answer.Exit != control.ExitGuard || len(answer.Records[0].Down) > 0 {
			t.Errorf("the drain: %+v", answer.Records)
		}
	})
}

// Own faults that read the same are one, whatever phase they came in.
func TestOneFaultReadsOnce(t *testing.T) {
	var list []control.OwnFault
	for _, w := range []engine.Way{
		{Phase: check.PhaseConnect, Detail: "no route", Times: 3}, {Phase: check.PhaseSend, Detail: "no route", Times: 1}, {Detail: "no socket", Times: 2},
	} {
		list = addFault(list, w)
	}
	if want := []control.OwnFault{{Detail: "no route", Times: 4}, {Detail: "no socket", Times: 2}}; !slices.Equal(list, want) {
		t.Errorf("got %+v", list)
	}
}

// A drain that leaves its answer live is marked where overrides are listed: it
// is in force, and does nothing.
func TestADrainInVainIsMarked(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "2h"})
		time.Sleep(time.Minute)
		if o := d.status().Overrides[0]; o.State != "in force" || o.Detail != "" {
			t.Errorf("another takes its place: %+v", o)
		}
		d.overrule(control.OverrideRequest{Kind: "drain", Target: b, For: "2h"})
		list, err := d.Overrides(t.Context())
		if err != nil || len(list.Overrides) != 2 || list.Overrides[1].Detail != b+" stays in www.example.com. A, because nothing else can take its place" {
			t.Errorf("nothing can: %+v, %v", list, err)
		}
	})
}

// While the last list may not show the last write, status and explain say so.
func TestAListThatMayNotShowTheLastWrite(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		const lag = 20 * time.Second
		w := newWorld(t, memory.Options{Class: memory.Status, Lag: lag, Late: time.Second, Behind: lag})
		time.Sleep(2 * lag)
		d := w.run()
		time.Sleep(2 * settled)
		if z := d.status().Zones[0]; z.ListedAt == nil || z.WrittenAt != nil {
			t.Errorf("at rest: %+v", z)
		}
		w.site.fail(a)
		failed := time.Now()
		for d.status().Zones[0].WrittenAt == nil {
			if time.Since(failed) > settled {
				t.Fatalf("never: %+v", d.status().Zones[0])
			}
			time.Sleep(time.Second)
		}
		z := d.status().Zones[0]
		if _, r := d.why(); r.WrittenAt == nil || !r.WrittenAt.Equal(*z.WrittenAt) || !r.ListedAt.Equal(*z.ListedAt) {
			t.Errorf("status %+v, explain %v %v", z, r.ListedAt, r.WrittenAt)
		}
		time.Sleep(2 * settled)
		if z := d.status().Zones[0]; z.WrittenAt != nil {
			t.Errorf("after a list that shows it: %+v", z)
		}
	})
}
