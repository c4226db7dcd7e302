package engine

import (
	"maps"
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
	"sidestep/pkg/override"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// View is the engine's state for people: a copy, sorted, that the engine does
// not change any more.
type View struct {
	Now       time.Time // when this was
	Targets   []TargetView
	Sets      []SetView
	Zones     []ZoneView
	Sites     []SiteView     // sorted by name
	Scenarios []ScenarioView // in the order of the config
	Lost      bool           // nothing is resumed before a person approves all
	Canary    *CanaryView    // nil without one
	Blind     string         // why this node does not see the world; empty when it does
	Mass      string         // why targets are suspected that fail together; empty when none is
	Words     []OverrideView
	Vantages  []VantageState // the others whose word counts, sorted by name
	Clock     string         // what speaks against this machine's clock; empty when nothing does
}

// TargetView is one target. Verdict is what the probes add up to; Shown is
// Unknown when they have been silent for too long.
type TargetView struct {
	Target   check.Target
	Verdict  health.Verdict
	Shown    health.Verdict
	Phase    check.Phase
	Cause    check.Cause
	Detail   string
	Since    time.Time
	Passes   int
	Fails    int
	Tally    Tally
	Cooldown CooldownView
	Falls    int           // so many failures in a row bring it down; more while it is suspected
	Vantages *VantagesView // what others say, and what counts; nil where this node decides alone
	Waits    bool          // has failed often enough to be down, and waits for the canary
}

// SetView is one record set: what the zone shows of it, and what it should be.
type SetView struct {
	Spec   *steer.Spec
	Ready  bool
	Latest time.Time // while not Ready: when it is planned whatever was judged
	Listed bool      // Plan rests on a list of the zone
	Judged []steer.Judged
	Seen   []health.Verdict // by position of the answer: what the probes say, whatever Judged makes of it
	Ruled  []override.Kind  // by position of the answer: the override that settles what becomes of it; empty for none
	Plan   plan.Set         // nothing wanted before the first list, or while not ready
	Due    time.Time        // when a failback becomes due; zero when none waits for time
}

// ZoneView is one zone.
type ZoneView struct {
	Name   record.Name
	Listed bool
	Err    string // why it could not be listed or written last
	Plan   plan.Plan
	Window time.Time // end of the open debounce window; zero when none is open
}

// View describes the state at one moment. Plans are brought up to date for it
// where a debounce window is open.
func (e *Engine) View(now Now) View {
	v := e.Overview(now)
	v.Targets = slices.Grow(v.Targets, len(e.targets))
	for _, id := range slices.Sorted(maps.Keys(e.targets)) {
		t := e.targets[id]
		v.Targets = append(v.Targets, TargetView{
			Target: t.id, Verdict: t.health.Is(),
			Shown: t.health.Shown(now.Boot, t.spec.Interval, t.spec.Timeout, t.heldUntil()),
			Phase: t.health.Phase, Cause: t.health.Cause, Detail: t.health.Detail,
			Since: t.since, Passes: t.health.Passes, Fails: t.health.Fails,
			Tally: e.tallyOf(t.tally), Cooldown: e.cooldownView(t), Falls: e.policy(t).Falls(t.health), Waits: t.waits(),
			Vantages: e.vantagesView(t),
		})
	}
	v.Sets = slices.Grow(v.Sets, len(e.sets))
	for _, s := range e.sets {
		v.Sets = append(v.Sets, e.setView(s))
	}
	return v
}

// Overview is View without the targets and the record sets, of which there may be
// very many: TargetBriefs and SetBriefs tell of those in short.
func (e *Engine) Overview(now Now) View {
	e.now = now
	v := View{
		Now: now.Wall, Lost: e.lost, Canary: e.canaryView(), Blind: e.blindness(), Mass: e.massWords(), Clock: e.clockDoubt(),
		Sites: e.siteViews(), Scenarios: e.scenarioViews(), Vantages: e.vantageStates(),
	}
	for _, name := range e.config.Zones {
		z := e.zones[name]
		e.refresh(z)
		v.Zones = append(v.Zones, e.zoneView(z))
	}
	v.Words = e.overrideViews()
	return v
}

// refresh plans a zone that changed while its window is open, or while it rests, or
// of which vantages say something else.
// That opens no window, so a zone that rests has to be planned again.
func (e *Engine) refresh(z *zone) {
	if !z.listed || !z.dirty && !z.turned && !z.retold {
		return
	}
	turned, planned := z.turned, z.planned
	e.replan(z)
	if z.window == 0 {
		z.turned, z.planned = turned, planned
	}
}

func (e *Engine) zoneView(z *zone) ZoneView {
	v := ZoneView{Name: z.name, Listed: z.listed, Err: z.err, Plan: z.plan}
	if z.window != 0 {
		v.Window = e.wall(z.window)
	}
	return v
}

func (e *Engine) setView(s *set) SetView {
	part, planned := s.zone.plan.Find(s.spec.Key)
	if !planned {
		seen := record.FindSet(s.zone.seen.Sets, s.spec.Key)
		part = plan.Set{Wanted: &steer.Wanted{Spec: s.spec}, Seen: &seen}
	}
	v := SetView{
		Spec: s.spec, Ready: s.ready, Latest: e.wall(s.deadline), Listed: s.zone.listed,
		Judged: slices.Clone(s.judged), Plan: part,
	}
	if due := part.Wanted.Due; due != 0 {
		v.Due = e.wall(due)
	}
	for i, needs := range s.targets {
		v.Seen = append(v.Seen, seenBy(needs))
		v.Ruled = append(v.Ruled, e.ruling(s, i))
	}
	return v
}

// Ready reports whether every record set of the zones may be planned; of none,
// of all zones. A one-shot command probes until it is so. A blind node need not
// wait: what it would plan is refused.
func (e *Engine) Ready(zones []record.Name) bool {
	return e.isBlind() || !slices.ContainsFunc(e.sets, func(s *set) bool {
		return !s.ready && (len(zones) == 0 || slices.Contains(zones, s.spec.Key.Zone))
	})
}

// Sighted reports whether it is known if this node sees the world: the last
// round of the canary passed, or it fails. Without a canary it is.
func (e *Engine) Sighted() bool {
	return !e.hasCanary() || e.isBlind() || e.canary.state != "" && e.canary.short == 0
}

// Undecided lists the targets that are not judged and that a record set of the
// zones rests on, sorted by id; of none, of all zones. While this node is blind
// none is: the guard says why nothing is judged.
func (e *Engine) Undecided(zones []record.Name) []check.Target {
	var list []check.Target
	if e.isBlind() {
		return nil
	}
	watched := e.watched(zones)
	for _, id := range slices.Sorted(maps.Keys(e.targets)) {
		t := e.targets[id]
		if t.observed() == health.Unknown && (t.restsIn(zones) || watched[t]) {
			list = append(list, t.id)
		}
	}
	return list
}
