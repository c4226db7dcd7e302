package main

import (
	"strings"
	"testing"

	"sidestep/pkg/observe"
)

// TestREADMEDecisionTable compares the table with the one that observe goes by,
// row by row.
func TestREADMEDecisionTable(t *testing.T) {
	want := "|---|---|\n"
	for _, row := range observe.Table() {
		want += "| " + row.Seen + " | " + row.Look + " |\n"
	}
	_, text, _ := strings.Cut(readme(t), "\n| what is seen | look at |\n")
	got, _, _ := strings.Cut(text, "\n\n")
	if got+"\n" != want {
		t.Errorf("the README has\n%s\nwant\n%s", got, want)
	}
}
