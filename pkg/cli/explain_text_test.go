package cli

import (
	"slices"
	"strings"
	"testing"

	"sidestep/pkg/control"
)

// Two answers of a name that rest on one target have one fault.
func TestADoubtIsToldOnce(t *testing.T) {
	target := control.ExplainedTarget{
		Target: control.Target{ID: "web@192.0.2.9", Detail: "no route"},
		Last:   &control.Last{Result: "unknown"}, Results: &control.Results{},
	}
	answer := control.ExplainedAnswer{Targets: []control.ExplainedTarget{target}}
	x := explainer{new(strings.Builder), control.Explanation{}}
	got := x.doubts(control.ExplainedRecord{Answers: []control.ExplainedAnswer{answer, answer}})
	if want := []string{"the fault is OURS, not that of web@192.0.2.9: no route"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
