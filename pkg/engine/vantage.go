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

// SilentAfter is how long a vantage may not be heard until what it said counts as
// unknown: as long as a lease between nodes lasts. Nodes that share observations
// have to be heard several times in it, whether or not anything has changed.
const SilentAfter = 30 * time.Second

// Observed brings what a vantage says. It is an event where another node says it,
// and an effect (Effects.Say) where this one does.
type Observed struct {
	Vantage string
	// At is the boot time, of the node that this is an event for, at which the
	// vantage is known to have been there. To read once more what it left behind
	// proves nothing.
	At time.Duration
	// Blind says that its canary fails: nothing that it says counts until another
	// one comes without.
	Blind        bool
	Whole        bool // these are all: of other targets it says nothing any more
	Observations []Observation
}

// Observation is the verdict of one vantage on one target, by its own thresholds.
type Observation struct {
	Target  check.Target
	Verdict health.Verdict // Up, Down, or Unknown
	Phase   check.Phase    // where and why the failure failed that brought it down
	Cause   check.Cause
	Since   time.Time
}

// Gone says that the node of a vantage has left: it is silent now, and not only
// after SilentAfter.
type Gone struct{ Vantage string }

// vantage is what is known of where another node looks from.
type vantage struct {
	name   string
	heard  time.Duration // boot time at which it was heard last, or that of the start
	spoke  bool          // it was heard at all
	blind  bool
	silent bool // was not heard for too long, or is gone
	says   map[check.Target]Observation
}

// panels are the targets that vantages judge, and these.
type panels struct {
	list     []*target           // sorted by id
	vantages map[string]*vantage // by name, this node's own apart
	queue    []*target           // to be counted anew
	blind    bool                // this node was told to be blind
}

// note lets a target be counted anew before this step is over.
func (p *panels) note(t *target) {
	if !t.panel.queued {
		t.panel.queued = true
		p.queue = append(p.queue, t)
	}
}

// due is the boot time at which time alone may change what counts: a vantage
// becomes silent, or what guard mass suspects goes down; 0 for never.
func (p *panels) due(suspects time.Duration) time.Duration {
	due := suspects
	for _, v := range p.vantages {
		if !v.silent {
			due = sooner(due, v.heard+SilentAfter)
		}
	}
	return due
}

// listenTo begins to listen to a vantage.
func (e *Engine) listenTo(name string) {
	if e.panels.vantages[name] == nil {
		e.panels.vantages[name] = &vantage{name: name, heard: e.now.Boot, says: map[check.Target]Observation{}}
	}
}

// hear takes what another vantage says. What is older than what was heard last is
// late and counts for nothing. A vantage that no target asks is not listened to.
func (e *Engine) hear(ev Observed) {
	v, known := e.panels.vantages[ev.Vantage]
	if !known || v.spoke && ev.At < v.heard {
		return
	}
	again := v.silent || v.blind != ev.Blind
	if v.silent && v.spoke {
		e.tell(Entry{Kind: "vantage", Target: v.name, Vantage: v.name, Detail: "heard again, after " + shortly(e.now.Boot-v.heard)})
	}
	if v.blind != ev.Blind {
		e.tell(Entry{Kind: "vantage", Target: v.name, Vantage: v.name, Detail: blindWords(ev.Blind)})
	}
	v.heard, v.spoke, v.silent, v.blind = max(v.heard, ev.At), true, false, ev.Blind
	if ev.Whole {
		for target := range v.says {
			e.noteSaid(target)
		}
		clear(v.says)
	}
	for _, o := range ev.Observations {
		v.says[o.Target] = o
		e.noteSaid(o.Target)
	}
	if again {
		e.noteVantage(v.name)
	}
}

func blindWords(blind bool) string {
	if blind {
		return "its canary fails: what it says counts as unknown"
	}
	return "its canary passes again: what it says counts"
}

