package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/etcd"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
)

// Plan says what would be written now and why, and writes nothing.
func (d *Daemon) Plan(ctx context.Context, request control.PlanRequest) (control.Plan, error) {
	do := func(ctx context.Context, work, _ engine.Work) reconcile.Report { return d.writer.Plan(ctx, work) }
	return d.work(ctx, request, nil, do, false)
}

// Reconcile brings the zones to the wanted state now. Asking for it is a
// person's yes to the first plan of each record set.
func (d *Daemon) Reconcile(ctx context.Context, request control.PlanRequest) (control.Plan, error) {
	override := map[string]bool{"adopt": true}
	for _, guard := range request.Override {
		override[guard] = true
	}
	orders := reconcile.Orders{TakeOver: request.TakeOver, OnlyAdd: request.NoWait}
	do := func(ctx context.Context, work, plain engine.Work) reconcile.Report {
		orders := orders
		orders.Again = &plain
		return d.writer.Do(ctx, work, orders)
	}
	answer, err := d.work(ctx, request, override, do, true)
	if d.options.ReadOnly {
		for i := range answer.Zones {
			if z := &answer.Zones[i]; z.Exit == control.ExitNotLeader {
				z.Error += "; the daemon on this machine does not write: start it again without --read-only, or end it and say this again"
			}
		}
	}
	return answer, err
}

// work waits until the zones' targets are judged, and carries their work out
// side by side: do gets it with what a person allowed for once, and without.
func (d *Daemon) work(
	ctx context.Context, request control.PlanRequest, override map[string]bool,
	do func(ctx context.Context, work, plain engine.Work) reconcile.Report, writes bool,
) (control.Plan, error) {
	zones, err := d.zoneNames(request.Zones)
	if err != nil {
		return control.Plan{}, &control.Error{Message: err.Error(), Hint: "the zones of the config: sidestep config show", Exit: control.ExitUsage}
	}
	if err := d.readyFor(ctx, zones); err != nil {
		return control.Plan{}, fmt.Errorf("wait for the targets to be judged: %w", err)
	}
	works, plain := make([]engine.Work, len(zones)), make([]engine.Work, len(zones))
	var undecided []string
	waiting := []control.SiteWait{}
	asked := d.ask(func(e *engine.Engine) {
		for i, name := range zones {
			works[i], _ = e.Work(d.now(), name, override)
			plain[i], _ = e.Work(d.now(), name, nil)
		}
		for _, t := range e.Undecided(zones) {
			undecided = append(undecided, t.ID())
		}
		for _, s := range e.WaitingSites(zones) {
			waiting = append(waiting, control.SiteWait{Site: s.Name, Detail: s.WaitWords})
		}
	})
	if !asked {
		return control.Plan{}, errStopped
	}
	answer := control.Plan{Zones: make([]control.ZonePlan, len(zones)), Waiting: waiting}
	var group sync.WaitGroup
	for i, w := range works {
		group.Go(func() {
			report := do(ctx, w, plain[i])
			answer.Zones[i] = zonePlan(report, writes)
			answer.Zones[i].Unheard = d.unheardAt(answer.Zones[i].TookOver)
			answer.Zones[i].Waits = d.waitOfPlan(report.Final)
			if !d.options.Once && !d.leader.leads() {
				answer.Zones[i].Stamp = nil // whose the stamp is then, the leader knows
			}
		})
	}
	group.Wait()
	answer.Undecided = append([]string{}, undecided...)
	return answer, nil
}

// unheardAt warns of a take-over from a node which keeps what persons said there to
// itself: a drain or a freeze of theirs holds no longer, and the zone may answer again
// with what they took out. It is empty where nodes share words.
func (d *Daemon) unheardAt(node string) string {
	if node == "" || len(d.options.Config.Etcd.Endpoints) > 0 {
		return ""
	}
	return fmt.Sprintf("what was said at %s, such as a drain or a freeze, is not known here and holds no longer; to see it, there: sidestep override list; to have it hold, say it here", node)
}

// exitOf is what a report would make a command exit with.
func exitOf(r reconcile.Report, wrote bool) int {
	var held *lease.HeldError
	var two *reconcile.TwoWritersError
	var api *provider.Error
	var shared *etcd.Error
	switch {
	case errors.As(r.Err, &held), errors.As(r.Err, &two), errors.Is(r.Err, reconcile.ErrNotLeader):
		return control.ExitNotLeader
	case errors.As(r.Err, &api), errors.As(r.Err, &shared):
		return control.ExitProvider
	case r.Err != nil:
		return control.ExitFailure
	case slices.ContainsFunc(r.Final.Blocked, func(b plan.Blocked) bool { return b.Guard != plan.GuardFreeze }):
		return control.ExitGuard
	case len(r.Final.Blocked) > 0:
		return control.ExitFrozen
	case wrote && !r.Final.InSync():
		return control.ExitFailure
	}
	return control.ExitDone
}
