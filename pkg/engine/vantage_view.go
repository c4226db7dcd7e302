package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
)

// VantageState is another node's vantage, whatever it says.
type VantageState struct {
	Name   string
	At     time.Time // when it was heard last; zero for never
	Silent bool      // it was not heard for too long
	Blind  bool      // its canary fails
}

func (e *Engine) vantageStates() []VantageState {
	var list []VantageState
	for _, name := range slices.Sorted(maps.Keys(e.panels.vantages)) {
		v := e.panels.vantages[name]
		state := VantageState{Name: name, Silent: v.silent, Blind: v.blind}
		if v.spoke {
			state.At = e.wall(v.heard)
		}
		list = append(list, state)
	}
	return list
}

// Counts is the verdict by which is decided, operators' words left aside, and where
// and why the target failed last as far as that is by it.
func (t TargetView) Counts() (verdict health.Verdict, phase check.Phase, cause check.Cause) {
	if v := t.Vantages; v != nil {
		return v.Verdict, v.Phase, v.Cause
	}
	return t.Verdict, t.Phase, t.Cause
}

// VantagesView is what vantages make of one target.
type VantagesView struct {
	Verdict health.Verdict // that counts, whatever this node's own probes say; Suspected while guard mass holds it
	Since   time.Time
	Phase   check.Phase // of the first vantage that said down, while it is down
	Cause   check.Cause
	Down    int           // how many must say down
	Words   string        // what they say, with how long who has been silent
	Says    []VantageView // in the order of the config
}

// VantageView is what one vantage says of one target.
type VantageView struct {
	Name    string
	Own     bool           // this node's
	Verdict health.Verdict // as it counts: Unknown of one that is silent or blind
	Phase   check.Phase    // of what it said last
	Cause   check.Cause
	Since   time.Time // of the verdict that it said last; zero where it said none
	At      time.Time // when it was heard last; of this node when its last probe was over; zero for never
	Silent  bool      // it was not heard for too long, or at all
	Blind   bool      // its canary fails
}

func (e *Engine) vantagesView(t *target) *VantagesView {
	p := t.panel
	if p == nil {
		return nil
	}
	view := &VantagesView{Verdict: p.is(), Since: p.since, Phase: p.phase, Cause: p.cause, Down: p.rule.Down}
	if p.suspected {
		view.Verdict = health.Suspected
	}
	says := e.sayings(t)
	if view.Words = e.countWords(t, says, true); view.Words == "" {
		view.Words = fmt.Sprintf("%d of %d vantages say up", len(says), len(says))
	}
	for i, o := range says {
		v := VantageView{Name: p.rule.Of[i], Own: i == p.mine, Verdict: o.Verdict, Phase: o.Phase, Cause: o.Cause, Since: o.Since}
		if v.Own {
			v.Blind = e.isBlind()
			if t.tally.outcome > 0 {
				v.At = e.wall(t.tally.last)
			}
		} else if other := e.panels.vantages[v.Name]; other != nil {
			v.Blind, v.Silent = other.blind, other.silent || !other.spoke
			if other.spoke {
				v.At = e.wall(other.heard)
			}
		}
		view.Says = append(view.Says, v)
	}
	return view
}
