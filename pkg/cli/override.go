package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
	"sidestep/pkg/override"
)

// overrideFlags are those of every command that sets an override.
type overrideFlags struct {
	hold   string
	reason string
	at     string
	dryRun bool
}

func (a *app) overrideCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "override",
		Short: "Set, clear and list operators' words that go before the probes",
		Long: `Set, clear and list operators' words that go before the probes.

An override says what a name answers with, whatever the probes see: a server is
taken out for maintenance (drain), treated as failed (force-down) or as usable
(force-up), a name answers with certain values only (pin), or nothing is written
(freeze). Each has a reason and an end. At its end, which needs nobody, the
probes decide again.

Overrides survive a restart and a reload. One of which the object is no longer
in the config has no effect and is shown. Those without an end, and those older
than a day, are told of in status and in the log until somebody clears them.

What goes before what: a pin, then what takes out (drain, force-down), then what
puts in (force-up), then the probes. The same kind on the same target replaces
the earlier one.

Exit codes: 0 done, 2 usage or config, 1 other failure; see each command.`,
		Example: `  sidestep override set force-down 203.0.113.10 --for 1h --reason "bad disk"
  sidestep override list
  sidestep override clear 203.0.113.10`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.overrideSetCommand(), a.overrideClearCommand(), a.overrideListCommand())
	return cmd
}

// exitsOfOverrides is what every command that changes an override exits with.
const exitsOfOverrides = `
Exit codes: 0 the word is kept. It is kept as well, and holds, with
  3  an answer cannot go out, or a guard stops what would be written
  5  the zone, or an etcd that nodes share, does not answer now
  6  it is frozen
  4  nobody acts on it yet: who leads has not answered within 5 seconds, another
     node writes the zone too, or leads it by the stamp; the answer says what to
     do. Also where nothing is kept: this node may not, or the lock is held
It is not kept with
  2  no such TARGET, or usage or config
  1  it could not be stored, or another failure`

// targetsOfOverrides says what a TARGET is.
const targetsOfOverrides = `
TARGET is one of:

  NAME           a record set, all of its answers
  ADDRESS        an answer, in every record set that has it
  CHECK@ADDRESS  what one check says of one address
  SITE           all answers of a site, and its state in scenarios
  SCENARIO       whether it holds; only force-up and force-down
  all            everything
`

func (a *app) overrideSetCommand() *cobra.Command {
	var f overrideFlags
	cmd := &cobra.Command{
		Use:   "set KIND TARGET [VALUE]",
		Short: "Let a word go before the probes, for a time",
		Long: `Let a word go before the probes, for a time.

KIND is one of:

  drain       out, as planned: no alarm, and no outage is counted
  force-down  out, as if it had failed
  force-up    in, whatever its probes say
  pin         NAME answers with exactly VALUE[,VALUE]; the probes go on
  freeze      of NAME, a zone or all: the probes go on, nothing is written
` + targetsOfOverrides + `
The reason and the end have to be said; an end may be "forever". It begins now,
or at a time to come: --at 22:00, --at "2026-01-31 22:00", or with its zone as
2026-01-31T22:00:00Z; --for counts from then.

The answer says what happens to which name, as things are now. The last answer
that can carry a name stays, because of min_live or on_all_down, through
anything but a pin; it goes as soon as another can take its place.

Without a daemon on this machine the word is written to its state directory,
under its lock, and holds from the next run or reconcile.
` + exitsOfOverrides,
		Example: `  sidestep override set drain 203.0.113.10 --for 2h --reason "new kernel"
  sidestep override set pin www.example.com 203.0.113.20 --for 30m --reason test
  sidestep override set force-down web@203.0.113.10 --for 1d --reason "lies"
  sidestep override set force-up disaster --for 4h --reason "flood in dc1"`,
		Args:              arguments(2, 3, "KIND TARGET [VALUE]"),
		ValidArgsFunction: a.completeOverride,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.setOverride(cmd, args, f)
		},
	}
	f.add(cmd)
	a.addJSON(cmd)
	return cmd
}

