package etcd

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/lease"
)

// renewedAt is a lease of 30s that was renewed at the fake clock's time.
func renewedAt(clk *clock.Fake) *held {
	l := New(Options{Way: NewWay(Settings{Endpoints: []string{"http://127.0.0.1:1"}}), Node: "mon-1", TTL: 30 * time.Second, Clock: clk})
	return &held{lease: l, place: place{key: "/leader/1", created: 7, renewed: l.mark()}, lost: make(chan struct{})}
}

func newFake() *clock.Fake {
	return clock.NewFake(time.Hour, time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
}

func TestGateShutsBeforeTheCallCouldOutliveTheTrust(t *testing.T) {
	clk := newFake()
	h := renewedAt(clk)
	trust := lease.Trust(30 * time.Second) // 29.4s
	for _, c := range []struct {
		after, call time.Duration
		want        error
	}{
		{0, 10 * time.Second, nil},
		{trust - 10*time.Second, 10 * time.Second, nil},
		{time.Nanosecond, 10 * time.Second, lease.ErrShort},
		{0, 9 * time.Second, nil},
		{10*time.Second - time.Nanosecond, 0, nil}, // to the end of the trust
		{0, time.Nanosecond, lease.ErrShort},
		{time.Nanosecond, 0, lease.ErrLost},
		{0, 0, lease.ErrLost},
	} {
		clk.Advance(c.after)
		if err := h.Gate(c.call); !errors.Is(err, c.want) {
			t.Fatalf("%v after the renewal, a call of %v: %v, expected %v", clk.Boot()-time.Hour, c.call, err, c.want)
		}
	}
	select {
	case <-h.Lost():
	default:
		t.Error("past the trust the lease is not lost")
	}
	h.place.renewed = h.lease.mark()
	if err := h.Gate(0); !errors.Is(err, lease.ErrLost) {
		t.Errorf("a late renewal brought it back: %v", err)
	}
}

// A machine that was suspended sees it in boot time; a guest whose machine was
// paused may see it in the date alone.
func TestGateCountsTimeThatTheProcessStoodStill(t *testing.T) {
	suspended := newFake()
	h := renewedAt(suspended)
	suspended.Advance(time.Hour)
	if err := h.Gate(time.Second); !errors.Is(err, lease.ErrLost) {
		t.Errorf("after an hour of suspend: %v, expected that it is lost", err)
	}

	paused := newFake()
	h = renewedAt(paused)
	paused.SetWall(paused.Wall().Add(time.Hour))
	if err := h.Gate(time.Second); !errors.Is(err, lease.ErrShort) || !strings.Contains(err.Error(), "etcd confirmed it 1h0m0s ago") {
		t.Errorf("after an hour by the date alone: %v, expected that it has to be renewed", err)
	}
	h.place.renewed = h.lease.mark()
	if err := h.Gate(time.Second); err != nil {
		t.Errorf("after the renewal: %v", err)
	}
}

func TestGateDoesNotBelieveADateThatWasSetBack(t *testing.T) {
	clk := newFake()
	h := renewedAt(clk)
	clk.SetWall(clk.Wall().Add(-time.Hour))
	clk.Advance(25 * time.Second)
	if err := h.Gate(10 * time.Second); !errors.Is(err, lease.ErrShort) {
		t.Errorf("25s after the renewal, by a date set back: %v, expected that it is short", err)
	}
	clk.Advance(5 * time.Second)
	if err := h.Gate(0); !errors.Is(err, lease.ErrLost) {
		t.Errorf("30s after the renewal: %v, expected that it is lost", err)
	}
}
