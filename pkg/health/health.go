package health

import (
	"time"

	"sidestep/pkg/check"
)

// Verdict is what the results of a target add up to.
type Verdict string

// The verdicts. Unknown means not judged yet.
const (
	Unknown Verdict = "unknown"
	Up      Verdict = "up"
	Down    Verdict = "down"
)

// Policy is how many results in a row change a verdict; both at least 1.
type Policy struct{ Fall, Rise int }

// State is what is remembered of one target between two results. The zero
// value is a target of which nothing is known.
type State struct {
	Verdict Verdict       // empty means Unknown
	Passes  int           // passes in a row
	Fails   int           // failures in a row
	Phase   check.Phase   // where the last failure failed; empty once a pass came to a target that is not down
	Cause   check.Cause   // why it failed; empty with Phase
	Detail  string        // the last result in words, a pass has none
	Judged  time.Duration // boot time of the last pass or fail, by its start; of the start for a verdict that was taken up
	Seen    bool          // a pass or fail was counted since this process began
}

// Is gives the verdict with the zero value read as Unknown.
func (s State) Is() Verdict {
	if s.Verdict == "" {
		return Unknown
	}
	return s.Verdict
}

// Change is a verdict that a result brought about.
type Change struct {
	From, To Verdict
	Phase    check.Phase // of the failure that decided; empty on the way up
	Cause    check.Cause
	Detail   string
}

// counted is as far as results in a row are counted: beyond every threshold
// that makes sense, and far from overflowing.
const counted = 1 << 30

// Observe counts one result. The change is nil as long as the verdict stands.
// A result that began before the last one counted is late and counts for
// nothing, so that it can never overwrite newer knowledge.
func Observe(s State, r check.Result, p Policy) (State, *Change) {
	if s.Seen && r.Start < s.Judged {
		return s, nil
	}
	switch r.Outcome {
	case check.Pass:
		s.Passes, s.Fails = min(s.Passes+1, counted), 0
		s.Detail = ""
		if s.Is() != Down { // why it went down is told until it is up
			s.Phase, s.Cause = "", ""
		}
	case check.Fail:
		s.Passes, s.Fails = 0, min(s.Fails+1, counted)
		s.Phase, s.Cause, s.Detail = r.Phase, r.Cause, r.Detail
	default:
		s.Detail = r.Detail
		return s, nil
	}
	s.Judged, s.Seen = r.Start, true
	return s.Turn(p)
}

// Turn gives the verdict that the counters add up to. Observe does so with each
// result; whoever held a verdict back asks for it later.
func (s State) Turn(p Policy) (State, *Change) {
	from := s.Is()
	switch {
	case s.Passes >= p.Rise && from != Up:
		s.Verdict, s.Phase, s.Cause = Up, "", ""
		return s, &Change{From: from, To: Up}
	case s.Fails >= p.Fall && from != Down:
		s.Verdict = Down
		return s, &Change{From: from, To: Down, Phase: s.Phase, Cause: s.Cause, Detail: s.Detail}
	}
	return s, nil
}

// Shown is the verdict for people: Unknown once a target had no pass or fail
// for three intervals and a timeout, although decisions keep its verdict.
func (s State) Shown(now, interval, timeout time.Duration) Verdict {
	if now-s.Judged > 3*interval+timeout {
		return Unknown
	}
	return s.Is()
}
