package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/provider"
)

// IO is where the command line reads and writes.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Program  string // as it was typed
}

// System is the process's own stdio.
func System() IO {
	return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Program: os.Args[0]}
}

// app is what the commands share.
type app struct {
	io          IO
	registry    provider.Registry
	version     string
	built       time.Time // zero when that is not known
	environment *config.Environment
	file        string // flag --config
	json        bool
	log         logFlags
	screen      *screen
	exit        int // what the command exits with when it has no error
}

// Commands is the tree of commands, for who writes about them: none of it is to be run.
func Commands() *cobra.Command {
	stdio := IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }, Program: "sidestep"}
	a := &app{io: stdio, environment: config.NewEnvironment(), screen: newScreen(stdio)}
	return a.root()
}

// Build is what the linker told the binary of itself.
type Build struct {
	Version string
	Seconds string // since 1970, when the commit it was built from was made; empty when that is not known
}

// time is when the binary was built at the earliest.
func (b Build) time() time.Time {
	seconds, err := strconv.ParseInt(b.Seconds, 10, 64)
	if err != nil || seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// Main runs one command line and returns its exit code. SIGINT and SIGTERM end
// the command in order; a second one ends it at once.
func Main(args []string, stdio IO, registry provider.Registry, build Build) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal has its default effect
	return run(ctx, args, stdio, registry, build)
}

// run is Main without the signals.
func run(ctx context.Context, args []string, stdio IO, registry provider.Registry, build Build) int {
	a := &app{registry: registry, version: build.Version, built: build.time(), environment: config.NewEnvironment(), screen: newScreen(stdio)}
	stdio.Err = a.screen
	a.io = stdio
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdio.In)
	root.SetOut(stdio.Out)
	root.SetErr(stdio.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return a.exit
	}
	a.complain(err.Error())
	return exitOf(err)
}

// usageError is a command line, or a config, that cannot be meant.
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

// orInterrupted is what a command says that a signal ended: not how the end
// looked from inside, but what became of its work.
func orInterrupted(ctx context.Context, err error, what string) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("interrupted: %s", what)
}

// load finds and reads the config, and says on stderr which one is in use.
func (a *app) load() (*config.Config, error) {
	cfg, err := a.find()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(a.io.Err, "config: %s\n", cfg.File)
	return cfg, nil
}

// dial finds the daemon of the config on this machine; the error is
// control.ErrNoDaemon when none answers. It needs no secret, and a config that
// became wrong meanwhile is a warning: the daemon goes on with the one before.
func (a *app) dial(ctx context.Context) (*control.Client, error) {
	path, err := config.Find(a.environment)
	if err != nil {
		return nil, &usageError{err}
	}
	client, err := control.Dial(ctx, config.Socket(path))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(a.io.Err, "config: %s\n", path)
	if _, err := config.Load(path, config.Options{Getenv: a.io.Getenv, SkipSecrets: true}); err != nil {
		fmt.Fprintf(a.io.Err, "warning: the daemon cannot be running on this config as it is now: %v\n", err)
	}
	return client, nil
}

// find finds and reads the config without a word.
func (a *app) find() (*config.Config, error) {
	path, err := config.Find(a.environment)
	if err != nil {
		return nil, &usageError{err}
	}
	cfg, err := a.read(path)
	if err != nil {
		return nil, &usageError{err}
	}
	return cfg, nil
}

// loadZones is load for a command that needs the zones only: there may be no
// record sets in the config any more, or not yet.
func (a *app) loadZones() (*config.Config, error) {
	path, err := config.Find(a.environment)
	if err != nil {
		return nil, &usageError{err}
	}
	cfg, err := config.Load(path, config.Options{Getenv: a.io.Getenv, AllowNoRecords: true})
	if err != nil {
		return nil, &usageError{err}
	}
	fmt.Fprintf(a.io.Err, "config: %s\n", cfg.File)
	return cfg, nil
}

func (a *app) read(path string) (*config.Config, error) {
	return config.Load(path, config.Options{Getenv: a.io.Getenv})
}
