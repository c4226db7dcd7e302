package reconcile

import (
	"context"
	"sync"

	"sidestep/pkg/provider"
)

// shim stands between a worker and its adapter. What is nil is passed on.
type shim struct {
	provider.Adapter

	list  func(ctx context.Context, next func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error)
	write func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error

	claimed func(ctx context.Context) // before each claim

	mu    sync.Mutex
	calls []provider.Call // every write that came this far
}

func (s *shim) List(ctx context.Context) (*provider.Snapshot, error) {
	if s.list == nil {
		return s.Adapter.List(ctx)
	}
	return s.list(ctx, s.Adapter.List)
}

func (s *shim) Add(ctx context.Context, call provider.Call) error {
	return s.send(ctx, call, s.Adapter.Add)
}

func (s *shim) TakeAway(ctx context.Context, call provider.Call) error {
	return s.send(ctx, call, s.Adapter.TakeAway)
}

func (s *shim) send(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	if s.write == nil {
		return next(ctx, call)
	}
	return s.write(ctx, call, next)
}

// sent is every write that came this far.
func (s *shim) sent() []provider.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// fencedShim is a shim before an adapter whose provider compares and swaps.
type fencedShim struct {
	*shim

	fencer provider.Fencer
}

func (s fencedShim) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	if s.claimed != nil {
		s.claimed(ctx)
	}
	return s.fencer.Claim(ctx, seen, next, gate)
}

func (s fencedShim) Prove(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	return s.fencer.Prove(ctx, seen, next, gate)
}

// shimmed puts a shim before the first node's adapter, and starts its process
// anew.
func (w *world) shimmed() *shim {
	adapter := w.zone.Adapter(w.only().name)
	s := &shim{Adapter: adapter}
	zone := Zone{Name: zoneName, Adapter: s}
	if fencer, ok := adapter.(provider.Fencer); ok {
		zone.Adapter = fencedShim{s, fencer}
	}
	w.startWith(w.only(), zone)
	return s
}
