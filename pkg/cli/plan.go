package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
	"sidestep/pkg/record"
)

// planFlags are those of plan and reconcile.
type planFlags struct {
	zones    []string
	override []string
	exitCode bool
	dryRun   bool
	noWait   bool
	takeOver bool
}

func (a *app) planCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what would be written now, why, and what the guards say",
		Long: `Show what would be written now, why, and what the guards say.

Targets are probed until they are judged, as reconcile does it; when the daemon
runs on this machine, it is asked instead. Nothing is written.

The checksum names the plan: two plans with one checksum change the same values
in the same way. Where sidestep's own TXT record, the stamp, is written before
the first change, that is said too: it is no change of what a name answers, and
a zone is in sync without it.

Exit codes: 0 the plan could be made, 1 some target could not be judged,
2 usage or config, 5 the provider did not answer as it should, and with
--exit-code 10 when changes are pending (one that a guard stops is pending too).`,
		Example: `  sidestep plan
  sidestep plan --zone example.com --json
  sidestep plan --exit-code || echo "not in sync"`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.plan(cmd.Context(), f, false)
		},
	}
	a.addZone(cmd, &f)
	cmd.Flags().BoolVar(&f.exitCode, "exit-code", false, "exit with 10 when changes are pending")
	a.addJSON(cmd)
	return cmd
}

func (a *app) reconcileCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Probe, plan, write and verify once, now",
		Long: `Probe, plan, write and verify once, now.

Targets are probed in rounds, never faster than min(interval, 2s), until they
are judged; then the zones are brought to the wanted state and asked whether
they are. When the daemon runs on this machine, it does the work; otherwise this
process takes the lock itself, waiting up to 30 seconds for it. Asking for it is
your yes to the first plan of each record set (see adopt in the config).

Where the config has a canary, it is probed in each round. A target counts as
down only when the canary answers after its failures; while the canary does not,
this machine does not see the world, and nothing is written (guard canary).

With --take-over this node takes a zone from one whose stamp is fresh: for the
day when that one is gone for good. Nodes that share no etcd do not know of each
other's overrides: a drain or a freeze that was said there holds no longer.

After a write every name server of the zone is asked, for ten seconds at most.
One that does not have it by then, or cannot be reached, is named, and verified
is false; the write stands, and the exit code is that of the write.

Interrupting it at any point is safe: a call in hand is finished, nothing is
ever deleted, and running it again goes on where it stopped.

Exit codes: 0 the zone is as wanted, 1 a target could not be judged (undecided)
or another failure, 2 usage or config, 3 stopped by a guard, 4 the lock is held
or another node writes, 5 provider or network error, 6 frozen.`,
		Example: `  sidestep reconcile --dry-run
  sidestep reconcile --zone example.com
  sidestep reconcile --override-guard max_changes`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.plan(cmd.Context(), f, !f.dryRun)
		},
	}
	a.addZone(cmd, &f)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "plan only, write nothing")
	cmd.Flags().StringSliceVar(&f.override, "override-guard", nil, "let the plan pass this `GUARD` once: "+guardNames()+"; may be repeated")
	complete(cmd, "override-guard", func() []string { return daemon.Guards })
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "add only, and never wait until earlier calls are beyond doubt")
	cmd.Flags().BoolVar(&f.takeOver, "take-over", false, "write although another node's stamp in the zone is fresh")
	a.addJSON(cmd)
	return cmd
}

func (a *app) addZone(cmd *cobra.Command, f *planFlags) {
	cmd.Flags().StringSliceVar(&f.zones, "zone", nil, "only this `ZONE`; may be repeated")
	complete(cmd, "zone", a.zoneNames)
}

// plan asks the daemon, or does once what the daemon does.
func (a *app) plan(ctx context.Context, f planFlags, write bool) error {
	for _, guard := range f.override {
		if !slices.Contains(daemon.Guards, guard) {
			return usagef("reconcile: --override-guard %q: expected one of %s; try: sidestep reconcile --help", guard, guardNames())
		}
	}
	request := control.PlanRequest{Zones: f.zones, Override: f.override, TakeOver: f.takeOver, NoWait: f.noWait}
	answer, err := a.askOrDo(ctx, request, write)
	a.progressDone()
	err = orInterrupted(ctx, err, planStopped(write))
	if err != nil && len(answer.Zones) == 0 {
		return err
	}
	// An error beside an answer, such as a state that could not be saved, takes
	// nothing of it back.
	a.exit = planExit(answer, f, write)
	if a.json {
		err = errors.Join(err, a.printJSON(answer))
	} else {
		a.printPlan(answer, write)
	}
	if err == nil && slices.ContainsFunc(answer.Zones, func(z control.ZonePlan) bool { return z.Error != "" }) {
		err = orInterrupted(ctx, ctx.Err(), planStopped(write))
	}
	return err
}

// planStopped is what became of the work that a signal ended.
func planStopped(write bool) string {
	if write {
		return "what was written stands, nothing is half done; to go on, run it again"
	}
	return "nothing was written"
}

