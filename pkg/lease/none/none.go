// Package none is the lease of a node whose user says that there is no other:
// `leader: {lock: none}` with `i_am_alone: true`. It is always free and always
// held, and protects from nothing.
//
// The contract is in pkg/lease.
package none

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sidestep/pkg/lease"
)

// New is a lease that nobody else can hold.
func New() lease.Lease { return free{} }

type free struct{}

func (free) Acquire(context.Context) (lease.Held, error) {
	return &held{lost: make(chan struct{})}, nil
}

type held struct {
	once sync.Once
	lost chan struct{}
}

func (h *held) Gate(time.Duration) error {
	select {
	case <-h.lost:
		return fmt.Errorf("%w: it was released", lease.ErrLost)
	default:
		return nil
	}
}

func (h *held) Term() lease.Term { return lease.Term{} }

func (h *held) Until() (time.Duration, bool) { return 0, false }

func (h *held) Lost() <-chan struct{} { return h.lost }

func (h *held) Release(context.Context) error {
	h.once.Do(func() { close(h.lost) })
	return nil
}
