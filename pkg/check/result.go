package check

import "time"

// Outcome is what one probe found.
type Outcome string

// The outcomes. Unknown is our own fault and counts neither way.
const (
	Pass    Outcome = "pass"
	Fail    Outcome = "fail"
	Unknown Outcome = "unknown"
)

// Phase is where a probe failed.
type Phase string

// The phases of a probe, in the order in which it goes through them.
const (
	PhaseResolve Phase = "resolve"
	PhaseConnect Phase = "connect"
	PhaseTLS     Phase = "tls"
	PhaseSend    Phase = "send"
	PhaseHeaders Phase = "headers"
	PhaseBody    Phase = "body"
	PhaseAssert  Phase = "assert"
)

// Cause is why a probe failed.
type Cause string

// The causes of a failure.
const (
	CauseRefused     Cause = "refused"
	CauseTimeout     Cause = "timeout"
	CauseReset       Cause = "reset"
	CauseUnreachable Cause = "unreachable"
	CauseCertificate Cause = "certificate"
	CauseAuth        Cause = "auth"
	CauseStatus      Cause = "status"
	CauseMismatch    Cause = "mismatch"
	CauseTooLarge    Cause = "too-large"
	CauseLoss        Cause = "loss"
	CauseLocal       Cause = "local"
)

// MaxDetail is how many bytes of detail a result carries at most; what comes
// from a probed server is escaped before it is cut.
const MaxDetail = 200

// Result is one probe's outcome. Boot times are readings of the clock that
// counts suspended time; they order results and are never stored.
type Result struct {
	Target  Target
	Outcome Outcome
	Phase   Phase         // empty for a pass
	Cause   Cause         // empty for a pass
	Detail  string        // in words: what was expected, what came, and for our own faults the remedy
	Source  string        // the local address the probe left from, without port; empty when none was bound
	Clock   bool          // a certificate is not valid at this time: its fault, or that of this machine's clock
	Start   time.Duration // boot time at which the probe began
	End     time.Duration // boot time at which its outcome was known
}

// Latency is how long the probe took.
func (r Result) Latency() time.Duration { return r.End - r.Start }
