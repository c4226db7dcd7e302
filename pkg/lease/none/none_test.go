package none_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sidestep/pkg/lease"
	"sidestep/pkg/lease/none"
)

func TestAlwaysFreeAndHeldUntilReleased(t *testing.T) {
	l := none.New()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	first, err := l.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Gate(time.Hour); err != nil {
		t.Errorf("gate: %v", err)
	}
	for range 2 {
		if err := first.Release(ctx); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	select {
	case <-first.Lost():
	default:
		t.Error("a released lease is not lost")
	}
	if err := first.Gate(0); !errors.Is(err, lease.ErrLost) {
		t.Errorf("gate after the release: %v", err)
	}
	if err := second.Gate(0); err != nil {
		t.Errorf("gate of the other: %v", err)
	}
	if _, ends := second.Until(); ends || second.Term().Epoch != 0 {
		t.Error("a lease of nobody has no end and no epoch")
	}
}
