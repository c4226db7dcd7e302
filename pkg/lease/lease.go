package lease

import (
	"context"
	"errors"
	"time"
)

// ErrLost says that the lease is not held any more. It never comes back: a new
// one has to be acquired.
var ErrLost = errors.New("the lease is lost")

// ErrShort says that the lease is held, but not for as long as the call may
// take.
var ErrShort = errors.New("the lease may end before the call does")

// Lease is something that one node at a time can hold.
type Lease interface {
	// Acquire tries at least once, whatever ctx says, and goes on trying until
	// ctx ends. While somebody else holds the lease the error is a *HeldError,
	// which also is the error of ctx; any other error will not go away by
	// waiting. One process acquires at most one lease of a kind at a time.
	Acquire(ctx context.Context) (Held, error)
}

// Held is a lease that was acquired. It may be used from many goroutines.
type Held interface {
	// Gate returns nil only if the lease is held now and stays so for longer
	// than callTimeout, all retries of the call included. Ask it last before
	// each write. The error is ErrLost or ErrShort with the reason, or says why
	// neither can be told now; after any error the write must not go out.
	Gate(callTimeout time.Duration) error
	// Term tells this leadership from every other.
	Term() Term
	// Until is the boot time at which the lease ends unless it is renewed, and
	// false when it has no end.
	Until() (time.Duration, bool)
	// Lost is closed once it is known that the lease is lost or released. Some
	// kinds notice that only in Gate.
	Lost() <-chan struct{}
	// Release gives the lease up, so that the next one need not wait. After it
	// Gate fails. A second call does nothing.
	Release(ctx context.Context) error
}

// Term is one leadership among all that one lock gave.
type Term struct {
	// Epoch is higher than that of every holder before, as far as one Cluster goes;
	// 0 where the lock counts none.
	Epoch uint64
	// Cluster is the id of the store that counts the epochs: those of two stores
	// cannot be compared. 0 where nodes share none.
	Cluster uint64
	// Group tells the nodes that lead one after the other by that store from others
	// that use it beside them: it is of the etcd.prefix. 0 as Cluster.
	Group uint64
	// Fresh says that nothing shows that the store was there for long: it may have
	// been built anew, or brought back from a copy, beside a leader who cannot reach
	// it and does not know. False where nodes share none.
	Fresh bool
}

// HeldError says that somebody else holds the lease.
type HeldError struct {
	Holder string // who, as far as known: node, process and since when
	Hint   string // what to do about it
	Err    error  // why the waiting ended: the error of the context; nil without waiting
}

// Error names the holder and the next step.
func (e *HeldError) Error() string {
	text := "acquire the lease: it is held by " + e.Holder
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap is the error that ended the waiting.
func (e *HeldError) Unwrap() error { return e.Err }

// Queue is a Lease for which nodes wait in the order in which they came.
type Queue interface {
	// Leave gives the place in the queue up; the next Acquire takes the last one. A
	// lease that is held stays so.
	Leave(ctx context.Context)
}

// Keeper is a Held that ends unless it is renewed. Whoever acquired one runs Keep
// from then on.
type Keeper interface {
	// Keep renews the lease until it is lost or released, or ctx ends.
	Keep(ctx context.Context)
}
