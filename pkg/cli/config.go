package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the config in force",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("config: expected a command; try: sidestep config show")
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "show",
		Short: "Print the effective config, defaults filled in and secrets masked",
		Long: `Print the effective config, defaults filled in and secrets masked.

What is printed is a config again: apart from its secrets it means the same.`,
		Example: `  sidestep config show --config ./sidestep.yaml`,
		Args:    cobra.NoArgs,
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
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(struct {
					Version string `json:"version"`
					Go      string `json:"go"`
					System  string `json:"system"`
				}{a.version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
			}
			fmt.Fprintf(a.io.Out, "sidestep %s (%s, %s/%s)\n", a.version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
	a.addJSON(cmd)
	return cmd
}
