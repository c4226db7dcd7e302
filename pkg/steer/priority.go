package steer

import "fmt"

// priority takes the first MaxLive usable answers of those that are live, and
// every live one that is not judged, which keeps its place. One that is not
// live takes a free place at once; where there is none it displaces a usable
// live one of lower rank, once its failback is due.
func (d *decision) priority() {
	d.choose((*place).unknown)
	room := d.in.Spec.MaxLive
	for i := range d.places {
		if p := &d.places[i]; p.usableLive() && room > 0 {
			p.chosen = true
			room--
		}
	}
	for i := range d.places {
		if p := &d.places[i]; p.working() && !p.isLive {
			d.enter(i)
		}
	}
	for i := range d.places {
		if p := &d.places[i]; p.usable == Yes && !p.chosen && p.note == "" {
			p.note = "lower in rank than what is live"
		}
	}
}

// enter chooses a usable answer that is not live yet, if there is a place for
// it, and otherwise notes what it waits for.
func (d *decision) enter(i int) {
	if d.count((*place).isChosen) < d.in.Spec.MaxLive {
		d.places[i].chosen = true
		return
	}
	lowest, unknown := -1, false
	for j := i + 1; j < len(d.places); j++ {
		if p := d.places[j]; p.chosen && p.usable == Yes {
			lowest = j
		} else if p.chosen {
			unknown = true
		}
	}
	switch {
	case lowest >= 0 && d.failbackDue(i):
		d.places[i].chosen, d.places[lowest].chosen = true, false
	case lowest < 0 && unknown:
		d.places[i].note = "waits until what is live in its place is judged"
	}
}

// failbackDue reports whether an answer may displace a live one of lower rank,
// and otherwise notes what it waits for.
func (d *decision) failbackDue(i int) bool {
	rule, p := d.in.Spec.Failback, &d.places[i]
	if rule.Manual {
		if d.in.Failback {
			return true
		}
		if d.wanted.Waiting == "" {
			d.wanted.Waiting = "failback to " + p.value
		}
		p.note = "waits for approval of its failback"
		return false
	}
	due := d.in.Judged[i].Since + rule.Hold
	if d.in.Now >= due {
		return true
	}
	if d.wanted.Due == 0 || due < d.wanted.Due {
		d.wanted.Due = due
	}
	p.note = fmt.Sprintf("held back for %s after it came back", rule.Hold)
	return false
}
