package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sidestep/pkg/control"
)

func (a *app) approveCommand() *cobra.Command {
	var plan string
	cmd := &cobra.Command{
		Use:   "approve TARGET",
		Short: "Say yes to what waits for a person",
		Long: `Say yes to what waits for a person.

TARGET says to what:

  NAME      the first plan of a record set that takes a usable live value out,
            steering a name that another tool claims, or a manual failback
  ADDRESS   resuming a value that somebody else paused, and probing what a
            lasting cause has disabled again (causes: in the config)
  SITE      its return after a long outage
  ZONE      with --plan CHECKSUM: the plan that max_changes stopped, once
  all       resuming again after a corrupt state; look at what is paused first

What waits, and for what, is in status and in plan. A plan that takes out only
what is down waits for nobody, and is the first plan of its record set. A yes to
the first plan may be said before there is one: it is kept, and the answer says
that nothing waits. Without a daemon on this machine the word is written to its
state directory, under its lock.

Where nodes share an etcd, it may be said at any of them, and the answer is that
of the node that leads. One that does not answer within 5 seconds has 10 minutes
to hear of it, as has the node that leads after it.

Exit codes: 0 approved, 2 no such NAME, ADDRESS, SITE or ZONE, another plan than
CHECKSUM, or usage or config, 4 noted and not answered yet by the node that
leads, or to be said there, or the lock is held, 5 provider or network error,
1 other failure.`,
		Example: `  sidestep approve www.example.com
  sidestep approve example.com --plan 3f2a9c01b7de`,
		Args: arguments(1, 1, "TARGET"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(append(a.recordNames(), a.siteNames()...), "all"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.approve(cmd.Context(), control.ApproveRequest{Target: args[0], Plan: plan})
		},
	}
	cmd.Flags().StringVar(&plan, "plan", "", "`CHECKSUM` of the plan, as plan prints it")
	a.addJSON(cmd)
	return cmd
}

func (a *app) approve(ctx context.Context, request control.ApproveRequest) error {
	client, err := a.dial(ctx)
	next := "the daemon goes on with it now"
	var answer control.Approval
	switch {
	case err == nil:
		answer, err = client.Approve(ctx, request)
	case errors.Is(err, control.ErrNoDaemon):
		next = "no daemon runs here; to write it now: sidestep reconcile"
		answer, err = a.approveOnce(ctx, request)
	}
	if err != nil {
		return orInterrupted(ctx, err, "nothing was approved")
	}
	a.exit = answer.Exit
	if a.json {
		return a.printJSON(answer)
	}
	a.printApproval(answer, next)
	return nil
}

func (a *app) printApproval(answer control.Approval, next string) {
	switch {
	case answer.Here != "":
		next = answer.Here
	case answer.Leader != "":
		next = answer.Leader + " leads and goes on with it now"
	}
	switch {
	case answer.Noted != "":
		fmt.Fprintf(a.io.Out, "noted: %s; %s\n", answer.Approved, answer.Noted)
	case answer.Idle == "":
		fmt.Fprintf(a.io.Out, "approved: %s; %s\n", answer.Approved, next)
	default:
		fmt.Fprintln(a.io.Out, answer.Idle)
		if answer.Here != "" {
			fmt.Fprintln(a.io.Out, answer.Here)
		}
	}
}

// approveOnce writes the word into the state directory.
func (a *app) approveOnce(ctx context.Context, request control.ApproveRequest) (control.Approval, error) {
	cfg, err := a.load()
	if err != nil {
		return control.Approval{}, err
	}
	d, err := a.oneShot(cfg, true)
	if err != nil {
		return control.Approval{}, err
	}
	defer a.progressDone()
	return d.ApproveOnce(ctx, request, control.Self(), a.progress)
}
