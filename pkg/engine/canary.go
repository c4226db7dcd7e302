package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
	"sidestep/pkg/plan"
)

// CanarySpec is what tells whether this node sees the world at all: how many of
// these targets have to answer. Without targets nothing is asked.
type CanarySpec struct {
	Targets []string // what they are called in results
	Need    int      // 1 to their number
}

func (c CanarySpec) same(o CanarySpec) bool {
	return c.Need == o.Need && slices.Equal(c.Targets, o.Targets)
}

// roundsBlind is how many rounds in a row with fewer answers than needed mean
// that this node is blind: one may be a lost packet.
const roundsBlind = 2

// quickFall is how quickly failures may add up so that no round of those that
// come by themselves need lie between them: the first of the row asks for one.
const quickFall = 5 * time.Second

// canary is what its rounds add up to.
type canary struct {
	state   check.Outcome  // Fail while this node is blind; empty before the first round
	since   time.Time      // wall time of the last change of the state
	results []check.Result // of the last round
	short   int            // rounds in a row with too few answers
	shortAt time.Duration  // boot time at which the first of them began
	passed  time.Duration  // boot time at which the last round that passed began
	blind   time.Duration  // probes that began before this boot time count for nothing
	waiting []*target      // those that wait, and some that no longer do
}

// sight is how far the canary bears out what is counted of a target.
type sight struct {
	last     time.Duration // end of the last probe that was counted
	pass     time.Duration // end of the last of them that passed
	believed health.State  // what the canary has borne out; the whole of it once the canary passed after last
	noted    health.State  // newer than believed: what is believed once the canary passed after notedAt
	notedAt  time.Duration // end of the last probe that is in noted
	waits    bool          // it has failed often enough to be down, and waits for the canary to pass
	fallen   time.Duration // end of the failure since which it waits
}

// waits reports whether the target has failed often enough to be down, and waits
// for the canary to pass.
func (t *target) waits() bool { return t.sight != nil && t.sight.waits }

func (e *Engine) hasCanary() bool { return len(e.config.Canary.Targets) > 0 }

// isBlind reports whether the canary fails: nothing that is seen counts, and
// nothing is written.
func (e *Engine) isBlind() bool { return e.canary.state == check.Fail }

// Blind reports whether the canary fails, so that nothing that this node sees counts.
func (e *Engine) Blind() bool { return e.isBlind() }

// doubtSight makes a result unknown that was seen by a blind node, and that of
// a probe which began before the round that ended the blindness.
func (e *Engine) doubtSight(r check.Result) check.Result {
	switch {
	case e.isBlind():
		r.Detail = "not counted: the canary fails, so this node does not see the world"
	case r.Start < e.canary.blind:
		r.Detail = "not counted: the probe began while the canary failed"
	default:
		return r
	}
	r.Outcome = check.Unknown
	return r
}

// waitsForCanary reports whether a target that this failure would bring down
// has to wait for a round of the canary that begins after it. It waits from the
// first such failure, whatever comes after it, so that a target whose interval
// is shorter than a round comes to its turn.
func (e *Engine) waitsForCanary(t *target, r check.Result) bool {
	switch {
	case t.waits():
	case !e.hasCanary(), r.End < e.canary.passed:
		return false
	default:
		t.sight.waits, t.sight.fallen = true, r.End
		e.canary.waiting = append(e.canary.waiting, t)
		e.effects.Canary = true
	}
	return true
}

// remember keeps what the canary has borne out before a result is added to it.
// A pass of the canary costs nothing here: it moves canary.passed beyond the
// last results, and what it bore out is copied when the next one comes. Where a
// round takes longer than an interval no pass is beyond the last result, so
// what was counted is noted now and then, to be believed a round later.
func (e *Engine) remember(t *target, r check.Result) {
	if !e.hasCanary() || r.Outcome == check.Unknown {
		return
	}
	if t.sight == nil {
		t.sight = &sight{}
	}
	s := t.sight
	if s.notedAt <= e.canary.passed {
		s.believed = e.believed(t)
		s.noted, s.notedAt = t.health, s.last
	}
	s.last = max(s.last, r.End)
	if r.Outcome == check.Pass {
		s.pass = max(s.pass, r.End)
	}
}

// askEarly asks for a round at the first failure of a row that may bring the
// target down before a round comes by itself: an outage of this node that is
// over when the last failure asks would leave no trace.
func (e *Engine) askEarly(t *target) {
	pace := t.spec.Interval
	if t.spec.FastInter > 0 {
		pace = t.spec.FastInter
	}
	if e.hasCanary() && t.health.Fails == 1 && t.health.Is() != health.Down && time.Duration(t.spec.Fall-1)*pace < quickFall {
		e.effects.Canary = true
	}
}

// forgetFailures takes back what counts towards a fall since the last round that
// passed, for one with too few answers came since. Passes count, and so does all
// that a target failed before it asked for that round: it is asked again.
func (e *Engine) forgetFailures() {
	var waited []string
	for _, t := range e.targets {
		if t.health.Is() == health.Down || t.health.Fails == 0 || t.sight == nil || t.sight.last <= e.canary.passed {
			continue
		}
		if t.waits() {
			if t.sight.fallen <= e.canary.shortAt {
				continue
			}
			waited = append(waited, t.id.ID())
		}
		believed := e.believed(t)
		if t.sight.pass > e.canary.passed {
			believed.Fails, believed.Phase, believed.Cause, believed.Detail = 0, "", "", ""
		}
		t.health, t.sight = believed, nil
		e.touch(t)
	}
	if len(waited) > 0 {
		slices.Sort(waited)
		e.tellCanary(fmt.Sprintf("a round of the canary had too few answers while %s failed: what failed since the one before counts for nothing", someOf(waited)))
	}
}

