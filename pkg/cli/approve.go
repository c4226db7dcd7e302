package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
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
  ADDRESS   resuming a value that somebody else paused
  ZONE      with --plan CHECKSUM: the plan that max_changes stopped, once
  all       resuming again after a corrupt state, when overrides may be lost

What waits, and for what, is in status and in plan. Without a daemon on this
machine the word is written to its state directory, under its lock.`,
		Example: `  sidestep approve www.example.com
  sidestep approve example.com --plan 3f2a9c01b7de`,
		Args: arguments(1, 1, "TARGET"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(a.recordNames(), "all"), cobra.ShellCompDirectiveNoFileComp
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
	cfg, err := a.load()
	if err != nil {
		return err
	}
	client, err := control.Dial(ctx, cfg.Control.Socket)
	switch {
	case err == nil:
		err = client.Approve(ctx, request)
	case errors.Is(err, control.ErrNoDaemon):
		log, logErr := a.logger(true)
		if logErr != nil {
			return logErr
		}
		d, newErr := daemon.New(daemon.Options{
			Config: cfg, Registry: a.registry, Logger: log, Version: a.version, Once: true, Write: true,
		})
		if newErr != nil {
			return newErr
		}
		err = d.ApproveOnce(ctx, request, control.Self(), a.progress)
		a.progressDone()
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			Approved string `json:"approved"`
		}{request.Target})
	}
	fmt.Fprintf(a.io.Out, "approved: %s\n", request.Target)
	return nil
}