func (f *overrideFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.hold, "for", "", "end after this `DURATION` (30m, 4h, 2d), or forever")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, as a `TEXT` for those who find it later")
	cmd.Flags().StringVar(&f.at, "at", "", "begin at this `TIME` instead of now")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would happen, and keep nothing")
	complete(cmd, "for", func() []string { return []string{"30m", "2h", "1d", "forever"} })
}

// completeOverride offers kinds, then what a kind can be of, then values of the
// record set for a pin.
func (a *app) completeOverride(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const done = cobra.ShellCompDirectiveNoFileComp
	switch {
	case len(args) == 0:
		var kinds []string
		for _, k := range override.Kinds {
			kinds = append(kinds, string(k))
		}
		return kinds, done
	case len(args) == 1:
		return a.overrideTargets(override.Kind(args[0])), done
	case len(args) == 2 && args[0] == string(override.Pin):
		return a.answersOf(args[1]), done
	}
	return nil, done
}

func (a *app) overrideTargets(kind override.Kind) []string {
	if cfg := a.quietConfig(); cfg != nil {
		return daemon.OverrideTargets(cfg, kind)
	}
	return nil
}

// completeTargets offers what overrides of a kind can be of.
func (a *app) completeTargets(kind override.Kind) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.overrideTargets(kind), cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) answersOf(name string) []string {
	var values []string
	if cfg := a.quietConfig(); cfg != nil {
		for _, r := range cfg.Records {
			if r.Key.Name.Unrooted() == strings.TrimSuffix(name, ".") {
				values = append(values, r.Values()...)
			}
		}
	}
	return values
}

func (a *app) setOverride(cmd *cobra.Command, args []string, f overrideFlags) error {
	request, err := f.request(cmd, args)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	answer, err := a.overrule(ctx, f.dryRun,
		func(c *control.Client) (control.Overruled, error) { return c.Override(ctx, request) },
		func(d *daemon.Daemon) (control.Overruled, error) {
			return d.OverrideOnce(ctx, request, control.Self(), a.progress)
		})
	if err != nil {
		return orInterrupted(ctx, err, "no override was set")
	}
	return a.printOverruled(answer)
}

// request makes a request of what was typed. What the daemon alone can know, such
// as the targets that there are, it is asked for.
func (f overrideFlags) request(cmd *cobra.Command, args []string) (control.OverrideRequest, error) {
	request := control.OverrideRequest{Kind: args[0], Target: args[1], For: f.hold, Reason: strings.TrimSpace(f.reason), DryRun: f.dryRun}
	kind := override.Kind(args[0])
	if !slices.Contains(override.Kinds, kind) {
		words := []string{}
		for _, k := range override.Kinds {
			words = append(words, string(k))
		}
		near := ""
		if word := config.Nearest(args[0], words); word != "" {
			near = "; perhaps " + word
		}
		return request, misused(cmd, "expected one of %s, got %q%s", override.Join(override.Kinds), args[0], near)
	}
	switch {
	case kind == override.Pin && len(args) < 3:
		return request, misused(cmd, "a pin needs the values to answer with: set pin %s VALUE[,VALUE]", args[1])
	case kind != override.Pin && len(args) > 2:
		return request, misused(cmd, "a %s takes no value, got %q", kind, args[2])
	case len(args) > 2:
		request.Values = strings.Split(args[2], ",")
	}
	switch {
	case f.hold == "" && request.Reason == "":
		return request, misused(cmd, "say when it ends and why: --for DURATION, or --for forever, and --reason TEXT")
	case f.hold == "":
		return request, misused(cmd, "say when it ends: --for DURATION, or --for forever")
	case request.Reason == "":
		return request, misused(cmd, "say why, for those who find it later: --reason TEXT")
	}
	if _, err := override.ParseFor(f.hold); err != nil {
		return request, misused(cmd, "--for: %w", err)
	}
	if f.at != "" {
		at, err := override.ParseAt(f.at, time.Now())
		if err != nil {
			return request, misused(cmd, "--at: %w", err)
		}
		request.At = &at
	}
	return request, nil
}

