package daemon

import (
	"testing"
	"time"

	"sidestep/pkg/cluster"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/override"
)

// TestAWordThatEndedHereDoesNotComeBack from an etcd that has not heard of its end,
// not even through a restart; a word that was said later does. Once etcd knows the
// end, this node keeps it no more.
func TestAWordThatEndedHereDoesNotComeBack(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		word := drained(a, d.clock.Wall().Add(time.Second)) // by a clock before ours
		ends := endsOf([]override.Override{word}, d.clock.Wall(), "bob")
		d.ask(func(*engine.Engine) {
			d.ends = withEnds(d.ends, ends)
			if err := d.save(); err != nil {
				t.Error(err)
			}
		})
		holds := func(want int, words []override.Override, ends ...cluster.End) {
			t.Helper()
			d.takeWords(words, ends)
			if got := d.status().Overrides; len(got) != want {
				t.Errorf("overrides %+v, want %d", got, want)
			}
		}
		holds(0, []override.Override{word})
		d.kill()
		d = w.run()
		time.Sleep(settled)
		holds(0, []override.Override{word})
		later := word
		later.Said = later.Said.Add(time.Second)
		holds(1, []override.Override{later})
		holds(0, nil, endsOf([]override.Override{later}, d.clock.Wall(), "bob")...)
		if len(d.ends) > 0 {
			t.Errorf("it still keeps %+v", d.ends)
		}
	})
}

// TestAWordFollowsTheOneBefore, although the clock of the node where that was said
// runs ahead of ours: or other nodes would go by the one before.
func TestAWordFollowsTheOneBefore(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		before, next := drained(a, d.clock.Wall().Add(time.Minute)), drained(a, d.clock.Wall())
		d.takeWords([]override.Override{before}, nil)
		d.ask(func(e *engine.Engine) {
			_, word, err := d.foreseeOverride(e, control.OverrideRequest{Kind: "drain", Target: a}, next)
			if err != nil || !word.Said.After(before.Said) {
				t.Errorf("said at %s after one at %s, %v", word.Said, before.Said, err)
			}
		})
	})
}
