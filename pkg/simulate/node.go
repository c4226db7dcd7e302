package simulate

import (
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/daemon"
	"sidestep/pkg/engine"
)

// found is what the probes of a target find.
type found struct {
	outcome check.Outcome
	phase   check.Phase
	cause   check.Cause
}

// node is one sidestep of the made-up world: the one whose decisions are told, or
// another one whose word counts for what vantages judge. What probes find may
// differ from node to node.
type node struct {
	decides engine.Config
	engine  *engine.Engine // nil while no process runs
	targets map[string]*target
	probed  []*target // targets, sorted by id
	canary  canary
	started time.Duration // boot time at which this process began
	next    time.Duration // boot time of the next Tick that matters; 0 for none
	silent  bool          // the others do not hear it
	blind   bool          // as it was told to the others
	heard   time.Duration // boot time at which it was heard last; in the future where nothing can keep it from that
}

// target is one target as the made-up world has it.
type target struct {
	id     check.Target
	spec   *check.Spec
	finds  found
	times  int           // how often in a row it was asked and found so
	from   time.Duration // boot time from which its rhythm counts
	due    time.Duration // boot time of the next probe in its rhythm
	hasten time.Duration // boot time of a probe before that; 0 for none
	held   time.Duration // boot time before which it must not be asked, and from which its rhythm counts then; 0 for none
}

// canary is the canary of the made-up world.
type canary struct {
	names []string
	fails bool
	short bool          // the last round of this process failed
	due   time.Duration // boot time of the next round in its rhythm
	asked bool          // a target waits for a round
}

// newNode makes a node that decides by a config, without a process.
func newNode(decides engine.Config) *node {
	n := &node{decides: decides, targets: map[string]*target{}}
	n.canary.names = decides.Canary.Targets
	for _, id := range engine.New(decides, nowAt(0)).Targets() {
		t := &target{id: id, spec: decides.Checks[id.Check], finds: found{outcome: check.Pass}}
		n.targets[id.ID()] = t
		n.probed = append(n.probed, t)
	}
	return n
}

// begin makes the engine of a process, and its rhythm.
func (n *node) begin(now engine.Now, state engine.State, recent bool) {
	n.engine = engine.New(n.decides, now)
	n.engine.Restore(state, recent, recent)
	n.started = now.Boot
	for _, t := range n.probed {
		t.from, t.due, t.hasten, t.held, t.times = n.started, n.started, 0, 0, 0
	}
	for id, until := range n.engine.Holds() {
		n.targets[id.ID()].hold(until, n.started)
	}
	n.canary.due, n.canary.short = n.started, false
}

// nextMoment is the boot time at which something happens next at a node; never
// while no process runs.
func (n *node) nextMoment() time.Duration {
	if n.engine == nil {
		return never
	}
	next := never
	if n.next != 0 {
		next = n.next
	}
	for _, t := range n.probed {
		next = min(next, t.due)
		if t.hasten != 0 {
			next = min(next, t.hasten)
		}
	}
	if len(n.canary.names) > 0 {
		next = min(next, n.canary.due)
	}
	return next
}

// hold keeps a target from being asked before a boot time. One that is let go
// before that goes on in the rhythm that it had.
func (t *target) hold(until, now time.Duration) {
	t.hasten = 0
	if until > now {
		t.held, t.due = until, until
	} else if t.held != 0 {
		t.held, t.due = 0, t.slotAfter(now)
	}
}

// slotAfter is the target's first time after a boot time.
func (t *target) slotAfter(now time.Duration) time.Duration {
	return slotAfter(t.from, t.spec.Interval, now)
}

// slotAfter is the first time of a rhythm that is after a boot time.
func slotAfter(from, interval, now time.Duration) time.Duration {
	return now + interval - (now-from)%interval
}

// probe asks every target of a node that is due, and then the canary, which bears
// them out. Only a round that ends its failing comes before them: what they find
// then is found while it answers.
func (w *world) probe(n *node) error {
	now := w.clock.Boot()
	if n.canary.short && !n.canary.fails {
		if err := w.probeCanary(n); err != nil {
			return err
		}
	}
	var results []check.Result
	for _, t := range n.probed {
		hastened := t.hasten != 0 && t.hasten <= now
		if t.due > now && !hastened {
			continue
		}
		results = append(results, t.result(now))
		t.hasten, t.times = 0, t.times+1
		if t.held != 0 {
			t.from, t.held = t.held, 0
		}
		if t.due <= now {
			t.due = t.slotAfter(now)
		}
	}
	if len(results) > 0 {
		if err := w.noteAt(n, engine.Results{Results: results}); err != nil {
			return err
		}
	}
	return w.probeCanary(n)
}

func (t *target) result(now time.Duration) check.Result {
	r := check.Result{Target: t.id, Outcome: t.finds.outcome, Phase: t.finds.phase, Cause: t.finds.cause, Start: now, End: now}
	if r.Outcome != check.Pass {
		r.Detail = "as the timeline says"
	}
	return r
}

// probeCanary makes a round of a node's canary when it is due, or a target waits
// for one since this very moment. One that failed is not repeated before its time.
func (w *world) probeCanary(n *node) error {
	now, c := w.clock.Boot(), &n.canary
	if len(c.names) == 0 || c.due > now && !c.asked {
		return nil
	}
	c.asked = false
	if c.due <= now {
		c.due = slotAfter(n.started, daemon.CanaryEvery, now)
	}
	finds := found{outcome: check.Pass}
	if c.fails {
		finds = noAnswer
	}
	c.short = c.fails
	round := engine.Canary{Start: now}
	for _, name := range c.names {
		t := target{id: check.Target{Check: name}, finds: finds}
		round.Results = append(round.Results, t.result(now))
	}
	err := w.noteAt(n, round)
	c.asked = false
	return err
}
