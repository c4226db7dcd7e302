package cli

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the decisions.golden of the examples; only keep what you understand and want")

// command runs a command line in this process.
func command(t *testing.T, in string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	stdio := IO{In: strings.NewReader(in), Out: &stdout, Err: &stderr, Getenv: func(string) string { return "" }, Program: "sidestep"}
	code = run(context.Background(), args, stdio, nil, Build{Version: "test"})
	return code, stdout.String(), stderr.String()
}

// promised are the lines of a timeline that say, worked out by hand, what is
// written: an arrow, then time, name, type and the live values.
var promised = regexp.MustCompile(`(?m)^# -> (.*)$`)

// TestExamplesPlay plays the timeline of every example. What is decided has to be
// what its author worked out by hand and what its golden file shows.
func TestExamplesPlay(t *testing.T) {
	entries, err := os.ReadDir("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, entry := range entries {
		if entry.IsDir() {
			played++
			t.Run(entry.Name(), func(t *testing.T) { playExample(t, filepath.Join("../../examples", entry.Name())) })
		}
	}
	if played < 4 {
		t.Errorf("played %d examples", played)
	}
}

func playExample(t *testing.T, folder string) {
	config, timeline, golden := filepath.Join(folder, "config.yaml"), filepath.Join(folder, "timeline.txt"), filepath.Join(folder, "decisions.golden")
	code, out, errOut := command(t, "", "simulate", timeline, "--config", config)
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, errOut)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; go test ./pkg/cli -run Examples -update makes it", err)
	}
	if out != string(want) {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	text, err := os.ReadFile(timeline)
	if err != nil {
		t.Fatal(err)
	}
	var hand, played []string
	for _, m := range promised.FindAllStringSubmatch(string(text), -1) {
		hand = append(hand, strings.Join(strings.Fields(m[1]), " "))
	}
	for line := range strings.Lines(out) {
		cells := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1)
		if cells[0] != "AT" {
			played = append(played, strings.Join(cells[:4], " "))
		}
	}
	if len(hand) == 0 || strings.Join(hand, "\n") != strings.Join(played, "\n") {
		t.Errorf("by hand\n%s\nplayed\n%s", strings.Join(hand, "\n"), strings.Join(played, "\n"))
	}
}
