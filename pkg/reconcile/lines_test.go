package reconcile

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// TestWeightedLine: a weighted set on a line of its own is brought to its weights
// and no other line is touched. Name servers are not asked: what they answer with
// depends on chance, and on who asks.
func TestWeightedLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		line := www
		line.Variant = "telecom"
		w := newWorldOf(t, memory.Options{Class: memory.Status}, &steer.Spec{Key: line, Policy: steer.Weighted, MinLive: 1, OnAllDown: steer.Keep}, values, nil)
		for i := range w.spec.Answers {
			w.spec.Answers[i].Weight = 10 * (i + 1)
		}
		name := string(www.Name)
		w.hand(t,
			memory.Put(name, "A", time.Minute, values[0]), // on the default line
			memory.Put(name, "A", time.Minute, values[0], memory.OnLine("telecom"), memory.Weighted(10)),
			memory.Put(name, "A", time.Minute, values[1], memory.OnLine("telecom"), memory.Weighted(99)),
		)
		w.asking(func(context.Context, string, record.Key) ([]string, error) {
			t.Error("asked")
			return nil, nil
		}, Zone{Servers: []string{"ns1:53"}})
		report := w.round(w.want(values[1], values[2]))
		if !report.Verified || !report.Asked || !strings.Contains(report.Detail, "depends on weights") {
			t.Errorf("got %+v", report)
		}
		if live := w.zone.Live(line); !slices.Equal(live, values[1:]) {
			t.Errorf("live on the line: %v", live)
		}
		if got := w.spec.Weights(record.FindSet(report.Seen.Sets, line)); got[values[1]] != 20 || got[values[2]] != 30 {
			t.Errorf("weights: %v", got)
		}
		w.mustLiveAt(t, www, values[0])
		w.check(t)
	})
}

func (w *world) mustLiveAt(t testing.TB, key record.Key, want ...string) {
	t.Helper()
	if got := w.zone.Live(key); !slices.Equal(got, want) {
		t.Errorf("%s: live is %v, expected %v", key, got, want)
	}
}
