package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// One answer has one zone, and one form of time: those of the clock times in it.
func TestLocalTimes(t *testing.T) {
	var out strings.Builder
	text := "drained by ann until 2026-01-02T23:30:00Z, since 2026-01-02T18:29:00Z (2026-99-99T00:00:00Z)\n"
	now := func() time.Time { return time.Date(2026, 1, 2, 20, 0, 0, 0, time.UTC) }
	writer := localTimes{&out, time.FixedZone("", 5*3600+1800), now}
	if n, err := fmt.Fprint(writer, text); n != len(text) || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if want := "drained by ann until 05:00:00, since 2026-01-02 23:59:00 (2026-99-99T00:00:00Z)\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}
