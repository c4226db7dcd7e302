package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
)

func (a *app) reloadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Let the daemon read its config again",
		Long: `Let the daemon read its config again.

It is what SIGHUP does, and what systemctl reload sidestep runs; this waits, and
says what became of it. The daemon reads the file that it was started with, and
the secrets that it names. What is wrong is refused, as is what only a start can
change, and the config before stays in force; status says so until the next one.
Counters of targets whose check is the same go on.

Exit codes: 0 in force, 2 refused, or usage, 1 no daemon runs here, or other
failure.`,
		Example: `  sidestep validate && sidestep reload`,
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.reload(cmd.Context()) },
	}
	a.addJSON(cmd)
	return cmd
}

// reload does not read the config itself: the daemon says what is wrong with it.
func (a *app) reload(ctx context.Context) error {
	path, err := config.Find(a.environment)
	if err != nil {
		return &usageError{err}
	}
	client, err := control.Dial(ctx, config.Socket(path))
	if errors.Is(err, control.ErrNoDaemon) {
		return fmt.Errorf("reload: %w; the next one reads it when it starts", err)
	}
	if err != nil {
		return err
	}
	answer, err := client.Reload(ctx)
	if err != nil {
		return orInterrupted(ctx, err, "whether the config is in force, says: sidestep status")
	}
	if a.json {
		return a.printJSON(answer)
	}
	changed := answer.Changed
	if changed == "nothing" {
		changed = "nothing changed"
	}
	fmt.Fprintf(a.io.Out, "in force: %s: %s\n", answer.File, changed)
	return nil
}
