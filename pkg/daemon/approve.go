package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/cluster"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/record"
)

// answersWithin is how long a command waits for what the other nodes say to a yes.
const answersWithin = 5 * time.Second

// Approve takes a person's yes. One that cannot be stored is refused: it would
// be forgotten by a restart, without a word. Where nodes share an etcd every one of
// them takes it, and the answer is that of the one that leads.
func (d *Daemon) Approve(ctx context.Context, request control.ApproveRequest, by string) (control.Approval, error) {
	if d.nodes == nil {
		return d.approveHere(request, by, nil)
	}
	target := ""
	if !d.ask(func(*engine.Engine) { target = d.approveTarget(request.Target) }) {
		return control.Approval{}, errStopped
	}
	waiting, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	var answers []cluster.Answer
	err := d.notJoined()
	if err == nil {
		answers, err = d.nodes.Approve(waiting, cluster.Yes{Target: target, Plan: request.Plan, By: by}, func(answers []cluster.Answer) bool {
			return d.answered(request, answers)
		})
	}
	switch {
	case err != nil:
		return d.approveHere(request, by, fmt.Errorf("the other nodes could not be told; say it again when etcd answers: %w", err))
	case ctx.Err() != nil:
		return control.Approval{}, ctx.Err()
	}
	return d.approval(request, answers)
}

// approveHere takes a yes at this node alone.
func (d *Daemon) approveHere(request control.ApproveRequest, by string, unshared error) (control.Approval, error) {
	var answer control.Approval
	err := errStopped
	d.ask(func(*engine.Engine) {
		answer, err = d.approve(request, by)
		if err == nil {
			d.approvedHere(&answer, unshared)
		}
	})
	return answer, err
}

// approvedHere says what a yes at this node alone is good for. Where another node
// leads, or may, what waits is told by that one. It belongs to the loop.
func (d *Daemon) approvedHere(answer *control.Approval, unshared error) {
	where, leader := "at this node only", d.leaderStatus()
	if answer.Idle != "" {
		where += ", where nothing waits"
	}
	switch {
	case unshared != nil && d.writesSome():
		if answer.Idle == "" {
			answer.Here = fmt.Sprintf("this node leads and goes on with it; %v", unshared)
		}
		return
	case unshared != nil:
		answer.Noted, answer.Exit = fmt.Sprintf("%s, and not by a node that leads: %v", where, unshared), control.ExitProvider
	case d.nodes == nil && leader.State == "standby" && d.leader.keeps() && !d.options.Once:
		name, _, _ := strings.Cut(leader.Holder, " (")
		answer.Noted, answer.Exit = fmt.Sprintf("%s, and %s leads: say it there", where, name), control.ExitNotLeader
	default:
		return
	}
	answer.Idle = ""
}

// approveShared takes a yes that was said at some node. A yes to a plan is taken by
// who leads the zone alone, whenever that is: it lets one plan through, once. This
// is for the nodes' goroutine.
func (d *Daemon) approveShared(yes cluster.Yes) cluster.Answer {
	answer := cluster.Answer{Leads: d.writesSome()}
	if yes.Plan != "" {
		if zone, err := record.ParseName(yes.Target); err == nil && d.options.Config.Zone(zone) != nil {
			answer.Leads = d.writesTo(zone)
			answer.Later = !answer.Leads
		}
	}
	if answer.Later {
		return answer
	}
	request := control.ApproveRequest{Target: yes.Target, Plan: yes.Plan}
	err := errStopped
	d.ask(func(*engine.Engine) {
		var came control.Approval
		came, err = d.approve(request, yes.By)
		answer.Idle = came.Idle
	})
	if err != nil {
		answer.Error, answer.Exit = err.Error(), control.ExitOf(err)
	}
	return answer
}

// writesTo reports whether this node leads a zone.
func (d *Daemon) writesTo(zone record.Name) bool {
	if !d.leader.leads() {
		return false
	}
	lead, leased := d.writer.Leadership(zone)
	return !leased || lead.Leads
}

// writesSome reports whether this node leads any zone.
func (d *Daemon) writesSome() bool {
	return slices.ContainsFunc(zonesOf(d.options.Config), d.writesTo)
}

// leaderElsewhere is the node that writes where this one does not; empty when this
// one does, or when none is known to.
func (d *Daemon) leaderElsewhere() string {
	if d.writesSome() {
		return ""
	}
	if status := d.leader.status(d.now()); status.State == "standby" {
		name, _, _ := strings.Cut(status.Holder, " ")
		return name
	}
	if d.nodes != nil {
		for _, n := range d.nodes.Nodes() {
			if n.Leads && n.Name != d.options.Config.Node.Name {
				return n.Name
			}
		}
	}
	return ""
}

