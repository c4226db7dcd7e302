package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/record"
)

// A word that is kept moves nothing where this node may not write and nobody else has
// taken it. Who said it must not read that an answer goes out then.

// noteIdleZones adds to what is foreseen of a word why this node moves nothing by it
// in some zones. It belongs to the loop.
func (d *Daemon) noteIdleZones(answer *control.Overruled) {
	if d.options.Once {
		return // which says what writes next
	}
	var noted []string
	add := func(why string) {
		if why != "" && !slices.Contains(noted, why) {
			noted = append(noted, why)
		}
	}
	for i := range answer.Records {
		r := &answer.Records[i]
		if r.Noted = d.movesNothing(record.Name(r.Zone)); r.Noted != "" {
			r.At, r.Waits = nil, nil
			add(r.Noted)
		}
	}
	if len(answer.Records) == 0 {
		for _, zone := range zonesOf(d.options.Config) {
			add(d.movesNothing(zone))
		}
	}
	if len(noted) > 0 {
		answer.Noted = strings.Join(noted, "\n")
		answer.Exit = control.Worst(answer.Exit, control.ExitNotLeader)
	}
}

// movesNothing is why a word that is kept at this node moves nothing in a zone as long
// as things are as they are; empty where it does, or where that is told from
// elsewhere. It belongs to the loop.
func (d *Daemon) movesNothing(zone record.Name) string {
	if rival := d.rivals[zone].seen; rival != nil && d.leader.leads() {
		return fmt.Sprintf("nothing is written by this node: zone %s: %v", zone, rival)
	}
	leader := d.zoneLeader(zone)
	switch {
	case d.nodes != nil:
		return "" // awaitLeader tells
	case leader == nil || leader.State == "leader":
		return "" // of a lease for all zones, the other nodes tell
	case leader.State == "standby":
		name, _, _ := strings.Cut(leader.Holder, " (")
		return fmt.Sprintf("this word is kept at this node only, and changes nothing in zone %s as long as %s leads it: say it there", zone, name)
	}
	return fmt.Sprintf("this word is kept at this node only, and changes nothing in zone %s before this node leads it; nobody is known to lead it now: %s", zone, leader.Detail)
}

// keptHere adds that the other nodes could not be told. Where this one does not write,
// nobody acts on the word then. It belongs to the loop.
func (d *Daemon) keptHere(answer *control.Overruled, unshared error) {
	if unshared == nil {
		return
	}
	answer.Here = onlyHere(unshared)
	if answer.Idle == "" && !d.writesSome() {
		noteAll(answer, answer.Here, control.ExitProvider)
		answer.Here = ""
	}
}

// awaitLeader waits until who leads has taken a word that all nodes share.
func (d *Daemon) awaitLeader(ctx context.Context, answer *control.Overruled, revision int64) {
	if d.writesSome() {
		return
	}
	waiting, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	if leader := d.nodes.Taken(waiting, revision); leader != "" {
		answer.Leader = leader
		return
	}
	if d.options.Config.Leader.Lock != config.LockEtcd {
		d.ask(func(*engine.Engine) { d.noteUntaken(answer) })
		return
	}
	answer.Leader = d.leaderElsewhere()
	why := "nobody is known to lead; nothing is written before a node does, and that one acts on it"
	if answer.Leader != "" {
		why = fmt.Sprintf("%s leads, and has not answered within %s; nothing is written before it does, or another leads, and that one acts on it", answer.Leader, answersWithin)
	}
	noteAll(answer, "noted at every node that hears: "+why, control.ExitNotLeader)
}

func noteAll(answer *control.Overruled, why string, exit int) {
	answer.Noted, answer.Exit = why, control.Worst(answer.Exit, exit)
	for i := range answer.Records {
		answer.Records[i].At, answer.Records[i].Waits, answer.Records[i].Noted = nil, nil, why
	}
}

// onlyHere says that a person's word holds at this node alone.
func onlyHere(unshared error) string { return "it holds at this node only: " + unshared.Error() }
