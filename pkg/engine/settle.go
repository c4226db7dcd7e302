package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/health"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// settle works out what follows from everything that has changed, zone by
// zone, and when time alone will change something next.
func (e *Engine) settle() {
	e.settlePanels()
	e.settleMass()
	e.turnWords()
	e.settleScenes()
	e.forgetPast()
	for _, s := range e.stale {
		s.stale = false
		e.judge(s)
		e.starve(s)
		if !s.ready && e.judgedAll(s) {
			s.beReady()
		}
	}
	e.stale = nil
	e.settleHolds()
	e.settleEarly()
	for _, name := range e.config.Zones {
		z := e.zones[name]
		e.settleWindow(z)
		e.settleLook(z)
	}
	e.effects.Next = e.next()
}

// settleEarly lets those be planned that have waited long enough for their
// targets. Only the first is looked at: at a start each result comes here, and
// there may be very many sets that wait.
func (e *Engine) settleEarly() {
	for len(e.early) > 0 {
		first := e.early[0]
		switch {
		case first.ready: // all its targets were judged
		case e.isBlind() || e.now.Boot < first.deadline:
			return
		default:
			first.beReady()
		}
		e.early = e.early[1:]
	}
}

// sortEarly puts the set that is ready first, at the latest, first.
func (e *Engine) sortEarly() {
	slices.SortStableFunc(e.early, func(a, b *set) int { return cmp.Compare(a.deadline, b.deadline) })
}

func (s *set) beReady() { s.ready, s.zone.turned = true, true }

// judge brings the answers of a record set up to date with their targets. An
// answer that ceases to be usable takes the approval of a failback with it. What
// is undone within one moment has never been, so that the order in which events
// of a moment are told does not matter.
func (e *Engine) judge(s *set) {
	if s.moment.judged == nil {
		s.moment.judged = s.judged
		e.present.judged = append(e.present.judged, s)
	}
	judged, ceased := e.judgedNow(s), false
	for i := range judged {
		usable, before := judged[i].Usable, s.moment.judged[i]
		if len(e.orders) > 0 && judged[i].Why != s.judged[i].Why {
			s.zone.turned = true // what the probes say beside an override is shown
		}
		ceased = ceased || before.Usable == steer.Yes && usable != steer.Yes
		if usable == s.judged[i].Usable {
			continue
		}
		s.zone.turned = true
		if usable == before.Usable {
			judged[i].Since = before.Since
		} else {
			judged[i].Since = s.since(i, usable, e.now.Boot)
		}
	}
	s.judged = judged
	s.moment.approval(&s.failback, ceased)
}

// moment is how a record set was judged before the present moment, and whether
// that took the approval of its failback. The zero value is one that was not judged
// at this moment.
type moment struct {
	judged []steer.Judged
	took   bool
}

// present is which record sets were judged at the present moment.
type present struct {
	at     time.Duration
	judged []*set
}

// forgetPast forgets how record sets were judged before a moment that is over: of
// ten thousand targets that would be a megabyte.
func (e *Engine) forgetPast() {
	if e.present.at == e.now.Boot {
		return
	}
	for _, s := range e.present.judged {
		s.moment = moment{}
	}
	clear(e.present.judged)
	e.present = present{e.now.Boot, e.present.judged[:0]}
}

// approval takes the approval of a failback when an answer has ceased to be
// usable, and gives it back when that was undone within the moment.
func (m *moment) approval(failback *bool, ceased bool) {
	switch {
	case ceased && *failback:
		*failback, m.took = false, true
	case !ceased && m.took:
		*failback, m.took = true, false
	}
}

// judgedNow is what is known of the answers of a record set now. What has changed
// has done so now.
func (e *Engine) judgedNow(s *set) []steer.Judged {
	judged := make([]steer.Judged, len(s.judged))
	for i := range s.targets {
		usable, why := e.judgeAnswer(s, i)
		judged[i] = steer.Judged{Usable: usable, Since: s.judged[i].Since, Why: why}
		if usable != s.judged[i].Usable {
			judged[i].Since = e.now.Boot
		}
	}
	return judged
}

