package engine_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false,
	"write what the scripts print into testdata; only commit changes that you understand and want")

// TestScripts plays every script of testdata. A script is a list of blocks:
//
//	commands, one a line, # begins a comment
//	----
//	everything that followed from them, to the next blank line
//
// The commands are described at world.do. The expected output is the contract
// of the decision core, written by hand from the rules before the code was
// asked. After a change of behaviour that is meant:
//
//	go test ./pkg/engine -run TestScripts -update
//
// Only commit the changes if you understand what caused them and if you want
// them.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d scripts, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playScript(t, file) })
	}
}

func playScript(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	got := replay(t, want)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s: -want +got:\n%s", file, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
}

// replay plays the blocks of a script and returns it with the output that they
// have now.
func replay(t *testing.T, script string) string {
	t.Helper()
	w := newWorld()
	var out strings.Builder
	inOutput := false
	for _, line := range strings.SplitAfter(script, "\n") {
		text := strings.TrimSpace(line)
		switch {
		case inOutput && text != "":
			continue // the old output
		case text == "----":
			inOutput = true
			out.WriteString(line + w.output())
			continue
		case text == "":
			inOutput = false
		case !strings.HasPrefix(text, "#"):
			command, _, _ := strings.Cut(text, " #")
			if err := w.do(command); err != nil {
				t.Fatalf("%s: %v", command, err)
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// The scripts that hold a case have its number in their names, and tests of
// their own, so that each is found by it.

func TestCase21ABlindNodeWritesNothing(t *testing.T) { playScript(t, "testdata/case_21_blind.txt") }

// With pauses and guard mass the name is no less safe.
func TestCase22AllDownWithPausesAndGuardMass(t *testing.T) {
	playScript(t, "testdata/case_22_cooldown.txt")
}

func TestCase25RowsCountAcrossPauses(t *testing.T) { playScript(t, "testdata/cooldown.txt") }

func TestCase24PausesGoOnAfterARestart(t *testing.T) {
	playScript(t, "testdata/case_24_cooldown.txt")
}

func TestCase22AllDownKeepsTheLastAnswer(t *testing.T) {
	playScript(t, "testdata/case_22_all_down.txt")
}
func TestCase24RestartInTheMiddleOfAnOutage(t *testing.T) {
	playScript(t, "testdata/case_24_restart.txt")
}
func TestCase25OneFailureTurnsNothing(t *testing.T) { playScript(t, "testdata/case_25_thresholds.txt") }
func TestCase29StaleStateIsNoGroundForAWrite(t *testing.T) {
	playScript(t, "testdata/case_29_stale_state.txt")
}
func TestCase24TheOutageOfASiteOutlivesARestart(t *testing.T) {
	playScript(t, "testdata/site_return.txt")
}
func TestCase29ASiteThatWaitedStillDoes(t *testing.T) {
	playScript(t, "testdata/case_29_site_return.txt")
}
func TestCase88ADrainedSiteStaysOut(t *testing.T) {
	playScript(t, "testdata/case_88_site_drain.txt")
}
func TestCase41SpellingsAreNoChange(t *testing.T) { playScript(t, "testdata/case_41_spellings.txt") }
func TestCase58EditsByHandBetweenPlanAndWrite(t *testing.T) {
	playScript(t, "testdata/case_58_edited_by_hand.txt")
}
func TestCase77SingleValuesAreSwappedInPlace(t *testing.T) {
	playScript(t, "testdata/case_77_swap.txt")
}
func TestCase91WhatLeavesTheConfigIsNotTouched(t *testing.T) {
	playScript(t, "testdata/case_91_removed.txt")
}
