package steer

import (
	"fmt"
	"slices"
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
// the zone itself.
type Input struct {
	Spec     *Spec
	Judged   []Judged      // by position in Spec.Answers
	Now      time.Duration // boot time
	Failback bool          // a person approved the failback that Failback.Manual waits for
}

// Wanted is what a record set should answer with, and why.
type Wanted struct {
	Spec    *Spec
	Live    []string          // in the config's order; empty only with Empty
	Paused  []string          // every other value that the config names, in its order
	Empty   bool              // on_all_down: none took effect: an empty set is meant
	Reason  string            // why the set is what it is, in words
	Why     map[string]string // the reason of each value
	Usable  map[string]bool   // the values that are known to be usable
	Due     time.Duration     // boot time at which a failback becomes due; 0 when none is waiting for time
	Waiting string            // what a person has to approve, in words; empty when nothing waits
}

// Decide works out the wanted set. seen is the record set as the provider has
// it now: an answer that is not known to be usable or unusable stays as it is
// there, and a working answer is displaced only as the policy allows.
func Decide(in Input, seen record.Set) Wanted {
	d := decision{in: in, seen: seen, wanted: Wanted{
		Spec:   in.Spec,
		Why:    map[string]string{},
		Usable: map[string]bool{},
	}}
	d.explain()
	working := d.working()
	switch {
	case len(working) == 0:
		d.allDown()
	case in.Spec.Policy == Priority:
		d.priority(working)
	default:
		d.take(working, fmt.Sprintf("all: %d of %d usable", len(working), len(in.Spec.Answers)))
	}
	d.keepMinLive()
	d.fillPaused()
	return d.wanted
}

type decision struct {
	in     Input
	seen   record.Set
	wanted Wanted
}

func (d *decision) explain() {
	for i, a := range d.in.Spec.Answers {
		d.wanted.Why[a.Value] = d.in.Judged[i].Why
		if d.in.Judged[i].Usable == Yes {
			d.wanted.Usable[a.Value] = true
		}
	}
}

func (d *decision) isLive(value string) bool {
	a, found := d.seen.Find(value)
	return found && a.Live
}

// working lists, by position, the answers that can carry the name: the usable
// ones, and the live ones of which nothing is known.
func (d *decision) working() []int {
	var positions []int
	for i, a := range d.in.Spec.Answers {
		switch d.in.Judged[i].Usable {
		case Yes:
			positions = append(positions, i)
		case NotKnown:
			if d.isLive(a.Value) {
				positions = append(positions, i)
			}
		}
	}
	return positions
}

// priority takes the first MaxLive working answers, except that one which is
// not live yet displaces a live one only when its failback is due. A free
// place is taken at once.
func (d *decision) priority(working []int) {
	var chosen, waiting []int
	for _, i := range working {
		if d.isLive(d.in.Spec.Answers[i].Value) {
			chosen = append(chosen, i)
		} else {
			waiting = append(waiting, i)
		}
	}
	if len(chosen) > d.in.Spec.MaxLive {
		chosen = chosen[:d.in.Spec.MaxLive]
	}
	for _, i := range waiting {
		chosen = d.enter(chosen, i)
	}
	slices.Sort(chosen)
	d.take(chosen, fmt.Sprintf("priority: %s of %d working", places(chosen), len(working)))
}

// enter puts a working answer that is not live among the chosen ones, which
// are sorted by position.
func (d *decision) enter(chosen []int, i int) []int {
	if len(chosen) < d.in.Spec.MaxLive {
		chosen = append(chosen, i)
		slices.Sort(chosen)
		return chosen
	}
	last := len(chosen) - 1
	if i > chosen[last] || !d.failbackDue(i, chosen[last]) {
		return chosen
	}
	chosen[last] = i
	slices.Sort(chosen)
	return chosen
}

// failbackDue reports whether answer i may displace the live answer j of lower
// rank, and otherwise notes what it waits for.
func (d *decision) failbackDue(i, j int) bool {
	if !d.isLive(d.in.Spec.Answers[j].Value) {
		return true
	}
	rule := d.in.Spec.Failback
	value := d.in.Spec.Answers[i].Value
	if rule.Manual {
		if d.in.Failback {
			return true
		}
		d.wanted.Waiting = fmt.Sprintf("failback to %s", value)
		d.wanted.Why[value] += "; waits for approval of its failback"
		return false
	}
	due := d.in.Judged[i].Since + rule.Hold
	if d.in.Now >= due {
		return true
	}
	if d.wanted.Due == 0 || due < d.wanted.Due {
		d.wanted.Due = due
	}
	d.wanted.Why[value] += fmt.Sprintf("; held back for %s after it came back", rule.Hold)
	return false
}

func (d *decision) allDown() {
	spec := d.in.Spec
	switch spec.OnAllDown {
	case Fallback:
		d.wanted.Live = slices.Clone(spec.Fallback)
		d.wanted.Reason = "nothing is usable: the fallback list"
		for _, value := range spec.Fallback {
			d.wanted.Why[value] = "fallback"
		}
	case Open:
		d.take(d.every(func(string) bool { return true }), "nothing is usable: on_all_down opens every answer")
	case None:
		if d.anyNotKnown() {
			d.keepLast() // not known is not down, and an emptied name cannot be taken back from caches
			return
		}
		d.wanted.Empty = true
		d.wanted.Reason = "nothing is usable: on_all_down: none empties the set"
	default:
		d.keepLast()
	}
}

// keepLast keeps what the zone has live of the values that the config names.
func (d *decision) keepLast() {
	d.take(d.every(d.isLive), "nothing is usable: the last live set is kept")
	for _, value := range d.in.Spec.Fallback {
		if d.isLive(value) && !slices.Contains(d.wanted.Live, value) {
			d.wanted.Live = append(d.wanted.Live, value)
		}
	}
}

func (d *decision) anyNotKnown() bool {
	return slices.ContainsFunc(d.in.Judged, func(j Judged) bool { return j.Usable == NotKnown })
}

func (d *decision) every(keep func(value string) bool) []int {
	var positions []int
	for i, a := range d.in.Spec.Answers {
		if keep(a.Value) {
			positions = append(positions, i)
		}
	}
	return positions
}

func (d *decision) take(positions []int, reason string) {
	d.wanted.Reason = reason
	for _, i := range positions {
		d.wanted.Live = append(d.wanted.Live, d.in.Spec.Answers[i].Value)
	}
}

// keepMinLive leaves unusable answers in the set as long as it would have
// fewer than MinLive values without them: those that are live now, the last
// to fail first.
func (d *decision) keepMinLive() {
	missing := d.in.Spec.MinLive - len(d.wanted.Live)
	if d.wanted.Empty || missing <= 0 {
		return
	}
	spare := d.every(func(value string) bool {
		return d.isLive(value) && !slices.Contains(d.wanted.Live, value)
	})
	slices.SortStableFunc(spare, func(a, b int) int {
		return int(min(max(d.in.Judged[b].Since-d.in.Judged[a].Since, -1), 1))
	})
	for _, i := range spare[:min(missing, len(spare))] {
		value := d.in.Spec.Answers[i].Value
		d.wanted.Live = append(d.wanted.Live, value)
		d.wanted.Why[value] += fmt.Sprintf("; stays because min_live is %d", d.in.Spec.MinLive)
	}
	d.sortLive()
}

func (d *decision) sortLive() {
	order := d.order()
	slices.SortFunc(d.wanted.Live, func(a, b string) int {
		return slices.Index(order, a) - slices.Index(order, b)
	})
}

// order is every value that the config names, once, answers first.
func (d *decision) order() []string {
	var values []string
	for _, a := range d.in.Spec.Answers {
		values = append(values, a.Value)
	}
	for _, value := range d.in.Spec.Fallback {
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

func (d *decision) fillPaused() {
	for _, value := range d.order() {
		if slices.Contains(d.wanted.Live, value) {
			continue
		}
		d.wanted.Paused = append(d.wanted.Paused, value)
		if d.wanted.Why[value] == "" {
			d.wanted.Why[value] = "fallback, not needed"
		}
	}
}

// places words positions for people: "1st", "1st and 3rd".
func places(positions []int) string {
	text := ""
	for n, i := range positions {
		switch {
		case n > 0 && n == len(positions)-1:
			text += " and "
		case n > 0:
			text += ", "
		}
		text += ordinal(i + 1)
	}
	return text
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
	return fmt.Sprintf("%d%s", n, suffix)
}
