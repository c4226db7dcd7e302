package provider

import "fmt"

// Words is what can be said of a zone without asking its provider, for people:
// the form of a pause, what holds for writes, and how fast they may come.
func (p Promises) Words(rate Rate) string {
	text := map[Pause]string{
		PauseNative: "a value is paused by the provider's own status",
		PauseRename: "a value is paused by renaming its record",
		PauseParked: "a value is paused by parking a readable copy in a TXT record, which is public",
	}[p.Pause]
	if p.Atomic {
		text += "; writes are atomic"
	} else {
		text += "; writes are not atomic: never empty holds for one sidestep and no hand edit in the gap"
	}
	if p.Fenced {
		text += " and fenced: the provider refuses a writer whose view is out of date"
	} else {
		text += fmt.Sprintf("; not fenced: after a start nothing is taken away for %s", p.Quiet())
	}
	if !p.Single {
		text += fmt.Sprintf("; reduced promises: no CNAME is switched, no TTL is changed, and a pause takes two writes with a wait of %s after each", p.Lag)
	}
	if rate.PerSecond > 0 {
		text += "; of one credential, " + rate.String()
	}
	return text
}
