package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// ago is for how long everything has been as it is when a run begins: longer than
// any hold.
const ago = begins / 2

// adopted are the record sets as they are when the first plan of each was
// approved long ago.
func adopted(specs []*steer.Spec) []*steer.Spec {
	out := make([]*steer.Spec, len(specs))
	for i, spec := range specs {
		one := *spec
		one.AskFirst = false
		out[i] = &one
	}
	return out
}

// settled is the state in which a run begins: every target has been up for long,
// and every answer usable, unless something else than its targets says no.
func (w *world) settled() engine.State {
	state := engine.New(w.decides, w.now()).State()
	since := epoch.Add(-ago)
	for id, t := range state.Targets {
		name, _, _ := strings.Cut(id, "@")
		t.Verdict, t.Passes, t.Since = health.Up, w.decides.Checks[name].Rise, since
		if t.Counted != nil {
			t.Counted = &engine.CountedState{Verdict: health.Up, Since: since}
		}
		state.Targets[id] = t
	}
	for i := range state.Sets {
		s := &state.Sets[i]
		s.Adopted, s.Usable = true, map[string]time.Time{}
		for _, spec := range w.decides.Sets {
			if spec.Key != s.Key {
				continue
			}
			for _, value := range spec.Values() {
				s.Usable[value] = since
			}
		}
	}
	return state
}

// setUp brings every zone to what reconcile would leave, begins the first process,
// and lets it list them.
func (w *world) setUp(ctx context.Context) error {
	state := w.settled()
	e := engine.New(w.decides, w.now())
	e.Restore(state, true, true)
	e.Step(w.now(), engine.Tick{})
	for _, z := range w.order {
		work, _ := e.Work(w.now(), z.name, nil)
		if err := z.fill(work); err != nil {
			return err
		}
		if report := w.writer.Once(ctx, work, reconcile.Orders{}); report.Err != nil {
			return fmt.Errorf("set up zone %s: %w", z.name, report.Err)
		}
	}
	for _, n := range w.others {
		n.begin(w.now(), state, true)
	}
	w.begin(state, true)
	return w.settle(ctx)
}

// fill puts every value that the config names into an empty zone: live what is
// wanted there, parked all others.
func (z *zone) fill(work engine.Work) error {
	var edits []memory.Edit
	for _, s := range work.Plan(plan.Zone{Name: z.name}).Sets {
		spec := s.Wanted.Spec
		live := s.Wanted.Live
		if len(live) == 0 && !s.Wanted.Empty {
			live = unsettled(spec)
		}
		for _, value := range spec.Values() {
			put := memory.Park
			if slices.Contains(live, value) {
				put = memory.Put
			}
			details := []memory.Detail{memory.OnLine(spec.Key.Variant)}
			if weight, says := s.Wanted.Weight(value); says {
				details = append(details, memory.Weighted(weight))
			}
			edits = append(edits, put(string(spec.Key.Name), string(spec.Key.Type), ttlOf(spec), value, details...))
		}
	}
	return z.memory.EditByHand(edits...)
}

// unsettled is what a set answers with of which nothing is usable from the start:
// what somebody put in by hand.
func unsettled(spec *steer.Spec) []string {
	var values []string
	for _, a := range spec.Answers {
		values = append(values, a.Value)
	}
	if spec.Key.Type.Single() {
		return values[:1]
	}
	return values
}

// providersTTL is the TTL of what a config gives none.
const providersTTL = 5 * time.Minute

func ttlOf(spec *steer.Spec) time.Duration {
	if spec.TTL > 0 {
		return spec.TTL
	}
	return providersTTL
}

// values splits those that the config names into live and not live, in its order.
func values(spec *steer.Spec, seen record.Set) (live, paused []string) {
	live, paused = []string{}, []string{}
	for _, value := range spec.Values() {
		if a, found := seen.Find(value); found && a.Live {
			live = append(live, value)
		} else {
			paused = append(paused, value)
		}
	}
	return live, paused
}
