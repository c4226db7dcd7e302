package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sidestep/pkg/control"
)

// What a person reads of a failback that waits for its hold.
func TestHoldInStatus(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.Local)
	ends := now.Add(90 * time.Second)
	var out strings.Builder
	a := &app{io: IO{Out: &out}}
	a.printRecords([]control.Record{{Name: "www.example.com.", Type: "A", Reason: "priority: 2nd of 2, 2 working", HoldEnds: &ends}}, now)
	const want = `
www.example.com. A  priority: 2nd of 2, 2 working
  a failback is held back until 12:01:30 (in 1m30s)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Who leads reads as a line that says each thing once, and since when nobody does.
func TestLeaderInWords(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.Local)
	since, soon := now.Add(-5*time.Minute), now.Add(-time.Second)
	for want, l := range map[string]control.Leader{
		"leader": {State: "leader"},
		"leader, renewed all the time; should that stop, only until 11:59:59":    {State: "leader", Until: &soon},
		"two-writers: zone example.com.: node mon-1 wrote":                       {State: "two-writers", Detail: "zone example.com.: two writers: node mon-1 wrote"},
		"standby: held by mon-1":                                                 {State: "standby", Detail: "held by mon-1"},
		"not the leader: not won yet":                                            {State: "none", Detail: "not won yet", Since: &soon},
		"not the leader, and for 5m nobody is known to be: etcd does not answer": {State: "none", Detail: "etcd does not answer", Since: &since},
	} {
		if got := leaderWords(l, now); got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
}

// A long error stands whole below the table of the zones, and cut short in that of the
// writes.
func TestLongErrorsWidenNoTable(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.Local)
	long := "list zone example.com.: " + strings.Repeat("ä", 200)
	var out strings.Builder
	a := &app{io: IO{Out: &out}}
	a.printZones([]control.Zone{{Zone: "example.com.", Provider: "local", Pause: "parked", Error: long}}, control.Leader{State: "leader"}, now)
	a.printWrites([]control.Write{{At: now, Name: "www.example.com.", Type: "A", Action: "pause", Value: "192.0.2.10", Error: long}}, now)
	want := `
ZONE          PROVIDER  PAUSE   WRITES      STATE
example.com.  local     parked  one by one  in trouble
` + long + `

WRITTEN  NAME                ACTION  VALUE       OUTCOME
0s ago   www.example.com. A  pause   192.0.2.10  ` + string([]rune(long)[:widest-1]) + `…
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
