package daemon

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/override"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// massConfirm is how many more failures in a row it takes when many fail together.
const massConfirm = 2

// judge holds what the daemons of a fleet do to the rules that are never broken. It
// knows of them only what they send and what their probes found, and works out by
// itself what may follow from that. Its methods may be called from many goroutines.
type judge struct {
	fleet *fleet
	from  int // the first version of the zone that daemons could have made

	mu      sync.Mutex
	seen    int // versions that were judged
	edited  map[string]bool
	byHand  bool
	stopped bool // a process stood still, or lost time, at some moment
	cutOff  bool // etcd could not be reached by all at some moment
	words   []word
	unsaid  time.Time                    // when all words were taken back
	health  map[string]map[string]*found // by node and value
	broken  []string
}

// word is what a person said, and at which nodes it must be known.
type word struct {
	kind, target string
	node         *fleetNode // where it was said; nil when it may not hold
	shared       bool
	at           time.Time
}

// found is what the probes of one value from one node add up to.
type found struct {
	row, passes int  // failures and passes in a row
	fails       int  // failures since the last rise
	down        bool // by the thresholds of the check
	last        time.Time
	wasDown     time.Time // the last moment at which it was
	fell        time.Time // since when it is
	failed      time.Time // the last failure
	cools       bool      // a pause has to follow its fall
}

func newJudge(f *fleet) *judge {
	return &judge{fleet: f, edited: map[string]bool{}, health: map[string]map[string]*found{}}
}

// breaks notes a violation. The lock is held.
func (j *judge) breaks(rule int, format string, args ...any) {
	j.broken = append(j.broken, fmt.Sprintf("rule %d: at %s: %s", rule, j.fleet.clock.Boot(), fmt.Sprintf(format, args...)))
}

func (j *judge) of(n *fleetNode, value string) *found {
	if j.health[n.name] == nil {
		j.health[n.name] = map[string]*found{}
	}
	if j.health[n.name][value] == nil {
		j.health[n.name][value] = &found{}
	}
	return j.health[n.name][value]
}

// probed takes the result of a probe, and sees that none comes while its target cools.
func (j *judge) probed(n *fleetNode, value string, pass bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now, t := time.Now(), j.of(n, value)
	j.fleet.tally.add("probes", 1)
	if j.fleet.setting.cooldown && t.cools {
		j.fleet.tally.add("checks: cooldown", 1)
		if now.Sub(t.fell) < fleetCooldown*9/10-time.Second && j.restsWell(n, value) {
			j.breaks(7, "%s probed %s %s after it went down, while it cools", n.process(), value, now.Sub(t.fell))
		}
		t.cools = false
	}
	t.last = now
	if pass {
		t.row = 0
		if t.passes++; t.passes >= fleetRise {
			t.fails, t.down = 0, false
		}
	} else {
		t.passes, t.failed = 0, now
		t.row++
		t.fails++
		if !t.down && t.row >= fleetFall {
			t.down, t.fell = true, now
			t.cools = true
		}
	}
	if t.fails >= fleetFall { // the row may have been saved before a pass that was not
		t.wasDown = now
	}
}

// restsWell reports whether nothing but the cooldown says when a target is probed: all
// others answer, for a while.
func (j *judge) restsWell(n *fleetNode, value string) bool {
	for _, other := range fleetValues {
		o := j.of(n, other)
		if other != value && (o.down || time.Since(o.failed) < time.Minute || o.last.IsZero()) {
			return false
		}
	}
	return len(j.words) == 0 && !j.byHand && !j.stopped && j.fleet.setting.vantages == 0
}

// ended takes that a process was killed. What it knew last it may know again; with its
// disk all that was said at it alone is lost.
func (j *judge) ended(n *fleetNode, lost bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, t := range j.health[n.name] {
		t.cools = false
		if time.Since(t.wasDown) < 2*time.Minute {
			t.wasDown = time.Now().Add(2 * time.Minute)
		}
	}
	if lost {
		for i := range j.words {
			if w := &j.words[i]; w.node == n && !w.shared {
				w.node = nil
			}
		}
	}
}

// says takes that a person begins to say something: from now on it may hold anywhere.
// What it returns takes that the node took it, and told the others or not; one that was
// refused may hold all the same, and is not relied on.
func (j *judge) says(n *fleetNode, kind, target string) (taken func(shared bool)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fleet.tally.add("words of persons", 1)
	i := len(j.words)
	j.words = append(j.words, word{kind: kind, target: target})
	return func(shared bool) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.words[i].node, j.words[i].shared, j.words[i].at = n, shared, time.Now()
	}
}

// takenBack takes that words are taken back just now, and returns those that held.
func (j *judge) takenBack() []word {
	j.mu.Lock()
	defer j.mu.Unlock()
	words := j.words
	j.words, j.unsaid = nil, time.Now()
	return words
}

// settles is how long what is under way when a person speaks may still be sent, and
// how long etcd carries a word to a node that leads.
const settles = 20 * time.Second

// holds reports whether a word of one of the kinds about a target is known at a node
// for certain.
func (j *judge) holds(n *fleetNode, target string, kinds ...override.Kind) bool {
	return slices.ContainsFunc(j.words, func(w word) bool {
		known := w.node == n || w.node != nil && w.shared && !j.cutOff
		return known && w.target == target && slices.Contains(kinds, override.Kind(w.kind)) && time.Since(w.at) > settles
	})
}

// spoken reports whether something that a person said, anywhere, may be under way.
func (j *judge) spoken() bool { return len(j.words) > 0 || time.Since(j.unsaid) < settles }

