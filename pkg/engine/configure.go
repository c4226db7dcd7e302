package engine

import (
	"maps"
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// configure builds targets and record sets from a definition and takes over
// what is known of those that are the same as before.
func (e *Engine) configure(config Config) {
	e.newCanary(config.Canary)
	old := *e
	e.config = config
	e.targets, e.sets, e.zones = map[string]*target{}, nil, map[record.Name]*zone{}
	e.stale, e.early, e.resting, e.present = nil, nil, nil, present{}
	for _, name := range config.Zones {
		z := &zone{name: name, look: e.now.Boot}
		if before, found := old.zones[name]; found {
			*z = *before
			z.sets, z.steered, z.hangs = nil, nil, nil
		}
		z.dirty = true
		e.zones[name] = z
	}
	e.panels = panels{vantages: old.panels.vantages, blind: old.panels.blind}
	for _, spec := range config.Sets {
		e.addSet(spec, old.targets)
	}
	e.addScenes(&old)
	e.canary.waiting, e.skew.at = nil, nil
	for _, id := range slices.Sorted(maps.Keys(e.targets)) {
		t := e.targets[id]
		if t.waits() {
			e.canary.waiting = append(e.canary.waiting, t)
		}
		if t.before != nil {
			e.skew.add(t)
		}
	}
	slices.SortFunc(e.sets, func(a, b *set) int { return a.spec.Key.Compare(b.spec.Key) })
	for _, s := range e.sets {
		s.zone.sets = append(s.zone.sets, s)
		s.zone.steered = append(s.zone.steered, s.spec)
		if before := old.set(s.spec.Key); before != nil {
			s.inherit(before)
		}
		if !s.ready {
			e.early = append(e.early, s)
		}
	}
	e.gatherPanels()
	e.countGroups()
	e.sortEarly()
	e.outdate(e.sets...)
	e.reread()
}

func (e *Engine) addSet(spec *steer.Spec, old map[string]*target) {
	s := &set{spec: spec, zone: e.zones[spec.Key.Zone], judged: make([]steer.Judged, spec.Len()), targets: make([][]*target, spec.Len())}
	longest := time.Duration(0)
	for i := range spec.Len() {
		needs := make([]*target, 0, len(spec.Checks))
		for _, name := range spec.Checks {
			t := e.addTarget(check.Target{Check: name, Address: spec.At(i).Probe}, old)
			if !slices.Contains(t.sets, s) {
				t.sets = append(t.sets, s)
			}
			needs = append(needs, t)
			longest = max(longest, e.patience(t.spec))
		}
		s.targets[i] = needs
	}
	s.patience = longest
	s.deadline = e.now.Boot + s.patience
	e.sets = append(e.sets, s)
}

// patience is how long a verdict is waited for: twice the results that it takes.
func (e *Engine) patience(spec *check.Spec) time.Duration {
	gap := spec.Interval
	if e.config.Pace > 0 {
		gap = min(gap, e.config.Pace)
	}
	return gap * time.Duration(2*max(spec.Fall, spec.Rise))
}

func (e *Engine) addTarget(id check.Target, old map[string]*target) *target {
	if t, found := e.targets[id.ID()]; found {
		return t
	}
	spec := e.config.Checks[id.Check]
	t := &target{id: id, spec: spec, since: e.now.Wall, tally: tally{since: e.now.Boot}}
	if o, found := old[id.ID()]; found && o.spec.Same(spec) {
		t.health, t.since, t.tally, t.sight, t.before = o.health, o.since, o.tally, o.sight, o.before
		if t.cool = o.cool; t.cool != nil {
			t.cool.noted = false
			e.noteHold(t)
		}
	}
	t.panel = e.newPanel(t, old[id.ID()])
	e.targets[id.ID()] = t
	return t
}

// inherit takes over what persons said and what was counted for the record set
// before a reload, and what was judged of answers that are still there.
func (s *set) inherit(old *set) {
	s.ready, s.deadline = old.ready, min(s.deadline, old.deadline)
	s.adopted, s.owned, s.failback, s.resume = old.adopted, old.owned, old.failback, old.resume
	s.earlier, s.written, s.published = old.earlier, old.written, old.published
	for i := range s.judged {
		if j := old.spec.Position(s.spec.At(i).Value); j >= 0 {
			s.judged[i] = old.judged[j]
		}
	}
}

// set finds a record set by its key; nil when the config has none such.
func (e *Engine) set(key record.Key) *set {
	i, found := slices.BinarySearchFunc(e.sets, key, func(s *set, k record.Key) int { return s.spec.Key.Compare(k) })
	if !found {
		return nil
	}
	return e.sets[i]
}

// Targets lists everything that this node has to probe, sorted by id: the same
// check and address once, however many record sets rest on it. What only other
// vantages judge is left to them.
func (e *Engine) Targets() []check.Target { return e.TargetsIn(nil) }

// Judged lists everything that is judged, by this node or by other vantages, sorted
// by id.
func (e *Engine) Judged() []check.Target {
	targets := make([]check.Target, 0, len(e.targets))
	for _, id := range slices.Sorted(maps.Keys(e.targets)) {
		targets = append(targets, e.targets[id].id)
	}
	return targets
}

// TargetsIn lists what the record sets of the zones rest on, sorted by id; of
// none, everything.
func (e *Engine) TargetsIn(zones []record.Name) []check.Target {
	watched := e.watched(zones)
	ids := slices.AppendSeq(make([]string, 0, len(e.targets)), maps.Keys(e.targets))
	slices.Sort(ids)
	targets := make([]check.Target, 0, len(ids))
	for _, id := range ids {
		if t := e.targets[id]; t.ours() && (len(zones) == 0 || t.restsIn(zones) || watched[t]) {
			targets = append(targets, t.id)
		}
	}
	return targets
}

func (t *target) restsIn(zones []record.Name) bool {
	return slices.ContainsFunc(t.sets, func(s *set) bool {
		return len(zones) == 0 || slices.Contains(zones, s.spec.Key.Zone)
	})
}