func (a *app) askOrDo(ctx context.Context, request control.PlanRequest, write bool) (control.Plan, error) {
	client, err := a.dial(ctx)
	switch {
	case errors.Is(err, control.ErrNoDaemon):
		return a.once(ctx, request, write)
	case err != nil:
		return control.Plan{}, err
	}
	defer a.waitFor("the daemon on this machine", "until it has probed and is done; what it does: sidestep status")()
	if write {
		return client.Reconcile(ctx, request)
	}
	return client.Plan(ctx, request)
}

func (a *app) once(ctx context.Context, request control.PlanRequest, write bool) (control.Plan, error) {
	cfg, err := a.load()
	if err != nil {
		return control.Plan{}, err
	}
	d, err := a.oneShot(cfg, write)
	if err != nil {
		return control.Plan{}, err
	}
	return d.Once(ctx, request, a.progress)
}

// oneShot makes a daemon that carries one command out and goes.
func (a *app) oneShot(cfg *config.Config, write bool) (*daemon.Daemon, error) {
	log, err := a.logger()
	if err != nil {
		return nil, err
	}
	return daemon.New(daemon.Options{
		Config: cfg, Registry: a.registry, Logger: log, Version: a.version, Built: a.built, Once: true, Write: write,
	})
}

// planExit is the exit code of plan and reconcile.
func planExit(answer control.Plan, f planFlags, write bool) int {
	var codes []int
	if len(answer.Undecided) > 0 {
		codes = append(codes, control.ExitFailure)
	}
	for _, z := range answer.Zones {
		switch {
		case write || z.Error != "":
			codes = append(codes, z.Exit)
		case f.exitCode && !z.InSync:
			codes = append(codes, control.ExitPending)
		}
	}
	return control.Worst(codes...)
}

func (a *app) printPlan(answer control.Plan, write bool) {
	for _, z := range answer.Zones {
		for _, line := range z.Text {
			fmt.Fprintln(a.io.Out, line)
		}
		if s := z.Stamp; s != nil {
			fmt.Fprintf(a.io.Out, "  stamp: %s TXT %s%s  (%s)\n", strings.ReplaceAll(s.Action, "-", " "), record.Name(s.Name).Shown(), fromWords(s.From), s.Reason)
		}
		if z.Rival != "" {
			fmt.Fprintf(a.io.Out, "  %s\n", z.Rival)
		}
		if write {
			a.printApplied(z)
		}
		if z.Waits != nil {
			fmt.Fprintf(a.io.Out, "  what goes out %s\n", waitWords(z.Waits, time.Now()))
		}
		a.printStops(z)
	}
	for _, s := range answer.Waiting {
		fmt.Fprintf(a.io.Out, "site %s %s\n", s.Site, s.Detail)
	}
	a.printUndecided(answer.Undecided)
}

// fromWords names the node of which something is taken; empty for none.
func fromWords(node string) string {
	if node == "" {
		return ""
	}
	return " from " + node
}

// printStops says what stands between a zone and its wanted state, where the
// plan itself does not say the next step.
func (a *app) printStops(z control.ZonePlan) {
	if z.Error != "" {
		a.complain(zoneWords(z.Zone, z.Error))
	}
	for _, b := range z.Blocked {
		if slices.Contains(daemon.Guards, b.Guard) && !strings.Contains(b.Detail, "sidestep ") {
			a.complain("guard " + b.Guard + ": to let the plan pass it once: sidestep reconcile --override-guard " + b.Guard)
		}
	}
}

// zoneWords begins an error with its zone, unless it names it already.
func zoneWords(zone, text string) string {
	if strings.Contains(text, zone) {
		return text
	}
	return "zone " + zone + ": " + text
}

func (a *app) printUndecided(ids []string) {
	const most = 5
	if len(ids) == 0 {
		return
	}
	shown := strings.Join(ids[:min(len(ids), most)], ", ")
	if more := len(ids) - most; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	a.complain("undecided: no verdict on " + shown + "; what the probes see: sidestep check " + ids[0])
}

func (a *app) printApplied(z control.ZonePlan) {
	if z.TookOver != "" {
		fmt.Fprintf(a.io.Out, "  taken over from %s\n", z.TookOver)
	}
	if z.Unheard != "" {
		a.complain("zone " + z.Zone + ": " + z.Unheard)
	}
	switch {
	case len(z.Applied) > 0 && z.Verified != nil && *z.Verified:
		how := z.Detail
		if how == "" {
			how = "at the zone's name servers"
		}
		fmt.Fprintf(a.io.Out, "  written: %d, verified %s\n", len(z.Applied), how)
	case len(z.Applied) > 0:
		fmt.Fprintf(a.io.Out, "  written: %d, not verified: %s\n", len(z.Applied), z.Detail)
	case z.Error == "" && !z.InSync && z.Detail != "":
		fmt.Fprintf(a.io.Out, "  nothing written: %s\n", z.Detail)
	case z.Error == "" && !z.InSync:
		fmt.Fprintln(a.io.Out, "  nothing written")
	}
}
