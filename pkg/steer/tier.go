package steer

// tier is a group of values. A record set answers from the first that works.
type tier uint8

// The tiers, the best first. In a disaster reserve comes before all others.
const (
	ordinary tier = iota
	backup
	reserve // for disasters
	spare   // the fallback list, which is not probed: it stands in when nothing works
)

func tierOf(m Mode) tier {
	if m == Backup {
		return backup
	}
	return ordinary
}

// tiers chooses among the answers that work; false when none does. A tier is
// turned to when nothing of a better one is usable. While that is in doubt,
// because one of them is not judged, nothing new is put in beside what works and
// is live, and nothing of that is taken out.
func (d *decision) tiers() bool {
	order, doubt := d.order()
	found := d.unsure
	for _, t := range order {
		if t == spare || !d.asks(t, doubt) {
			break
		}
		unknown := d.chooseIn(t, (*place).unknown)
		take := d.fill
		if doubt || d.waiting {
			take = d.stay
		}
		usable := take(t)
		if usable > 0 || unknown > 0 && !found {
			d.active, d.doubtful, found = t, doubt, true
		}
		if usable > 0 {
			break
		}
		doubt = doubt || unknown > 0 || t != reserve && d.mayReturn(t)
	}
	return found
}

// order is in which the tiers are asked, and whether there is doubt from the
// start. While it is not known if there is a disaster, and answers for one are
// live, these stay, and nothing new is put in beside them. The order ends early
// with spare.
func (d *decision) order() (order [3]tier, doubt bool) {
	switch d.disaster() {
	case Yes:
		return [...]tier{reserve, ordinary, backup}, false
	case NotKnown:
		if d.chooseIn(reserve, (*place).workingLive) > 0 {
			d.active, d.unsure = reserve, true
			return [...]tier{ordinary, backup, spare}, true
		}
	case No:
	}
	return [...]tier{ordinary, backup, reserve}, false
}

// disaster is whether the answers for a disaster replace the others.
func (d *decision) disaster() Usable {
	if dr := &d.in.Spec.DR; len(dr.Answers) == 0 || dr.When == "" {
		return No
	}
	return d.in.Disaster
}

// asks reports whether the record set may answer from a tier. Those that nobody
// calls for a disaster stay where they are while a failback waits, and while it
// is not known that no other answer is usable.
func (d *decision) asks(t tier, doubt bool) bool {
	return t != reserve || d.calls() || doubt || d.waiting
}

// mayReturn reports whether an answer of a tier may turn out to be usable, and
// something works meanwhile.
func (d *decision) mayReturn(t tier) bool {
	return d.countIn(t, (*place).notKnown) > 0 && d.count((*place).workingLive) > 0
}

// calls reports whether answers for a disaster are called when none of the
// others is usable.
func (d *decision) calls() bool { return d.in.Spec.DR.IfNone || d.disaster() == Yes }

// fill chooses among the usable answers of a tier by the policy, and reports
// how many it took.
func (d *decision) fill(t tier) int {
	if d.in.Spec.Policy == Priority {
		return d.priority(t)
	}
	return d.chooseIn(t, (*place).isUsable)
}

// stay takes what is usable and live already of a tier, and reports how many it
// took.
func (d *decision) stay(t tier) int {
	if d.in.Spec.Policy == Priority {
		return d.chooseLive(t)
	}
	return d.chooseIn(t, (*place).usableLive)
}
