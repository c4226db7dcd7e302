package reconcile

import (
	"errors"
	"testing"

	"sidestep/pkg/provider/memory"
)

// Two processes of one node name on one zone: the later one takes over, as it
// would from one that was killed, and the earlier one then stops and says so,
// instead of taking over in turn.
func TestANamesakeIsASecondWriter(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		if report := w.round(w.want(values[0])); report.Err != nil {
			t.Fatal(report.Err)
		}
		second := w.join("node-1")
		if report := second.round(w.want(values[1]), Orders{}); report.Err != nil {
			t.Fatal(report.Err)
		}

		report := w.round(w.want(values[0]))
		var rival *TwoWritersError
		if !errors.As(report.Err, &rival) || !rival.Namesake || len(report.Applied) != 0 {
			t.Fatalf("the first process wrote %v with error %v, want two writers", report.Applied, report.Err)
		}
		w.mustLive(t, values[1])
		if err := second.write.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if report := w.round(w.want(values[0])); report.Err != nil {
			t.Errorf("after the second one let go: %v", report.Err)
		}
		w.mustLive(t, values[0])
	}, fencing...)
}

// A restored backup brings an old stamp of our own back: nobody else is there.
func TestAnOldStampOfOurOwnIsNoRival(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		if report := w.round(w.want(values[0])); report.Err != nil {
			t.Fatal(report.Err)
		}
		old := w.stamps(t)[0].String()
		if report := w.round(w.want(values[1])); report.Err != nil {
			t.Fatal(report.Err)
		}
		now := w.stamps(t)[0].String()
		w.hand(t, memory.Delete("_sidestep.example.com.", "TXT", now), memory.Put("_sidestep.example.com.", "TXT", 0, old))
		if report := w.round(w.want(values[0])); report.Err != nil {
			t.Error(report.Err)
		}
		w.mustLive(t, values[0])
	}, fencing...)
}

// A process that lost the lock and won it again, after another one of its name led and
// was killed, takes the stamp of that one over: by the lock, it does not live.
func TestANamesakeOfALeadershipBeforeIsGone(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		if report := w.round(w.want(values[0])); report.Err != nil {
			t.Fatal(report.Err)
		}
		second := w.join("node-1")
		if report := second.round(w.want(values[1]), Orders{}); report.Err != nil {
			t.Fatal(report.Err)
		}
		w.only().write.Lead(nil, false)
		if report := w.round(w.want(values[0])); report.Err != nil {
			t.Error(report.Err)
		}
		w.mustLive(t, values[0])
	}, fencing...)
}