// answered reports whether there is no more to wait for: a leader took the yes, and
// this node has it as well, or every node has answered that is there. Of a yes to a
// plan nobody but the leader has a word to say.
func (d *Daemon) answered(request control.ApproveRequest, answers []cluster.Answer) bool {
	here, taken := false, false
	for _, a := range answers {
		if request.Plan != "" && a.Leads {
			return true
		}
		here = here || a.Node == d.options.Config.Node.Name
		taken = taken || a.Leads && a.Error == ""
	}
	if here && taken {
		return true
	}
	now := d.clock.Boot()
	for _, n := range d.nodes.Nodes() {
		silent := n.Heard > 0 && now-n.Heard > engine.SilentAfter
		if !silent && !slices.ContainsFunc(answers, func(a cluster.Answer) bool { return a.Node == n.Name }) {
			return false
		}
	}
	return here
}

// approval makes one answer of those of the nodes. That of the leader counts, unless
// it has nothing to say yes to, and another node has: each has probes of its own.
func (d *Daemon) approval(request control.ApproveRequest, answers []cluster.Answer) (control.Approval, error) {
	own := d.options.Config.Node.Name
	slices.SortStableFunc(answers, func(a, b cluster.Answer) int { return answerRank(a, own) - answerRank(b, own) })
	out := control.Approval{Approved: request.Target, Leader: d.leaderElsewhere()}
	if len(answers) == 0 || out.Leader != "" && !answers[0].Leads {
		out.Noted = d.notedWords(out.Leader)
		out.Exit = control.ExitNotLeader
		return out, nil
	}
	first := answers[0]
	taken := slices.IndexFunc(answers, func(a cluster.Answer) bool {
		return a.Error == "" && a.Idle == "" && (a.Node != own || !d.options.Once) // which has no probes to go by
	})
	switch {
	case first.Error == "" && first.Idle == "":
	case taken >= 0 && (first.Error == "" || first.Exit == control.ExitUsage):
		out.Idle = fmt.Sprintf("approved at node %s alone: %s; %s%s", answers[taken].Node, request.Target, said(first, own), first.Error+first.Idle)
	case first.Error != "":
		return control.Approval{}, &control.Error{Message: said(first, own) + first.Error, Exit: first.Exit}
	default:
		out.Idle = said(first, own) + first.Idle
	}
	switch {
	case first.Leads && first.Node != own:
		out.Leader = first.Node
	case !first.Leads:
		out.Here = "nobody is known to lead now; who leads next goes on with it"
	}
	return out, nil
}

// answerRank sorts answers: of leaders first, then our own.
func answerRank(a cluster.Answer, own string) int {
	switch {
	case a.Leads && a.Error == "":
		return 0
	case a.Leads:
		return 1
	case a.Node == own:
		return 2
	}
	return 3
}

// said names who says it, unless it is this node.
func said(a cluster.Answer, own string) string {
	switch {
	case a.Node == own:
		return ""
	case a.Leads:
		return fmt.Sprintf("node %s, which leads: ", a.Node)
	}
	return fmt.Sprintf("node %s: ", a.Node)
}

// notedWords say who acts on a yes that nobody has answered who leads.
func (d *Daemon) notedWords(leader string) string {
	until := d.clock.Wall().Add(cluster.YesFor).UTC().Format(time.TimeOnly + " MST")
	if leader == "" {
		return fmt.Sprintf("nobody is known to lead; the node that does before %s goes on with it", until)
	}
	return fmt.Sprintf("%s leads, and has not answered within %s; it goes on with it when it hears of it before %s, or who leads then", leader, answersWithin, until)
}

// approve belongs to the loop. Whether anything can be stored is tried before, but
// by a shadow, which stores nothing.
func (d *Daemon) approve(request control.ApproveRequest, by string) (control.Approval, error) {
	shadow := d.nodes != nil && d.options.ReadOnly
	if !d.leader.keeps() && !shadow {
		status := d.leader.status(d.now())
		return control.Approval{}, &control.Error{
			Message: fmt.Sprintf("approve %q: this node is not the leader and stores nothing: %s", request.Target, status.Detail),
			Hint:    "say it to the leader", Exit: control.ExitNotLeader,
		}
	}
	what := fmt.Sprintf("approve %q", request.Target)
	if err := d.save(); err != nil {
		return control.Approval{}, notStored(what, "refused, because it could not be stored", err)
	}
	effects := d.step(engine.Approve{Target: d.approveTarget(request.Target), Plan: request.Plan, By: by})
	if effects.Err != nil {
		return control.Approval{}, &control.Error{Message: effects.Err.Error(), Hint: "what waits: sidestep status", Exit: control.ExitUsage}
	}
	if d.unsaved != nil {
		return control.Approval{}, notStored(what, "it holds until a restart, because it could not be stored", d.unsaved)
	}
	return control.Approval{Approved: request.Target, Idle: effects.Idle}, nil
}

// approveTarget completes a short name of the config.
func (d *Daemon) approveTarget(text string) string {
	if name, err := d.knownName(text); err == nil {
		return string(name)
	}
	return text
}
