package steer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/record"
)

// Usable is whether an answer may be answered with.
type Usable uint8

// Whether an answer is usable. An answer of which that is not known keeps the
// state that it has in the zone.
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
	Judged   []Judged      // by position in Spec.Answers
	Now      time.Duration // boot time
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
	d := decision{in: in, wanted: Wanted{Spec: in.Spec}}
	d.look(seen)
	if stepOver {
		d.stepOver()
	}
	switch working := d.count((*place).working); {
	case working == 0:
		d.allDown()
	case in.Spec.Policy == Priority:
		d.priority()
		d.wanted.Reason = "priority: " + d.chosen() + " of " + strconv.Itoa(len(in.Spec.Answers)) + ", " + strconv.Itoa(working) + " working"
	default:
		d.choose((*place).working)
		d.wanted.Reason = d.allReason()
	}
	d.keepMinLive()
	if in.Spec.Key.Type.Single() {
		d.keepOne()
	}
	d.wanted.fill(d.places)
	return d.wanted
}

type decision struct {
	in     Input
	places []place // of the answers, then of the fallback list
	wanted Wanted
}

// place is one value that the config names, and what becomes of it.
type place struct {
	value  string
	why    string // what is known of it
	note   string // why that does not settle what becomes of it
	usable Usable
	spare  bool // of the fallback list
	isLive bool // in the zone now
	held   bool // must not be resumed: somebody else paused it, and nobody said yes
	lost   bool // must not be resumed: it may be out by an override that was lost
	over   bool // is stepped over
	chosen bool
}

func (d *decision) look(seen record.Set) {
	d.places = make([]place, 0, len(d.in.Spec.Answers)+len(d.in.Spec.Fallback))
	for i, a := range d.in.Spec.Answers {
		p := place{value: a.Value, why: d.in.Judged[i].Why, usable: d.in.Judged[i].Usable}
		d.places = append(d.places, d.find(p, seen))
	}
	for _, value := range d.in.Spec.Fallback {
		p := place{value: value, why: "fallback", note: "not needed", usable: No, spare: true}
		d.places = append(d.places, d.find(p, seen))
	}
}

func (d *decision) find(p place, seen record.Set) place {
	a, found := seen.Find(p.value)
	p.isLive = found && a.Live
	if found && !a.Live {
		p.held = a.Held && !slices.Contains(d.in.Resume, p.value)
		p.lost = d.in.Lost
	}
	return p
}

// stepOver leaves those out that must not be resumed.
func (d *decision) stepOver() {
	for i := range d.places {
		p := &d.places[i]
		switch p.over = p.held || p.lost; {
		case p.held:
			p.note = "paused by somebody else"
		case p.lost:
			p.note = "may be out by an override that was lost with the state"
		}
	}
}

// working reports whether an answer can carry the name: it is usable, or live
// and not known to be unusable.
func (p *place) working() bool {
	return !p.over && (p.usable == Yes || p.usable == NotKnown && p.isLive)
}

func (p *place) usableLive() bool { return p.usable == Yes && p.isLive }
func (p *place) unknown() bool    { return p.usable == NotKnown && p.isLive }
func (p *place) isChosen() bool   { return p.chosen }

func (d *decision) count(which func(*place) bool) int {
	n := 0
	for i := range d.places {
		if which(&d.places[i]) {
			n++
		}
	}
	return n
}

// choose takes every value of which something holds, and reports whether there
// was one.
func (d *decision) choose(which func(*place) bool) bool {
	found := false
	for i := range d.places {
		if which(&d.places[i]) {
			d.places[i].chosen, found = true, true
		}
	}
	return found
}

func (d *decision) allReason() string {
	answers := len(d.in.Spec.Answers)
	usable := d.count(func(p *place) bool { return p.chosen && p.usable == Yes })
	reason := "all: " + strconv.Itoa(usable) + " of " + strconv.Itoa(answers) + " usable"
	if n := d.count((*place).unknown); n > 0 {
		reason += ", " + strconv.Itoa(n) + " not judged and kept"
	}
	return reason
}

// chosen words the positions of the chosen answers: "1st", "1st and 3rd".
func (d *decision) chosen() string {
	var positions []string
	for i, p := range d.places {
		if p.chosen {
			positions = append(positions, ordinal(i+1))
		}
	}
	last := len(positions) - 1
	if last < 1 {
		return strings.Join(positions, "")
	}
	return strings.Join(positions[:last], ", ") + " and " + positions[last]
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// allDown is what is done when nothing can carry the name.
func (d *decision) allDown() {
	d.wanted.AllDown = true
	done := false
	switch d.in.Spec.OnAllDown {
	case Fallback:
		done = d.takeAll(func(p *place) bool { return p.spare && !p.over }, "needed because nothing is usable", "the fallback list")
	case Open:
		// One that is not judged stays out: it would count as working, and the others
		// would give way to it.
		done = d.takeAll(func(p *place) bool { return !p.spare && !p.over && p.usable != NotKnown },
			"answered with because nothing is usable", "on_all_down opens every answer")
	case None:
		done = d.empty()
	case Keep:
	}
	if !done {
		d.takeAll(func(p *place) bool { return p.isLive }, "kept because nothing is usable", "the last live set is kept")
	}
}

// takeAll chooses every value of which something holds; false when there is none.
func (d *decision) takeAll(which func(*place) bool, note, reason string) bool {
	d.wanted.Reason = "nothing is usable: " + reason
	if !d.choose(which) {
		return false
	}
	for i := range d.places {
		if d.places[i].chosen {
			d.places[i].note = note
		}
	}
	return true
}

// empty leaves the set without an answer, unless one is not judged or waits for
// a person: neither is down, and an emptied name cannot be taken back from
// caches.
func (d *decision) empty() bool {
	if d.count(func(p *place) bool { return p.usable != No }) > 0 {
		return false
	}
	d.wanted.Empty = true
	d.wanted.Reason = "nothing is usable: on_all_down: none empties the set"
	return true
}

// keepMinLive leaves unusable answers in the set as long as it would have
// fewer than MinLive values without them: those that are live now, the last
// to fail first.
func (d *decision) keepMinLive() {
	if d.wanted.Empty {
		return
	}
	for missing := d.in.Spec.MinLive - d.count((*place).isChosen); missing > 0; missing-- {
		last := -1
		for i, p := range d.places {
			if p.isLive && !p.spare && !p.chosen && (last < 0 || d.in.Judged[i].Since > d.in.Judged[last].Since) {
				last = i
			}
		}
		if last < 0 {
			return
		}
		d.places[last].chosen = true
		d.places[last].note = fmt.Sprintf("stays because min_live is %d", d.in.Spec.MinLive)
	}
}

// keepOne leaves one value in a set that can have no more (a CNAME): the one
// that is live, if it is among the chosen, else the first of them.
func (d *decision) keepOne() {
	first, live := -1, -1
	for i, p := range d.places {
		if p.chosen && first < 0 {
			first = i
		}
		if p.chosen && p.isLive && live < 0 {
			live = i
		}
	}
	for i := range d.places {
		p := &d.places[i]
		if p.chosen && i != live && (live >= 0 || i != first) {
			p.chosen, p.note = false, "a name has one value of this type"
		}
	}
}
