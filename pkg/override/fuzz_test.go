package override

import (
	"testing"
	"time"
)

// FuzzTimes reads any text as how long an override holds, and as when it begins.
func FuzzTimes(f *testing.F) {
	for _, text := range []string{"30m", "1d12h", "1.5w", "forever", "-1d", "22:00", "2026-01-02 22:00", "2026-01-02T22:00:00+08:00"} {
		f.Add(text)
	}
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseFor(text)
		if forever := text == "forever"; err == nil && (d == 0) != forever || d < 0 || d > longest {
			t.Errorf("%q holds for %s", text, d)
		}
		if at, err := ParseAt(text, now); err == nil && at.IsZero() && text[:4] != "0001" {
			t.Errorf("%q begins at the zero time", text)
		}
	})
}

// What is no number of days is no duration.
func TestForIsANumber(t *testing.T) {
	for _, text := range []string{"NaNd1h", "nanw", "NaNwNaNd30m", "infd", "-infd", "1e400d"} {
		if d, err := ParseFor(text); err == nil {
			t.Errorf("%q was read as %s", text, d)
		}
	}
}
