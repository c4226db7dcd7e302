package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/provider"
)

// IO is where the command line reads and writes.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
}

// System is the process's own stdio.
func System() IO {
	return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
}

// app is what the commands share.
type app struct {
	io       IO
	registry provider.Registry
	version  string
	viper    *viper.Viper
	file     string // flag --config
	json     bool
	log      logFlags
	exit     int // what the command exits with when it has no error
}

// Main runs one command line and returns its exit code. SIGINT and SIGTERM end
// the command in order; a second one ends it at once.
func Main(args []string, stdio IO, registry provider.Registry, version string) int {
	a := &app{io: stdio, registry: registry, version: version, viper: viper.New()}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdio.In)
	root.SetOut(stdio.Out)
	root.SetErr(stdio.Err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal has its default effect
	err := root.ExecuteContext(ctx)
	if err == nil {
		return a.exit
	}
	fmt.Fprintf(stdio.Err, "sidestep: %v\n", err)
	return exitOf(err)
}

// usageError is a command line that cannot be meant.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

func exitOf(err error) int {
	var usage *usageError
	var bad config.Errors
	if errors.As(err, &usage) || errors.As(err, &bad) {
		return control.ExitUsage
	}
	return control.ExitOf(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "sidestep",
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
  sidestep reconcile    write it, once
  sidestep run          do so from now on

Exit codes: 0 the zone is as wanted, 1 other failure, 2 usage or config,
3 stopped by a guard, 4 not the leader or the lock is held, 5 provider or
network error, 6 frozen, 10 changes are pending (plan --exit-code).`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       a.version,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.BindFlags(cmd.Flags(), a.viper); err != nil {
				return &usageError{err}
			}
			return nil
		},
	}
	root.PersistentFlags().StringVar(&a.file, "config", "", "config file (default /etc/sidestep/sidestep.yaml, then ./sidestep.yaml)")
	a.log.bind(root.PersistentFlags())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; try: %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(
		a.demoCommand(), a.runCommand(), a.checkCommand(), a.planCommand(), a.reconcileCommand(),
		a.statusCommand(), a.approveCommand(), a.validateCommand(), a.configCommand(), a.versionCommand(),
	)
	wrapArgs(root)
	return root
}

// wrapArgs makes wrong arguments of every command a usage error that names the
// command's help.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usagef("%w; try: %s --help", err, cmd.CommandPath())
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		wrapArgs(child)
	}
}

// load finds and reads the config, and says on stderr which one is in use.
func (a *app) load() (*config.Config, error) {
	path, err := config.Find(a.viper)
	if err != nil {
		return nil, &usageError{err}
	}
	cfg, err := config.Load(path, config.Options{Getenv: a.io.Getenv})
	if err != nil {
		return nil, &usageError{err}
	}
	fmt.Fprintf(a.io.Err, "config: %s\n", path)
	return cfg, nil
}
