package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// command is the page of one command.
func (b book) command(cmd *cobra.Command) string {
	p := b.page(pageOf(cmd), "1", cmd.Short)
	p.section("SYNOPSIS")
	p.line(".B " + escape(cmd.UseLine()))
	description, exits := split(cmd.Long, cmd.Short)
	p.section("DESCRIPTION")
	p.text(description)
	if cmd.HasAvailableSubCommands() {
		p.section("COMMANDS")
		for _, sub := range every(cmd)[1:] {
			if sub.Parent() == cmd {
				p.item(bold(pageOf(sub))+"(1)", sub.Short)
			}
		}
	}
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.flags("OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if exits != "" {
		p.section("EXIT STATUS")
		p.text(exits)
	}
	if cmd.HasExample() {
		p.section("EXAMPLES")
		p.text(cmd.Example)
	}
	p.section("FILES")
	p.item(bold("/etc/sidestep/sidestep.yaml"), "The config, see sidestep.yaml(5).")
	p.item(bold("/var/lib/sidestep"), "State, journal and lock, unless the config says another.")
	p.item(bold("/run/sidestep/control.sock"), "Where commands talk to the daemon.")
	p.section("SEE ALSO")
	also := []string{bold("sidestep.yaml") + "(5)"}
	for up := cmd.Parent(); up != nil; up = up.Parent() {
		also = append([]string{bold(pageOf(up)) + "(1)"}, also...)
	}
	p.line(strings.Join(also, ",\n"))
	return p.String()
}

// split takes what the page says elsewhere from a help text: the sentence that it
// begins with, which is the name's, and the exit codes.
func split(long, short string) (description, exits string) {
	description = strings.TrimSpace(strings.TrimPrefix(long, short+"."))
	at := strings.LastIndex(description, "Exit codes: ")
	if at < 0 {
		return orElse(description, short+"."), ""
	}
	exits = strings.TrimPrefix(description[at:], "Exit codes: ")
	rest := ""
	if end := strings.Index(exits, "\n\n"); end >= 0 {
		exits, rest = exits[:end], exits[end:]
	}
	return orElse(strings.TrimSpace(description[:at]+rest), short+"."), exits
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// flags describes flags, with the defaults that are something.
func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		argument, usage := pflag.UnquoteUsage(f)
		name := bold("--" + f.Name)
		if f.Shorthand != "" {
			name = bold("-"+f.Shorthand) + ", " + name
		}
		if argument != "" {
			name += " " + italic(argument)
		}
		switch f.DefValue {
		case "", "0", "0s", "false", "[]":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		p.item(name, usage)
	})
}