// overrule asks the daemon, or without one does the same on its state directory.
func (a *app) overrule(
	ctx context.Context, dryRun bool,
	ask func(*control.Client) (control.Overruled, error), do func(*daemon.Daemon) (control.Overruled, error),
) (control.Overruled, error) {
	client, err := a.dial(ctx)
	switch {
	case err == nil:
		return ask(client)
	case !errors.Is(err, control.ErrNoDaemon):
		return control.Overruled{}, err
	}
	cfg, err := a.load()
	if err != nil {
		return control.Overruled{}, err
	}
	d, err := a.oneShot(cfg, !dryRun)
	if err != nil {
		return control.Overruled{}, err
	}
	defer a.progressDone()
	return do(d)
}

func (a *app) overrideClearCommand() *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use:   "clear TARGET",
		Short: "Take overrides back, so that the probes decide again",
		Long: `Take overrides back, so that the probes decide again.

All overrides of TARGET are cleared, or those of one kind. An override is
cleared by the target that it was set with: one of a site holds for all its
answers, and is not cleared for one of them; all is what was set of all, and the
answer names what that leaves. Where there is nothing to clear the answer says
so, with 0: what was wanted is so.
` + exitsOfOverrides,
		Example: `  sidestep override clear 203.0.113.10
  sidestep override clear www.example.com --kind pin`,
		Args:              arguments(1, 1, "TARGET"),
		ValidArgsFunction: a.completeTargets(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.clearOverride(cmd.Context(), control.ClearRequest{Target: args[0], Kind: kind})
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "", "only this `KIND`: pin, drain, force-down, force-up, freeze")
	complete(cmd, "kind", func() []string {
		kinds, _ := a.completeOverride(nil, nil, "")
		return kinds
	})
	a.addJSON(cmd)
	return cmd
}

func (a *app) clearOverride(ctx context.Context, request control.ClearRequest) error {
	answer, err := a.overrule(ctx, false,
		func(c *control.Client) (control.Overruled, error) { return c.ClearOverride(ctx, request) },
		func(d *daemon.Daemon) (control.Overruled, error) {
			return d.ClearOverrideOnce(ctx, request, control.Self(), a.progress)
		})
	if err != nil {
		return orInterrupted(ctx, err, "no override was cleared")
	}
	return a.printOverruled(answer)
}

func (a *app) overrideListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show the overrides that there are, and when they end",
		Long: `Show the overrides that there are, and when they end.

Without a daemon on this machine they are read from its state directory, and
from the etcd that nodes share, where the config has one.

Exit codes: 0 it could be answered, 2 usage or config, 1 other failure.`,
		Example: `  sidestep override list
  sidestep override list --json | jq '.overrides[] | select(.until == null)'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.listOverrides(cmd.Context())
		},
	}
	a.addJSON(cmd)
	return cmd
}

func (a *app) listOverrides(ctx context.Context) error {
	client, err := a.dial(ctx)
	var answer control.Overrides
	switch {
	case err == nil:
		answer, err = client.Overrides(ctx)
	case errors.Is(err, control.ErrNoDaemon):
		answer, err = a.savedOverrides(ctx)
	}
	if err != nil {
		return orInterrupted(ctx, err, "the daemon had not answered")
	}
	if a.json {
		return a.printJSON(answer)
	}
	a.printOverrides(answer, time.Now())
	return nil
}

// savedOverrides asks the other nodes of an etcd, too, for which it takes the secrets
// of the config; who has none sees what was saved here.
func (a *app) savedOverrides(ctx context.Context) (control.Overrides, error) {
	cfg, log, err := a.withoutSecrets()
	if err != nil {
		return control.Overrides{}, err
	}
	if len(cfg.Etcd.Endpoints) == 0 {
		return daemon.OverridesSaved(cfg, log)
	}
	full, err := a.find()
	if err != nil {
		answer, savedErr := daemon.OverridesSaved(cfg, log)
		answer.Unshared = err.Error()
		return answer, savedErr
	}
	d, err := a.oneShot(full, false)
	if err != nil {
		return control.Overrides{}, err
	}
	defer a.progressDone()
	return d.OverridesOnce(ctx, a.progress)
}
