package reconcile

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// TestOnce: a round without Run; what fails is not tried again.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status}, "192.0.2.1", "192.0.2.2")
		n := w.nodes[0]
		n.write.Lead(nil, true)
		work := w.want("192.0.2.2")
		w.zone.Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Throttled} })
		if r := n.write.Once(context.Background(), work, Orders{}); provider.ClassOf(r.Err) != provider.Retryable {
			t.Errorf("the zone could not be listed, and Once said: %v", r.Err)
		}
		w.zone.Faults(nil)
		r := n.write.Once(context.Background(), work, Orders{})
		if r.Err != nil || len(r.Applied) != 1 || r.Final.Pending() {
			t.Errorf("got %d changes, error %v, left %v", len(r.Applied), r.Err, r.Final)
		}
		if r := n.write.Once(context.Background(), engine.Work{Zone: "example.net."}, Orders{}); r.Err == nil || errors.Is(r.Err, ErrNotLeader) {
			t.Errorf("a zone that is not there: %v", r.Err)
		}
	})
}
