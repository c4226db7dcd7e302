package tencentcloud

import "time"

// unmarking is a change that takes a mark off a record and whose outcome is open. If
// it arrives after the record was paused again, it takes that pause's mark off.
type unmarking struct {
	until  time.Time // it is carried out before, or never
	paused bool      // this process paused the record meanwhile: it is ours with a mark or without
}

// leaveOpen notes that a mark may still be taken off.
func (a *Adapter) leaveOpen(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[id] = unmarking{until: a.now().Add(a.late)}
}

// pausedBeside notes a pause whose mark may be taken off.
func (a *Adapter) pausedBeside(id uint64) { a.noteBeside(id, true) }

// resumedBeside notes that there is no such pause any more.
func (a *Adapter) resumedBeside(id uint64) { a.noteBeside(id, false) }

func (a *Adapter) noteBeside(id uint64, paused bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if open, found := a.open[id]; found && (a.now().Before(open.until) || !paused) {
		open.paused = paused
		a.open[id] = open
	}
}

// unmarked reports whether a record that is paused without a mark is ours all the
// same: it was taken off by a change that came late.
func (a *Adapter) unmarked(id uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[id].paused
}

// settle forgets an open change of a record as a list shows it, once it can no longer
// arrive and the list cannot be older: the mark that is there then stays, and a record
// that is live has none to lose.
func (a *Adapter) settle(i *item, listed time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	open, found := a.open[i.ID]
	if !found || listed.Before(open.until.Add(a.lag)) {
		return
	}
	if _, mark := splitRemark(i.Remark); i.live() || mark != "" || !open.paused {
		delete(a.open, i.ID)
	}
}
