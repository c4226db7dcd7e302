package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
)

func (a *app) explainCommand() *cobra.Command {
	var request control.ExplainRequest
	cmd := &cobra.Command{
		Use:   "explain NAME",
		Short: "Show why a name answers as it does",
		Long: `Show why a name answers as it does.

It follows the road to the answer: for each value the results of its probes and
the verdict on them; then the policy, the guards, the plan, the last writes with
the events that led to them, and whether they were verified.

A probe that failed by a fault of this machine (no route, no permission, no free
socket) is unknown and counts for nothing. Such faults are counted apart from
the failures of the target, with what to do about them, and stand first.

It asks the daemon on this machine and probes nothing. Where none runs it shows
what one saved in the state directory, and says how old that is; what is paused
and what would be written is not saved.

With --json, names that stay (times in RFC 3339, null for none):

  node, leader, notices: as in status
  at, daemon: false when none runs, saved_at
  records: as in status, and of each also
    zone, zone_error, judge_until, window_ends,
    waits: {until, why}: what the zone's writes wait for, null for nothing,
    verification: {at, verified, detail, servers: [{server, verified,
      took_ms: so long after the write, detail}]}
    sites, scenarios: as in status, those that its answers rest on
    answers: as in status, and state unknown without a daemon, and
      when: the scenario that has to hold, mode,
      targets: as in status, and
        judged: the verdict that decisions go by, fall, rise,
        last: {at, result, latency_ms, source}, null before the first,
        results, null without a daemon: {since, pass, fail, unknown,
          failures: [{phase, cause, times}], faults: [{detail, times}]}
    writes, newest first: as in status, and variant, replaces, reason,
      evidence: [{at, kind, target, from, to, phase, cause, guard, by, detail}]
  overrides: as in status, those that bear on the name
  others: {pass, fail, unknown}: the last results of this node's other targets
  journal: {since, error}: how far back it was read, or why it could not be

Exit codes: 0 it could be answered, 1 no daemon runs here and nothing was saved,
or another failure, 2 usage or config, or no such NAME.`,
		Example: `  sidestep explain www.example.com
  sidestep explain www.example.com --type AAAA
  sidestep explain www.example.com --json | jq '.records[].answers[].targets[]'`,
		Args: arguments(1, 1, "one NAME"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.recordNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Name = args[0]
			return a.explain(cmd.Context(), request)
		},
	}
	cmd.Flags().StringVar(&request.Type, "type", "", "only the record set of this `TYPE`, when the name has several")
	complete(cmd, "type", func() []string { return []string{"A", "AAAA", "CNAME"} })
	a.addJSON(cmd)
	return cmd
}

func (a *app) explain(ctx context.Context, request control.ExplainRequest) error {
	client, err := a.dial(ctx)
	var answer control.Explanation
	switch {
	case err == nil:
		answer, err = client.Explain(ctx, request)
	case errors.Is(err, control.ErrNoDaemon):
		answer, err = a.explainSaved(request)
	}
	if err != nil {
		return orInterrupted(ctx, err, "the daemon had not answered")
	}
	if a.json {
		return a.printJSON(answer)
	}
	a.printExplanation(answer)
	return nil
}

// explainSaved needs no secret: nobody is asked.
func (a *app) explainSaved(request control.ExplainRequest) (control.Explanation, error) {
	cfg, log, err := a.withoutSecrets()
	if err != nil {
		return control.Explanation{}, err
	}
	return daemon.ExplainSaved(cfg, request, log)
}

// withoutSecrets reads the config for a command that asks nobody.
func (a *app) withoutSecrets() (*config.Config, *slog.Logger, error) {
	log, err := a.logger()
	if err != nil {
		return nil, nil, err
	}
	path, err := config.Find(a.environment)
	if err != nil {
		return nil, nil, &usageError{err}
	}
	cfg, err := config.Load(path, config.Options{Getenv: a.io.Getenv, SkipSecrets: true})
	if err != nil {
		return nil, nil, &usageError{err}
	}
	fmt.Fprintf(a.io.Err, "config: %s\n", path)
	return cfg, log, nil
}