func (e *Engine) gone(ev Gone) {
	if v := e.panels.vantages[ev.Vantage]; v != nil && !v.silent {
		e.silence(v, "its node has left: what it said counts as unknown")
	}
}

func (e *Engine) silence(v *vantage, detail string) {
	v.silent = true
	e.tell(Entry{Kind: "vantage", Target: v.name, Vantage: v.name, Detail: detail})
	e.noteVantage(v.name)
}

func (e *Engine) noteSaid(target check.Target) {
	if t := e.targets[target.ID()]; t != nil && t.panel != nil {
		e.panels.note(t)
	}
}

// noteVantage lets everything be counted anew that a vantage judges.
func (e *Engine) noteVantage(name string) {
	for _, t := range e.panels.list {
		if slices.Contains(t.panel.rule.Of, name) {
			e.panels.note(t)
		}
	}
}

// hush finds vantages that were not heard for too long.
func (e *Engine) hush() {
	for _, name := range slices.Sorted(maps.Keys(e.panels.vantages)) {
		v := e.panels.vantages[name]
		if v.silent || e.now.Boot < v.heard+SilentAfter {
			continue
		}
		detail := "not heard since this node began: it counts as unknown"
		if v.spoke {
			detail = fmt.Sprintf("silent for %s: what it said counts as unknown", shortly(e.now.Boot-v.heard))
		}
		e.silence(v, detail)
	}
}

// shortly is a time for people, in whole seconds.
func shortly(d time.Duration) string { return short(max(d, 0).Round(time.Second)) }

// Observed is all that this node says to the others: what Effects.Say tells bit by
// bit. Targets of which it knows nothing are not in it.
func (e *Engine) Observed(now Now) Observed {
	all := Observed{Vantage: e.config.Vantage, At: now.Boot, Blind: e.isBlind(), Whole: true}
	for _, t := range e.panels.list {
		if o := e.own(t); t.panel.mine >= 0 && o.Verdict != health.Unknown {
			all.Observations = append(all.Observations, o)
		}
	}
	return all
}

// own is what this node says of a target, whether or not it is blind.
func (e *Engine) own(t *target) Observation {
	o := Observation{Target: t.id, Verdict: t.health.Is(), Since: t.since}
	switch {
	case t.panel.stale:
		o.Verdict = health.Unknown
	case o.Verdict == health.Down:
		o.Phase, o.Cause = t.health.Phase, t.health.Cause
	}
	return o
}

// watchOwn sees whether this node's own word on a target is worth anything: it is
// not after nothing but unknown results for three intervals and a timeout.
func (e *Engine) watchOwn(t *target, r check.Result) {
	silent := max(t.health.Judged, t.heldUntil()) + 3*t.spec.Interval + t.spec.Timeout
	stale := r.Outcome == check.Unknown && !t.health.Disabled && r.Start > silent
	if stale != t.panel.stale {
		t.panel.stale = stale
		e.touch(t)
	}
}

// say tells the others what this node says of a target, if that is another verdict
// than before.
func (e *Engine) say(t *target) {
	if t.panel.mine < 0 {
		return
	}
	if o := e.own(t); o.Verdict != t.panel.said {
		t.panel.said = o.Verdict
		say := e.saying()
		say.Observations = append(say.Observations, o)
	}
}

func (e *Engine) saying() *Observed {
	if e.effects.Say == nil {
		e.effects.Say = &Observed{Vantage: e.config.Vantage, At: e.now.Boot, Blind: e.isBlind()}
	}
	return e.effects.Say
}

// tellVantage puts into the journal what one vantage says otherwise than before.
func (e *Engine) tellVantage(t *target, name string, change health.Change) {
	e.tell(Entry{
		Kind: "vantage", Target: t.id.ID(), Address: t.id.Address, Vantage: name,
		From: change.From, To: change.To, Phase: change.Phase, Cause: change.Cause, Detail: strings.TrimSpace(change.Detail),
	})
}
