package cli

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sidestep/pkg/config"
	"sidestep/pkg/scenario"
)

// testApp is the command line with nowhere to write.
func testApp() *app {
	stdio := IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}
	return &app{io: stdio, version: "test", environment: config.NewEnvironment(), screen: newScreen(stdio)}
}

// testRoot is the command line as Execute sees it.
func testRoot() *cobra.Command {
	root := testApp().root()
	root.InitDefaultHelpCmd()
	return root
}

func everyCommand(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		list = append(list, everyCommand(c)...)
	}
	return list
}

// trivial commands need no exit codes of their own.
var trivial = []string{"sidestep help", "sidestep completion", "sidestep version", "sidestep config"}

// wide is how long a line of a help text may be: a terminal's width.
const wide = 80

func TestHelpTexts(t *testing.T) {
	for _, cmd := range everyCommand(testRoot()) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			wantSentence(t, "Short", cmd.Short)
			if first, _, _ := strings.Cut(cmd.Long, "\n"); first == "" {
				t.Error("no Long")
			} else if !strings.HasPrefix(first, strings.TrimSuffix(cmd.Short, ".")) && cmd.Long != first {
				t.Errorf("Long begins with %q, want the Short", first)
			}
			for line := range strings.SplitSeq(cmd.Long+"\n"+cmd.Example, "\n") {
				if len(line) > wide {
					t.Errorf("a line of %d bytes: %q", len(line), line)
				}
			}
			if cmd.HasParent() && !strings.Contains(cmd.Example, cmd.CommandPath()) {
				t.Errorf("the example does not show %q: %q", cmd.CommandPath(), cmd.Example)
			}
			if !slices.Contains(trivial, cmd.CommandPath()) && !strings.Contains(cmd.Long, "\nExit codes: 0 ") {
				t.Error("Long does not say the exit codes")
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) { wantFlagText(t, f) })
			cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { wantFlagText(t, f) })
		})
	}
}

var capitalVerb = regexp.MustCompile(`^[A-Z][a-z]+,? `)

func wantSentence(t *testing.T, what, text string) {
	t.Helper()
	if !capitalVerb.MatchString(text) || strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
		t.Errorf("%s is %q: it has to begin with a capital verb, and to end without a full stop", what, text)
	}
}

func wantFlagText(t *testing.T, f *pflag.Flag) {
	t.Helper()
	name, text := pflag.UnquoteUsage(f)
	if text == "" || strings.HasSuffix(text, ".") {
		t.Errorf("--%s is described by %q", f.Name, text)
	}
	if name != strings.ToUpper(name) {
		t.Errorf("--%s takes %q: name it in capitals, with backquotes", f.Name, name)
	}
}

func TestAFlagThatDoesNotExist(t *testing.T) {
	for args, want := range map[string]string{
		"run --readonly":           "run: unknown flag: --readonly; perhaps --read-only; try: sidestep run --help",
		"reconcile --dry":          "reconcile: unknown flag: --dry; perhaps --dry-run; try: sidestep reconcile --help",
		"status --confg x":         "status: unknown flag: --confg; perhaps --config; try: sidestep status --help",
		"status --cofnig x":        "status: unknown flag: --cofnig; perhaps --config; try: sidestep status --help",
		"status --jsom":            "status: unknown flag: --jsom; perhaps --json; try: sidestep status --help",
		"status --yaml":            "status: unknown flag: --yaml; try: sidestep status --help",
		"status -c sidestep":       "status: unknown shorthand flag: 'c' in -c; try: sidestep status --help",
		"drian 192.0.2.1 --for 2h": `unknown command "drian"; perhaps drain or drill; all commands: sidestep --help`,
		"override st pin --for 2h": `unknown command "st"; perhaps set or `,
		"plan --exit-code=yes":     `plan: invalid argument "yes" for "--exit-code" flag`,
	} {
		root := testRoot()
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// TestHelpNamesTheStatesOfASite asks a site that loses one signal after the other
// for its state, and looks for these in this order in what people read.
func TestHelpNamesTheStatesOfASite(t *testing.T) {
	site := scenario.Site{Signals: []scenario.Signal{{Name: "NAME"}, {Name: "lan"}, {Name: "wan"}, {Name: "access"}, {Name: "internet"}}}
	scenario.SortSignals(site.Signals)
	order := regexp.QuoteMeta(scenario.StateMaintenance)
	for i := range site.Signals {
		order += ".*" + site.State(false, func(name string) scenario.Truth {
			return scenario.Of(slices.IndexFunc(site.Signals, func(s scenario.Signal) bool { return s.Name == name }) < i)
		})
	}
	want := regexp.MustCompile("(?s)" + order + ".*unknown.*ok")
	reference, err := os.ReadFile("../config/CONFIG.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^. `sites.NAME.signals` .*$").FindString(string(reference))
	status, _, err := testRoot().Find([]string{"status"})
	if err != nil || !want.MatchString(status.Long) || !want.MatchString(row) {
		t.Errorf("%v: want %s in\n%s\n%s", err, want, status.Long, row)
	}
}

// TestExamplesAreCommandLines parses every command line of the examples and of
// the long texts.
func TestExamplesAreCommandLines(t *testing.T) {
	for _, cmd := range everyCommand(testRoot()) {
		for line := range strings.SplitSeq(cmd.Long+"\n"+cmd.Example, "\n") {
			if strings.HasPrefix(line, "  sidestep ") {
				if err := parses(line); err != nil {
					t.Errorf("%s: %q: %v", cmd.CommandPath(), line, err)
				}
			}
		}
	}
}

// parses reads a command line as the shell and sidestep would, and runs
// nothing.
func parses(line string) error {
	line, _, _ = strings.Cut(line, "   ") // what follows says what it is for
	line = regexp.MustCompile(` (\||\|\||&&|>) .*`).ReplaceAllString(line, "")
	line = regexp.MustCompile(`"[^"]*"`).ReplaceAllStringFunc(line, func(quoted string) string {
		return strings.ReplaceAll(strings.Trim(quoted, `"`), " ", "_")
	})
	args := strings.Fields(line)[1:]
	cmd, rest, err := testRoot().Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// TestREADMECommands parses every command line of the README.
func TestREADMECommands(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile("(?m)^    (?:\\$ )?(sidestep .*)$|`(?:bin/)?(sidestep [a-z-][^`]*)`").FindAllStringSubmatch(string(text), -1)
	if len(lines) < 8 {
		t.Errorf("found only %d command lines", len(lines))
	}
	for _, m := range lines {
		if err := parses(m[1] + m[2]); err != nil {
			t.Errorf("%q: %v", m[0], err)
		}
	}
}
