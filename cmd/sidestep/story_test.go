package main

import (
	"slices"
	"strings"
	"testing"
)

// TestHostedFailover kills and mends a server behind a name at each hosted
// provider, with the built binary. The zone is among records of all kinds, and
// each switch costs what is promised. When sidestep has been taken out of the zone
// again, the zone is what it was.
func TestHostedFailover(t *testing.T) {
	t.Parallel()
	for _, h := range hostedProviders {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			w := newWalk(t, h, true, walkAnswers...)
			before := w.cloud.all()
			w.start()
			w.expect(walkAnswers[0], 1) // takes the other one out, and the zone over
			taken := w.cloud.zoneNow()
			w.foreignUntouched(before)
			for i, turn := range w.turns[1:] {
				w.front.Forget()
				turn.do()
				w.expect(turn.live, i+2)
				w.cost(turn.name)
				w.foreignUntouched(before)
			}
			if now := w.cloud.zoneNow(); now != taken {
				t.Errorf("the return did not bring back what there was before the failover:\n%s", differences(now, taken))
			}
			w.actor.end()
			w.released(before)
			t.Logf("history:\n%s", strings.Join(w.cloud.history(), "\n"))
		})
	}
}

// cost holds what a turn cost to what is promised.
func (w *walk) cost(turn string) {
	w.Helper()
	kinds := w.front.kinds(w.hosted.kind)
	w.Logf("the %s cost: %s", turn, strings.Join(kinds, " "))
	counted := slices.DeleteFunc(kinds, func(kind string) bool { return slices.Contains(w.hosted.free, kind) })
	if got := strings.Join(counted, " "); got != w.hosted.promise {
		w.Errorf("the %s cost %q, promised is %q", turn, got, w.hosted.promise)
	}
}

// released takes sidestep out of the zone, after which that is what it was.
func (w *walk) released(before []string) {
	w.Helper()
	if code, out, errOut := w.actor.(outsider).sidestep("release", "example.com", "--yes"); code != 0 {
		w.Errorf("release exited with %d:\n%s%s", code, out, errOut)
	}
	if after, want := strings.Join(w.cloud.all(), "\n"), strings.Join(before, "\n"); after != want {
		w.Errorf("release did not bring back what there was before sidestep came:\n%s", differences(after, want))
	}
}

// expect waits for an answer, verified for the nth time.
func (w *walk) expect(live string, verified int) {
	w.Helper()
	w.wait(live+" to be live and verified", func() bool {
		return w.cloud.live() == live && w.ready() && w.verified() == verified
	})
}

// foreignUntouched looks for every record that is none of the answers.
func (w *walk) foreignUntouched(before []string) {
	w.Helper()
	now := w.cloud.all()
	for _, line := range before {
		answer := slices.ContainsFunc(w.cloud.answers, func(value string) bool { return strings.Contains(line, value) })
		if !answer && !slices.Contains(now, line) {
			w.Errorf("gone or changed: %s\nthe zone:\n%s", line, strings.Join(now, "\n"))
		}
	}
}
