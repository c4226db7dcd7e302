package engine

import (
	"maps"
	"slices"
	"time"
)

// SiteState is what a restart must not forget of a site: the outages that are
// not over, and what it waits for.
type SiteState struct {
	Outages  map[string]OutageState `json:"outages,omitempty"` // by target
	Waiting  *WaitState             `json:"waiting,omitempty"` // nil while it waits for nothing
	Released time.Time              `json:"released,omitzero"` // when it last ceased to wait
}

// OutageState is an outage that is not over. What was counted is in nanoseconds.
type OutageState struct {
	Counted time.Duration `json:"counted,omitempty"` // before Since
	Since   time.Time     `json:"since,omitzero"`    // since when it counts; zero while the site is in maintenance
}

// WaitState is a site that waits after an outage, its length in nanoseconds.
type WaitState struct {
	Since  time.Time     `json:"since"`
	Outage time.Duration `json:"outage"`
	Proved []string      `json:"proved,omitempty"` // addresses at which the check that proves current data has passed
}

// siteStates gives the state of every site that has one, by its name.
func (e *Engine) siteStates() map[string]SiteState {
	states := map[string]SiteState{}
	for _, s := range e.scenes.sites {
		state := SiteState{}
		for id, o := range s.outages {
			out := OutageState{Counted: o.before}
			if o.counts {
				out.Since = e.wall(o.from)
			}
			if state.Outages == nil {
				state.Outages = map[string]OutageState{}
			}
			state.Outages[id] = out
		}
		if s.wait != nil {
			state.Waiting = &WaitState{
				Since: e.wall(s.wait.since), Outage: s.wait.outage, Proved: slices.Sorted(maps.Keys(s.wait.proved)),
			}
		}
		if s.released != 0 {
			state.Released = e.wall(s.released)
		}
		if state.Outages != nil || state.Waiting != nil || s.released != 0 {
			states[s.spec.Name] = state
		}
	}
	return states
}

// restoreSites takes up what an earlier process left of the sites: what they
// wait for at any age, outages only if asked to. A site that this process knows
// to wait goes on with it, unless it was released since.
func (e *Engine) restoreSites(states map[string]SiteState, outages bool) {
	for _, s := range e.scenes.sites {
		state := states[s.spec.Name]
		if !state.Released.IsZero() {
			s.released = e.boot(state.Released)
		}
		if s.wait != nil && s.released != 0 && s.wait.since <= s.released {
			s.wait = nil
		}
		if w := state.Waiting; w != nil && s.wait == nil {
			s.wait = &wait{since: e.boot(w.Since), outage: w.Outage, proved: map[string]bool{}}
			for _, address := range w.Proved {
				s.wait.proved[address] = true
			}
		}
		if outages {
			s.restoreOutages(e, state.Outages)
		}
		e.outdate(s.sets...)
	}
	e.missOutages()
}

func (s *site) restoreOutages(e *Engine, states map[string]OutageState) {
	for id, state := range states {
		o := &outage{before: state.Counted, counts: !state.Since.IsZero()}
		if o.counts {
			o.from = e.boot(state.Since)
		}
		o.pause(e.planned(s, id), e.now.Boot)
		s.outages[id] = o
	}
}
