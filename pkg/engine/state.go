package engine

import (
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// State is what a restart takes up again. It holds wall times only: a boot
// time means nothing to the next process.
type State struct {
	Targets map[string]TargetState `json:"targets"` // by target id
	Sets    []SetState             `json:"sets"`
	Lost    bool                   `json:"lost,omitempty"`
}

// TargetState is one target's verdict and counters.
type TargetState struct {
	Definition string         `json:"definition"` // check.Spec.Fingerprint: another one makes the rest worthless
	Verdict    health.Verdict `json:"verdict"`
	Passes     int            `json:"passes"`
	Fails      int            `json:"fails"`
	Phase      check.Phase    `json:"phase,omitempty"`
	Cause      check.Cause    `json:"cause,omitempty"`
	Since      time.Time      `json:"since"`
}

// SetState is what persons said of a record set, what was written to it, and
// since when each answer is usable.
type SetState struct {
	Key       record.Key           `json:"key"`
	Adopted   bool                 `json:"adopted,omitempty"`
	Owned     bool                 `json:"owned,omitempty"`
	Failback  bool                 `json:"failback,omitempty"`
	Held      []string             `json:"held,omitempty"`
	Written   []time.Time          `json:"written,omitempty"`
	Published []string             `json:"published"`
	Usable    map[string]time.Time `json:"usable,omitempty"` // by value: since when it is usable without a break
}

// State gives everything that a restart must not lose.
func (e *Engine) State() State {
	state := State{Targets: map[string]TargetState{}, Lost: e.lost}
	for id, t := range e.targets {
		state.Targets[id] = TargetState{
			Definition: t.spec.Fingerprint(), Verdict: t.health.Is(),
			Passes: t.health.Passes, Fails: t.health.Fails,
			Phase: t.health.Phase, Cause: t.health.Cause, Since: t.since,
		}
	}
	for _, s := range e.sets {
		state.Sets = append(state.Sets, e.setState(s))
	}
	return state
}

func (e *Engine) setState(s *set) SetState {
	out := SetState{
		Key: s.spec.Key, Adopted: s.adopted, Owned: s.owned, Failback: s.failback,
		Published: s.published, Usable: map[string]time.Time{},
	}
	for value := range s.held {
		out.Held = append(out.Held, value)
	}
	slices.Sort(out.Held)
	for _, at := range s.written {
		out.Written = append(out.Written, e.wall(at))
	}
	for i, j := range s.judged {
		if j.Usable == steer.Yes {
			out.Usable[s.spec.Answers[i].Value] = e.wall(j.Since)
		}
	}
	return out
}

// wall and boot turn the one clock's time into the other's, by what both say
// now.
func (e *Engine) wall(boot time.Duration) time.Time { return e.now.Wall.Add(boot - e.now.Boot) }

func (e *Engine) boot(wall time.Time) time.Duration {
	return e.now.Boot - max(e.now.Wall.Sub(wall), 0)
}

// Restore takes up what an earlier process left: what persons said and what was
// published at any age, verdicts and counters, and holds, only if asked to. It
// is called once, before the first Step.
func (e *Engine) Restore(state State, verdicts, holds bool) {
	e.lost = state.Lost
	if verdicts {
		for id, old := range state.Targets {
			e.restoreTarget(id, old)
		}
	}
	for _, old := range state.Sets {
		i := slices.IndexFunc(e.sets, func(s *set) bool { return s.spec.Key == old.Key })
		if i >= 0 {
			e.restoreSet(e.sets[i], old, holds)
		}
	}
}

func (e *Engine) restoreTarget(id string, old TargetState) {
	t, found := e.targets[id]
	if !found || t.spec.Fingerprint() != old.Definition {
		return
	}
	t.since = old.Since
	t.health = health.State{
		Verdict: old.Verdict, Passes: old.Passes, Fails: old.Fails,
		Phase: old.Phase, Cause: old.Cause,
	}
}

func (e *Engine) restoreSet(s *set, old SetState, holds bool) {
	s.adopted, s.owned, s.failback, s.published = old.Adopted, old.Owned, old.Failback, old.Published
	for _, value := range old.Held {
		s.held[value] = true
	}
	for _, at := range old.Written {
		s.written = append(s.written, e.boot(at))
	}
	if !holds {
		return
	}
	for value, since := range old.Usable {
		s.resumed[value] = e.boot(since)
	}
}

// Lose says that overrides may have been lost with a corrupt state: nothing
// that is paused is resumed before a person approves all.
func (e *Engine) Lose() { e.lost = true }