// judgeAnswer is whether an answer is usable, and why. An operator's word and the
// maintenance of a site go before the probes, and what takes out before what puts
// in.
func (e *Engine) judgeAnswer(s *set, i int) (steer.Usable, string) {
	w, maintenance := e.rule(s, i), e.maintained(s, i)
	switch {
	case maintenance != "" && (w == nil || !w.Kind.Out()):
		return steer.No, maintenance
	case w != nil:
		probes := together(s.targets[i], (*target).observed)
		return ruled(w, s.spec.At(i), targetWords(s.targets[i], probes, (*target).observed))
	}
	known := together(s.targets[i], (*target).verdict)
	when, why := e.admit(s, i)
	switch {
	case known == steer.No:
		return steer.No, targetWords(s.targets[i], known, (*target).verdict)
	case when == steer.No:
		return steer.No, why
	case when == steer.NotKnown:
		return steer.NotKnown, targetWords(s.targets[i], known, (*target).verdict) + why
	}
	return known, targetWords(s.targets[i], known, (*target).verdict) + why
}
func (s *set) hasUsable() bool {
	return slices.ContainsFunc(s.judged, func(j steer.Judged) bool { return j.Usable == steer.Yes })
}

// since is when an answer became what it is. One that is judged for the first
// time since a start goes on from where an earlier process left it: the hold of
// its failback was not broken by a restart.
func (s *set) since(i int, usable steer.Usable, now time.Duration) time.Duration {
	value := s.spec.At(i).Value
	earlier, found := s.earlier[value]
	delete(s.earlier, value)
	if found && earlier.Usable == usable {
		return earlier.Since
	}
	return now
}

// judgedAll reports whether every target of the record set was judged, and its
// scenarios are known to hold or not.
func (e *Engine) judgedAll(s *set) bool {
	for _, needs := range s.targets {
		if slices.ContainsFunc(needs, func(t *target) bool { return t.observed() == health.Unknown }) {
			return false
		}
	}
	return !slices.ContainsFunc(s.spec.Whens(), func(when string) bool { return e.holds(when) == steer.NotKnown })
}

// together adds the verdicts of an answer's targets up: one that is down makes it
// unusable, one that is not judged leaves it not known. Which verdicts those are
// is the caller's choice: the probes', or those that count.
func together(needs []*target, verdict func(*target) health.Verdict) steer.Usable {
	known := steer.Yes
	for _, t := range needs {
		switch verdict(t) {
		case health.Down:
			return steer.No
		case health.Unknown:
			known = steer.NotKnown
		case health.Up:
		}
	}
	return known
}

// targetWords says why the targets of an answer are together what they are.
func targetWords(needs []*target, known steer.Usable, verdict func(*target) health.Verdict) string {
	var why string
	switch {
	case len(needs) == 0:
		return "not probed"
	case known == steer.No:
		i := slices.IndexFunc(needs, func(t *target) bool { return verdict(t) == health.Down })
		return needs[i].id.ID() + " " + needs[i].downWords(verdict)
	case known == steer.NotKnown:
		why = ids(needs) + " not judged yet"
	case len(needs) == 1: // as nearly always
		why = needs[0].id.Check + "@" + needs[0].id.Address + " up"
	default:
		why = ids(needs) + " up"
	}
	for _, t := range needs {
		if w := t.forced; w != nil && verdict(t) != t.observed() {
			why += "; " + w.overrules(t)
		}
		if t.suspected() {
			why += fmt.Sprintf("; %s suspected: it failed (%s) together with too many others (guard %s)", t.id.ID(), t.why(), plan.GuardMass)
		}
		switch {
		case t.panel == nil || t.panel.words == "":
		case len(needs) == 1:
			why += "; " + t.panel.words
		default:
			why += "; " + t.id.ID() + ": " + t.panel.words
		}
		if t.waits() {
			why += fmt.Sprintf("; %s failed (%s/%s) and waits for the canary", t.id.ID(), t.health.Phase, t.health.Cause)
		}
	}
	return why
}

