package daemon

import (
	"context"
	"fmt"
	"strings"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/zone"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
)

// led takes from a zone's worker that the zone was won or lost, or that another
// node holds it.
func (d *Daemon) led(l reconcile.Lead) {
	zone := string(l.Zone)
	switch {
	case l.Is.Leads:
		d.log.Info("leader", "zone", zone, "node", d.leader.node)
		d.journalLeader("won", l.Zone, nil)
	case l.Was.Leads:
		d.log.Error("no longer the leader", "zone", zone, "reason", l.Is.Why)
		d.journalLeader("lost", l.Zone, l.Is.Why)
		d.ask(func(*engine.Engine) { d.alone[l.Zone] = alone{} })
	case l.Is.Holder != "":
		d.log.Info("standby", "zone", zone, "holder", l.Is.Holder)
	}
}

// standsBy reports whether a zone that has a lease of its own is another's.
func (d *Daemon) standsBy(zone record.Name) bool {
	lead, leased := d.writer.Leadership(zone)
	return leased && !lead.Leads && lead.Holder != ""
}

// zoneLeader says who leads a zone that has a lease of its own; nil where it has
// none. It belongs to the loop.
func (d *Daemon) zoneLeader(zone record.Name) *control.Leader {
	lead, leased := d.writer.Leadership(zone)
	now := d.now()
	out := d.leader.status(now)
	switch {
	case !leased:
		return nil
	case out.State != "leader":
		out = d.vacated("", out) // and has not looked at the stamp
		return &out
	case lead.Leads:
		until := now.Wall.Add(lead.Until - now.Boot)
		return &control.Leader{State: "leader", Holder: d.leader.node, Until: &until}
	case lead.Holder != "":
		out = control.Leader{State: "standby", Holder: lead.Holder, Detail: fmt.Sprint(lead.Why)}
	default:
		out = control.Leader{State: "none", Detail: fmt.Sprint(lead.Why)}
	}
	if out = d.vacated(zone, out); out.State == "none" {
		switch {
		case lead.Unseen != nil:
			out.Detail = fmt.Sprintf("the stamp, which says who leads, cannot be looked at: %v", lead.Unseen)
		case lead.Untook != nil:
			out.Detail = fmt.Sprintf("the zone is nobody else's, and this node's stamp is not taken: %v", lead.Untook)
		}
	}
	return &out
}

// zonesLeader is what people are told of all zones together where each has a lease
// of its own: this node leads when it leads them all, and stands by when another
// leads one.
func (d *Daemon) zonesLeader() control.Leader {
	var all control.Leader
	for _, zone := range zonesOf(d.options.Config) {
		one := d.zoneLeader(zone)
		switch {
		case one.State != "leader":
			one.Detail = fmt.Sprintf("zone %s: %s", zone, one.Detail)
			if all.State != "standby" && (all.State != "none" || one.State == "standby") {
				all = *one
			}
		case all.State == "":
			all = *one
		case all.State == "leader" && one.Until.Before(*all.Until):
			all.Until = one.Until
		}
	}
	return all
}

// butTheStamp says of notices that nothing is written what is written still where the
// stamp is the lease.
func (d *Daemon) butTheStamp(notices []string) []string {
	if d.options.Config.Leader.Lock != config.LockZone {
		return notices
	}
	for i, n := range notices {
		if rest, none := strings.CutPrefix(n, "nothing is written: "); none {
			notices[i] = "nothing but the stamp, which says who leads, is written: " + rest
		}
	}
	return notices
}

// stayReleased waits, where the stamp is the lease, until another node has looked at
// the zone that was released: it takes one without a stamp for its own. One that
// led it before looks at its next heartbeat, others sooner.
func (d *Daemon) stayReleased(ctx context.Context, name record.Name, answer *Release, progress Progress) {
	promises, _ := d.writer.Promises(name)
	times := leaseOf(d.options.Config.Leader, d.options.Config.Zone(name).Provider, promises)
	if !answer.Released || times == (zone.Times{}) {
		return
	}
	wait := times.Poll + times.Deadline() + times.Lag
	if answer.Rival != "" {
		wait = max(wait, times.Heartbeat+times.Deadline()+times.Lag)
	}
	progress("zone %s: released; waiting %s to see whether another node takes it again", name, wait)
	if provider.Sleep(ctx, wait) != nil {
		return
	}
	now := d.writer.Leaving(ctx, name, d.options.Config.Records)
	if now.Err != nil {
		return
	}
	if answer.Rival = now.Rival; now.Rival == "" {
		return
	}
	answer.Released, answer.Exit = false, control.ExitNotLeader
	answer.Remove = append([]string{}, now.Remains...)
	answer.Error = fmt.Sprintf("release zone %s: every value came back and the stamp went, but node %s has taken the zone again since, and pauses again what does not work; stop sidestep there, and say this again",
		now.Zone, now.Rival)
}

// heldWords says to a person who wants to release a zone that another node leads it.
func heldWords(zone record.Name, held *lease.HeldError) string {
	return fmt.Sprintf("release zone %s: nothing was written: it is led by %s, which would take it again at once; stop sidestep there first; if it cannot be stopped, or is gone: sidestep release %s --take-over",
		zone, held.Holder, zone.Unrooted())
}
