package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
)

// panel is what vantages make of one target: each judges by its own thresholds,
// and their verdicts are counted.
type panel struct {
	rule      *check.Vantages
	mine      int            // place of this node's vantage among them; -1 when its word does not count
	verdict   health.Verdict // that counts; empty means unknown
	phase     check.Phase    // of the first vantage that said down when it turned
	cause     check.Cause
	since     time.Time
	downs     int           // vantages that say down
	words     string        // what they say, in words; empty while all of them say up
	suspected bool          // guard mass holds it as it is
	until     time.Duration // boot time at which it goes down all the same, while suspected
	stale     bool          // this node's own word is too old to count
	said      health.Verdict
	queued    bool
}

func (p *panel) is() health.Verdict {
	if p.verdict == "" {
		return health.Unknown
	}
	return p.verdict
}

// ours reports whether this node has to probe the target.
func (t *target) ours() bool { return t.panel == nil || t.panel.mine >= 0 }

// turnedAt is since when the verdict is what it is by which is decided.
func (t *target) turnedAt() time.Time {
	if t.panel != nil {
		return t.panel.since
	}
	return t.since
}

// trust ends that a target is suspected.
func (t *target) trust() {
	t.health.Suspected = false
	if t.panel != nil {
		t.panel.suspected = false
	}
}

// failed reports whether a target has failed often enough to be down.
func (t *target) failed() bool {
	if p := t.panel; p != nil {
		return p.downs >= p.rule.Down
	}
	return t.health.Fails >= t.spec.Fall && !t.waits()
}

// newPanel makes the panel of a target, nil where no vantages judge it. What counted
// before goes on to count until they say otherwise, whoever decided it.
func (e *Engine) newPanel(t, old *target) *panel {
	rule := e.config.Vantages[t.id]
	if rule == nil {
		return nil
	}
	p := &panel{rule: rule, mine: slices.Index(rule.Of, e.config.Vantage), said: health.Unknown, since: e.now.Wall}
	t.health.Suspected = false
	if old == nil || !old.spec.Same(t.spec) {
		return p
	}
	p.verdict, p.since = old.observed(), old.turnedAt()
	if before := old.panel; before != nil {
		p.phase, p.cause, p.stale, p.said = before.phase, before.cause, before.stale, before.said
		p.suspected, p.until = before.suspected, before.until
	}
	return p
}

// gatherPanels lists what vantages judge, and listens to those that judge it. It
// belongs to configure.
func (e *Engine) gatherPanels() {
	before := e.panels.vantages
	e.panels.vantages, e.mass.due = map[string]*vantage{}, 0
	for _, id := range slices.Sorted(maps.Keys(e.targets)) {
		t := e.targets[id]
		if t.panel == nil {
			continue
		}
		e.panels.list = append(e.panels.list, t)
		e.panels.note(t)
		if t.panel.suspected {
			e.mass.due = sooner(e.mass.due, t.panel.until)
		}
		for _, name := range t.panel.rule.Of {
			if v := before[name]; v != nil {
				e.panels.vantages[name] = v
			} else if name != e.config.Vantage {
				e.listenTo(name)
			}
		}
	}
}

// settlePanels counts anew what may have changed, and tells the others what this
// node says.
func (e *Engine) settlePanels() {
	if len(e.panels.list) == 0 {
		return
	}
	e.hush()
	if blind := e.isBlind(); blind != e.panels.blind {
		e.panels.blind = blind
		e.saying()
		e.noteVantage(e.config.Vantage)
	}
	e.noteSuspects()
	queue := e.panels.queue
	e.panels.queue = nil
	slices.SortFunc(queue, func(a, b *target) int { return strings.Compare(a.id.ID(), b.id.ID()) })
	for _, t := range queue {
		t.panel.queued = false
		e.say(t)
		e.recount(t)
	}
}

// noteSuspects counts what guard mass has held for long enough.
func (e *Engine) noteSuspects() {
	if !reached(e.mass.due, e.now.Boot) {
		return
	}
	e.mass.due = 0
	for _, t := range e.mass.suspects {
		switch p := t.panel; {
		case p == nil || !p.suspected:
		case p.until <= e.now.Boot:
			e.panels.note(t)
		default:
			e.mass.due = sooner(e.mass.due, p.until)
		}
	}
}

// sayings are what the vantages of a target say of it, in the order of the config.
func (e *Engine) sayings(t *target) []Observation {
	list := make([]Observation, len(t.panel.rule.Of))
	for i, name := range t.panel.rule.Of {
		if i == t.panel.mine {
			list[i] = e.own(t)
		} else {
			list[i] = e.panels.vantages[name].says[t.id]
		}
		if list[i].Verdict == "" || e.mute(t, i) {
			list[i].Verdict = health.Unknown
		}
	}
	return list
}

// mute reports whether nothing counts that a vantage of a target says.
func (e *Engine) mute(t *target, i int) bool {
	if i == t.panel.mine {
		return e.isBlind()
	}
	v := e.panels.vantages[t.panel.rule.Of[i]]
	return v.silent || v.blind
}

