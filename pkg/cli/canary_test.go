package cli

import (
	"testing"
	"time"

	"sidestep/pkg/control"
)

func TestCanaryLine(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	since := now.Add(-3 * time.Minute)
	for _, c := range []struct {
		canary control.Canary
		want   string
	}{
		{control.Canary{State: "unknown", Need: 1}, "canary: not probed often enough yet"},
		{
			control.Canary{State: "pass", Answered: 1, Need: 1, Since: &since, Targets: []control.CanaryTarget{{Target: "198.51.100.1:53", Result: "pass"}}},
			"canary: passes for 3m, 1 of 1 answered, 1 needed",
		},
		{
			control.Canary{State: "fail", Answered: 1, Need: 2, Since: &since, Targets: []control.CanaryTarget{
				{Target: "198.51.100.1:53", Result: "pass"},
				{Target: "http://198.51.100.2/", Result: "unknown", Phase: "connect", Cause: "local", Detail: "no route"},
			}},
			"canary: fails for 3m, 1 of 2 answered, 2 needed; http://198.51.100.2/ connect/local no route",
		},
	} {
		if got := canaryLine(c.canary, now); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestBuildTime(t *testing.T) {
	for text, want := range map[string]time.Time{"": {}, "soon": {}, "0": {}, "-1": {}, "1764485000": time.Unix(1764485000, 0)} {
		if got := (Build{Seconds: text}).time(); !got.Equal(want) {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
