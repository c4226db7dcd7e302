package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"sidestep/pkg/lease"
)

func TestHeldErrorNamesHolderHintAndContext(t *testing.T) {
	err := fmt.Errorf("reconcile: %w", &lease.HeldError{Holder: "mon-1", Hint: "stop it", Err: context.DeadlineExceeded})
	if want := "reconcile: acquire the lease: it is held by mon-1; stop it"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	var by *lease.HeldError
	if !errors.As(err, &by) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v does not unwrap", err)
	}
	if got := (&lease.HeldError{Holder: "mon-1"}).Error(); got != "acquire the lease: it is held by mon-1" {
		t.Errorf("without a hint: %q", got)
	}
}