func ids(needs []*target) string {
	var list []string
	for _, t := range needs {
		list = append(list, t.id.ID())
	}
	return strings.Join(list, ", ")
}

// settleWindow plans a zone that something changed for, opens its debounce
// window when there is something to write, and at the end of the window lets
// Work out, if there still is. Older Work that is out is tried again until it is
// done: when nothing of it is wanted any more it is withdrawn at once, by Work
// that writes nothing in its place.
func (e *Engine) settleWindow(z *zone) {
	if !z.listed {
		return
	}
	if e.isBlind() {
		e.keepShut(z)
		return
	}
	e.withdrawFrozen(z)
	if z.window == 0 && (z.changed(e.now.Boot) || reached(z.due, e.now.Boot)) {
		e.replan(z)
		e.tellRefusals(z)
		switch {
		case z.plan.Pending() || z.err != "":
			z.window = e.now.Boot + e.config.Debounce
		case z.asked:
			e.letOut(z)
		}
	}
	if !reached(z.window, e.now.Boot) {
		return
	}
	z.window = 0
	e.replan(z)
	e.tellRefusals(z)
	if z.plan.Pending() || z.asked || z.err != "" {
		e.letOut(z)
	}
}

// keepShut is what becomes of a zone while this node is blind: no window is
// open, and Work that is out is withdrawn.
func (e *Engine) keepShut(z *zone) {
	z.window = 0
	if z.changed(e.now.Boot) {
		e.replan(z)
		e.tellRefusals(z)
	}
	if z.asked {
		e.letOut(z)
	}
}

// A plan costs as much as its zone is large, and of many targets that turn, one
// soon after the other, each would ask for one. So a large zone waits a little
// between two plans: 0.1 ms for each record set, no more than a fifth of a second,
// and nothing below 100 of them.
const (
	planRest    = 100 * time.Microsecond
	longestRest = 200 * time.Millisecond
	largeZone   = 100
)

// changed reports whether something asks for a plan now.
func (z *zone) changed(now time.Duration) bool { return z.dirty || reached(z.turnedDue(), now) }

// turnedDue is the boot time at which a zone is planned because verdicts have
// changed what is usable; 0 when none have.
func (z *zone) turnedDue() time.Duration {
	switch {
	case !z.turned || !z.listed:
		return 0
	case len(z.sets) < largeZone || z.planned == 0:
		return max(z.planned, 1)
	}
	return z.planned + min(time.Duration(len(z.sets))*planRest, longestRest)
}

// letOut hands the zone's Work to the caller.
func (e *Engine) letOut(z *zone) {
	e.effects.Work = append(e.effects.Work, e.work(z, nil))
	z.asked = z.plan.Pending()
}

func (e *Engine) replan(z *zone) {
	work := e.work(z, nil)
	z.plan = work.Plan(z.seen)
	z.dirty, z.turned, z.retold, z.planned = false, false, false, e.now.Boot
	z.due = due(z.plan, work.Limits)
}

// tellRefusals puts each refusal of a guard into the journal when it begins.
func (e *Engine) tellRefusals(z *zone) {
	for _, b := range z.plan.Blocked {
		if b.Guard == plan.GuardCanary || b.Guard == plan.GuardMass {
			continue // told once, not for each zone
		}
		if slices.ContainsFunc(z.told, func(t plan.Blocked) bool { return t.Guard == b.Guard && t.Key == b.Key }) {
			continue
		}
		target := b.Key.String()
		if b.Key.Name == "" {
			target = string(b.Key.Zone)
		}
		e.tell(Entry{Kind: "guard", Target: target, Guard: b.Guard, Detail: b.String()})
	}
	z.told = z.plan.Blocked
}

