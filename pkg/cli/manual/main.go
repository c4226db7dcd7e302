// Command manual writes the manual pages: one for each command, from its help, and
// sidestep.yaml(5), from the reference of the config. deploy/package/build runs it.
//
// It stands below pkg/cli and not in cmd because it is a tool of this tree and no
// program of the product, whose binary is free of it. It needs no converter: a help
// text is plain text of two kinds of lines, those to be filled and those that are
// indented and stay, which a converter from Markdown would mix.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/cli"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: manual DIR CONFIG.md VERSION SECONDS")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// write makes every page in a folder; seconds since 1970 are the date of all.
func write(dir, reference, version, seconds string) error {
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("seconds since 1970: %w", err)
	}
	text, err := os.ReadFile(reference)
	if err != nil {
		return err
	}
	book := book{date: time.Unix(at, 0).UTC().Format(time.DateOnly), version: version}
	pages := map[string]string{"sidestep.yaml.5": book.config(string(text))}
	for _, cmd := range every(cli.Commands()) {
		pages[pageOf(cmd)+".1"] = book.command(cmd)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// every is a command and all below it that have a page: help is no command to read
// about.
func every(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			list = append(list, every(sub)...)
		}
	}
	return list
}

// pageOf is the name of a command's page: sidestep-override-set.
func pageOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }
