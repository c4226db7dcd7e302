package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"sidestep/pkg/lease"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// Report is how one round for a zone ended. With an error, Plan and Seen are as
// far as the round came, and Applied is what was written nevertheless.
type Report struct {
	Zone     record.Name
	Plan     plan.Plan        // as planned first in the round; empty when the zone could not be listed
	Final    plan.Plan        // what is left to do at the end of the round
	Applied  []plan.Change    // what was written
	Seen     *plan.Zone       // the zone as listed last; nil when it never was
	TookOver string           // the node whose fresh stamp was replaced because a person said so; empty for none
	Claim    *Claim           // of Plan: the stamp that is written before all else; nil for none
	Rival    *TwoWritersError // another node writes the zone as well, as the last list shows; nil when none is seen to
	Look     bool             // the zone was only listed
	Asked    bool             // the name servers were asked about what was written, by this round or by one that gave way to it
	Verified bool             // the zone is as wanted, or what was written is, beside what a guard stops; and the name servers answer so
	Heard    []Heard          // what each name server said, as far as they were asked
	Detail   string           // why Verified is false, or what was not finished, in words
	Err      error

	AskedUntil time.Duration // boot time until which name servers that lag are asked on; 0 when none is
}

// Write is one call to a provider: what was asked for, and how it ended.
type Write struct {
	Zone    record.Name
	Changes []plan.Change
	Removed []string // of Leave: what was to be removed beside answers, a line each
	Err     error    // nil when it was accepted

	// Took is how long after its work was taken up the call had ended: the list,
	// all calls before it and what had to be waited for are in it. 0 for a call of Leave.
	Took time.Duration
}

// Call is one call to an adapter, which may be several requests of its own, and how
// it ended.
type Call struct {
	Zone record.Name
	What string // list, write, claim (the stamp), prove (the fence), read (the stamps), release, or follow, which sends nothing
	Err  error
}

// Wait says that a worker waits before its next call.
type Wait struct {
	Zone record.Name
	For  time.Duration
	Why  string
}

// ErrNotLeader is in the error of a Report whose plan was not carried out
// because this node may not write.
var ErrNotLeader = errors.New("not the leader")

// ErrGaveWay is in the error of a Report whose round ended before its plan was
// carried out because newer work for the zone had come. That is no failure:
// the report of the newer work follows, also for those who wait in Do.
var ErrGaveWay = errors.New("gave way to newer work")

// TwoWritersError says that another node wrote the zone a short while ago and
// did not let go of it.
type TwoWritersError struct {
	Holder   string
	At       time.Time // by the other's wall clock
	Namesake bool      // the other one has this node's own name
	By       string    // how it leads, in words; empty for as this node does
}

// Error names the other node and the ways on.
func (e *TwoWritersError) Error() string {
	who := "node " + e.Holder
	hint := "stop it there"
	if e.By != "" {
		who += ", which leads " + e.By + ","
		hint += ", or give all nodes the same leader and etcd"
	}
	if e.Namesake {
		who = "another process of this node's own name, " + strings.TrimPrefix(strings.TrimSuffix(who, ","), "node ") + ","
		hint = "stop it, or give each its own node.name"
	}
	return fmt.Sprintf("two writers: %s wrote this zone at %s and has not released it; %s, or take over from it: sidestep reconcile --take-over; else nothing is written here before its stamp is %s old",
		who, e.At.UTC().Format(time.RFC3339), hint, lease.Short(FreshStamp))
}
