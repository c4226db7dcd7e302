package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/check"
	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
)

func (a *app) checkCommand() *cobra.Command {
	var fail bool
	cmd := &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Probe once, now, and show what was found",
		Long: `Probe once, now, and show what was found.

NAME is a check, an address, CHECK@ADDRESS or the name of a record set; without
one everything is probed. One probe says nothing of a verdict, which takes fall
or rise results in a row: see status for those.

A result is pass, fail, or unknown when the fault is on this machine: no route,
no permission, no free socket. The phase says where a probe failed, the cause
why, and for our own faults the detail says what to do. An unknown result is no
failure: it counts neither way.

Exit codes: 0 the probes were made, whatever they found, 1 with --fail when one
failed, or another failure, 2 usage or config.`,
		Example: `  sidestep check
  sidestep check www.example.com --json
  sidestep check web@203.0.113.10 --fail || echo "it fails"`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.checkNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd.Context(), args, fail)
		},
	}
	cmd.Flags().BoolVar(&fail, "fail", false, "exit with 1 when a probe fails")
	a.addJSON(cmd)
	return cmd
}

func (a *app) check(ctx context.Context, names []string, fail bool) error {
	log, err := a.logger(true)
	if err != nil {
		return err
	}
	cfg, err := a.load()
	if err != nil {
		return err
	}
	a.progress("probing")
	results, err := daemon.Check(ctx, cfg, names, log)
	a.progressDone()
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // every result of a stopped probe is unknown
	}
	if err != nil {
		return orInterrupted(ctx, err, "not every target was probed to the end")
	}
	answer := control.Check{Results: []control.CheckResult{}}
	for _, r := range results {
		answer.Results = append(answer.Results, checkResult(r))
	}
	if fail && count(answer.Results, check.Fail) > 0 {
		a.exit = control.ExitFailure
	}
	if a.json {
		return a.printJSON(answer)
	}
	a.printCheck(answer)
	return nil
}

func checkResult(r check.Result) control.CheckResult {
	return control.CheckResult{
		Target: r.Target.ID(), Check: r.Target.Check, Address: r.Target.Address, Source: r.Source,
		Result: string(r.Outcome), Phase: string(r.Phase), Cause: string(r.Cause), Detail: r.Detail,
		LatencyMS: float64(r.Latency().Round(time.Microsecond)) / float64(time.Millisecond),
	}
}

func (a *app) printCheck(answer control.Check) {
	rows := [][]string{{"TARGET", "RESULT", "PHASE/CAUSE", "TIME", "FROM", "DETAIL"}}
	for _, r := range answer.Results {
		where := ""
		if r.Phase != "" {
			where = r.Phase + "/" + r.Cause
		}
		rows = append(rows, []string{r.Target, r.Result, where, fmt.Sprintf("%.1fms", r.LatencyMS), r.Source, r.Detail})
	}
	a.table(rows)
	if n := count(answer.Results, check.Unknown); n > 0 {
		a.complain(fmt.Sprintf("%d of %d results are unknown: the fault is on this machine and counts neither way; DETAIL says what to do",
			n, len(answer.Results)))
	}
}

func count(results []control.CheckResult, outcome check.Outcome) int {
	n := 0
	for _, r := range results {
		if r.Result == string(outcome) {
			n++
		}
	}
	return n
}

func (a *app) checkNames() []string {
	cfg := a.quietConfig()
	if cfg == nil {
		return nil
	}
	names := a.recordNames()
	for name := range cfg.Checks {
		names = append(names, name)
	}
	return names
}
