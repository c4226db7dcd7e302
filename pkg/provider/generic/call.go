package generic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
)

const (
	// maxStrays is how many reads may be left behind before no more are begun.
	maxStrays = 3

	// grace is how long a library that obeys its context may take to come back.
	grace = 50 * time.Millisecond
)

// attempt is one call of the library.
type attempt struct {
	op    string
	write bool
	gate  provider.Gate
}

// outcome is what a call of the library came to.
type outcome[T any] struct {
	value T
	err   error
}

// guarded runs one call of the library apart, so that neither a panic in it nor
// its deafness to the context reaches the caller. The gate is asked last.
func guarded[T any](ctx context.Context, a *Adapter, at attempt, call func(context.Context) (T, error)) (none T, err error) {
	if err := a.mayCall(ctx, at); err != nil {
		return none, err
	}
	if at.gate != nil {
		if err := at.gate(); err != nil {
			return none, err
		}
	}
	result := make(chan outcome[T], 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				result <- outcome[T]{err: fmt.Errorf("the library panicked: %v", p)}
			}
		}()
		value, err := call(ctx)
		result <- outcome[T]{value, err}
	}()
	got, back := await(ctx, result)
	switch {
	case !back:
		a.stray(at, 1)
		go func() {
			<-result
			a.stray(at, -1)
		}()
		return none, a.classed(at, ctx.Err())
	case got.err != nil:
		return none, a.classed(at, got.err)
	}
	return got.value, nil
}

// await waits for a result until the context ends, and a little longer.
func await[T any](ctx context.Context, result <-chan outcome[T]) (got outcome[T], back bool) {
	select {
	case got := <-result:
		return got, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case got := <-result:
		return got, true
	case <-timer.C:
		return got, false
	}
}

// mayCall waits for the rate limit, and refuses to begin a call while an
// earlier one has not come back.
func (a *Adapter) mayCall(ctx context.Context, at attempt) error {
	wait := a.limiter.Read
	if at.write {
		wait = a.limiter.Write
	}
	if err := wait(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &provider.Error{Class: provider.Retryable, Op: at.op, Err: err, Hint: "nothing was sent"}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if at.write && a.open > 0 || a.strays >= maxStrays {
		return &provider.Error{
			Class: provider.Retryable, Op: at.op, Code: "busy", After: 10 * time.Second,
			Err:  fmt.Errorf("the library has not come back from %d calls whose time is over", a.strays),
			Hint: "nothing was sent; if this stays, restart sidestep",
		}
	}
	return nil
}

func (a *Adapter) stray(at attempt, by int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.strays += by
	if at.write {
		a.open += by
	}
}

// classed gives an error of the library the class that it can have: one that
// came with a class keeps it.
func (a *Adapter) classed(at attempt, err error) error {
	if _, typed := errors.AsType[*provider.Error](err); typed {
		return err
	}
	e := &provider.Error{Class: provider.Retryable, Op: at.op, Err: a.told(err)}
	if at.write {
		e.Class = provider.Ambiguous
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Code = "timeout"
	case errors.Is(err, context.Canceled):
		e.Code = "canceled"
	case a.known.Status != nil:
		a.byStatus(e, at, a.known.Status(err))
	}
	return e
}

// byStatus reads what an HTTP status says, where it says it of the whole call.
func (a *Adapter) byStatus(e *provider.Error, at attempt, status int) {
	if status == 0 {
		return
	}
	e.Code = "HTTP " + strconv.Itoa(status)
	certain := !at.write || a.known.Settled
	switch {
	case status == http.StatusTooManyRequests && certain:
		e.Class, e.After = provider.Retryable, 30*time.Second
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Hint = "the credential is not accepted, or may not do this: see whether it expired and what it may edit; then: sidestep validate --online"
	case status == http.StatusNotFound && !at.write:
		e.Hint = "see whether the zone's name is the provider's, and whether the credential is of the account that has it"
	}
	if certain && status >= 400 && status < 500 && status != http.StatusTooManyRequests {
		e.Class = provider.Permanent
	}
}

// maxTold is how much of a library's error is told, in bytes.
const maxTold = 200

// tellable is an error of a library as it may be told.
type tellable struct {
	text string
	err  error
}

func (t *tellable) Error() string { return t.text }

func (t *tellable) Unwrap() error { return t.err }

// told makes an error of a library fit for a log and a terminal: it may hold the
// page of a gateway, the answer of an API, and the credential in either.
func (a *Adapter) told(err error) error {
	err = plain(err)
	text := httpapi.Foreign(err.Error(), a.secrets...)
	if len(text) > maxTold {
		text = strings.ToValidUTF8(text[:maxTold], "") + "…"
	}
	return &tellable{text, err}
}

// plain takes the URL out of net/http's error, which may hold a credential.
func plain(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// entry is one listed record, as the library gave it and as it reads.
type entry struct {
	record libdns.Record
	rr     libdns.RR
}

func entriesOf(records []libdns.Record) ([]entry, error) {
	entries := make([]entry, 0, len(records))
	for i, r := range records {
		if r == nil {
			return nil, fmt.Errorf("record %d of %d is none", i+1, len(records))
		}
		entries = append(entries, entry{r, r.RR()})
	}
	return entries, nil
}

// covers reports whether a list has everything that an earlier one had.
func covers(list, earlier []entry) bool {
	count := map[libdns.RR]int{}
	for _, e := range list {
		count[e.rr]++
	}
	for _, e := range earlier {
		if count[e.rr]--; count[e.rr] < 0 {
			return false
		}
	}
	return true
}
