package provider

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestNilLimiterLimitsNothing(t *testing.T) {
	var l *Limiter
	for range 1000 {
		if err := l.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLimiterSpreadsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(2, 4, 1)
		start := time.Now()
		for i := range 10 {
			if err := l.Write(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := time.Duration(max(0, i-3)) * 500 * time.Millisecond
			if got := time.Since(start); got != want {
				t.Errorf("write %d was let through after %v, want %v", i, got, want)
			}
		}
	})
}

func TestReadsLeaveTheReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(1, 5, 2)
		start := time.Now()
		for range 3 {
			if err := l.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("three reads of a full bucket waited %v", waited)
		}
		for range 2 {
			if err := l.Write(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("a write waited %v behind reads", waited)
		}
		if err := l.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < 3*time.Second {
			t.Errorf("a read was let through after %v, into the reserve", waited)
		}
	})
}

func TestReserveLeavesReadsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := NewLimiter(1, 1, 5).Read(ctx); err != nil {
			t.Errorf("a read of a bucket that is all reserve: %v", err)
		}
	})
}

// A write in an outage never waits behind a crowd of listings.
func TestWriteOvertakesReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(1, 3, 1)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				for l.Read(ctx) == nil {
				}
			})
		}
		time.Sleep(10 * time.Second)
		start := time.Now()
		if err := l.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited > time.Second {
			t.Errorf("the write waited %v behind reads", waited)
		}
		cancel()
		group.Wait()
	})
}

func TestLimiterHonoursContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(0.01, 1, 0)
		if err := l.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, wait := range map[string]func(context.Context) error{"read": l.Read, "write": l.Write} {
			ended, end := context.WithCancel(t.Context())
			end()
			if err := wait(ended); ClassOf(err) != Retryable || err == nil {
				t.Errorf("%s: expected a Retryable error of an ended context, got %v", name, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start := time.Now()
			err := wait(ctx)
			cancel()
			if ClassOf(err) != Retryable || err == nil {
				t.Errorf("%s: expected a Retryable error, since nothing was sent, got %v", name, err)
			}
			if waited := time.Since(start); waited > time.Second {
				t.Errorf("%s: came back %v after the start, with a deadline of 1s", name, waited)
			}
		}
	})
}

func TestRetry(t *testing.T) {
	retryable := &Error{Class: Retryable, Op: "list"}
	for _, c := range []struct {
		name  string
		errs  []error // of the attempts; after the last one success
		calls int
		want  error
	}{
		{"success at once", nil, 1, nil},
		{"success at the third attempt", []error{retryable, retryable}, 3, nil},
		{"attempts are limited", []error{retryable, retryable, retryable, retryable, retryable}, 4, retryable},
		{"permanent is not repeated", []error{&Error{Class: Permanent, Op: "list"}}, 1, &Error{Class: Permanent, Op: "list"}},
		{"ambiguous is not repeated", []error{errors.New("reset")}, 1, errors.New("reset")},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				err := Backoff{Base: time.Second, Max: 30 * time.Second, Attempts: 4}.Retry(t.Context(), func(context.Context) error {
					calls++
					if calls > len(c.errs) {
						return nil
					}
					return c.errs[calls-1]
				})
				if calls != c.calls {
					t.Errorf("expected %d attempts, made %d", c.calls, calls)
				}
				if (err == nil) != (c.want == nil) || err != nil && err.Error() != c.want.Error() {
					t.Errorf("expected %v, got %v", c.want, err)
				}
			})
		})
	}
}

func TestRetryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Backoff{Base: time.Second, Max: 4 * time.Second, Attempts: 5}
		var at []time.Time
		_ = b.Retry(t.Context(), func(context.Context) error {
			at = append(at, time.Now())
			return &Error{Class: Retryable}
		})
		for i, most := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
			if wait := at[i+1].Sub(at[i]); wait < most/2 || wait > most {
				t.Errorf("wait %d: expected between %v and %v, got %v", i+1, most/2, most, wait)
			}
		}
	})
}

// TestCase68RetryObeysTheProvider waits as long as a throttling reply says.
func TestCase68RetryObeysTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		calls := 0
		err := Backoff{Base: time.Second, Max: time.Second, Attempts: 2}.Retry(t.Context(), func(context.Context) error {
			if calls++; calls == 1 {
				return &Error{Class: Retryable, Op: "list", Code: "429", After: 42 * time.Second}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited != 42*time.Second {
			t.Errorf("waited %v, the provider said 42s", waited)
		}
	})
}

func TestRetryEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		want := &Error{Class: Retryable, Op: "list", After: time.Hour}
		err := Backoff{Base: time.Second, Max: time.Second, Attempts: 2}.Retry(ctx, func(context.Context) error { return want })
		if !errors.Is(err, want) {
			t.Errorf("expected the read's own error, got %v", err)
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("came back after %v, the context ended after 1s", waited)
		}
	})
}

// What will not be tried any more is not waited for.
func TestRetryDoesNotWaitInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		want := &Error{Class: Retryable, Op: "list", After: 5 * time.Minute}
		err := Backoff{Base: time.Second, Max: time.Second, Attempts: 3}.Retry(ctx, func(context.Context) error { return want })
		if waited := time.Since(start); !errors.Is(err, want) || waited != 0 {
			t.Errorf("came back after %v with %v", waited, err)
		}
	})
}

func TestJitter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "wait"))
		if got := (Backoff{}).Jitter(wait); got < wait/2 || got > wait {
			t.Fatalf("Jitter(%v) = %v, want between half and all of it", wait, got)
		}
	})
}

func TestQuiet(t *testing.T) {
	if got := (Promises{Late: time.Minute, Lag: 30 * time.Second}).Quiet(); got != 90*time.Second {
		t.Errorf("Quiet() = %v, want 1m30s", got)
	}
}

// A provider that wants no calls gets none, of whatever zone, and whoever asks
// is told at once how long that will be.
func TestHeldLimiterLetsNothingThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(10, 10, 2)
		l.Hold(5 * time.Minute)
		l.Hold(time.Second) // shortens nothing
		time.Sleep(time.Minute)
		for name, wait := range map[string]func(context.Context) error{"read": l.Read, "write": l.Write} {
			start := time.Now()
			err := wait(t.Context())
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Class != Retryable || e.After != 4*time.Minute || time.Since(start) != 0 {
				t.Errorf("%s: expected at once to be told to wait 4m, got %v after %v", name, err, time.Since(start))
			}
		}
		time.Sleep(4 * time.Minute)
		if err := l.Write(t.Context()); err != nil {
			t.Errorf("the time is over: %v", err)
		}
		(*Limiter)(nil).Hold(time.Hour)
	})
}

// A write that waited for its turn while another call was refused is not sent.
func TestHoldMeetsThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(0.1, 1, 0)
		for name, wait := range map[string]func(context.Context) error{"read": l.Read, "write": l.Write} {
			if err := l.Write(t.Context()); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error)
			go func() { ended <- wait(t.Context()) }()
			time.Sleep(time.Second)
			l.Hold(time.Minute)
			if err := <-ended; ClassOf(err) != Retryable || err == nil {
				t.Errorf("%s: expected to be held, got %v", name, err)
			}
			time.Sleep(time.Minute)
		}
	})
}
