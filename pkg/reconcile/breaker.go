package reconcile

import (
	"errors"
	"sync"
	"time"

	"sidestep/pkg/provider"
)

// tripAfter is how many rounds in a row have to fail at the API before it counts
// as out of order: then one call at a time asks whether it is back.
const tripAfter = 3

// breaker is what keeps an API in trouble from being asked again and again: after
// each failed round the zone's worker pauses, twice as long each time up to the
// longest pause of the config, each shortened at random by up to half so that
// many zones do not come back in step. Once it has tripped, each pause is followed
// by one call, a list, and nothing more unless that succeeds: the half-open state
// of a circuit breaker. So an API that is back is used again after one pause at
// the latest, and newer work, a failover, does not wait even for that.
//
// It is the worker's pause and not a library's breaker around the adapter, because
// that would be a second clock: it would refuse the one call that the pause lets
// through, or let through what the pause holds back, and a failover could wait for
// both. That trouble stays in its zone needs no breaker, since each zone has a
// worker of its own.
//
// The worker tells it how rounds end; status asks it at any time.
type breaker struct {
	retry provider.Backoff

	mu       sync.Mutex
	pause    time.Duration // the next one, before chance
	failures int           // rounds in a row that failed at the API
	waits    bool          // the last round failed
	next     time.Duration // boot time of the next try
}

func newBreaker(retry provider.Backoff) *breaker { return &breaker{retry: retry, pause: retry.Base} }

// slowly is the longest that a zone waits to be tried again where only a person can
// help, such as with a key that was revoked, unless the config has a longer pause.
// Chance shortens it by half at most: that is two calls a minute. A round whose list
// went through has made both, and waits all of it.
const slowly = time.Minute

// failed takes the error of a round that ended now, listed when it came further than
// its list, and is how long to wait before the next: never shorter than the provider
// asked for.
func (b *breaker) failed(now time.Duration, err error, listed bool) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits = true
	wait := b.pause
	b.pause = min(2*b.pause, b.retry.Max)
	switch permanent := provider.ClassOf(err) == provider.Permanent; {
	case permanent && listed:
		wait = max(slowly, b.retry.Jitter(b.retry.Max))
	case permanent:
		wait = b.retry.Jitter(max(slowly, b.retry.Max))
	default:
		wait = b.retry.Jitter(wait)
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		wait = max(wait, e.After)
	}
	if b.next = now + wait; atTheAPI(err) {
		b.failures++
	}
	return wait
}

// answered says that a round came to its end.
func (b *breaker) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pause, b.failures, b.waits = b.retry.Base, 0, false
}

// failing reports whether the last round failed.
func (b *breaker) failing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waits
}

// tripped tells of an API that is out of order: how many rounds in a row it let
// fail, and when it is asked next; 0 of one that is not.
func (b *breaker) tripped() (failures int, next time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < tripAfter {
		return 0, 0
	}
	return b.failures, b.next
}

// atTheAPI reports whether an error speaks of the API as a whole: not of a record
// set that it refuses, of another writer, or of a lease.
func atTheAPI(err error) bool {
	if _, some := errors.AsType[*setsError](err); some {
		return false
	}
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Class != provider.Conflict && e.Class != provider.FencedOut
}
