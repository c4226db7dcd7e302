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
