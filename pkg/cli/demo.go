package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
)

func (a *app) demoCommand() *cobra.Command {
	var script bool
	var dir string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Try it all on this machine: three web servers, a zone, and the daemon",
		Long: `Try it all on this machine: three web servers, a zone, and the daemon.

Everything listens on loopback, on ports that are free, and is gone when you
press Ctrl-C. The address of the dashboard is printed, for a browser on this
machine. The config file is an ordinary one; its path is printed, so that the
other commands work on it from another terminal.

With --script the demo plays a failover story by itself: it breaks and mends the
web servers, asks the DNS over the wire at each step, prints a timeline, and
exits with 0 only if every step held.

Exit codes: 0 you ended it, or every step held, 1 a step did not hold, or
another failure, 2 usage.`,
		Example: `  sidestep demo
  sidestep demo --script`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd.Context(), dir, script)
		},
	}
	cmd.Flags().BoolVar(&script, "script", false, "play a failover story, print its timeline, exit")
	cmd.Flags().StringVar(&dir, "dir", "", "`FOLDER` for config, zone and state, kept afterwards (default a new one, removed at the end)")
	return cmd
}

// demo builds the world, runs the daemon in it, and hands over to a person or
// to the story.
func (a *app) demo(ctx context.Context, dir string, script bool) (err error) {
	dir, clean, err := demoDir(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clean()) }()
	w, err := newDemoWorld(dir, script)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	run, err := a.demoDaemon(w, script)
	if err != nil {
		return err
	}
	return a.playWith(ctx, w, run, script)
}

// playWith runs the daemon while a person or the story plays. What fails ends
// the play.
func (a *app) playWith(ctx context.Context, w *demoWorld, run func(context.Context) error, script bool) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	servers := []func(context.Context) error{run, w.control.Serve}
	failed := make([]error, len(servers))
	var group sync.WaitGroup
	for i, serve := range servers {
		group.Go(func() {
			failed[i] = serve(working)
			stop()
		})
	}
	var err error
	if script {
		err = a.playStory(working, w)
	} else {
		a.printDemo(w)
		<-working.Done()
	}
	stop()
	group.Wait()
	if why := errors.Join(failed...); why != nil {
		return why // that the play broke off follows from it
	}
	return err
}

// demoDir is the folder of the demo. One that another demo runs in would have
// its config and its zone taken away.
func demoDir(ctx context.Context, dir string) (path string, clean func() error, err error) {
	if dir == "" {
		dir, err = os.MkdirTemp("", "sidestep-demo-")
		return dir, func() error { return os.RemoveAll(dir) }, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, fmt.Errorf("demo: %w", err)
	}
	if _, err := control.Dial(ctx, socketIn(dir)); !errors.Is(err, control.ErrNoDaemon) {
		return "", nil, fmt.Errorf("demo: another demo runs in %s; end it, or give another --dir", dir)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", nil, fmt.Errorf("demo: %w", err)
	}
	return dir, func() error { return nil }, nil
}

// demoDaemon makes the daemon of the demo's config: the same as any other. The
// story keeps its log out of the timeline.
func (a *app) demoDaemon(w *demoWorld, script bool) (run func(context.Context) error, err error) {
	log, err := a.demoLog(script)
	if err != nil {
		return nil, err
	}
	cfg, err := a.read(w.config)
	if err != nil {
		return nil, err
	}
	d, err := daemon.New(daemon.Options{
		Config: cfg, Registry: a.registry, Logger: log, Version: a.version, Built: a.built, Write: true,
	})
	if err != nil {
		return nil, err
	}
	return d.Run, nil
}

func (a *app) printDemo(w *demoWorld) {
	host, port, _ := strings.Cut(w.dns, ":")
	fmt.Fprintf(a.io.Out, `
sidestep demo

  page     %[8]s
  config   %[1]s
  zone     demo.test, served at %[2]s
  servers  %[3]s

  www.demo.test   answers with every server that is up
  app.demo.test   answers with the first that is up, in the order b1, b2, b3

Ask the name:

  dig +short @%[4]s -p %[5]s www.demo.test

Break a server (modes: refuse, hang, reset, 503), watch, and mend it:

  curl -X POST 'http://%[6]s/break?backend=b1&mode=refuse'
  curl -X POST 'http://%[6]s/mend?backend=b1'

Look at what sidestep sees and does in a browser, at the page above, and drain and
freeze there; or here, in another terminal:

  export SIDESTEP_CONFIG=%[1]s
  %[7]s status
  %[7]s explain www
  %[7]s drain east --for 1h --reason "new switch"   # a whole site: b1 and b2
  %[7]s undrain east
  %[7]s history

A server is down after 3 failures in a row, a second apart. Ctrl-C ends it all.

`, w.config, w.dns, w.serverList(), host, port, w.control.Addr(), program(a.io.Program), w.page())
}

// program is what a person types in any folder to start what was typed: its name
// where the shell finds it by that, else its path.
func program(typed string) string {
	const name = "sidestep"
	path, err := exec.LookPath(typed)
	if err != nil {
		path, err = os.Executable()
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return name
	}
	if found, err := exec.LookPath(name); err == nil && sameFile(found, path) {
		return name
	}
	return path
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

// demoTimes are the intervals of the demo: slow enough to watch, or, for the
// story, as fast as a busy machine can follow.
type demoTimes struct {
	interval, timeout, debounce, hold time.Duration
}

func timesOf(script bool) demoTimes {
	if script {
		return demoTimes{500 * time.Millisecond, 450 * time.Millisecond, 200 * time.Millisecond, time.Second}
	}
	return demoTimes{time.Second, 500 * time.Millisecond, 300 * time.Millisecond, 10 * time.Second}
}
