package daemon

import (
	"testing"

	"sidestep/pkg/control"
)

// TestStatusLine holds the line that systemctl status shows to what a person has to
// know first, and to be one line whatever others put into it.
func TestStatusLine(t *testing.T) {
	target := func(id, verdict string) control.Target {
		return control.Target{ID: id, Verdict: verdict, Phase: "connect", Cause: "refused"}
	}
	for want, s := range map[string]control.Status{
		"leader; targets: 1 up, 1 down (web@192.0.2.2 connect/refused)": {
			Leader: control.Leader{State: "leader"}, Targets: []control.Target{target("web@192.0.2.1", "up"), target("web@192.0.2.2", "down")},
		},
		"leader; targets: 4 down, 1 unknown (a connect/refused, b connect/refused, c connect/refused and 1 more)": {
			Leader:  control.Leader{State: "leader"},
			Targets: []control.Target{target("a", "down"), target("b", "down"), target("c", "down"), target("d", "down"), target("e", "unknown")},
		},
		`standby: mon-2 leads; targets: none; frozen by ops: disks\nWATCHDOG=trigger; zone b.example.: out of order; first`: {
			Leader:  control.Leader{State: "standby", Detail: "mon-2 leads"},
			Frozen:  &control.Frozen{By: "ops", Reason: "disks\nWATCHDOG=trigger"},
			Zones:   []control.Zone{{Zone: "a.example."}, {Zone: "b.example.", Error: "out of order"}, {Zone: "c.example.", Error: "too"}},
			Notices: []string{"first", "second"},
		},
	} {
		if got := statusLine(s); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