// recount adds up what the vantages of a target say. Unknown changes nothing, but
// for what guard mass suspects: too few say down any more.
func (e *Engine) recount(t *target) {
	p, says := t.panel, e.sayings(t)
	verdicts := make([]health.Verdict, len(says))
	p.downs = 0
	for i, o := range says {
		verdicts[i] = o.Verdict
		if o.Verdict == health.Down {
			p.downs++
		}
	}
	if words := e.countWords(t, says, false); words != p.words {
		p.words = words
		for _, s := range t.sets {
			s.zone.retold = true
		}
	}
	counted := health.Count(verdicts, p.rule.Down)
	switch {
	case p.suspected && counted != health.Down:
		p.suspected = false
		e.counts(t, health.Change{From: health.Suspected, To: p.is(), Detail: p.words})
	case p.suspected && p.until > e.now.Boot:
	case counted == health.Down && p.is() != health.Down:
		i := slices.IndexFunc(says, func(o Observation) bool { return o.Verdict == health.Down })
		p.phase, p.cause = says[i].Phase, says[i].Cause
		if e.hasMass() && !p.suspected {
			e.mass.brink = append(e.mass.brink, t)
		} else {
			e.turnPanel(t, health.Down)
		}
	}
	if counted == health.Up && p.is() != health.Up {
		e.turnPanel(t, health.Up)
	}
	e.moved(t)
}

// turnPanel gives a target the verdict that its vantages add up to.
func (e *Engine) turnPanel(t *target, to health.Verdict) {
	p := t.panel
	change := health.Change{From: p.is(), To: to, Detail: p.words}
	if p.suspected {
		change.From = health.Suspected
	}
	if to == health.Down {
		change.Phase, change.Cause = p.phase, p.cause
	} else {
		p.phase, p.cause = "", ""
	}
	p.verdict, p.suspected, p.since = to, false, e.now.Wall
	e.counts(t, change)
	e.moved(t)
}

// suspectPanel keeps a target as it is that its vantages say is down, until they
// have said so for as many more intervals as guard mass asks for.
func (e *Engine) suspectPanel(t *target) {
	p := t.panel
	p.suspected, p.until = true, e.now.Boot+time.Duration(e.config.Mass.Confirm)*t.spec.Interval
	e.mass.due = sooner(e.mass.due, p.until)
	e.counts(t, health.Change{From: p.is(), To: health.Suspected, Phase: p.phase, Cause: p.cause, Detail: p.words})
	e.mass.suspects = append(e.mass.suspects, t)
	e.moved(t)
}

// countWords is what the vantages of a target say, where they do not all say up;
// if wanted with how old that is, which changes with each moment.
func (e *Engine) countWords(t *target, says []Observation, aged bool) string {
	var downs, unknown []string
	for i, o := range says {
		switch name := t.panel.rule.Of[i]; o.Verdict {
		case health.Down:
			downs = append(downs, strings.TrimSuffix(fmt.Sprintf("%s %s/%s", name, o.Phase, o.Cause), " /"))
		case health.Up:
		default:
			unknown = append(unknown, name+" "+e.unknownWords(t, i, aged))
		}
	}
	if len(downs)+len(unknown) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d vantages say down, %d needed", len(downs), len(says), t.panel.rule.Down)
	if len(downs) > 0 {
		text = fmt.Sprintf("%d of %d vantages say down (%s), %d needed", len(downs), len(says), strings.Join(downs, ", "), t.panel.rule.Down)
	}
	return strings.Join(append([]string{text}, unknown...), "; ")
}

// unknownWords is why a vantage says nothing.
func (e *Engine) unknownWords(t *target, i int, aged bool) string {
	if i == t.panel.mine {
		switch {
		case e.isBlind():
			return "is blind: its canary fails"
		case t.panel.stale:
			return "has had no result for long"
		}
		return "has not judged it yet"
	}
	switch v := e.panels.vantages[t.panel.rule.Of[i]]; {
	case !v.spoke:
		return "was not heard yet"
	case v.silent && aged:
		return "is silent for " + shortly(e.now.Boot-v.heard)
	case v.silent:
		return "is silent"
	case v.blind:
		return "is blind: its canary fails"
	}
	return "says nothing"
}

// CountedState is what a restart takes up of what vantages made of a target: the
// verdict that counted. What each of them said is not taken up; they say it again.
type CountedState struct {
	Verdict health.Verdict `json:"verdict"`
	Phase   check.Phase    `json:"phase,omitempty"`
	Cause   check.Cause    `json:"cause,omitempty"`
	Since   time.Time      `json:"since"`
}

func (p *panel) state() *CountedState {
	if p == nil {
		return nil
	}
	return &CountedState{Verdict: p.is(), Phase: p.phase, Cause: p.cause, Since: p.since}
}

// restore goes on with what counted before; where that was this node's word alone,
// with that.
func (p *panel) restore(old TargetState) {
	p.verdict, p.phase, p.cause, p.since = old.Verdict, old.Phase, old.Cause, old.Since
	if c := old.Counted; c != nil {
		p.verdict, p.phase, p.cause, p.since = c.Verdict, c.Phase, c.Cause, c.Since
	}
}
