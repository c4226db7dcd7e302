package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// One answer has one zone: that of the clock times in it.
func TestLocalTimes(t *testing.T) {
	var out strings.Builder
	text := "drained by ann until 2026-01-02T23:30:00Z (2026-99-99T00:00:00Z)\n"
	writer := localTimes{&out, time.FixedZone("", 5*3600+1800)}
	if n, err := fmt.Fprint(writer, text); n != len(text) || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if want := "drained by ann until 2026-01-03T05:00:00+05:30 (2026-99-99T00:00:00Z)\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}
