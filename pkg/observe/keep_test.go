package observe

import (
	"net/netip"
	"testing"
)

// TestTheKeptConnectionIsAskedFor lets the name answer with two addresses, and asks
// for the connection to one of them, to the other, and to one that is not there.
func TestTheKeptConnectionIsAskedFor(t *testing.T) {
	world := newWorld(t, false)
	world.set(t, siteA, siteB)
	for keep, want := range map[string]string{siteA: "A at 127.0.0.1", siteB: "B at 127.0.0.2", "127.0.0.3": "A at 127.0.0.1"} {
		o := world.options(t, "/", "header:x-backend")
		o.Keep = netip.MustParseAddr(keep)
		watching(t, o, func(next func() (Sample, []Event), _ *Watcher, _ *Timeline) {
			if s, _ := next(); s.Kept.Says() != want || SaysAll(s.New) != "A at 127.0.0.1, B at 127.0.0.2" {
				t.Errorf("asked for %s: kept %+v, new %+v", keep, s.Kept, s.New)
			}
		})
	}
}
