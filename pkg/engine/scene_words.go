package engine

import (
	"maps"
	"slices"

	"sidestep/pkg/override"
	"sidestep/pkg/scenario"
)

// forceScenes lets operators' words bear on sites and scenarios. A target counts
// there as it does elsewhere, a drained site is in maintenance, and what is
// forced up or down is true or false, whatever it rests on.
func (e *Engine) forceScenes() {
	e.forceNet()
	for _, s := range e.scenes.sites {
		e.refreshSite(s)
	}
}

// forceNet does so as far as sites and scenarios are true or false.
func (e *Engine) forceNet() {
	for _, id := range slices.Sorted(maps.Keys(e.targets)) { // what moves is told in this order
		t := e.targets[id]
		e.scenes.net.Set(t.node, truth(t))
	}
	for _, s := range e.scenes.sites {
		e.scenes.net.Set(s.maintenance, scenario.Of(e.maintenanceOf(s) != ""))
		e.force(override.Site, s.spec.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(e.scenes.specs)) {
		e.force(override.Scenario, name)
	}
	clear(e.scenes.because)
}

func (e *Engine) force(kind override.Thing, name string) {
	at := e.scenes.net.Find(name)
	if w := e.wordOn(kind, name, override.ForceDown, override.ForceUp); w != nil {
		e.scenes.net.Force(at, scenario.Of(w.Kind == override.ForceUp))
	} else {
		e.scenes.net.Free(at)
	}
}

// wordOn is the override of one of these kinds that is in force on a thing of
// that name, the one that goes before the others; nil when there is none.
func (e *Engine) wordOn(thing override.Thing, name string, kinds ...override.Kind) *word {
	for _, w := range e.orders {
		if w.thing.kind == thing && w.thing.text == name && slices.Contains(kinds, w.Kind) {
			return w
		}
	}
	return nil
}