// due is when time alone changes the plan: a failback becomes due, or the
// window of max_writes slides.
func due(p plan.Plan, limits plan.Limits) time.Duration {
	due := time.Duration(0)
	for _, s := range p.Sets {
		due = sooner(due, s.Wanted.Due)
		if len(s.Changes) > 0 && s.Changes[0].Guard == plan.GuardMaxWrites {
			due = sooner(due, limits.Written[s.Key()][0]+limits.MaxWrites.Window)
		}
	}
	return due
}

// work gathers what a plan for the zone rests on: the record sets that may be
// planned already, and the limits. The guards in override are switched off.
func (e *Engine) work(z *zone, override map[string]bool) Work {
	w := Work{Zone: z.name, Steered: z.steered, Limits: plan.Limits{
		MaxChanges: e.config.MaxChanges, MaxWrites: e.config.MaxWrites,
		Now: e.now.Boot, Plan: z.approved, Override: override, Blind: e.blindness(),
		Written: map[record.Key][]time.Duration{}, Adopted: map[record.Key]bool{}, Owned: map[record.Key]bool{},
	}}
	if z.suspects(e.mass.suspects) {
		w.Limits.Mass = e.massWords()
	}
	w.Limits.Frozen = e.frozenSets(z)
	w.Inputs = make([]steer.Input, 0, len(z.sets))
	for _, s := range z.sets {
		if !s.ready {
			continue
		}
		s.forgetWrites(e.now.Boot, e.config.MaxWrites.Window)
		w.Inputs = append(w.Inputs, e.input(s, override))
		key := s.spec.Key
		if s.adopted || e.pinOf(s) != nil {
			w.Limits.Adopted[key] = true
		}
		if s.owned {
			w.Limits.Owned[key] = true
		}
		if len(s.written) > 0 {
			w.Limits.Written[key] = slices.Clone(s.written)
		}
	}
	return w
}

// input is what a decision about a record set rests on. It shares nothing with
// the engine that the engine would change.
func (e *Engine) input(s *set, guards map[string]bool) steer.Input {
	in := steer.Input{
		Spec: s.spec, Judged: s.judged, Now: e.now.Boot, Failback: s.failback,
		Resume: s.resume, Lost: e.lost && !guards[plan.GuardState],
	}
	in.Disaster, in.Declared = e.disaster(s)
	if guards[plan.GuardMass] && len(e.mass.suspects) > 0 {
		in.Judged = e.disbelieve(s)
	}
	if guards[plan.GuardHeld] {
		in.Resume = s.spec.Values()
	}
	if w := e.pinOf(s); w != nil {
		in.Pin, in.Pinned = s.pinned(w.Values), w.String()
	}
	return in
}

func (s *set) forgetWrites(now, window time.Duration) {
	for len(s.written) > 0 && now-s.written[0] >= window {
		s.written = s.written[1:]
	}
}

// settleLook asks for a zone's list when its time has come.
func (e *Engine) settleLook(z *zone) {
	if e.now.Boot < z.look || z.look == never {
		return
	}
	e.effects.Look = append(e.effects.Look, z.name)
	z.look = never
	if e.config.Every > 0 {
		z.look = e.now.Boot + e.config.Every
	}
}

// never is a boot time that does not come.
const never = time.Duration(1<<63 - 1)

// next is the earliest boot time at which time alone changes anything.
func (e *Engine) next() time.Duration {
	next := time.Duration(0)
	for _, z := range e.zones {
		if z.look != never {
			next = sooner(next, z.look)
		}
	}
	next = sooner(next, e.wordsDue())
	next = sooner(next, e.skew.due())
	next = sooner(next, e.panels.due(e.mass.due))
	if e.isBlind() {
		return next
	}
	if len(e.early) > 0 {
		next = sooner(next, e.early[0].deadline)
	}
	for _, z := range e.zones {
		if z.window != 0 {
			next = sooner(next, z.window)
		} else {
			next = sooner(next, sooner(z.due, z.turnedDue()))
		}
	}
	return next
}

// sooner is the earlier of two boot times, of which 0 stands for none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// reached reports whether a boot time, 0 for none, has come.
func reached(at, now time.Duration) bool { return at != 0 && now >= at }
