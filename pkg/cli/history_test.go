package cli

import (
	"testing"
	"time"
)

func TestPastTime(t *testing.T) {
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 1, 2, 3, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"30m": "2026-01-02T03:00:00+02:00", "1d": "2026-01-01T03:30:00+02:00", "now": "2026-01-02T03:30:00+02:00",
		"03:10": "2026-01-02T03:10:00+02:00", "22:00": "2026-01-01T22:00:00+02:00", "22:00:05": "2026-01-01T22:00:05+02:00",
		"2026-01-01": "2026-01-01T00:00:00+02:00", "2026-01-01 22:00": "2026-01-01T22:00:00+02:00", "2026-01-01T22:00:00Z": "2026-01-01T22:00:00Z",
	} {
		if at, err := pastTime(text, now); err != nil || at.Format(time.RFC3339) != want {
			t.Errorf("%q is %v, %v, want %s", text, at.Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"", "forever", "yesterday", "-5m", "25:00", "2026-13-01"} {
		if at, err := pastTime(text, now); err == nil {
			t.Errorf("%q is taken for %v", text, at)
		}
	}
}
