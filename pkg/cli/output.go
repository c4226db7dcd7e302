package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/daemon"
)

func (a *app) addJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.json, "json", false, "print the answer as JSON")
}

func (a *app) printJSON(answer any) error {
	encoder := json.NewEncoder(a.io.Out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(answer); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}

// table prints rows in columns, the first row as their heading. Empty cells at
// the end of a row keep their columns, and leave no spaces behind.
func (a *app) table(rows [][]string) {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // a Builder takes everything
	for line := range strings.Lines(out.String()) {
		fmt.Fprintln(a.io.Out, strings.TrimRight(line, " \n"))
	}
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// complain tells people what is wrong, as every error is told. It may hold what was typed,
// or what somebody else's server said.
func (a *app) complain(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(a.io.Err, "sidestep: %s\n", printable(line))
	}
}

func guardNames() string { return strings.Join(daemon.Guards, ", ") }

// complete offers values for a flag on the command line.
func complete(cmd *cobra.Command, flag string, values func() []string) {
	// The only error is a flag that does not exist, which a test would see.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}

// quietConfig reads the config for completion: no word to stderr, nothing when
// it cannot be read.
func (a *app) quietConfig() *config.Config {
	path, err := config.Find(a.environment)
	if a.file != "" {
		path, err = a.file, nil
	}
	if err != nil {
		return nil
	}
	cfg, err := a.read(path)
	if err != nil {
		return nil
	}
	return cfg
}

func (a *app) zoneNames() []string {
	var names []string
	if cfg := a.quietConfig(); cfg != nil {
		for _, z := range cfg.Zones {
			names = append(names, z.Name.Unrooted())
		}
	}
	return names
}

func (a *app) recordNames() []string {
	var names []string
	if cfg := a.quietConfig(); cfg != nil {
		for _, r := range cfg.Records {
			names = append(names, r.Key.Name.Unrooted())
		}
	}
	return names
}
