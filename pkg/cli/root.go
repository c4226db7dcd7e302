package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sidestep/pkg/config"
)

func (a *app) root() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "sidestep COMMAND",
		Short: "Step aside of what is dead, in the zone your name is served from",
		Long: `Step aside of what is dead, in the zone your name is served from.

sidestep probes the addresses that a DNS name answers with, judges them by
consecutive failures and passes, and edits the hosted zone through its
provider's API: it takes a dead address out of the answer and puts it back
when it lives again. It pauses and never deletes, never empties an answer,
never writes beside another writer, and never acts on half a view.

Try it on this machine first:

  sidestep demo

Then with a config of your own (--config FILE, else
/etc/sidestep/sidestep.yaml, else ./sidestep.yaml):

  sidestep validate     is the config right?
  sidestep check        what do the probes see now?
  sidestep plan         what would be written now, and why?
  sidestep simulate timeline.txt   and what, if this and that happened?
  sidestep rto          how long would a switch take?
  sidestep reconcile    write it, once
  sidestep run          do so from now on

The answer goes to stdout and everything else to stderr. A flag can also be set
by an environment variable: --config by SIDESTEP_CONFIG.

Exit codes: 0 the zone is as wanted, 1 other failure, 2 usage or config,
3 stopped by a guard, 4 not the leader or the lock is held, 5 provider or
network error, 6 frozen, 10 changes are pending (plan --exit-code).`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				fmt.Fprintln(a.io.Out, a.versionLine())
				return nil
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.BindFlags(cmd.Flags(), a.environment); err != nil {
				return &usageError{err}
			}
			// A rehearsal reads the same on every machine.
			if cmd.Flags().Lookup("json") != nil && !a.json && cmd.Name() != "simulate" {
				a.io.Out = localTimes{a.io.Out, time.Local, time.Now}
			}
			return a.log.check()
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.PersistentFlags().StringVar(&a.file, "config", "", "read the config from `FILE` (default /etc/sidestep/sidestep.yaml, then ./sidestep.yaml)")
	_ = root.MarkPersistentFlagFilename("config", "yaml", "yml") // the flag is there
	a.log.bind(root)
	root.PersistentFlags().BoolP("help", "h", false, "show this manual")
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version")
	root.SetUsageFunc(usage)
	root.SetFlagErrorFunc(wrongFlag)
	root.SetHelpCommand(a.helpCommand())
	root.AddCommand(
		a.demoCommand(), a.runCommand(), a.reloadCommand(), a.checkCommand(), a.planCommand(), a.reconcileCommand(),
		a.statusCommand(), a.explainCommand(), a.historyCommand(), a.observeCommand(), a.approveCommand(),
		a.overrideCommand(), a.drainCommand(), a.undrainCommand(), a.freezeCommand(), a.unfreezeCommand(),
		a.drillCommand(),
		a.simulateCommand(), a.rtoCommand(), a.validateCommand(), a.configCommand(), a.notifyCommand(),
		a.importCommand(), a.releaseCommand(),
		a.versionCommand(), a.completionCommand(),
	)
	return root
}

// misused is a usage error that names the command and its help.
func misused(cmd *cobra.Command, format string, args ...any) error {
	problem := fmt.Errorf(format, args...)
	if cmd.HasParent() {
		_, name, _ := strings.Cut(cmd.CommandPath(), " ")
		problem = fmt.Errorf("%s: %w", name, problem)
	}
	return usagef("%w; try: %s --help", problem, cmd.CommandPath())
}

// wrongFlag is a usage error; of a flag that does not exist it names the one
// that is spelled alike. Where the command does not exist, its flags do not either.
func wrongFlag(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return unknownCommand(cmd, words)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return misused(cmd, "%w", err)
	}
	plain, near := strings.NewReplacer("-", "", "_", ""), ""
	typed := plain.Replace(unknown.GetSpecifiedName())
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if near == "" && alike(typed, plain.Replace(f.Name)) {
			near = f.Name
		}
	})
	if near == "" {
		return misused(cmd, "%w", err)
	}
	return misused(cmd, "%w; perhaps --%s", err, near)
}

// alike reports whether one word begins with the other, or they differ by one
// letter that is missing or wrong, or by two neighbours that are swapped.
func alike(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) >= 2 && strings.HasPrefix(b, a) {
		return true
	}
	from := 0
	for from < len(a) && a[from] == b[from] {
		from++
	}
	if len(b) == len(a)+1 {
		return a[from:] == b[from+1:]
	}
	if len(a) != len(b) {
		return false
	}
	swapped := from+1 < len(a) && a[from] == b[from+1] && a[from+1] == b[from] && a[from+2:] == b[from+2:]
	return swapped || from < len(a) && a[from+1:] == b[from+1:]
}

// arguments takes so many positional arguments, which are named words in the
// usage line.
func arguments(least, most int, words string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return misused(cmd, "expected %s", words)
		case len(args) > most:
			return misused(cmd, "expected %s, got %q too", words, args[most])
		}
		return nil
	}
}

// noArguments takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.Flags().Lookup("zone") != nil {
		return misused(cmd, "takes no argument, got %q; one zone alone is --zone %s", args[0], args[0])
	}
	return misused(cmd, "takes no argument, got %q", args[0])
}

// unknownCommand refuses what is not the name of a command below this one.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; perhaps " + strings.Join(near, " or ")
	}
	return usagef("unknown command %q%s; all commands: %s --help", args[0], hint, cmd.CommandPath())
}

func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the manual of a command",
		Long: `Show the manual of a command.

Without COMMAND it says what sidestep is and which commands it has.`,
		Example: `  sidestep help
  sidestep help reconcile`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if at, _, err := cmd.Root().Find(args); err == nil {
				for _, c := range at.Commands() {
					names = append(names, c.Name()+"\t"+c.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(about, rest)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

func (a *app) completionCommand() *cobra.Command {
	const words = "bash, zsh or fish"
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes commands, flags and names",
		Long: `Print a script that completes commands, flags and names.

SHELL is bash, zsh or fish. Names of record sets, checks and zones are those of
the config in use. bash needs the package bash-completion.`,
		Example: `  sidestep completion bash > /etc/bash_completion.d/sidestep
  sidestep completion zsh > "${fpath[1]}/_sidestep"
  sidestep completion fish > ~/.config/fish/completions/sidestep.fish`,
		Args:      arguments(1, 1, words),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.io.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.io.Out)
			case "fish":
				return root.GenFishCompletion(a.io.Out, true)
			}
			return misused(cmd, "expected %s, got %q", words, args[0])
		},
	}
}
