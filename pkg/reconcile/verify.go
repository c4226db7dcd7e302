package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/record"
)

// How a name server is asked after a write: again and again, since it may be
// told of the change late, until it answers as the list says or time is up.
const (
	verifyFor  = 10 * time.Second
	verifyWait = 20 * time.Millisecond
	verifyMax  = time.Second
)

// askUntil asks one server until it answers with the live values of the list.
func (r *round) askUntil(ctx context.Context, server string, key record.Key) error {
	ctx, cancel := context.WithTimeout(ctx, verifyFor)
	defer cancel()
	wanted := r.snapshot.Set(key).Live()
	for wait := verifyWait; ; wait = min(2*wait, verifyMax) {
		got, err := r.options.Ask(ctx, server, key)
		if err == nil && slices.Equal(got, wanted) {
			return nil
		}
		if sleepErr := sleep(ctx, wait); sleepErr == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("ask %s for %s: %w", server, key, err)
		}
		return fmt.Errorf("ask %s for %s: expected %s, got %s", server, key, words(wanted), words(got))
	}
}

func words(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	return strings.Join(values, ", ")
}
