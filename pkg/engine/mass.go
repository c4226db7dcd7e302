package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/health"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// Mass is the guard against many addresses that fail together, which is rather
// the fault of this node or its network than theirs. With an AtLeast of 0 it is
// off.
type Mass struct {
	Percent int           // strictly more of the node's addresses than this, 0 to 100
	AtLeast int           // and at least so many
	Within  time.Duration // going down in this time
	Confirm int           // each need so many more failures in a row; at least 1
}

// mass is what the guard knows.
type mass struct {
	groups   int               // how many there are of what addresses count as
	sites    map[string]string // by address: the site where it stands
	brink    []*target
	suspects []*target
	cleared  bool          // some of suspects are none any more
	due      time.Duration // boot time at which the first of the suspects under vantages goes down; 0 for none
	tripped  time.Duration // boot time at which too many were counted last; 0 never
	fallen   []fallen      // what went down within Mass.Within, and some of before; oldest first
	why      string        // what is suspected and why, as it began; empty when nothing is
}

// fallen is one address that went down, by what it counts as.
type fallen struct {
	at    time.Duration
	group string
}

func (e *Engine) hasMass() bool { return e.config.Mass.AtLeast > 0 }

// group is what an address counts as: the site where it stands, else itself.
func (e *Engine) group(address string) string {
	if site, found := e.mass.sites[address]; found {
		return site
	}
	return address
}

// countSites says which addresses stand in which site: those of its answers and
// those of its signals. Of several sites with one address the first by name has it.
func (e *Engine) countSites() {
	e.mass.sites = map[string]string{}
	for _, s := range slices.Backward(e.scenes.sites) {
		for _, address := range s.addresses {
			e.mass.sites[address] = s.spec.Name
		}
		for _, signal := range s.spec.Signals {
			for _, address := range signal.Targets {
				e.mass.sites[address] = s.spec.Name
			}
		}
	}
}

// countGroups counts what is probed. It belongs to configure.
func (e *Engine) countGroups() {
	e.mass.groups, e.mass.brink, e.mass.suspects = 0, nil, nil
	if !e.hasMass() {
		for _, t := range e.targets {
			t.trust() // its next failure brings it down
		}
		return
	}
	e.countSites()
	seen := map[string]bool{}
	for _, t := range e.targets {
		seen[e.group(t.id.Address)] = true
	}
	e.mass.groups = len(seen)
	for _, id := range slices.Sorted(maps.Keys(e.targets)) {
		if t := e.targets[id]; t.suspected() {
			e.mass.suspects = append(e.mass.suspects, t)
		}
	}
}

// onBrink notes a target that has failed often enough to be down, and reports
// whether it has to wait for what becomes of the others in this step. One that
// was suspected and failed on is believed.
func (e *Engine) onBrink(t *target) bool {
	if !e.hasMass() || t.panel != nil || t.health.Suspected {
		return false
	}
	e.mass.brink = append(e.mass.brink, t)
	return true
}

// settleMass brings down what is on the brink, or suspects all of it.
func (e *Engine) settleMass() {
	m := &e.mass
	brink := slices.DeleteFunc(m.brink, func(t *target) bool {
		return t.observed() == health.Down || !t.failed()
	})
	m.brink = nil
	switch {
	case len(brink) == 0:
	case e.tooMany():
		e.suspect(brink)
	default:
		for _, t := range brink {
			if t.panel != nil {
				e.turnPanel(t, health.Down)
			} else {
				e.down(t)
			}
		}
	}
	if len(m.suspects) == 0 || m.why != "" && !m.cleared {
		return
	}
	if m.why == "" { // taken up from an earlier process
		m.why = cmp.Or(e.countMass(), "many addresses failed together before this process began")
	}
	m.cleared = false
	m.suspects = slices.DeleteFunc(m.suspects, func(t *target) bool { return !t.suspected() })
	if len(m.suspects) == 0 {
		m.why = ""
		e.tellMass("nothing is suspected any more: each target has passed again, or failed on and is down")
	}
}

// tooMany reports whether more addresses fail together than may be believed at
// once. To count them costs as much as there are targets, so that once they were
// too many they are for a little while, as long as a zone of that size rests.
func (e *Engine) tooMany() bool {
	m := &e.mass
	rest := min(time.Duration(len(e.targets))*planRest, longestRest)
	if m.tripped != 0 && len(m.suspects) > 0 && e.now.Boot < m.tripped+rest {
		return true
	}
	why := e.countMass()
	if why != "" {
		m.why, m.tripped = why, e.now.Boot
		if len(m.suspects) == 0 {
			e.tellMass(e.massWords())
		}
	}
	return why != ""
}

// countMass says, with the numbers, that more addresses fail together than may be
// believed at once; it is empty when they do not. Beside those that went down, and
// have not come back, and those that are suspected count those that are one failure short of it: of
// targets that begin to fail at one moment the first comes to its turn up to an
// interval before the last.
func (e *Engine) countMass() string {
	m := e.config.Mass
	e.mass.forget(e.now.Boot - m.Within)
	fell, failing := map[string]bool{}, map[string]bool{}
	for _, f := range e.mass.fallen {
		fell[f.group] = true
	}
	for _, t := range e.targets {
		if t.failing() || t.observed() == health.Down && fell[e.group(t.id.Address)] {
			failing[e.group(t.id.Address)] = true
		}
	}
	n, all := len(failing), e.mass.groups
	if n < m.AtLeast || n*100 <= m.Percent*all {
		return ""
	}
	what := "addresses"
	if len(e.mass.sites) > 0 {
		what = "sites and other addresses"
	}
	return fmt.Sprintf("%d of %d %s (%s) fail within %s, more than %d%% and at least %d",
		n, all, what, someOf(slices.Sorted(maps.Keys(failing))), short(m.Within), m.Percent, m.AtLeast)
}

