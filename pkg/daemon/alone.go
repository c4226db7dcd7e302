package daemon

import (
	"sidestep/pkg/config"
	"sidestep/pkg/lease"
	"sidestep/pkg/record"
)

// alone is whether no other sidestep had the right to write a zone when it was listed,
// and in which leadership of this process that was.
type alone struct {
	is   bool
	term lease.Term
}

// othersWrote reports whether another sidestep may have written a zone since its list
// before, by right: then a change is nobody's interference. Where one process on one
// host writes, what was saved before this one began is as good as a list of its own. It
// belongs to the loop, and is asked with each list.
func (d *Daemon) othersWrote(zone record.Name) bool {
	before, listed := d.alone[zone]
	now := alone{is: d.writesTo(zone), term: d.leader.Term()}
	if d.options.Config.Leader.Lock != config.LockEtcd && !d.leader.zoned {
		now = alone{is: !d.options.ReadOnly && d.leader.status(d.now()).State != "standby"}
		before.is = before.is || !listed
	}
	d.alone[zone] = now
	return !now.is || before != now
}
