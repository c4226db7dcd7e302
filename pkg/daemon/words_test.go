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
// nor from one that was restored from before it, not even through a restart; a word
// that was said later does.
func TestAWordThatEndedHereDoesNotComeBack(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		word := drained(a, d.clock.Wall().Add(time.Second)) // by a clock before ours
		ends := endsOf([]override.Override{word}, d.clock.Wall(), "bob")
		d.ask(func(*engine.Engine) {
			d.ends = cluster.Remember(d.ends, ends, nil, d.clock.Wall())
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
		d.kill()
		d = w.run()
		time.Sleep(settled)
		holds(0, []override.Override{later})
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

// TestAWordFollowsTheEndBefore, although the clock of the node where the word was said
// that ended runs ahead of ours: or its end would end the next word, too.
func TestAWordFollowsTheEndBefore(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		before := drained(a, d.clock.Wall().Add(time.Hour))
		ends := endsOf([]override.Override{before}, d.clock.Wall(), "bob")
		d.takeWords([]override.Override{before}, nil)
		d.takeWords(nil, ends)
		d.kill()
		d = w.run() // which knows it from what was saved
		time.Sleep(settled)
		if _, err := d.Override(t.Context(), control.OverrideRequest{Kind: "drain", Target: a, For: "2h", Reason: "again"}, "ann"); err != nil {
			t.Fatal(err)
		}
		d.takeWords(nil, ends) // from an etcd that has not heard of the word
		if got := d.status().Overrides; len(got) != 1 || got[0].Reason != "again" {
			t.Errorf("overrides %+v, want the one that was said last", got)
		}
	})
}
