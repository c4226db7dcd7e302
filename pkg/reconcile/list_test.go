package reconcile

import (
	"context"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// lingering is an adapter whose list takes longer than a call may, and says so.
type lingering struct {
	*shim

	deadline time.Duration
}

func (s lingering) Promises() provider.Promises {
	p := s.Adapter.Promises()
	p.Call, p.List = 10*time.Second, s.deadline
	return p
}

// TestAListMayTakeLongerThanACall where the provider promises so; a list that
// fails only after the time of a call is not begun again in the same round.
func TestAListMayTakeLongerThanACall(t *testing.T) {
	for deadline, wait := range map[time.Duration]time.Duration{time.Minute: 25 * time.Second, 0: 10 * time.Second} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, memory.Options{}, values...)
			lists := 0
			s := &shim{Adapter: w.zone.Adapter("node-1"), list: func(ctx context.Context, next func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
				lists++
				if err := provider.Sleep(ctx, 25*time.Second); err != nil {
					return nil, &provider.Error{Class: provider.Retryable, Op: "list", Err: err}
				}
				return next(ctx)
			}}
			w.startWith(w.only(), Zone{Name: zoneName, Adapter: lingering{s, deadline}})
			began := w.clock.Boot()
			report := w.only().write.Plan(t.Context(), w.want(values...))
			if failed := report.Err != nil; failed != (deadline == 0) || lists != 1 || w.clock.Boot()-began != wait {
				t.Errorf("deadline %v: %d lists in %v, %v", deadline, lists, w.clock.Boot()-began, report.Err)
			}
		})
	}
}
