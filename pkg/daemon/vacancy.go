package daemon

import (
	"context"
	"fmt"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/record"
)

// vacancy is how long nobody is known to lead: all zones, or one that has a lease of
// its own. It belongs to the loop.
type vacancy struct {
	last time.Duration // boot time at which somebody was known to lead last, or of the start
	told time.Duration // how long it had lasted when it was logged last; 0 for not yet
}

// watchVacancy is how often a daemon looks whether anybody leads.
const watchVacancy = 5 * time.Second

// passOver takes time during which this process stood still out of every vacancy: it
// could not hear of anybody then. It belongs to the loop.
func (d *Daemon) passOver(now time.Duration) {
	gap := now - d.lookedFor
	if d.lookedFor > 0 && gap > 2*watchVacancy {
		for _, v := range d.vacant {
			v.last = min(v.last+gap, now)
		}
	}
	d.lookedFor = now
}

// watchVacancies lasts until ctx ends.
func (d *Daemon) watchVacancies(ctx context.Context) error {
	if d.options.ReadOnly {
		<-ctx.Done() // a shadow leads never, and does not ask who does
		return nil
	}
	for {
		d.ask(func(*engine.Engine) { d.lookForLeaders() })
		if !wait(ctx, watchVacancy) {
			return nil
		}
	}
}

// vacantAfter is how long nobody may lead before that is an alarm: longer than it
// takes to replace a leader that died, by the lock's own times.
func (d *Daemon) vacantAfter(zone record.Name) time.Duration {
	leader := d.options.Config.Leader
	if promises, found := d.writer.Promises(zone); found {
		return leaseOf(leader, d.providerOf(zone), promises).Worst()
	}
	switch {
	case leader.Lock != config.LockEtcd:
		return lockWithin
	case leader.SafetyGiven:
		return leader.Lease + leader.Safety
	}
	return leader.Lease + fencedSafety
}

// lookForLeaders belongs to the loop. Who may lead no zone at all does not look whose
// their stamps are.
func (d *Daemon) lookForLeaders() {
	now := d.now()
	d.passOver(now.Boot)
	process := d.leader.status(now)
	seen := time.Duration(0)
	if process.State != "none" {
		seen = now.Boot
	}
	d.lookForLeader("", now, seen)
	if !d.leader.zoned {
		return
	}
	for _, zone := range zonesOf(d.options.Config) {
		seen := now.Boot
		if process.State == "leader" {
			lead, _ := d.writer.Leadership(zone)
			seen = lead.Seen
		}
		d.lookForLeader(zone, now, seen)
	}
}

// lookForLeader tells in log and journal of a zone that nobody leads for too long,
// of all zones where they have no lease of their own; and of the end of that.
func (d *Daemon) lookForLeader(zone record.Name, now engine.Now, seen time.Duration) {
	v := d.vacant[zone]
	if v == nil {
		v = &vacancy{last: now.Boot}
		d.vacant[zone] = v
	}
	about := []any{}
	if zone != "" {
		about = append(about, "zone", string(zone))
	}
	was := v.last
	v.last = max(v.last, seen)
	lasts, most := now.Boot-v.last, d.vacantAfter(zone)
	about = append(about, "since", now.Wall.Add(was-now.Boot).UTC().Format(time.RFC3339))
	switch {
	case lasts <= most && v.told > 0:
		leader := d.leaderOf(zone)
		d.log.Info("there is a leader again", append(about, "holder", leader.Holder)...)
		d.journalVacancy("led", zone, leader.Holder, now.Wall.Add(was-now.Boot))
		d.announceLeader(zone, "there is a leader again: "+leader.Holder)
		v.told = 0
	case lasts > most && v.told == 0:
		v.told = lasts
		d.log.Error("no leader", append(about, "reason", d.leaderOf(zone).Detail)...)
		d.journalVacancy("none", zone, "", now.Wall.Add(was-now.Boot))
		d.announceVacancy(zone, now.Wall.Add(was-now.Boot))
	case lasts > most && lasts >= 2*v.told:
		d.log.Error("still no leader", append(about, "for", lasts.Round(time.Second).String(), "reason", d.leaderOf(zone).Detail)...)
		v.told = lasts
	}
}

// leaderOf is who leads a zone, and of "" all of them where they have no lease of
// their own.
func (d *Daemon) leaderOf(zone record.Name) control.Leader {
	if zone == "" {
		return d.vacated("", d.leader.status(d.now()))
	}
	return *d.zoneLeader(zone)
}

// journalVacancy writes down that nobody leads, or that somebody does again.
func (d *Daemon) journalVacancy(what string, zone record.Name, holder string, since time.Time) {
	d.journal("leader", struct {
		Node   string      `json:"node"`
		What   string      `json:"what"`
		Zone   record.Name `json:"zone,omitempty"`
		Holder string      `json:"holder,omitempty"`
		Since  time.Time   `json:"since"` // when somebody was known to lead last
	}{d.leader.node, what, zone, holder, since})
}

// vacated adds to what is known of a leader since when nobody is known to be it. One
// that gave no sign for too long is none. It belongs to the loop.
func (d *Daemon) vacated(zone record.Name, l control.Leader) control.Leader {
	v := d.vacant[zone]
	if v == nil || l.State == "leader" {
		return l
	}
	if l.State == "standby" && d.vacantFor(zone) > 0 {
		l.State, l.Holder = "none", ""
	}
	if l.State == "none" {
		since := d.clock.Wall().Add(v.last - d.clock.Boot())
		l.Since = &since
	}
	return l
}

// vacantFor is for how long nobody leads, once that is an alarm; else 0.
func (d *Daemon) vacantFor(zone record.Name) time.Duration {
	if v := d.vacant[zone]; v != nil && v.told > 0 {
		return d.clock.Boot() - v.last
	}
	return 0
}

// vacancyNotices are the alarms, and of stamps that cannot be looked at, before
// anybody loses the zone by it. They belong to the loop.
func (d *Daemon) vacancyNotices() []string {
	var notices []string
	for _, zone := range append([]record.Name{""}, zonesOf(d.options.Config)...) {
		lead, _ := d.writer.Leadership(zone)
		lasts, of := d.vacantFor(zone), ""
		if zone != "" {
			of = fmt.Sprintf("zone %s: ", zone)
		}
		switch {
		case lasts > 0:
			notices = append(notices, fmt.Sprintf("%sno leader for %s as far as this node sees, where one is to be there within %s; until then no answer that dies is taken out: %s",
				of, lasts.Round(time.Second), d.vacantAfter(zone), d.leaderOf(zone).Detail))
		case lead.Unseen != nil:
			notices = append(notices, fmt.Sprintf("%sthe stamp, which says who leads, cannot be looked at: %v", of, lead.Unseen))
		}
	}
	return notices
}
