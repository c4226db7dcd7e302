package override_test

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/override"
)

func TestParseFor(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30m": 30 * time.Minute, "1h30m": 90 * time.Minute, "1s": time.Second, "forever": 0,
		"2d": 48 * time.Hour, "1w": 7 * 24 * time.Hour, "1w2d3h": (9*24 + 3) * time.Hour, "1.5d": 36 * time.Hour, "1d12h": 36 * time.Hour,
		"3650d": 3650 * 24 * time.Hour,
	} {
		if got, err := override.ParseFor(text); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "30", "0s", "0", "-5m", "999ms", "d", "1dd", "2d1w", "-1d", "NaNd", "Infd", "1e300d", "11y", "4000d", "5m forever", "Forever", "1d-1h", "99999999999999h",
	} {
		if got, err := override.ParseFor(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
}

func TestParseAt(t *testing.T) {
	here := time.FixedZone("", 2*3600)
	now := time.Date(2026, 1, 2, 21, 30, 5, 0, here)
	for text, want := range map[string]time.Time{
		"22:00":                time.Date(2026, 1, 2, 22, 0, 0, 0, here),
		"21:30":                time.Date(2026, 1, 3, 21, 30, 0, 0, here),
		"21:30:06":             time.Date(2026, 1, 2, 21, 30, 6, 0, here),
		"2026-01-31 03:15":     time.Date(2026, 1, 31, 3, 15, 0, 0, here),
		"2026-01-31T03:15:20":  time.Date(2026, 1, 31, 3, 15, 20, 0, here),
		"2026-01-02T22:00:00Z": time.Date(2026, 1, 2, 22, 0, 0, 0, time.UTC),
	} {
		if got, err := override.ParseAt(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: got %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "tomorrow", "22", "25:00", "2026-01-32 03:15", "1h"} {
		if got, err := override.ParseAt(text, now); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
}

// good is an override in which nothing is wrong.
func good() override.Override {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	return override.Override{Kind: override.Drain, Target: "192.0.2.1", By: "ann", Reason: "new kernel", Said: at, From: at, Until: at.Add(time.Hour)}
}

func TestValidate(t *testing.T) {
	if err := good().Validate(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*override.Override){
		"expected one of pin,": func(o *override.Override) { o.Kind = "melt" },
		"expected a target":    func(o *override.Override) { o.Target = "" },
		"expected the values":  func(o *override.Override) { o.Kind = override.Pin },
		"takes no value":       func(o *override.Override) { o.Values = []string{"192.0.2.2"} },
		"expected the time":    func(o *override.Override) { o.From = time.Time{} },
		"before it begins":     func(o *override.Override) { o.Until = o.From },
		"expected a reason":    func(o *override.Override) { o.Reason = " " },
		"no text":              func(o *override.Override) { o.Reason = "new\x1b[31mkernel" },
		"is no text":           func(o *override.Override) { o.Reason = "new\nkernel" },
		"holds what is no":     func(o *override.Override) { o.Reason = "new \u202ekernel" },
		"201 bytes":            func(o *override.Override) { o.Reason = strings.Repeat("x", 201) },
	} {
		o := good()
		spoil(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestItBeginsAndEnds(t *testing.T) {
	o := good()
	for _, c := range []struct {
		at          time.Time
		begun, over bool
	}{{o.From.Add(-1), false, false}, {o.From, true, false}, {o.Until.Add(-1), true, false}, {o.Until, true, true}} {
		if o.Begun(c.at) != c.begun || o.Over(c.at) != c.over {
			t.Errorf("at %s: begun %v, over %v", c.at, o.Begun(c.at), o.Over(c.at))
		}
	}
	o.Until = time.Time{}
	if !o.Forever() || o.Over(o.From.Add(1e6*time.Hour)) {
		t.Error("forever ended")
	}
}

func TestWords(t *testing.T) {
	o := good()
	if got, want := o.String(), "drained by ann until 2026-01-02T13:00:00Z (new kernel)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, kind := range override.Kinds {
		if kind.Did() == "" || len(kind.Takes()) == 0 {
			t.Errorf("%s has no words, or takes nothing", kind)
		}
	}
	if got := override.Join(override.Freeze.Takes()); got != "all, zone or record set" {
		t.Error(got)
	}
}
