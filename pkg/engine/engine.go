package engine

import (
	"fmt"
	"strings"
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
	targets map[string]*target
	sets    []*set // sorted by key
	zones   map[record.Name]*zone
	lost    bool // overrides may have been lost with a corrupt state

	scenes scenes
	canary canary
	skew   skew
	kept   map[string]TargetState // by target id: saved for those that are not judged here
	words  []*word                // operators' overrides, those first that go before the others
	turn   time.Duration          // boot time at which the next of them begins, ends or is told of again; never when none will
	orders []*word                // those of them that have an effect now

	stale   []*set // to be judged, because a target of theirs has changed
	present present
	early   []*set    // not ready yet, and behind the first of them some that are since; by deadline
	resting []*target // whose hold may have changed
	mass    mass
	panels  panels

	ways    []Way    // what tallies count, each once
	sources []string // the addresses that probes left from

	now     Now
	effects Effects
}

// target is one thing probed by one check, and the record sets that rest on it.
type target struct {
	id       check.Target
	spec     *check.Spec
	health   health.State // what the probes see; no word of an operator ever changes it
	since    time.Time    // wall time of the last change of the verdict
	tally    tally
	sets     []*set
	forced   *word         // says what its verdict counts as; nil is what the probes see
	cool     *cooldown     // of its pauses; nil when there is nothing to remember
	sight    *sight        // how far the canary bears health out; nil is all of it
	starving int           // record sets without a usable answer that a scenario or a return lets rest on it
	panel    *panel        // whose word counts beside this node's, or instead of it; nil where none does
	node     int           // of its verdict in Engine.scenes; -1 when no scenario or signal asks for it
	standing *standing     // nil where no site has to do with it
	before   *health.State // as it was before the latest failures in a row that a wrong clock would explain; nil when the latest was none
}

func (e *Engine) policy(t *target) health.Policy {
	return health.Policy{Fall: t.spec.Fall, Rise: t.spec.Rise, Confirm: e.config.Mass.Confirm, Causes: t.spec.Causes}
}

// standing is what a target has to do with sites.
type standing struct {
	home   []*site // with answers that rest on it: its outages are theirs
	proves []*site // that wait for it to pass after a long outage
}

// home and proves are those of its standing.
func (t *target) home() []*site {
	if t.standing == nil {
		return nil
	}
	return t.standing.home
}

func (t *target) proves() []*site {
	if t.standing == nil {
		return nil
	}
	return t.standing.proves
}

// stands is its standing, made when it has none yet.
func (t *target) stands() *standing {
	if t.standing == nil {
		t.standing = &standing{}
	}
	return t.standing
}

// set is one record set, what is known of its answers, and what persons said.
type set struct {
	spec     *steer.Spec
	zone     *zone
	targets  [][]*target // by position of the answer, see steer.Spec.At: all must be up
	sites    []*site     // by position of the answer; nil where it stands nowhere
	moment   moment
	judged   []steer.Judged // by position of the answer; replaced and never changed, since Work points to it
	stale    bool           // is in Engine.stale
	starved  bool           // no answer is usable
	ready    bool           // all its targets were judged, or it waited long enough
	patience time.Duration  // how long it waits for its targets to be judged
	deadline time.Duration  // boot time at which it is planned whatever was judged, unless this node is blind then

	adopted   bool
	owned     bool                    // may be steered although another tool claims the name
	failback  bool                    // the failback that waits was approved
	resume    []string                // approved values of those that somebody else paused, sorted
	earlier   map[string]steer.Judged // by value: what an earlier process left, until it is judged again
	written   []time.Duration         // boot times of its writes within the window of max_writes, oldest first
	published []string                // what was live when the zone was listed last; nil when that is not known
}

// zone is one zone and the state of its debounce window.
type zone struct {
	name     record.Name
	seen     plan.Zone
	listed   bool // seen holds a list
	err      string
	sets     []*set
	steered  []*steer.Spec  // of sets
	hangs    map[int]bool   // the nodes of Engine.scenes that its sets are decided by
	dirty    bool           // something changed since it was planned last
	turned   bool           // so have verdicts, for which a large zone waits a little
	retold   bool           // what vantages say has changed since, be it that nothing follows
	planned  time.Duration  // boot time at which it was planned last
	plan     plan.Plan      // as planned last, against seen
	told     []plan.Blocked // refusals that stand in the journal
	due      time.Duration  // boot time at which time alone changes the plan; 0 never
	window   time.Duration  // boot time at which the open window ends; 0 when none is open
	froze    bool           // a freeze began, and Work that is out may be against it
	asked    bool           // Work that may write is out, and Done did not come yet
	look     time.Duration  // boot time of the next look
	approved string         // checksum of a plan that max_changes lets through
}

// New makes an engine that knows nothing yet. The first Step asks to look at
// every zone.
func New(config Config, now Now) *Engine {
	e := &Engine{now: now}
	e.configure(config)
	return e
}

// Step takes one event and says what has to be done about it.
func (e *Engine) Step(now Now, event Event) Effects {
	e.Note(now, event)
	e.settle()
	return e.effects
}

