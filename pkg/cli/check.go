package cli

import (
	"context"
	"fmt"
	"strings"
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

NAME is a check, an address, CHECK@ADDRESS, the name of a record set, a site or
SITE.SIGNAL; without one everything is probed. One probe says nothing of a
verdict, which takes fall or rise results in a row: see status for those.

A result is pass, fail, or unknown when the fault is on this machine: no route,
no permission, no free socket, no resolver. The phase says where a probe failed,
the cause why, and for our own faults the detail says what to do. An unknown
result is no failure: it counts neither way. FROM is the address that the probe
left from. A target that is a name is probed at each of its addresses: one pass
is a pass, and it fails when all fail.

What several vantages judge is probed from here only: status says what the
others say and what it comes to. What this node is not asked for is left out
unless a NAME picks it.

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
	log, err := a.logger()
	if err != nil {
		return err
	}
	cfg, err := a.load()
	if err != nil {
		return err
	}
	a.progress("probing")
	results, canary, err := daemon.Check(ctx, cfg, names, log)
	a.progressDone()
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // every result of a stopped probe is unknown
	}
	if err != nil {
		return orInterrupted(ctx, err, "not every target was probed to the end")
	}
	answer := control.Check{Results: []control.CheckResult{}, Canary: canary}
	judged := cfg.Judged()
	for _, r := range results {
		result := checkResult(r, cfg.Checks[r.Target.Check])
		if rule := judged[r.Target]; rule != nil {
			result.Judges = &control.Judges{Of: rule.Of, Down: rule.Down}
		}
		answer.Results = append(answer.Results, result)
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

func checkResult(r check.Result, spec *check.Spec) control.CheckResult {
	return control.CheckResult{
		Target: r.Target.ID(), Check: r.Target.Check, Address: r.Target.Address, Source: r.Source, Asserted: spec.Asserted(),
		Result: string(r.Outcome), Share: share[r.Outcome], Phase: string(r.Phase), Cause: string(r.Cause), Detail: r.Detail,
		LatencyMS: float64(r.Latency().Round(time.Microsecond)) / float64(time.Millisecond),
	}
}

// share is whose fault an outcome is.
var share = map[check.Outcome]string{check.Fail: "remote", check.Unknown: "local"}

// printCheck prints what each check asserts once, then a line for each target,
// which grep can find, then the sum.
func (a *app) printCheck(answer control.Check) {
	checks := [][]string{{"CHECK", "ASSERTS"}}
	rows := [][]string{{"TARGET", "RESULT", "PHASE/CAUSE", "TIME", "FROM", "DETAIL"}}
	for _, r := range answer.Results {
		if checks[len(checks)-1][0] != r.Check { // results come by check
			checks = append(checks, []string{r.Check, r.Asserted})
		}
		where := ""
		if r.Phase != "" {
			where = r.Phase + "/" + r.Cause
		}
		rows = append(rows, []string{r.Target, r.Result, where, fmt.Sprintf("%.1fms", r.LatencyMS), r.Source, r.Detail})
	}
	a.table(checks)
	fmt.Fprintln(a.io.Out)
	a.table(rows)
	fmt.Fprintf(a.io.Out, "\n%s\n", checkSum(answer.Results))
	for _, line := range judgesLines(answer.Results) {
		fmt.Fprintln(a.io.Out, line)
	}
	if answer.Canary != nil {
		a.printCheckedCanary(*answer.Canary)
	}
	if count(answer.Results, check.Unknown) > 0 {
		a.complain("unknown results count neither way; DETAIL says what to do on this machine")
	}
}

// judgesLines say of how many targets this node's word is one of several, or none.
func judgesLines(results []control.CheckResult) []string {
	rules, times := []string{}, map[string]int{}
	for _, r := range results {
		if r.Judges == nil {
			continue
		}
		rule := strings.Join(r.Judges.Of, ", ")
		if len(r.Judges.Of) > 1 {
			rule = fmt.Sprintf("%s together, of which %d must say down", rule, r.Judges.Down)
		}
		if times[rule]++; times[rule] == 1 {
			rules = append(rules, rule)
		}
	}
	for i, rule := range rules {
		rules[i] = fmt.Sprintf("judged by %s: %s; what each of them says: sidestep status", rule, plural(times[rule], "target", "targets"))
	}
	return rules
}

func (a *app) printCheckedCanary(c control.Canary) {
	fmt.Fprintln(a.io.Out, canaryLine(c, time.Now()))
	if c.State != string(check.Pass) {
		a.complain("the canary fails: while it does, the daemon counts no result and writes nothing; look at this machine's network")
	}
}

// checkSum adds the results up, and says whose fault they are.
func checkSum(results []control.CheckResult) string {
	var parts []string
	add := func(n int, words string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words))
		}
	}
	failed, whose := count(results, check.Fail), "the targets' fault"
	if failed == 1 {
		whose = "the target's fault"
	}
	add(count(results, check.Pass), "pass")
	add(failed, "fail ("+whose+")")
	add(count(results, check.Unknown), "unknown (this machine's fault)")
	return plural(len(results), "target", "targets") + ": " + strings.Join(parts, ", ")
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
	return append(names, a.siteNames()...)
}