// believed is a target's health without the results that the canary does not
// bear out. A verdict of up stays: a pass needs no witness.
func (e *Engine) believed(t *target) health.State {
	if t.sight == nil || t.sight.last <= e.canary.passed {
		return t.health
	}
	believed := t.sight.believed
	if t.sight.notedAt <= e.canary.passed {
		believed = t.sight.noted
	}
	if t.health.Is() == health.Up && believed.Is() != health.Up {
		return health.State{Verdict: health.Up, Passes: t.health.Passes, Judged: t.health.Judged, Seen: t.health.Seen}
	}
	return believed
}

// takeBack takes every result back that the canary does not bear out.
func (e *Engine) takeBack() {
	e.mass.cleared = true
	for _, t := range e.targets {
		before := t.health
		t.health = e.believed(t)
		t.sight = nil
		e.rest(t, before, e.now.Boot)
		e.touch(t)
	}
}

// canaryRound takes one round of the canary.
func (e *Engine) canaryRound(ev Canary) {
	if !e.hasCanary() {
		return
	}
	c := &e.canary
	c.results = ev.Results
	if c.answered() >= e.config.Canary.Need {
		e.canaryPassed(ev.Start)
	} else {
		e.canaryFell(ev.Start)
	}
	e.effects.Canary = slices.ContainsFunc(c.waiting, (*target).waits)
}

// canaryPassed bears out everything that was over when the round began: targets
// that waited go down, and a blind node sees again.
func (e *Engine) canaryPassed(start time.Duration) {
	c := &e.canary
	if c.short > 0 && !e.isBlind() {
		e.forgetFailures()
	}
	c.short, c.passed = 0, start
	if e.isBlind() {
		c.blind = start
		for _, s := range e.early {
			s.deadline = e.now.Boot + s.patience
		}
		e.sortEarly()
		e.tellCanary("the canary passes again: " + e.canaryWords() +
			fmt.Sprintf("; it failed for %s, and what was seen meanwhile does not count", e.now.Wall.Sub(c.since).Round(time.Second)))
	}
	e.turnCanary(check.Pass)
	waiting := c.waiting
	c.waiting = nil
	for _, t := range waiting {
		switch {
		case !t.waits():
		case t.sight.fallen > start:
			c.waiting = append(c.waiting, t)
		default:
			e.fall(t)
		}
	}
}

// fall brings a target down that waited for the canary.
func (e *Engine) fall(t *target) {
	t.sight.waits = false
	if !e.onBrink(t) {
		e.down(t)
	}
	e.touch(t)
}

// canaryFell takes a round with too few answers. Before the canary has ever
// passed one is enough: nothing is known of this node's sight, and what an
// earlier process saw must not be acted on.
func (e *Engine) canaryFell(start time.Duration) {
	c := &e.canary
	if c.short == 0 {
		c.shortAt = start
	}
	c.short++
	if c.short < roundsBlind && c.state != "" || e.isBlind() {
		return
	}
	e.takeBack()
	e.turnCanary(check.Fail)
	e.tellCanary(e.blindness())
}

func (e *Engine) turnCanary(state check.Outcome) {
	c := &e.canary
	if c.state == state {
		return
	}
	if c.state == check.Fail || state == check.Fail {
		for _, z := range e.zones {
			z.dirty = true
		}
	}
	c.state, c.since = state, e.now.Wall
}

func (e *Engine) tellCanary(detail string) {
	e.tell(Entry{Kind: "guard", Target: "canary", Guard: plan.GuardCanary, Detail: detail})
}

// newCanary begins with another canary, of which nothing is known. It belongs to
// configure, before anything else is replaced.
func (e *Engine) newCanary(spec CanarySpec) {
	if e.config.Canary.same(spec) {
		return
	}
	blind := e.isBlind()
	e.takeBack()
	e.canary = canary{blind: e.canary.blind}
	if blind {
		e.canary.blind = e.now.Boot
		e.tellCanary("the canary that failed is no longer asked: the config names another, or none")
	}
}

func (c *canary) answered() int {
	n := 0
	for _, r := range c.results {
		if r.Outcome == check.Pass {
			n++
		}
	}
	return n
}

// canaryWords are the numbers of the last round.
func (e *Engine) canaryWords() string {
	spec := e.config.Canary
	return fmt.Sprintf("%d of %d answered, %d needed", e.canary.answered(), len(spec.Targets), spec.Need)
}

// blindness is why this node is blind, and the way on; empty when it sees.
func (e *Engine) blindness() string {
	if !e.isBlind() {
		return ""
	}
	var failed []string
	for _, r := range e.canary.results {
		if r.Outcome != check.Pass {
			failed = append(failed, fmt.Sprintf("%s %s/%s: %s", r.Target.Check, r.Phase, r.Cause, r.Detail))
		}
	}
	return fmt.Sprintf("the canary fails, so this node does not see the world: %s (%s); look at this machine's network, or name another canary if this one is gone: canary.targets",
		e.canaryWords(), strings.Join(failed, "; "))
}

// CanaryView is the canary for people.
type CanaryView struct {
	State    check.Outcome // Unknown before the first rounds
	Answered int
	Need     int
	Since    time.Time      // zero before the first round
	Results  []check.Result // of the last round
}

func (e *Engine) canaryView() *CanaryView {
	if !e.hasCanary() {
		return nil
	}
	c := &e.canary
	v := &CanaryView{State: c.state, Answered: c.answered(), Need: e.config.Canary.Need, Since: c.since, Results: c.results}
	if v.State == "" {
		v.State = check.Unknown
	}
	return v
}
