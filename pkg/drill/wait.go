package drill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/control"
)

// What a way can wait for beside a guard, which has its own name.
const (
	ForApproval = "approval" // a person has to say yes
	ForHold     = "hold"     // the failback is held back by the config
	ForZone     = "zone"     // the writes of the zone wait for time
)

// Wait is a part of a way in which sidestep wrote nothing, for a reason that has
// nothing to do with how fast it is.
type Wait struct {
	For   string        // a guard, as freeze or max_writes, or one of the above
	Why   string        // in words, as the daemon said last
	Until time.Time     // when it ends; zero where that is not known
	After time.Duration // since the way began, when it was seen first
	Took  time.Duration // until it was not seen any more, or until the end
}

// waits is what keeps the name from being written as it is wanted; the zero Wait for
// nothing.
func (r *rehearsal) waits(status control.Status) Wait {
	set := r.set(status)
	if set == nil {
		return Wait{}
	}
	blocked := slices.IndexFunc(set.Blocked, func(b control.Blocked) bool { return !slices.Contains(r.blocked, b) })
	switch {
	case set.Waiting != "":
		return Wait{For: ForApproval, Why: "a person has to say yes: " + set.Waiting}
	case set.HoldEnds != nil:
		return Wait{For: ForHold, Why: "a failback waits until " + set.HoldEnds.UTC().Format(time.RFC3339), Until: *set.HoldEnds}
	case blocked >= 0:
		b := set.Blocked[blocked]
		return Wait{For: b.Guard, Why: fmt.Sprintf("guard %s: %s", b.Guard, b.Detail)}
	}
	for _, z := range status.Zones {
		// Of a zone with nothing to write it is what a write would wait for.
		if z.Zone == string(r.plan.Zone) && z.Waits != nil && len(set.Pending) > 0 {
			return Wait{For: ForZone, Why: z.Waits.Why, Until: z.Waits.Until}
		}
	}
	return Wait{}
}

// takeWait notes what a way waits for at a moment, and tells of it when it is new.
// Once all is written nothing waits but for the clocks.
func (r *rehearsal) takeWait(y *Way, w Wait, at time.Time) {
	if y.clock(Written).Moved {
		w = Wait{}
	}
	if y.noteWait(w, at) {
		r.notice("way %s is held up: %s", y.Direction, w.Why)
	}
}

// noteWait notes a wait, the zero one for none, and reports whether it begins.
func (y *Way) noteWait(w Wait, at time.Time) (begins bool) {
	w.After = at.Sub(y.Began)
	if y.waiting {
		last := &y.Waited[len(y.Waited)-1]
		last.Took = w.After - last.After
		if last.For == w.For {
			last.Why, last.Until = w.Why, w.Until
			return false
		}
	}
	if y.waiting = w.For != ""; y.waiting {
		y.Waited = append(y.Waited, w)
	}
	return y.waiting
}

// Waits is what a way waited for at the end; empty for nothing but the clocks.
func (y *Way) Waits() string {
	if !y.waiting {
		return ""
	}
	return y.Waited[len(y.Waited)-1].Why
}

// stillOut says that the name is not back, though the drain is, and when it returns;
// empty when it is back, or had not left.
func (r *rehearsal) stillOut() string {
	y := cmp.Or(r.report.Back, r.report.Out)
	written := y.clock(Written)
	if r.report.Left != "" || written.Moved == (y.Direction == Back) {
		return "" // of what is left the report says when it ends
	}
	live := strings.ReplaceAll(cmp.Or(written.Seen, strings.Join(r.plan.During, ",")), ",", ", ")
	return fmt.Sprintf("%s still answers with %s, and %s", r.plan.Name.Unrooted(), live, r.returns(y))
}

func (r *rehearsal) returns(y *Way) string {
	wait := Wait{}
	switch {
	case y.waiting:
		wait = y.Waited[len(y.Waited)-1]
	case r.o.ByHand:
		wait.For = ForApproval
	case r.o.Hold > 0: // which begins when the drain is taken back
		wait.For, wait.Until = ForHold, time.Now().Add(r.o.Hold)
	}
	switch {
	case y.Direction == Back && y.unheard:
		return "nothing brings it back until a daemon runs"
	case wait.For == ForApproval:
		return "returns once a person says yes: sidestep approve " + r.plan.Name.Unrooted()
	case wait.For == ForHold:
		return "returns by itself at " + wait.Until.UTC().Format(time.RFC3339) + " (failback.hold)"
	case wait.For != "":
		return "returns by itself once this is over: " + wait.Why
	}
	return "returns by itself"
}
