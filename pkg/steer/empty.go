package steer

// allDown is what is done when nothing can carry the name.
func (d *decision) allDown() {
	d.wanted.AllDown = true
	done := false
	switch d.in.Spec.OnAllDown {
	case Fallback:
		done = d.takeAll(func(p *place) bool { return p.tier == spare && !p.over }, neededNow, "the fallback list")
	case Open:
		// One that is not judged stays out: it would count as working, and the others
		// would give way to it.
		done = d.takeAll((*place).opened, opened, "on_all_down opens every answer")
	case None:
		done = d.empty()
	case Keep:
	}
	if !done {
		d.takeAll(func(p *place) bool { return p.isLive }, keptLive, "the last live set is kept")
	}
}

func (p *place) opened() bool {
	return p.tier < reserve && !p.standby && !p.over && p.usable != NotKnown
}

// takeAll chooses every value of which something holds; false when there is none.
func (d *decision) takeAll(which func(*place) bool, why note, reason string) bool {
	d.wanted.Reason = "nothing is usable: " + reason
	found := false
	for i := range d.places {
		if p := &d.places[i]; which(p) {
			p.chosen, p.note, found = true, why, true
		}
	}
	return found
}

// empty leaves the set without an answer, unless one is not judged or waits for
// a person: neither is down, and an emptied name cannot be taken back from
// caches.
func (d *decision) empty() bool {
	for i := range d.places {
		if p := &d.places[i]; p.usable != No && (p.tier != reserve || d.asks(reserve, false)) {
			return false
		}
	}
	d.wanted.Empty = true
	d.wanted.Reason = "nothing is usable: on_all_down: none empties the set"
	return true
}

// keepMinLive leaves answers in the set as long as it would have fewer than
// MinLive values without them: those that are live now and better than others,
// the last to fail first.
func (d *decision) keepMinLive() {
	if d.wanted.Empty {
		return
	}
	for missing := d.in.Spec.MinLive - d.count((*place).isChosen); missing > 0; missing-- {
		last := -1
		for i := range d.places {
			p := &d.places[i]
			if p.isLive && p.tier != spare && !p.chosen && (last < 0 || d.better(i, last)) {
				last = i
			}
		}
		if last < 0 {
			return
		}
		d.places[last].chosen = true
		d.places[last].note = keptMinLive
	}
}

// better reports whether one of two answers that are not needed should rather
// stay than the other: one that works, or else the later to fail.
func (d *decision) better(i, than int) bool {
	a, b := d.places[i].usable, d.places[than].usable
	return rank(a) < rank(b) || a == No && b == No && d.in.Judged[i].Since > d.in.Judged[than].Since
}

func rank(u Usable) int {
	switch u {
	case Yes:
		return 0
	case NotKnown:
		return 1
	case No:
	}
	return 2
}

// keepOne leaves one value in a set that can have no more (a CNAME): the one
// that is live, if it is among the chosen, else the first of them.
func (d *decision) keepOne() {
	first, live := -1, -1
	for i := range d.places {
		p := &d.places[i]
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
			p.chosen, p.note = false, onlyOne
		}
	}
}