// Note takes an event and decides nothing yet: no window ends, nothing is to be
// written or listed, and Next is not told. The next Step does that, which has to
// come at the same time. It is for a caller to whom several things happen at one
// moment, of which what is written then has to know them all.
func (e *Engine) Note(now Now, event Event) Effects {
	e.now, e.effects = now, Effects{}
	e.watchClock()
	switch ev := event.(type) {
	case Tick:
	case Results:
		e.results(ev.Results)
	case Seen:
		e.seen(ev)
	case Failed:
		e.failed(ev)
	case Wrote:
		e.wrote(ev)
	case Done:
		e.done(ev)
	case Canary:
		e.canaryRound(ev)
	case Observed:
		e.hear(ev)
	case Gone:
		e.gone(ev)
	case Approve:
		e.approve(ev)
	case Override:
		e.override(ev)
	case Clear:
		e.clear(ev)
	case Configure:
		e.configure(ev.Config)
		e.effects.Save = true
	default:
		e.effects.Err = fmt.Errorf("step: unknown event %T", event)
	}
	return e.effects
}

func (e *Engine) tell(entry Entry) { e.effects.Journal = append(e.effects.Journal, entry) }

// results counts what probes found. A result of a target that is no longer
// configured is dropped.
func (e *Engine) results(results []check.Result) {
	for _, r := range results {
		if t, found := e.targets[r.Target.ID()]; found {
			e.result(t, r)
		}
	}
}

// result takes one result of a target. It is counted as what it was, and bears
// on the verdict as what its cause counts as.
func (e *Engine) result(t *target, r check.Result) {
	if t.resting(r) {
		e.count(t, r)
		return
	}
	weighed := health.Weigh(r, t.spec.Causes)
	doubted := e.doubtClock(t, e.doubtSight(weighed))
	if doubted.Outcome != weighed.Outcome {
		r = doubted
	}
	e.count(t, r)
	e.observe(t, doubted)
}

// observe lets one result of a target bear on its verdict.
func (e *Engine) observe(t *target, r check.Result) {
	before, waited, policy := t.health, t.waits(), e.policy(t)
	e.remember(t, r)
	state, change := health.Observe(before, r, policy)
	if change != nil && change.To == health.Down && before.Is() != health.Down && (e.waitsForCanary(t, r) || e.onBrink(t)) {
		state, change = state.Held(before), nil
	}
	if waited && state.Fails < policy.Falls(state) {
		t.sight.waits = false
	}
	t.health = state
	if r.Outcome == check.Fail {
		e.askEarly(t)
	}
	e.rest(t, before, r.End)
	if change != nil {
		e.turned(t, *change)
	} else if t.spec.FastInter > 0 && state.Judged == r.Start && doubts(state, policy) {
		e.effects.Hasten = append(e.effects.Hasten, Hasten{t.id, r.Start + t.spec.FastInter})
	}
	if t.panel != nil {
		e.watchOwn(t, r)
	}
	if change != nil || waited != t.waits() || state.Phase != before.Phase || state.Cause != before.Cause {
		e.touch(t)
	}
	e.prove(t)
}

// doubts reports whether the last result contradicts the verdict, and more such
// results would turn it. A target that is not judged yet has nothing to
// contradict: the start is no time to probe everything faster.
func doubts(s health.State, p health.Policy) bool {
	switch s.Is() {
	case health.Up:
		return s.Fails > 0 && s.Fails < p.Fall // what is suspected is probed at its interval
	case health.Down:
		return s.Passes > 0 && s.Passes < p.Rise
	case health.Unknown:
	}
	return false
}

// turned is told that the verdict of this node's own probes has turned.
func (e *Engine) turned(t *target, change health.Change) {
	if change.From != change.To {
		t.since = e.now.Wall
	}
	if change.Disabled {
		change.Detail = strings.TrimPrefix(change.Detail+"; disabled until: sidestep approve "+t.id.Address, "; ")
		for _, s := range t.sets {
			s.zone.dirty = true // its plan tells why, also where nothing else changes by it
		}
	}
	if t.panel == nil {
		e.counts(t, change)
		return
	}
	e.effects.Save = true
	e.tellVantage(t, e.config.Vantage, change)
}

// counts is told that the verdict has turned by which is decided.
func (e *Engine) counts(t *target, change health.Change) {
	if change.From == health.Suspected || change.To == health.Suspected {
		e.mass.cleared = true
		for _, s := range t.sets {
			s.zone.turned = true // its plan says whom the guard holds back
		}
	}
	if change.To == health.Down {
		e.noteFallen(t)
	}
	e.effects.Save = true
	e.tell(Entry{
		Kind: "verdict", Target: t.id.ID(), Address: t.id.Address,
		From: change.From, To: change.To, Phase: change.Phase, Cause: change.Cause, Detail: change.Detail,
	})
	e.countOutage(t, change.To)
}

// outdate notes sets that have to be judged anew.
func (e *Engine) outdate(sets ...*set) {
	for _, s := range sets {
		if !s.stale {
			s.stale = true
			e.stale = append(e.stale, s)
		}
	}
}
