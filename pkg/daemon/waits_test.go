package daemon

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/provider/memory"
)

// Where an earlier process may have calls on their way, status, explain, plan and the
// answer to a drain say what waits for them and until when; and it goes out then, not
// before and not much later. Afterwards, and where the provider compares, nobody waits.
func TestWhatWaitsAfterAStartIsSaid(t *testing.T) {
	const late = 5*time.Minute + 35*time.Second
	for class, waits := range map[memory.Class]bool{memory.Status: true, memory.Exact: false} {
		t.Run(string(class), func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w := newWorld(t, memory.Options{Class: class, Late: late})
				began := time.Now()
				d := w.run()
				time.Sleep(settled)
				z := d.status().Zones[0]
				_, r := d.why()
				answer := d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "2h"}).Records[0]
				planned, err := d.Plan(t.Context(), control.PlanRequest{})
				if err != nil || len(planned.Zones[0].Changes) != 2 {
					t.Fatalf("plan: %+v (%v)", planned, err)
				}
				p := planned.Zones[0]
				if !waits {
					if z.Waits != nil || r.Waits != nil || answer.Waits != nil || p.Waits != nil {
						t.Errorf("status %+v, explain %+v, drain %+v, plan %+v", z.Waits, r.Waits, answer.Waits, p.Waits)
					}
					return
				}
				for who, wait := range map[string]*control.Wait{"status": z.Waits, "explain": r.Waits, "drain": answer.Waits, "plan": p.Waits} {
					if wait == nil || !strings.Contains(wait.Why, "an earlier process") || wait.Until.Sub(began) < late || wait.Until.Sub(began) > late+time.Second {
						t.Fatalf("%s says %+v", who, wait)
					}
				}
				if z.OpenCalls != 0 || !answer.At.Before(answer.Waits.Until) {
					t.Errorf("%d open calls, and %s comes in at %s", z.OpenCalls, b, answer.At)
				}
				time.Sleep(2 * time.Second)
				w.mustLive(a, b)
				later := time.Now().Add(time.Hour)
				if r := d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "3h", At: &later, DryRun: true}).Records[0]; r.Waits != nil {
					t.Errorf("in an hour nobody waits: %+v", r.Waits)
				}
				time.Sleep(time.Until(answer.Waits.Until) - time.Second)
				w.mustLive(a, b)
				time.Sleep(3 * time.Second)
				w.mustLive(b)
				planned, err = d.Plan(t.Context(), control.PlanRequest{})
				if z := d.status().Zones[0]; z.Waits != nil || err != nil || planned.Zones[0].Waits != nil {
					t.Errorf("at rest: %+v, %+v (%v)", z.Waits, planned.Zones[0].Waits, err)
				}
			})
		})
	}
}

// Where nothing comes in, all that a word does waits.
func TestATakeAwayAloneIsForeseenForTheEndOfTheWait(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status, Late: 5 * time.Minute})
		if err := w.zones[home].EditByHand(memory.Put(string(www.Name), "A", time.Minute, b)); err != nil {
			t.Fatal(err)
		}
		d := w.run()
		time.Sleep(settled)
		r := d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "2h"}).Records[0]
		if r.Waits == nil || !r.At.Equal(r.Waits.Until) || len(r.In) > 0 || len(r.Out) != 1 {
			t.Errorf("at %v, %+v", r.At, r)
		}
		time.Sleep(time.Until(*r.At) + 2*time.Second)
		w.mustLive(b)
	})
}

// A node that writes nothing does not say that it waits.
func TestAShadowDoesNotWait(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status, Late: time.Hour})
		d := w.run(func(o *Options) { o.ReadOnly = true })
		time.Sleep(settled)
		if z := d.status().Zones[0]; z.Waits != nil {
			t.Errorf("it waits %+v", z.Waits)
		}
	})
}
