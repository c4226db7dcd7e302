package daemon

import (
	"time"

	"sidestep/pkg/override"
)

// drained is an override that drains an address for an hour from a moment.
func drained(address string, from time.Time) override.Override {
	return override.Override{
		Kind: override.Drain, Target: address, By: "ann", Reason: "new kernel",
		Said: from, From: from, Until: from.Add(time.Hour),
	}
}
