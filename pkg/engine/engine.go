package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// Engine is the state of one controller. Make one with New.
type Engine struct {
	config  Config
	start   time.Duration // boot time since when this process judges
	targets map[string]*target
	sets    []*set // sorted by key
	zones   map[record.Name]*zone
	lost    bool // overrides may have been lost with a corrupt state

	now     Now
	effects Effects
}

// target is one thing probed by one check, and the record sets that rest on it.
type target struct {
	id     check.Target
	spec   *check.Spec
	health health.State // what the probes see; no word of an operator ever changes it
	since  time.Time    // wall time of the last change of the verdict
	sets   []*set
}

// set is one record set, what is known of its answers, and what persons said.
type set struct {
	spec     *steer.Spec
	zone     *zone
	targets  [][]*target // by position of the answer: all must be up
	judged   []steer.Judged
	ready    bool          // all its targets were judged, or it waited long enough
	deadline time.Duration // boot time at which it is planned whatever was judged

	adopted   bool
	owned     bool // may be steered although another tool claims the name
	failback  bool // the failback that waits was approved
	held      map[string]bool
	resumed   map[string]time.Duration // by value: usable since, as an earlier process saw it, until it is judged again
	written   []time.Duration          // boot times of its writes within the window of max_writes
	published []string                 // what was live when the zone was listed last; nil before the first list
}

// zone is one zone and the state of its debounce window.
type zone struct {
	name     record.Name
	seen     plan.Zone
	listed   bool // seen holds a list
	err      string
	sets     []*set
	dirty    bool          // something changed since it was planned last
	plan     plan.Plan     // as planned last, against seen
	due      time.Duration // boot time at which time alone changes the plan; 0 never
	window   time.Duration // boot time at which the open window ends; 0 when none is open
	asked    bool          // Work is out, and Done did not come yet
	look     time.Duration // boot time of the next look
	approved string        // checksum of a plan that max_changes lets through
}

// New makes an engine that knows nothing yet. The first Step asks to look at
// every zone.
func New(config Config, now Now) *Engine {
	e := &Engine{
		start:   now.Boot,
		now:     now,
		targets: map[string]*target{},
		zones:   map[record.Name]*zone{},
	}
	e.configure(config)
	return e
}

// Step takes one event and says what has to be done about it.
func (e *Engine) Step(now Now, event Event) Effects {
	e.now, e.effects = now, Effects{}
	switch ev := event.(type) {
	case Tick:
	case Results:
		e.results(ev.Results)
	case Seen:
		e.seen(ev.Zone)
	case Failed:
		e.failed(ev)
	case Wrote:
		e.wrote(ev)
	case Done:
		e.done(ev)
	case Approve:
		e.approve(ev)
	case Configure:
		e.configure(ev.Config)
		e.effects.Save = true
	default:
		e.effects.Err = fmt.Errorf("step: unknown event %T", event)
	}
	e.settle()
	return e.effects
}

// results counts what probes found. A result of a target that is no longer
// configured is dropped.
func (e *Engine) results(results []check.Result) {
	for _, r := range results {
		t, found := e.targets[r.Target.ID()]
		if !found {
			continue
		}
		state, change := health.Observe(t.health, r, health.Policy{Fall: t.spec.Fall, Rise: t.spec.Rise})
		t.health = state
		if change != nil {
			e.turned(t, *change)
		}
	}
}

func (e *Engine) turned(t *target, change health.Change) {
	t.since = e.now.Wall
	e.effects.Save = true
	e.effects.Journal = append(e.effects.Journal, Entry{
		Kind: "verdict", Target: t.id.ID(), Address: t.id.Address,
		From: change.From, To: change.To, Phase: change.Phase, Cause: change.Cause, Detail: change.Detail,
	})
	for _, s := range t.sets {
		s.zone.dirty = true
	}
}

// configure builds targets and record sets from a definition and takes over
// what is known of those that are the same as before.
func (e *Engine) configure(config Config) {
	oldTargets, oldSets, oldZones := e.targets, e.sets, e.zones
	e.config = config
	e.targets, e.sets, e.zones = map[string]*target{}, nil, map[record.Name]*zone{}
	for _, name := range config.Zones {
		z := &zone{name: name, look: e.now.Boot}
		if old, found := oldZones[name]; found {
			*z = *old
			z.sets = nil
		}
		z.dirty = true
		e.zones[name] = z
	}
	for _, spec := range config.Sets {
		e.addSet(spec, oldTargets)
	}
	slices.SortFunc(e.sets, func(a, b *set) int { return a.spec.Key.Compare(b.spec.Key) })
	for _, s := range e.sets {
		s.zone.sets = append(s.zone.sets, s)
		i := slices.IndexFunc(oldSets, func(o *set) bool { return o.spec.Key == s.spec.Key })
		if i >= 0 {
			s.inherit(oldSets[i])
		}
	}
}

func (e *Engine) addSet(spec *steer.Spec, old map[string]*target) {
	s := &set{
		spec: spec, zone: e.zones[spec.Key.Zone],
		judged: make([]steer.Judged, len(spec.Answers)),
		held:   map[string]bool{}, resumed: map[string]time.Duration{},
	}
	longest := time.Duration(0)
	for _, a := range spec.Answers {
		var needs []*target
		for _, name := range spec.Checks {
			t := e.addTarget(check.Target{Check: name, Address: a.Probe}, old)
			if !slices.Contains(t.sets, s) {
				t.sets = append(t.sets, s)
			}
			needs = append(needs, t)
			rounds := time.Duration(2 * max(t.spec.Fall, t.spec.Rise))
			longest = max(longest, rounds*e.pace(t.spec.Interval))
		}
		s.targets = append(s.targets, needs)
	}
	s.deadline = e.now.Boot + longest
	e.sets = append(e.sets, s)
}

func (e *Engine) pace(interval time.Duration) time.Duration {
	if e.config.Pace > 0 {
		return min(interval, e.config.Pace)
	}
	return interval
}

func (e *Engine) addTarget(id check.Target, old map[string]*target) *target {
	if t, found := e.targets[id.ID()]; found {
		return t
	}
	spec := e.config.Checks[id.Check]
	t := &target{id: id, spec: spec, since: e.now.Wall}
	if o, found := old[id.ID()]; found && o.spec.Same(spec) {
		t.health, t.since = o.health, o.since
	}
	e.targets[id.ID()] = t
	return t
}

// inherit takes over what persons said and what was counted for the record set
// before a reload, and what was judged of answers that are still there.
func (s *set) inherit(old *set) {
	s.ready, s.deadline = old.ready, min(s.deadline, old.deadline)
	s.adopted, s.owned, s.failback = old.adopted, old.owned, old.failback
	s.held, s.written, s.published, s.resumed = old.held, old.written, old.published, old.resumed
	for i, a := range s.spec.Answers {
		if j := old.spec.Position(a.Value); j >= 0 {
			s.judged[i] = old.judged[j]
		}
	}
}

// Targets lists everything that has to be probed, sorted by id: the same check
// and address once, however many record sets rest on it.
func (e *Engine) Targets() []check.Target { return e.TargetsIn(nil) }

// TargetsIn lists what the record sets of the zones rest on; of none, of all.
func (e *Engine) TargetsIn(zones []record.Name) []check.Target {
	var targets []check.Target
	for _, id := range slices.Sorted(maps.Keys(e.targets)) {
		if t := e.targets[id]; t.restsIn(zones) {
			targets = append(targets, t.id)
		}
	}
	return targets
}
