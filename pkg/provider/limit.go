package provider

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter keeps the calls of one credential below what its provider allows,
// reads and writes together. Reads stop short of a reserve, so that a write in
// an outage never waits behind a listing. A nil *Limiter limits nothing.
type Limiter struct {
	bucket  *rate.Limiter
	reserve int
	reads   sync.Mutex // held by a read while it looks and takes

	mu     sync.Mutex
	held   time.Time // nothing is sent before, because the provider said so
	calls  uint64
	waited time.Duration
}

// Used is what went through a Limiter. Calls and Waited only grow.
type Used struct {
	Calls  uint64        // let through, reads and writes
	Waited time.Duration // that they waited for it, and those that gave up waiting
	Held   time.Duration // for so long the provider still wants no calls; 0 when it takes them
}

// Used tells what went through so far; nothing of a nil *Limiter.
func (l *Limiter) Used() Used {
	if l == nil {
		return Used{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return Used{Calls: l.calls, Waited: l.waited, Held: max(0, time.Until(l.held))}
}

// count takes one call that began to wait at a time, and how that ended.
func (l *Limiter) count(began time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waited += time.Since(began)
	if err == nil {
		l.calls++
	}
}

// NewLimiter allows perSecond calls on the long run and burst at once, of
// which reserve are kept for writes; of a burst at least one is left to reads,
// which could not be sent at all otherwise.
func NewLimiter(perSecond float64, burst, reserve int) *Limiter {
	return &Limiter{bucket: rate.NewLimiter(rate.Limit(perSecond), burst), reserve: min(reserve, burst-1)}
}

// Hold lets nothing through for so long: the provider refused a call of this
// credential for being one too many, and a call of another zone would be refused
// like it. Such an error names what is left of the wait in After.
func (l *Limiter) Hold(d time.Duration) {
	if l == nil || d <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := time.Now().Add(d); until.After(l.held) {
		l.held = until
	}
}

// holding is the error of a call while the provider wants none.
func (l *Limiter) holding() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := time.Until(l.held)
	if left <= 0 {
		return nil
	}
	return &Error{
		Class: Retryable, Op: "wait for the rate limit", Code: "held", After: left, Err: errors.New("the API takes no more calls of this credential for now"),
		Hint: "every zone of the credential waits; see who else uses it",
	}
}

// Read waits until a read may be sent.
func (l *Limiter) Read(ctx context.Context) (err error) {
	if l == nil {
		return nil
	}
	began := time.Now()
	defer func() { l.count(began, err) }()
	if err := ctx.Err(); err != nil {
		return &Error{Class: Retryable, Op: "wait for the rate limit", Err: err}
	}
	interval := time.Duration(float64(time.Second) / float64(l.bucket.Limit()))
	for {
		if err := l.holding(); err != nil {
			return err
		}
		if l.takeRead() {
			return nil
		}
		if err := Sleep(ctx, interval); err != nil {
			return &Error{Class: Retryable, Op: "wait for the rate limit", Err: err}
		}
	}
}

// takeRead looks and takes in one step, or a crowd of reads that look at one
// moment would all queue up in front of the next write.
func (l *Limiter) takeRead() bool {
	l.reads.Lock()
	defer l.reads.Unlock()
	return l.bucket.Tokens() >= float64(l.reserve+1) && l.bucket.Allow()
}

// Write waits until a write may be sent.
func (l *Limiter) Write(ctx context.Context) (err error) {
	if l == nil {
		return nil
	}
	began := time.Now()
	defer func() { l.count(began, err) }()
	if err := l.holding(); err != nil {
		return err
	}
	if err := l.bucket.Wait(ctx); err != nil {
		return &Error{Class: Retryable, Op: "wait for the rate limit", Err: err}
	}
	return l.holding() // which may have begun meanwhile
}

// Backoff is how long to wait between attempts of a read: Base, then twice as
// long each time, at most Max, each wait shortened at random by up to half so
// that many zones do not call in step.
type Backoff struct {
	Base, Max time.Duration
	Attempts  int // at most this many in all, at least one
}

// Retry calls a read again while its error is Retryable, and does not wait for a
// try that ctx leaves no time for. It is not for writes, whose outcome only a list
// can tell.
func (b Backoff) Retry(ctx context.Context, read func(context.Context) error) error {
	wait := b.Base
	for attempt := 1; ; attempt++ {
		err := read(ctx)
		if err == nil || ClassOf(err) != Retryable || attempt >= b.Attempts {
			return err
		}
		pause := max(b.Jitter(wait), retryAfter(err))
		if deadline, ends := ctx.Deadline(); ends && time.Until(deadline) <= pause {
			return err
		}
		if sleepErr := Sleep(ctx, pause); sleepErr != nil {
			return err
		}
		wait = min(2*wait, b.Max)
	}
}

// Jitter shortens a wait at random by up to half.
func (b Backoff) Jitter(wait time.Duration) time.Duration {
	if wait <= 1 {
		return wait
	}
	return wait - time.Duration(rand.Int64N(int64(wait)/2+1))
}

func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.After
	}
	return 0
}

// Sleep waits for so long, or until ctx ends, which is its error then.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
