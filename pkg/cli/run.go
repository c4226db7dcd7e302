package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/daemon"
)

func (a *app) runCommand() *cobra.Command {
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Probe, decide and write from now on",
		Long: `Probe, decide and write from now on.

This is the daemon. It writes while it is the leader; before that, and with
--read-only always, it does everything but the write, so that plan and status
show what it would do. Begin with --read-only for a week.

SIGHUP reads the config again, and the secrets that it names: a credential that
was replaced in its file is used from then on, and a zone that failed is tried
at once. A config that is wrong is refused, and the one before stays in force.

SIGTERM and SIGINT finish the call in hand, release the stamp and the lock, and
end; a second one ends at once, and breaks nothing.

Exit codes: 0 ended by a signal, 2 usage or config, 1 other failure.`,
		Example: `  sidestep run --read-only
  sidestep run --config /etc/sidestep/sidestep.yaml --log-format json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.daemon(cmd.Context(), readOnly)
		},
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "probe, decide and plan, and never write")
	return cmd
}

func (a *app) daemon(ctx context.Context, readOnly bool) error {
	log, flush, err := a.daemonLog()
	if err != nil {
		return err
	}
	defer flush()
	daemon.SaveMemory()
	cfg, err := a.find() // the log says which one
	if err != nil {
		return err
	}
	for _, w := range cfg.Warnings {
		log.Warn("config", "warning", w.String())
	}
	d, err := daemon.New(daemon.Options{
		Config: cfg, Registry: a.registry, Logger: log, Version: a.version, Built: a.built, ReadOnly: readOnly, Alone: true, Write: true,
		Load: func() (*config.Config, error) {
			return a.read(cfg.File)
		},
	})
	if err != nil {
		return err
	}
	stop := onHangup(d)
	defer stop()
	return d.Run(ctx)
}

// onHangup reloads on SIGHUP. A refusal is in the log and in status.
func onHangup(d *daemon.Daemon) (stop func()) {
	hangup := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-hangup:
				_ = d.Reload() // said by the daemon
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(done)
	}
}
