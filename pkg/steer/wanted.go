package steer

import (
	"slices"
	"time"
)

// Wanted is what a record set should answer with, and why.
type Wanted struct {
	Spec    *Spec
	Live    []string      // in the config's order; empty with Empty, and where nothing is live that could be kept
	Paused  []string      // every other value that the config names, in its order
	Empty   bool          // on_all_down: none took effect: an empty set is meant
	Pinned  bool          // a person named what it answers with
	AllDown bool          // nothing is usable: Reason says what is done about it
	Reason  string        // why the set is what it is, in words
	Due     time.Duration // boot time at which a failback becomes due; 0 when none is waiting for time
	Waiting string        // what a person has to approve, in words; empty when nothing waits
	Stopped []Stopped     // values that would be answered with if they might be resumed

	places []place  // by position in Spec.Values
	judged []Judged // of the input
	pinned string   // who did, in words
	unsure bool     // it is not known whether there is a disaster
}

// Stopped is a value that is wanted and must not be resumed.
type Stopped struct {
	Value string
	Held  bool // somebody else paused it; otherwise it may be out by an override that was lost
}

// fill sorts the values into the wanted set and the rest, in the config's order.
func (w *Wanted) fill(places []place) {
	w.places = places
	values := make([]string, 0, len(places))
	for i := range places {
		if places[i].chosen {
			values = append(values, w.Spec.value(i))
		}
	}
	n := len(values)
	for i := range places {
		if !places[i].chosen {
			values = append(values, w.Spec.value(i))
		}
	}
	w.Live, w.Paused = slices.Clip(values[:n]), values[n:]
}

// barred lists the chosen values that must not be resumed.
func (w *Wanted) barred() []Stopped {
	var list []Stopped
	for i := range w.places {
		if p := &w.places[i]; p.chosen && (p.held || p.lost) {
			list = append(list, Stopped{Value: w.Spec.value(i), Held: p.held})
		}
	}
	return list
}

// Why is the reason of one value, in words.
func (w *Wanted) Why(value string) string {
	i := w.Spec.index(value)
	if i < 0 || i >= len(w.places) {
		return "the config does not name it"
	}
	why := "fallback"
	if i < len(w.judged) {
		why = w.judged[i].Why
	}
	if note := w.words(w.places[i].note); note != "" {
		return why + "; " + note
	}
	return why
}

// Weight is what the provider should have as the weight of a value that the
// config names; false where it says nothing about it.
func (w *Wanted) Weight(value string) (int, bool) {
	i := w.Spec.Position(value)
	if w.Spec.Policy != Weighted || i < 0 {
		return 0, false
	}
	return w.Spec.At(i).Weight, true
}

// Usable reports whether a value is known to be usable.
func (w *Wanted) Usable(value string) bool {
	i := w.Spec.index(value)
	return i >= 0 && i < len(w.places) && w.places[i].usable == Yes
}
