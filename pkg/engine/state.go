package engine

import (
	"iter"
	"maps"
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
	"sidestep/pkg/override"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// State is what a restart takes up again. It holds wall times only: a boot
// time means nothing to the next process.
type State struct {
	Targets map[string]TargetState `json:"targets"`         // by target id
	Sets    []SetState             `json:"sets"`            // sorted by key
	Plans   map[record.Name]string `json:"plans,omitempty"` // by zone: checksum of a plan that max_changes lets through
	Sites   map[string]SiteState   `json:"sites,omitempty"` // by name: those with an outage or a wait
	Lost    bool                   `json:"lost,omitempty"`  // nothing is resumed before a person approves all

	Overrides []override.Override `json:"overrides,omitempty"`

	// Saved is when this was so: what reminds of an override and fell due since is told
	// once by who takes it up. Zero is now. Who keeps a State keeps it beside.
	Saved time.Time `json:"-"`
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
	Disabled   bool           `json:"disabled,omitempty"`
	Suspected  bool           `json:"suspected,omitempty"` // and the verdict is what it was before
	Cooldown   *CooldownState `json:"cooldown,omitempty"`
	Counted    *CountedState  `json:"counted,omitempty"` // what vantages made of it; nil where none are asked
}

// SetState is what persons said of a record set, what was written to it, and
// since when each answer is what it is.
type SetState struct {
	Key       record.Key           `json:"key"`
	Adopted   bool                 `json:"adopted,omitempty"`
	Owned     bool                 `json:"owned,omitempty"`
	Failback  bool                 `json:"failback,omitempty"`
	Held      []string             `json:"held,omitempty"` // values that may be resumed although somebody else paused them
	Written   []time.Time          `json:"written,omitempty"`
	Published []string             `json:"published"`          // live when the zone was listed last; null when that is not known
	Usable    map[string]time.Time `json:"usable,omitempty"`   // by value: since when it is usable without a break
	Unusable  map[string]time.Time `json:"unusable,omitempty"` // by value: since when it is not
}

// State gives everything that a restart must not lose. Results that the canary
// has not borne out yet are no part of it: the next process could not take them
// back.
func (e *Engine) State() State {
	state := e.RestState()
	state.Targets = maps.Collect(e.TargetStates())
	state.Sets = slices.Collect(e.SetStates())
	return state
}

// TargetStates gives State.Targets one by one, sorted by id: of ten thousand
// targets it is worth not to hold them all twice. Nothing may happen to the
// engine meanwhile.
func (e *Engine) TargetStates() iter.Seq2[string, TargetState] {
	return func(yield func(string, TargetState) bool) {
		definitions := map[*check.Spec]string{}
		for _, id := range slices.Sorted(maps.Keys(e.targets)) {
			t := e.targets[id]
			definition, known := definitions[t.spec]
			if !known {
				definition = t.spec.Fingerprint()
				definitions[t.spec] = definition
			}
			h := e.believed(t)
			state := TargetState{
				Definition: definition, Verdict: h.Is(), Passes: h.Passes, Fails: h.Fails,
				Phase: h.Phase, Cause: h.Cause, Since: t.since,
				Disabled: h.Disabled, Suspected: h.Suspected, Cooldown: e.cooldownState(t), Counted: t.panel.state(),
			}
			if kept, found := e.kept[id]; found && state.Verdict == health.Unknown && kept.Definition == definition {
				state = kept
			}
			if !yield(id, state) {
				return
			}
		}
	}
}

// SetStates gives State.Sets one by one, as TargetStates does.
func (e *Engine) SetStates() iter.Seq[SetState] {
	return func(yield func(SetState) bool) {
		for _, s := range e.sets {
			if !yield(e.setState(s)) {
				return
			}
		}
	}
}

// RestState gives the State without its targets and sets.
func (e *Engine) RestState() State {
	rest := State{Plans: map[record.Name]string{}, Sites: e.siteStates(), Lost: e.lost}
	for name, z := range e.zones {
		if z.approved != "" {
			rest.Plans[name] = z.approved
		}
	}
	for _, w := range e.words {
		rest.Overrides = append(rest.Overrides, w.Override)
	}
	return rest
}

func (e *Engine) setState(s *set) SetState {
	out := SetState{
		Key: s.spec.Key, Adopted: s.adopted, Owned: s.owned, Failback: s.failback,
		Held: s.resume, Published: s.published,
		Usable: map[string]time.Time{}, Unusable: map[string]time.Time{},
	}
	for _, at := range s.written {
		out.Written = append(out.Written, e.wall(at))
	}
	for i, judged := range s.judged {
		a := s.spec.At(i)
		if earlier, found := s.earlier[a.Value]; found {
			judged = earlier // not judged again yet
		}
		switch judged.Usable {
		case steer.Yes:
			out.Usable[a.Value] = e.wall(judged.Since)
		case steer.No:
			out.Unusable[a.Value] = e.wall(judged.Since)
		case steer.NotKnown:
		}
	}
	return out
}

// wall and boot turn the one clock's time into the other's, by what both say
// now. A wall time in the future is one of a clock that was set back: it counts
// as now.
func (e *Engine) wall(boot time.Duration) time.Time { return e.now.Wall.Add(boot - e.now.Boot) }

func (e *Engine) boot(wall time.Time) time.Duration {
	return e.now.Boot - max(e.now.Wall.Sub(wall), 0)
}

// Restore takes up what an earlier process left: what persons said, overrides
// among it, what waits for a person, as a disabled target does, and what was
// published at any age; verdicts and counters, and holds, only if asked to. It is
// called before the first Step, and again, without verdicts and holds, when
// this process takes over from another that saved in the meantime.
func (e *Engine) Restore(state State, verdicts, holds bool) {
	e.lost = state.Lost
	for id, old := range state.Targets {
		if verdicts || old.Disabled {
			e.restoreTarget(id, old, verdicts)
		}
	}
	e.restoreFallen()
	e.restoreSites(state.Sites, holds)
	for _, old := range state.Sets {
		if s := e.set(old.Key); s != nil {
			e.restoreSet(s, old, holds)
		}
	}
	for name, z := range e.zones {
		z.approved, z.dirty = state.Plans[name], true
	}
	e.restoreWords(state.Overrides, state.Saved)
	e.settleScenes()
}

// Keep goes on saving what an earlier process left of targets that this one does
// not judge, and decides nothing by it. It is for one that judges anew, and maybe
// a part only.
func (e *Engine) Keep(targets map[string]TargetState) { e.kept = targets }

// Keeps reports whether State holds anything that was kept so.
func (e *Engine) Keeps() bool {
	for id, t := range e.targets {
		if _, found := e.kept[id]; found && t.health.Is() == health.Unknown {
			return true
		}
	}
	return false
}

func (e *Engine) restoreTarget(id string, old TargetState, verdicts bool) {
	t, found := e.targets[id]
	if !found || t.spec.Fingerprint() != old.Definition {
		return
	}
	t.since = old.Since
	t.health = health.State{
		Verdict: old.Verdict, Passes: old.Passes, Fails: old.Fails,
		Phase: old.Phase, Cause: old.Cause, Judged: e.now.Boot, Disabled: old.Disabled,
		Suspected: old.Suspected && e.hasMass() && t.panel == nil,
	}
	if verdicts && t.panel != nil {
		t.panel.restore(old)
	}
	if t.health.Suspected {
		e.mass.suspects = append(e.mass.suspects, t)
	}
	e.restoreCooldown(t, old.Cooldown)
	e.touch(t)
}

func (e *Engine) restoreSet(s *set, old SetState, holds bool) {
	s.adopted, s.owned, s.failback = old.Adopted, old.Owned, old.Failback
	s.resume, s.published = old.Held, old.Published
	s.written = nil
	for _, at := range old.Written {
		s.written = append(s.written, e.boot(at))
	}
	slices.Sort(s.written)
	if !holds {
		return
	}
	s.earlier = map[string]steer.Judged{}
	for value, since := range old.Usable {
		s.earlier[value] = steer.Judged{Usable: steer.Yes, Since: e.boot(since)}
	}
	for value, since := range old.Unusable {
		s.earlier[value] = steer.Judged{Usable: steer.No, Since: e.boot(since)}
	}
}

// Lose says that overrides may have been lost with a corrupt state: nothing
// that is paused is resumed before a person approves all. Like Restore it takes
// effect with the next Step.
func (e *Engine) Lose() {
	e.lost = true
	for _, z := range e.zones {
		z.dirty = true
	}
}
