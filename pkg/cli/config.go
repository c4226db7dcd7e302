package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config COMMAND",
		Short:   "Show the config as it is understood",
		Long:    "Show the config as it is understood. The only command of it is show.",
		Example: `  sidestep config show`,
		Args:    unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return misused(cmd, "expected a command: show")
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "show",
		Short: "Print the effective config, defaults filled in and secrets masked",
		Long: `Print the effective config, defaults filled in and secrets masked.

What is printed is a config again: apart from its secrets it means the same.

Exit codes: 0 printed, 2 usage or config.`,
		Example: `  sidestep config show --config ./sidestep.yaml`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			if _, err := a.io.Out.Write(cfg.Show()); err != nil {
				return fmt.Errorf("print the config: %w", err)
			}
			return nil
		},
	})
	return cmd
}

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version, that of Go, and the system it is built for.",
		Example: `  sidestep version --json`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(struct {
					Version string `json:"version"`
					Go      string `json:"go"`
					System  string `json:"system"`
				}{a.version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
			}
			fmt.Fprintln(a.io.Out, a.versionLine())
			return nil
		},
	}
	a.addJSON(cmd)
	return cmd
}

func (a *app) versionLine() string {
	return fmt.Sprintf("sidestep %s (%s, %s/%s)", a.version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