// short leaves the seconds of whole minutes out.
func short(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return strings.TrimSuffix(d.String(), "0s")
	}
	return d.String()
}

// failing reports whether a target is suspected, or would be down at its next
// failure at the latest.
func (t *target) failing() bool {
	h := t.health
	if p := t.panel; p != nil {
		short := p.mine >= 0 && h.Is() != health.Down && h.Fails >= max(t.spec.Fall-1, 1) && p.downs+1 >= p.rule.Down
		return p.is() != health.Down && (p.suspected || p.downs >= p.rule.Down || short)
	}
	return h.Is() != health.Down && (h.Suspected || h.Fails >= max(t.spec.Fall-1, 1))
}

func (m *mass) forget(before time.Duration) {
	for len(m.fallen) > 0 && m.fallen[0].at < before {
		m.fallen = m.fallen[1:]
	}
}

// suspect keeps targets as they are that have failed often enough to be down.
func (e *Engine) suspect(targets []*target) {
	for _, t := range targets {
		if t.panel != nil {
			e.suspectPanel(t)
			continue
		}
		from, state := t.health.Is(), t.health
		state.Suspected = true
		e.bearOut(t, state)
		e.turned(t, health.Change{From: from, To: health.Suspected, Phase: state.Phase, Cause: state.Cause, Detail: state.Detail})
		e.mass.suspects = append(e.mass.suspects, t)
	}
}

// down brings a target down whose row of failures is believed: where vantages judge
// it, that is this node's word.
func (e *Engine) down(t *target) {
	before := t.health
	state, change := before.Turn(e.policy(t))
	e.bearOut(t, state)
	e.rest(t, before, t.tally.last)
	if change != nil {
		e.turned(t, *change)
	}
}

// bearOut gives a target a state that the canary, where there is one, bears out.
func (e *Engine) bearOut(t *target, state health.State) {
	t.health = state
	if s := t.sight; s != nil {
		s.believed, s.noted, s.notedAt = state, state, s.last
	}
	e.touch(t)
}

// noteFallen remembers for a while that an address went down.
func (e *Engine) noteFallen(t *target) {
	if e.hasMass() {
		e.mass.forget(e.now.Boot - e.config.Mass.Within)
		e.mass.fallen = append(e.mass.fallen, fallen{e.now.Boot, e.group(t.id.Address)})
	}
}

// restoreFallen remembers what an earlier process brought down a short while ago.
func (e *Engine) restoreFallen() {
	if !e.hasMass() {
		return
	}
	e.mass.fallen = nil
	for _, t := range e.targets {
		if at := e.boot(t.turnedAt()); t.observed() == health.Down && at >= e.now.Boot-e.config.Mass.Within {
			e.mass.fallen = append(e.mass.fallen, fallen{at, e.group(t.id.Address)})
		}
	}
	slices.SortFunc(e.mass.fallen, func(a, b fallen) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.group, b.group)) })
}

func (e *Engine) tellMass(detail string) {
	e.tell(Entry{Kind: "guard", Target: "mass", Guard: plan.GuardMass, Detail: detail})
}

// massWords are why targets are suspected, and the way on; empty when none is.
func (e *Engine) massWords() string {
	if e.mass.why == "" {
		return ""
	}
	times, jury := "once more", ""
	if n := e.config.Mass.Confirm; n > 1 {
		times = fmt.Sprintf("%d more times in a row", n)
	}
	if slices.ContainsFunc(e.mass.suspects, func(t *target) bool { return t.panel != nil }) {
		jury = fmt.Sprintf(", and one that vantages judge until too few of them say down, or they have said so for %d more intervals", e.config.Mass.Confirm)
	}
	return fmt.Sprintf("%s: that may be this node or its network, so each stays as it is, suspected, until it has passed once or failed %s%s; to believe it at once: sidestep reconcile --override-guard %s",
		e.mass.why, times, jury, plan.GuardMass)
}

// suspects reports whether anything that the zone rests on is suspected.
func (z *zone) suspects(list []*target) bool {
	return slices.ContainsFunc(list, func(t *target) bool { return t.restsIn([]record.Name{z.name}) })
}

// disbelieve judges a record set anew as if what is suspected were down.
func (e *Engine) disbelieve(s *set) []steer.Judged {
	judged := slices.Clone(s.judged)
	for i, needs := range s.targets {
		j := slices.IndexFunc(needs, func(t *target) bool { return t.suspected() })
		if j >= 0 && e.ruling(s, i) == "" {
			t := needs[j]
			judged[i].Usable = steer.No
			judged[i].Why = fmt.Sprintf("%s suspected: %s, and guard %s is overridden", t.id.ID(), t.why(), plan.GuardMass)
		}
	}
	return judged
}
