package daemon

import (
	"slices"

	"sidestep/pkg/engine"
	"sidestep/pkg/notify"
	"sidestep/pkg/record"
)

// yes is who approved what, as it was typed; nothing where nobody just did.
type yes struct{ target, by string }

// to reports whether it was said to what waits.
func (y yes) to(w notify.Wait) bool {
	if y.target == w.Approve {
		return true
	}
	said, err := record.ParseName(y.target)
	return err == nil && said.Unrooted() == w.Approve
}

// announceWaits tells people of what waits for a person since it looked last, and of
// what no longer does. It belongs to the loop.
func (d *Daemon) announceWaits(e *engine.Engine, said yes) {
	if d.people.rests == nil {
		return
	}
	awaited, unsure := e.Awaited(d.now())
	var waits []notify.Wait
	for _, a := range awaited {
		w := notify.Wait{About: a.About, Text: a.Reason, Approve: a.Approve, Left: d.leaves(a.Zones...)}
		for _, zone := range slices.Compact(slices.Sorted(slices.Values(a.Zones))) {
			w.Zones = append(w.Zones, string(zone))
		}
		waits = append(waits, w)
	}
	d.people.Waits(waits, func(w notify.Wait) (known bool, how string, left bool) {
		if unsure[w.About] {
			return false, "", false
		}
		var zones []record.Name
		for _, zone := range w.Zones {
			zones = append(zones, record.Name(zone))
		}
		if said.to(w) {
			return true, "was approved by " + said.by, d.leaves(zones...)
		}
		return true, "needs no approval any more", d.leaves(zones...)
	})
}
