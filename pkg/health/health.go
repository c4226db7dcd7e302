package health

import (
	"fmt"
	"time"

	"sidestep/pkg/check"
)

// Verdict is what the results of a target add up to.
type Verdict string

// The verdicts. Unknown means not judged yet. Suspected is what people see of a
// target that has failed often enough to be down, together with too many others
// to be believed at once; decisions keep the verdict that it had.
const (
	Unknown   Verdict = "unknown"
	Up        Verdict = "up"
	Down      Verdict = "down"
	Suspected Verdict = "suspected"
)

// Policy is how many results in a row change a verdict, both at least 1, and
// what a failure counts as. A target that is suspected goes down after Confirm
// more failures in a row.
type Policy struct {
	Fall, Rise int
	Confirm    int
	Causes     check.Causes
}

// Falls is how many failures in a row bring a target down.
func (p Policy) Falls(s State) int {
	if s.Suspected {
		return p.Fall + p.Confirm
	}
	return p.Fall
}

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
	// Disabled says that a lasting cause brought it down: nothing is counted any
	// more, until a person or another definition of the check ends that.
	Disabled bool
	// Suspected says that its row of failures was not believed, and more of them
	// in a row have to follow; a pass ends that. See Policy.Confirm.
	Suspected bool
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
	Disabled bool // it is down until a person says otherwise
}

// counted is as far as results in a row are counted: beyond every threshold
// that makes sense, and far from overflowing.
const counted = 1 << 30

// Observe counts one result. The change is nil as long as the verdict stands.
// A result that began before the last one counted is late and counts for
// nothing, so that it can never overwrite newer knowledge. What its cause counts
// as was settled before, by Weigh.
func Observe(s State, r check.Result, p Policy) (State, *Change) {
	if s.Disabled || s.Seen && r.Start < s.Judged {
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
	suspected := s.Suspected
	s.Suspected = suspected && r.Outcome == check.Fail
	next, change := s.Turn(p)
	switch {
	case !suspected || s.Suspected:
	case change == nil:
		change = &Change{From: Suspected, To: next.Is()}
	default:
		change.From = Suspected
	}
	return next, change
}

// Held gives the verdict back that a state had before: somebody has doubts.
func (s State) Held(before State) State {
	s.Verdict, s.Disabled, s.Suspected = before.Verdict, before.Disabled, before.Suspected
	return s
}

// Turn gives the verdict that the counters add up to. Observe does so with each
// result; whoever held a verdict back asks for it later. The last failure of the
// row decides whether the target is disabled with it; a whole row that finds the
// target down already decides that anew.
func (s State) Turn(p Policy) (State, *Change) {
	from, shown := s.Is(), s.Is()
	if s.Suspected {
		shown = Suspected
	}
	switch {
	case s.Passes >= p.Rise && from != Up:
		s.Verdict, s.Phase, s.Cause = Up, "", ""
		return s, &Change{From: shown, To: Up}
	case s.Fails >= p.Falls(s) && from != Down, s.Fails == p.Fall && from == Down && p.disables(s.Cause):
		s.Verdict, s.Suspected, s.Disabled = Down, false, p.disables(s.Cause)
		return s, &Change{From: shown, To: Down, Phase: s.Phase, Cause: s.Cause, Detail: s.Detail, Disabled: s.Disabled}
	}
	return s, nil
}

func (p Policy) disables(cause check.Cause) bool { return p.Causes.Of(cause) == check.CountDisable }

// Enable ends that a target is disabled: it stays down and is counted anew.
func (s State) Enable() State {
	s.Disabled, s.Passes, s.Fails = false, 0, 0
	return s
}

// Weigh makes of a result what its cause counts as: a failure may be unknown,
// and our own fault a failure.
func Weigh(r check.Result, causes check.Causes) check.Result {
	if r.Outcome == check.Pass {
		return r
	}
	counts := causes.Of(r.Cause)
	switch {
	case r.Outcome == check.Fail && counts == check.CountUnknown:
		r.Outcome = check.Unknown
		r.Detail = fmt.Sprintf("not counted, as the check says of %s: %s", r.Cause, r.Detail)
		r.Detail = r.Detail[:min(len(r.Detail), check.MaxDetail)]
	case r.Outcome == check.Unknown && r.Cause == check.CauseLocal && counts != check.CountUnknown:
		r.Outcome = check.Fail
	}
	return r
}

// Shown is the verdict for people: Unknown once a target had no pass or fail
// for three intervals and a timeout, although decisions keep its verdict. Until
// held, a boot time or 0, nothing was asked of it, so that its silence says
// nothing; nor does that of a target that is disabled.
func (s State) Shown(now, interval, timeout, held time.Duration) Verdict {
	switch {
	case !s.Disabled && now-max(s.Judged, held) > 3*interval+timeout:
		return Unknown
	case s.Suspected:
		return Suspected
	}
	return s.Is()
}