// sent judges a write at the moment at which the gate lets it out.
func (j *judge) sent(n *fleetNode, call provider.Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fleet.tally.add("writes sent", 1)
	j.fleet.tally.add("checks: writes", 1)
	if f := j.fleet; f.model != nil && f.setting.lock == config.LockEtcd {
		turns := f.model.Turns()
		if len(turns) == 0 || turns[len(turns)-1].Line != n.process() {
			j.breaks(3, "%s writes, and etcd has another leader: %+v", n.process(), turns)
		}
	}
	if len(call.Seen.Set(mail).Answers) == 0 {
		j.breaks(4, "%s writes from a list without %s, which was always there", n.process(), mail)
	}
	if j.holds(n, "all", override.Freeze) {
		j.breaks(6, "%s writes though it is frozen: +%v -%v", n.process(), call.Add, call.Away)
	}
	if call.Key != www {
		j.breaks(5, "%s writes to %s", n.process(), call.Key)
	}
	for _, c := range call.Add {
		if !slices.Contains(fleetValues, c.Value) {
			j.breaks(5, "%s puts %s in, which the config does not name", n.process(), c.Value)
		}
		if j.holds(n, c.Value, override.Drain, override.ForceDown) && !j.byHand && len(j.fleet.zone.Live(www)) > 0 {
			j.breaks(6, "%s puts %s in, which a person took out", n.process(), c.Value)
		}
	}
	for _, c := range call.Away {
		if c.Action == record.Pause {
			j.away(n, c.Value)
		}
	}
}

// away judges that a value is taken out: somebody said so, or it is down.
func (j *judge) away(n *fleetNode, value string) {
	if !slices.Contains(fleetValues, value) {
		j.breaks(5, "%s takes %s out, which the config does not name", n.process(), value)
		return
	}
	if j.fleet.setting.policy == steer.All && j.holds(n, value, override.ForceUp) && !slices.ContainsFunc(j.words, func(w word) bool { return w.kind != string(override.ForceUp) }) {
		j.breaks(6, "%s takes %s out, which a person keeps in", n.process(), value)
	}
	if j.spoken() || j.fleet.setting.policy != steer.All {
		return
	}
	j.fleet.tally.add("checks: evidence", 1)
	need, who := max(1, j.fleet.setting.vantages), []*fleetNode{n}
	if j.fleet.setting.vantages > 0 {
		who = j.fleet.nodes
	}
	fell, fails := 0, 0
	for _, one := range who {
		if t := j.of(one, value); time.Since(t.wasDown) < settles {
			fell++
			fails = max(fails, t.fails)
		}
	}
	if fell < need {
		j.breaks(6, "%s takes %s out, which is down for %d of %d", n.process(), value, fell, need)
	}
	if j.fleet.setting.mass && j.together(n) && fails < fleetFall+massConfirm && j.of(n, value).down {
		j.breaks(6, "%s takes %s out after %d failures, though most fail together", n.process(), value, fails)
	}
}

// together reports whether all values went down together at a node, by nobody's count
// but its own, with nothing else that could have told them apart.
func (j *judge) together(n *fleetNode) bool {
	if j.stopped || j.fleet.setting.vantages > 0 || n.life > 1 {
		return false
	}
	first, last := time.Time{}, time.Time{}
	for _, value := range fleetValues {
		t := j.of(n, value)
		if !t.down {
			return false
		}
		if first.IsZero() || t.fell.Before(first) {
			first = t.fell
		}
		if t.fell.After(last) {
			last = t.fell
		}
	}
	return last.Sub(first) < fleetInterval
}

// tolerated is what the class of the zone cannot rule out in what happened so far.
func (j *judge) tolerated() []memory.Tolerance {
	class := j.fleet.setting.class
	switch {
	case class.Fenced() && j.byHand && class == memory.Prerequisites:
		return []memory.Tolerance{memory.Overwritten} // a TTL, after three refusals in a row
	case class.Fenced():
		return nil
	case class == memory.Whole:
		return []memory.Tolerance{memory.Overwritten}
	case j.byHand || j.stopped:
		return []memory.Tolerance{memory.Doubled, memory.Emptied, memory.Overwritten}
	}
	return []memory.Tolerance{memory.Doubled}
}

// check judges what became of the zone since it was asked last, and returns all that is
// broken.
func (j *judge) check() error {
	history := j.fleet.zone.History()
	j.mu.Lock()
	defer j.mu.Unlock()
	from := max(j.seen, j.from)
	j.seen = len(history) - 1
	j.fleet.tally.add("checks: versions of the zone", len(history)-1-from)
	if err := memory.Check(history[from:], j.tolerated()...); err != nil {
		j.breaks(2, "%v", err)
	}
	if j.fleet.setting.class.Fenced() {
		if err := memory.OneWriter(history); err != nil {
			j.breaks(3, "%v", err)
		}
	}
	j.nothingGone(history)
	var errs []error
	for _, text := range j.broken {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// nothingGone sees that each value which the zone had is there in some form, unless
// somebody deleted it by hand. The lock is held.
func (j *judge) nothingGone(history []memory.Version) {
	last, holds := history[len(history)-1], func(v memory.Version, value string) bool {
		return slices.ContainsFunc(v.Records, func(r memory.Record) bool { return strings.Contains(r.Value, value) })
	}
	for _, value := range fleetValues {
		had := j.fleet.setting.class != memory.Whole && slices.ContainsFunc(history, func(v memory.Version) bool { return holds(v, value) })
		if had = had || holds(history[j.from], value); had && !holds(last, value) && !j.edited[value] {
			j.breaks(1, "%s is gone from the zone", value)
		}
	}
}

// happened notes what the rules make an allowance for.
func (j *judge) happened(note func(*judge)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	note(j)
}
