package cli

import (
	"strings"
	"testing"

	"sidestep/pkg/control"
)

// What stands beside a plan reads as words: the stamp that comes first, and another
// node that writes.
func TestPlanSaysWhatStandsBesideIt(t *testing.T) {
	var out strings.Builder
	a := &app{io: IO{Out: &out, Err: &out}}
	a.printPlan(control.Plan{Zones: []control.ZonePlan{
		{Zone: "example.com.", InSync: true, Text: []string{"zone example.com: in sync, nothing to change"}, Rival: "two writers: node mon-1 wrote this zone"},
		{Zone: "example.net.", InSync: true, Text: []string{"zone example.net: in sync, nothing to change"}, Stamp: &control.StampChange{
			Action: "take-over", Name: "_sidestep.example.net.", From: "mon-1", Reason: "as soon as a daemon runs",
		}},
	}}, false)
	const want = `zone example.com: in sync, nothing to change
  two writers: node mon-1 wrote this zone
zone example.net: in sync, nothing to change
  stamp: take over TXT _sidestep.example.net. from mon-1  (as soon as a daemon runs)
`
	if out.String() != want {
		t.Errorf("got\n%s\nexpected\n%s", out.String(), want)
	}
}
