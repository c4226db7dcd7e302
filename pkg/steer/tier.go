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
// because one of them is live and not judged, nothing new is put in and nothing
// that works is taken out.
func (d *decision) tiers() bool {
	order, doubt := d.order()
	for _, t := range order {
		if !d.asks(t, doubt) {
			break
		}
		unknown, usable := d.chooseIn(t, (*place).unknown), 0
		if doubt || d.waiting {
			usable = d.stay(t)
		} else {
			usable = d.fill(t)
		}
		if usable > 0 || unknown > 0 && !doubt {
			d.active = t
		}
		if usable > 0 {
			break
		}
		doubt = doubt || unknown > 0
	}
	if d.count((*place).isChosen) == 0 {
		return false
	}
	d.noteRest()
	return true
}

// order is in which the tiers are asked, and whether there is doubt from the
// start. While it is not known if there is a disaster, answers for one that are
// live stay, and take no other's place.
func (d *decision) order() (order []tier, doubt bool) {
	order = []tier{ordinary, backup, reserve}
	live := d.countIn(reserve, (*place).workingLive) > 0
	switch d.disaster() {
	case Yes:
		return []tier{reserve, ordinary, backup}, false
	case NotKnown:
		if live && d.countIn(ordinary, (*place).workingLive)+d.countIn(backup, (*place).workingLive) == 0 {
			return []tier{reserve, ordinary, backup}, true
		}
		if live {
			d.chooseIn(reserve, (*place).workingLive)
			return order[:2], false
		}
	case No:
	}
	return order, false
}

// disaster is whether the answers for a disaster replace the others.
func (d *decision) disaster() Usable {
	if dr := &d.in.Spec.DR; len(dr.Answers) == 0 || dr.When == "" {
		return No
	}
	return d.in.Disaster
}

// asks reports whether the record set may answer from a tier. Those that are for
// disasters stay for a failback that waits, and in doubt.
func (d *decision) asks(t tier, doubt bool) bool {
	return t != reserve || d.in.Spec.DR.IfNone || d.disaster() == Yes || doubt || d.waiting
}

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
