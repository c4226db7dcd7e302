package cli

import (
	"github.com/spf13/cobra"

	"sidestep/pkg/control"
	"sidestep/pkg/override"
)

func (a *app) drainCommand() *cobra.Command {
	var f overrideFlags
	cmd := &cobra.Command{
		Use:   "drain TARGET",
		Short: "Take an answer out for planned work, and back at its end",
		Long: `Take an answer out for planned work, and back at its end.

It is override set drain: the answers go out although they are healthy, nobody
is alarmed, and the probes go on. Names are written a debounce later; how long
resolvers go on with the old answer depends on the TTL.

TARGET is the NAME of a record set, an ADDRESS, CHECK@ADDRESS, a SITE, which is
in maintenance then, or all. The reason and the end have to be said; an end may
be "forever". At the end, or with undrain, what is up comes back by itself;
where a failback is held back, after that.

The last answer that can carry a name stays, and the answer says so, with 3.
With 0 the word is kept, and not written yet: begin the work when sidestep
status NAME shows the answer paused and a TTL has passed since. Without a daemon
on this machine nothing is written before the next run or reconcile.
` + exitsOfOverrides,
		Example: `  sidestep drain 203.0.113.10 --for 2h --reason "new kernel"
  sidestep drain dc1 --at 22:00 --for 4h --reason "power work" --dry-run`,
		Args:              arguments(1, 1, "TARGET"),
		ValidArgsFunction: a.completeTargets(override.Drain),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.setOverride(cmd, []string{string(override.Drain), args[0]}, f)
		},
	}
	f.add(cmd)
	a.addJSON(cmd)
	return cmd
}

func (a *app) undrainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "undrain TARGET",
		Short: "Take a drain back before its end",
		Long: `Take a drain back before its end.

It is override clear --kind drain, with the TARGET that was drained: all is what
was drained by drain all. Where there is no such drain the answer says so.
` + exitsOfOverrides,
		Example:           `  sidestep undrain 203.0.113.10`,
		Args:              arguments(1, 1, "TARGET"),
		ValidArgsFunction: a.completeTargets(override.Drain),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.clearOverride(cmd.Context(), control.ClearRequest{Target: args[0], Kind: string(override.Drain)})
		},
	}
	a.addJSON(cmd)
	return cmd
}

// everything is what a freeze is of when nothing else is said.
func everything(args []string) string {
	if len(args) == 0 {
		return "all"
	}
	return args[0]
}

func (a *app) freezeCommand() *cobra.Command {
	var f overrideFlags
	cmd := &cobra.Command{
		Use:   "freeze [TARGET]",
		Short: "Write nothing for a time, and go on probing",
		Long: `Write nothing for a time, and go on probing.

This is the main switch. TARGET is the name of a record set, a zone, or all,
which it is when it is left out. What would be written is shown in plan and in
status, blocked by the guard freeze, and is written when the freeze ends.
A call that is on its way to the provider is finished.

The reason and the end have to be said; an end may be "forever".
` + exitsOfOverrides,
		Example: `  sidestep freeze --for 1h --reason "provider is migrating"
  sidestep freeze example.com --at 22:00 --for 30m --reason "zone transfer"`,
		Args:              arguments(0, 1, "one TARGET at most"),
		ValidArgsFunction: a.completeTargets(override.Freeze),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.setOverride(cmd, []string{string(override.Freeze), everything(args)}, f)
		},
	}
	f.add(cmd)
	a.addJSON(cmd)
	return cmd
}

func (a *app) unfreezeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unfreeze [TARGET]",
		Short: "Write again what was frozen",
		Long: `Write again what was frozen.

It is override clear --kind freeze, with the TARGET that was frozen; without one
it is all, which leaves freezes of a zone or a name; the answer names them. What
has changed meanwhile is written now.
` + exitsOfOverrides,
		Example: `  sidestep unfreeze
  sidestep unfreeze example.com`,
		Args:              arguments(0, 1, "one TARGET at most"),
		ValidArgsFunction: a.completeTargets(override.Freeze),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.clearOverride(cmd.Context(), control.ClearRequest{Target: everything(args), Kind: string(override.Freeze)})
		},
	}
	a.addJSON(cmd)
	return cmd
}
