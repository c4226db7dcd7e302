package cli

import (
	"testing"
	"time"

	"sidestep/pkg/control"
)

// A node beside one that speaks for its vantage judges for itself, and no other node
// goes by what it sees.
func TestHeardWords(t *testing.T) {
	now := time.Now()
	at := now.Add(-40 * time.Second)
	for want, n := range map[string]control.Node{
		"this node, counts for itself alone": {Own: true, Mute: "node a speaks for vantage eu"},
		"40s ago, counts for itself alone":   {Heard: &at, Mute: "node a speaks for vantage eu"},
		"silent for 40s":                     {Heard: &at, Silent: true},
		"40s ago, blind: its canary fails":   {Heard: &at, Blind: true},
	} {
		if got := heardWords(n, now); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
