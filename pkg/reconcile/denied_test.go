package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// TestARefusedAttributeHoldsNothingUp: the provider refuses every change of a weight,
// or of the TTL, as a plan without them does. A value dies and another is wanted, one
// that was there or a new one: it comes in and the dead one goes out, in the same
// round and in the next, and the refusal is told each time with its reason.
func TestARefusedAttributeHoldsNothingUp(t *testing.T) {
	for _, action := range []record.Action{record.SetWeight, record.SetTTL} {
		for _, paused := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/paused=%v", action, paused), func(t *testing.T) {
				forClasses(t, func(t *testing.T, class memory.Class) {
					w, refusals := refusing(t, class, action)
					if paused {
						w.hand(t, memory.Put(string(www.Name), "A", time.Minute, values[2]))
						mustTell(t, w.round(w.want(values[:2]...)), action)
						w.mustLive(t, values[:2]...)
					}
					time.Sleep(20 * time.Second) // nothing is in doubt
					*refusals = 0
					mustTell(t, w.round(w.want(values[1:]...)), action)
					w.mustLive(t, values[1:]...)
					if *refusals > 2 {
						t.Errorf("%d refused calls in a round", *refusals)
					}
					w.check(t)
				}, memory.Status, memory.Rename, memory.Exact, memory.Whole)
			})
		}
	}
}

// TestAStuckValueHoldsNothingUp: the list says that a value cannot be paused. It goes
// last, so that its refusal keeps no other in the answer.
func TestAStuckValueHoldsNothingUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, slow(memory.Status), values...)
		s := w.shimmed()
		s.list = func(ctx context.Context, next func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
			seen, err := next(ctx)
			if err == nil {
				seen.Sets[0].Answers[0].Stuck = "its remark is too long"
			}
			return seen, err
		}
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			if call.Away[0].Value == values[0] {
				return provider.Failf(provider.Permanent, "write "+call.Key.String(), "TooLong", "the remark is too long")
			}
			return next(ctx, call)
		}
		time.Sleep(20 * time.Second) // nothing is in doubt
		if report := w.round(w.want(values[2])); report.Err == nil || !strings.Contains(report.Err.Error(), "TooLong") {
			t.Errorf("the round ended with %v", report.Err)
		}
		w.mustLive(t, values[0], values[2])
		w.check(t)
	})
}

// refusing is a zone with two live values whose TTL and weights are not the config's,
// and that refuses one of them.
func refusing(t *testing.T, class memory.Class, action record.Action) (*world, *int) {
	t.Helper()
	spec := &steer.Spec{Key: www, Policy: steer.Weighted, MinLive: 1, OnAllDown: steer.Keep, TTL: time.Minute}
	if action == record.SetTTL {
		spec.Policy, spec.TTL = steer.All, 2*time.Minute
	}
	w := newWorldOf(t, slow(class), spec, values, values[:2])
	for i := range spec.Answers {
		spec.Answers[i].Weight = 10 * (i + 1)
	}
	refusals := 0
	w.shimmed().write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
		if slices.ContainsFunc(slices.Concat(call.Add, call.Away), func(c record.Change) bool {
			return c.Action == action || action == record.SetWeight && c.Weight > 0
		}) {
			refusals++
			return provider.Failf(provider.Permanent, "write "+call.Key.String(), "PlanHasNone", "the plan has none of these")
		}
		return next(ctx, call)
	}
	time.Sleep(20 * time.Second) // nothing is in doubt
	return w, &refusals
}

func mustTell(t *testing.T, r Report, action record.Action) {
	t.Helper()
	if action == record.SetTTL && r.Err == nil && r.Final.InSync() {
		return // a set that has one TTL took that of a value that was created
	}
	what := map[record.Action]string{record.SetWeight: "the weights are given up", record.SetTTL: "the TTL is given up"}[action]
	if provider.ClassOf(r.Err) != provider.Permanent || !strings.Contains(r.Err.Error(), what) || !strings.Contains(r.Err.Error(), "PlanHasNone") {
		t.Errorf("expected %q with its reason, got %v", what, r.Err)
	}
	if r.Verified || !r.Final.Pending() {
		t.Errorf("verified %v, and left to do: %v", r.Verified, r.Final)
	}
}
