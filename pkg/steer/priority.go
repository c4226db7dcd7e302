package steer

import "time"

// priority takes the first MaxLive usable answers of those of a tier that are
// live. One that is not live takes a free place at once; where there is none it
// displaces a usable live one of lower rank, once its failback is due. A worse
// tier that answers is of lower rank altogether: it gives way when the first
// failback is due. It reports how many are chosen that are usable.
func (d *decision) priority(t tier) int {
	n := d.chooseLive(t)
	if n == 0 && d.worseLive(t) {
		n = d.returned(t)
		if n == 0 && d.countIn(t, (*place).isUsable) > 0 {
			d.waiting = true
			d.holdBack(t)
			return 0
		}
	}
	for i := range d.places {
		if p := &d.places[i]; p.tier == t && p.isUsable() && !p.isLive && !p.chosen {
			n += d.enter(i)
		}
	}
	return n
}

// chooseLive takes the first MaxLive of the usable answers of a tier that are
// live.
func (d *decision) chooseLive(t tier) int {
	n := 0
	for i := range d.places {
		if p := &d.places[i]; p.tier == t && p.usableLive() && n < d.in.Spec.MaxLive {
			p.chosen = true
			n++
		}
	}
	return n
}

// worseLive reports whether an answer of a worse tier is live and not known to be
// unusable, which holds a failback back. In a disaster nothing does.
func (d *decision) worseLive(t tier) bool {
	if t == reserve {
		return false
	}
	for i := range d.places {
		if p := &d.places[i]; p.tier > t && p.workingLive() {
			return true
		}
	}
	return false
}

// returned takes the answers of a tier whose failback is due, as many as there
// are places.
func (d *decision) returned(t tier) int {
	n, room := 0, d.in.Spec.MaxLive-d.countIn(t, (*place).isChosen)
	for i := range d.places {
		if p := &d.places[i]; p.tier == t && p.isUsable() && d.isDue(i) && n < room {
			p.chosen = true
			n++
		}
	}
	return n
}

// holdBack notes what the answers of a tier wait for.
func (d *decision) holdBack(t tier) {
	for i := range d.places {
		p := &d.places[i]
		switch {
		case p.tier != t || !p.isUsable():
		case d.isDue(i): // and what is not judged has its place
			p.note = waitsJudged
		default:
			d.holdOne(i)
		}
	}
}

// enter chooses a usable answer that is not live yet, if there is a place for
// it, and otherwise notes what it waits for. It reports by how many the chosen
// became more.
func (d *decision) enter(i int) int {
	p := &d.places[i]
	if d.countIn(p.tier, (*place).isChosen) < d.in.Spec.MaxLive {
		p.chosen = true
		return 1
	}
	lowest, unknown := -1, false
	for j := i + 1; j < len(d.places); j++ {
		if q := &d.places[j]; q.tier == p.tier && q.chosen && q.usable == Yes {
			lowest = j
		} else if q.chosen {
			unknown = true
		}
	}
	switch {
	case lowest >= 0 && d.isDue(i):
		p.chosen, d.places[lowest].chosen = true, false
	case lowest >= 0:
		d.holdOne(i)
	case unknown:
		p.note = waitsJudged
	}
	return 0
}

// isDue reports whether an answer may displace a live one of lower rank.
func (d *decision) isDue(i int) bool {
	if d.in.Spec.Failback.Manual {
		return d.in.Failback
	}
	return d.in.Now >= d.due(i)
}

func (d *decision) due(i int) time.Duration { return d.in.Judged[i].Since + d.in.Spec.Failback.Hold }

// holdOne notes what the failback of one answer waits for.
func (d *decision) holdOne(i int) {
	p := &d.places[i]
	if d.in.Spec.Failback.Manual {
		p.note = waitsApproval
		if d.wanted.Waiting == "" {
			d.wanted.Waiting = "failback to " + d.in.Spec.value(i)
		}
		return
	}
	p.note = heldBack
	if due := d.due(i); d.wanted.Due == 0 || due < d.wanted.Due {
		d.wanted.Due = due
	}
}
