package engine

import (
	"fmt"

	"sidestep/pkg/override"
	"sidestep/pkg/record"
)

// frozenSets says of every record set of the zone to which nothing may be
// written why; under the zone's own key when that holds for all of them.
func (e *Engine) frozenSets(z *zone) map[record.Key]string {
	var frozen map[record.Key]string
	for _, w := range e.orders {
		if w.Kind != override.Freeze {
			continue
		}
		if frozen == nil {
			frozen = map[record.Key]string{}
		}
		if w.thing.kind == override.All || w.thing.kind == override.Zone && string(z.name) == w.thing.text {
			frozen[record.Key{Zone: z.name}] = w.freezes()
			continue
		}
		for _, s := range z.sets {
			if s.under(w) {
				frozen[s.spec.Key] = w.freezes()
			}
		}
	}
	return frozen
}

func (w *word) freezes() string {
	if w.thing.kind == override.All {
		return fmt.Sprintf("everything is %s; to go on: sidestep unfreeze", w)
	}
	return fmt.Sprintf("%s is %s; to go on: sidestep unfreeze %s", w.Shown(), w, w.Shown())
}

// withdrawFrozen takes Work back at once that a freeze is against: that waits for
// no window.
func (e *Engine) withdrawFrozen(z *zone) {
	if z.froze && z.asked {
		e.replan(z)
		e.tellRefusals(z)
		e.letOut(z)
	}
	z.froze = false
}
