package steer

import (
	"slices"
	"time"

	"sidestep/pkg/record"
)

// Usable is whether an answer may be answered with, or whether a condition
// holds.
type Usable uint8

// Whether an answer is usable. One of which that is not known keeps the state
// that it has in the zone.
const (
	NotKnown Usable = iota
	No
	Yes
)

// Judged is what is known of one answer of a record set.
type Judged struct {
	Usable Usable
	Since  time.Duration // boot time since when Usable has been what it is, without a break
	Why    string        // in words: "web@203.0.113.10 down: connect/refused"
}

// Input is everything a decision about one record set rests on, apart from
// the zone itself. It is read-only once made.
type Input struct {
	Spec     *Spec
	Judged   []Judged      // by position, see Spec.At
	Now      time.Duration // boot time
	Disaster Usable        // whether the scenario Spec.DR.When holds; means nothing where there is none
	Declared string        // who says that it holds, in words, where a person does: "declared by ann: fire"
	Pin      []string      // what a person wants it to answer with, exactly; empty when nobody does
	Pinned   string        // who does, in words: "pinned by ann: test"
	Failback bool          // a person approved the failback that Failback.Manual waits for
	Resume   []string      // values that may be resumed although somebody else paused them
	Lost     bool          // overrides may have been lost with the state: nothing that is paused is resumed
}

// Decide works out the wanted set. seen is the record set as the provider has
// it now: an answer that is not known to be usable or unusable stays as it is
// there, and a working answer is displaced only as the policy allows. A value
// that must not be resumed is stepped over, as if it were out of order, and
// named in Stopped when it would have been answered with.
func Decide(in Input, seen record.Set) Wanted {
	wanted := decide(in, seen, false)
	stopped := wanted.barred()
	if len(stopped) == 0 {
		return wanted
	}
	wanted = decide(in, seen, true)
	wanted.Stopped = stopped
	return wanted
}

func decide(in Input, seen record.Set, stepOver bool) Wanted {
	d := decision{in: in, wanted: Wanted{Spec: in.Spec, judged: in.Judged}}
	d.look(seen)
	if stepOver {
		d.stepOver()
	}
	switch {
	case d.pin():
	case d.tiers():
		d.wanted.Reason = d.reason()
		d.noteRest()
		d.keepMinLive()
	default:
		d.allDown()
		d.noteRest()
		d.keepMinLive()
	}
	if in.Spec.Key.Type.Single() {
		d.keepOne()
	}
	d.wanted.fill(d.places)
	return d.wanted
}

type decision struct {
	in       Input
	places   []place // of the answers, of those for disasters, of the fallback list
	wanted   Wanted
	active   tier // from which the set answers
	doubtful bool // whether it is the best that works is not known
	unsure   bool // answers for a disaster stay, since it is not known whether it is over
	waiting  bool // an answer of a better tier waits for its failback
}

// place is what becomes of one value that the config names. There are very many
// of them, so it is small and holds no pointer.
type place struct {
	note    note // why what is known of it does not settle what becomes of it
	usable  Usable
	tier    tier
	isLive  bool // in the zone now
	held    bool // must not be resumed: somebody else paused it, and nobody said yes
	lost    bool // must not be resumed: it may be out by an override that was lost
	over    bool // is stepped over
	chosen  bool
	standby bool // of that mode
}

func (d *decision) look(seen record.Set) {
	spec := d.in.Spec
	d.places = make([]place, 0, spec.Len()+len(spec.Fallback))
	for i := range spec.Answers {
		a := &spec.Answers[i]
		d.add(a.Value, place{usable: d.in.Judged[i].Usable, tier: tierOf(a.Mode), standby: a.Mode == Standby}, seen)
	}
	for i := range spec.DR.Answers {
		d.add(spec.DR.Answers[i].Value, place{usable: d.in.Judged[len(spec.Answers)+i].Usable, tier: reserve}, seen)
	}
	for _, value := range spec.Fallback {
		d.add(value, place{note: notNeeded, usable: No, tier: spare}, seen)
	}
}

func (d *decision) add(value string, p place, seen record.Set) {
	a, found := seen.Find(value)
	p.isLive = found && a.Live
	if found && !a.Live {
		p.held = a.Held && !slices.Contains(d.in.Resume, value)
		p.lost = d.in.Lost
	}
	d.places = append(d.places, p)
}

// stepOver leaves those out that must not be resumed.
func (d *decision) stepOver() {
	for i := range d.places {
		p := &d.places[i]
		switch p.over = p.held || p.lost; {
		case p.held:
			p.note = heldByOther
		case p.lost:
			p.note = mayBeOut
		}
	}
}

// working reports whether an answer can carry the name: it is usable, or live
// and not known to be unusable.
func (p *place) working() bool     { return p.isUsable() || p.unknown() }
func (p *place) isUsable() bool    { return p.usable == Yes && !p.over }
func (p *place) usableLive() bool  { return p.usable == Yes && p.isLive }
func (p *place) unknown() bool     { return p.usable == NotKnown && p.isLive }
func (p *place) workingLive() bool { return p.usable != No && p.isLive }
func (p *place) notKnown() bool    { return p.usable == NotKnown && !p.over }
func (p *place) isChosen() bool    { return p.chosen }

func (d *decision) count(which func(*place) bool) int {
	n := 0
	for i := range d.places {
		if which(&d.places[i]) {
			n++
		}
	}
	return n
}

// countIn counts in one tier only.
func (d *decision) countIn(t tier, which func(*place) bool) int {
	n := 0
	for i := range d.places {
		if d.places[i].tier == t && which(&d.places[i]) {
			n++
		}
	}
	return n
}

// chooseIn takes every value of a tier of which something holds, and reports
// how many there were.
func (d *decision) chooseIn(t tier, which func(*place) bool) int {
	n := 0
	for i := range d.places {
		if p := &d.places[i]; p.tier == t && which(p) {
			p.chosen = true
			n++
		}
	}
	return n
}

// pin answers with what a person named and with nothing else, whatever is known
// of it; false when nobody did. A pin of which nothing may be resumed leaves the
// set as it is.
func (d *decision) pin() bool {
	if len(d.in.Pin) == 0 {
		return false
	}
	named, chosen := false, false
	for i := range d.places {
		p := &d.places[i]
		if !slices.Contains(d.in.Pin, d.in.Spec.value(i)) {
			continue
		}
		named = true
		if !p.over {
			p.chosen, p.note, chosen = true, pinned, true
		}
	}
	if !named {
		return false
	}
	d.wanted.Pinned, d.wanted.pinned = true, d.in.Pinned
	d.wanted.Reason = "pin: " + d.in.Pinned
	for i := range d.places {
		p := &d.places[i]
		switch {
		case p.chosen || p.over:
		case !chosen && p.isLive:
			p.chosen, p.note = true, keptForPin
		default:
			p.note = notPinned
		}
	}
	return true
}
