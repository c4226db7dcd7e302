package override

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The bounds of a duration. What is meant to be longer is meant to be forever,
// and should say so.
const (
	shortest = time.Second
	longest  = 10 * 365 * 24 * time.Hour
)

// ParseFor reads how long an override is meant to hold: "30m", "4h", "2d", "1w",
// "1d12h", or "forever", which is 0.
func ParseFor(text string) (time.Duration, error) {
	if text == "forever" {
		return 0, nil
	}
	d, err := parseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("expected a duration such as 30m, 4h or 2d, or forever, got %q", text)
	case d < shortest:
		return 0, fmt.Errorf("expected a second or more, got %s", text)
	case d > longest:
		return 0, fmt.Errorf("expected ten years or less, got %s; without an end it is forever", text)
	}
	return d, nil
}

// parseDuration is time.ParseDuration with weeks and days in front.
func parseDuration(text string) (time.Duration, error) {
	total := time.Duration(0)
	for _, unit := range []struct {
		name  string
		value time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		number, rest, found := strings.Cut(text, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(n) || n < 0 || n > float64(10*longest/unit.value) {
			return 0, fmt.Errorf("no number: %q", number)
		}
		total += time.Duration(n * float64(unit.value))
		text = rest
	}
	if text == "" && total > 0 {
		return total, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("it is negative: %s", text)
	}
	return total + d, err
}

// ParseAt reads when an override is meant to begin: a time with its zone (RFC
// 3339), one of this machine ("2026-01-02 22:00"), or a time of day, which is
// the next one that comes. Now says which day it is, and where.
func ParseAt(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		clock, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		y, m, d := now.Date()
		at := time.Date(y, m, d, clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
		if !at.After(now) {
			at = time.Date(y, m, d+1, clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
		}
		return at, nil
	}
	return time.Time{}, fmt.Errorf("expected a time such as 22:00, \"2026-01-02 22:00\" or 2026-01-02T22:00:00Z, got %q", text)
}
