package provider

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestErrorText(t *testing.T) {
	cause := errors.New("not authorised")
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{&Error{Op: "transfer zone example.com."}, "transfer zone example.com."},
		{&Error{Op: "transfer zone example.com.", Code: "REFUSED"}, "transfer zone example.com.: REFUSED"},
		{&Error{Op: "update", Code: "NOTAUTH", Err: cause, Hint: "check the key's name"}, "update: NOTAUTH: not authorised; check the key's name"},
		{Failf(Conflict, "update", "NXRRSET", "set %d", 7), "update: NXRRSET: set 7"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestClassOf(t *testing.T) {
	typed := &Error{Class: FencedOut, Op: "update"}
	for _, c := range []struct {
		err  error
		want Class
	}{
		{typed, FencedOut},
		{fmt.Errorf("round: %w", typed), FencedOut},
		{errors.Join(errors.New("first"), typed), FencedOut},
		{&Error{Op: "nobody classed it"}, Ambiguous},
		{errors.New("nobody classed it"), Ambiguous},
		{context.DeadlineExceeded, Ambiguous},
		{nil, Ambiguous},
	} {
		if got := ClassOf(c.err); got != c.want {
			t.Errorf("ClassOf(%v) = %v, want %v", c.err, got, c.want)
		}
	}
}

func TestErrorUnwraps(t *testing.T) {
	err := fmt.Errorf("round: %w", &Error{Op: "list", Err: context.Canceled})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v: expected the cause to be found", err)
	}
	if err := Failf(Permanent, "list", "", "read: %w", context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: expected the cause to be found", err)
	}
}

func TestClassNames(t *testing.T) {
	want := map[Class]string{
		Ambiguous: "ambiguous", Permanent: "permanent", Retryable: "retryable",
		Conflict: "conflict", FencedOut: "fenced-out", Class(99): "ambiguous",
	}
	for class, name := range want {
		if class.String() != name {
			t.Errorf("class %d: got %q, want %q", class, class, name)
		}
	}
}
