package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usage prints the part of a help text that follows the description. It is a
// function and no template: a template calls methods by name, for which the
// linker has to keep every exported method of every library, and the vendors'
// libraries have thousands.
func usage(c *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	if c.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		usageBlock(&b, "Flags", c.LocalFlags().FlagUsages())
	}
	if c.HasAvailableInheritedFlags() {
		usageBlock(&b, "Flags of every command", c.InheritedFlags().FlagUsages())
	}
	if c.HasExample() {
		usageBlock(&b, "Examples", c.Example)
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nMore: %s help%s COMMAND\n", c.Root().Name(), strings.TrimPrefix(c.CommandPath(), c.Root().Name()))
	}
	_, err := fmt.Fprint(c.OutOrStderr(), b.String())
	return err
}

func usageBlock(b *strings.Builder, title, text string) {
	fmt.Fprintf(b, "\n%s:\n%s\n", title, strings.TrimRight(text, " \t\r\n"))
}
