package memory

import (
	"slices"
	"time"

	"sidestep/pkg/provider"
)

// Op is one kind of request that reaches the zone.
type Op string

// The requests. Look is the read of single records that the unfenced classes
// make before they take something away, Stamps that of the stamps alone.
const (
	OpList     Op = "list"
	OpLook     Op = "look"
	OpStamps   Op = "stamps"
	OpAdd      Op = "add"
	OpTakeAway Op = "take-away"
	OpClaim    Op = "claim"
	OpProve    Op = "prove"
	OpRelease  Op = "release"
)

// Write reports whether the request may change the zone.
func (o Op) Write() bool { return o != OpList && o != OpLook && o != OpStamps }

// Fault is what goes wrong with one request. The zero value is nothing.
type Fault struct {
	Kind     Kind
	After    time.Duration // Throttled: when the provider says to come back
	Versions int           // Stale: how many changes of the zone the list is behind
}

// Kind is a kind of fault. One that makes no sense for a request (a short list
// of a write) is a failed read or a lost request.
type Kind string

// The faults.
const (
	None        Kind = ""
	LostReply   Kind = "lost-reply"   // it happens, and the caller does not learn it
	LostRequest Kind = "lost-request" // it does not happen, and the caller does not learn it
	Late        Kind = "late"         // it stays open until Deliver or Drop
	Throttled   Kind = "throttled"    // too many requests: it does not happen
	Refused     Kind = "refused"      // wrong key: it does not happen and never will
	Hang        Kind = "hang"         // nothing happens until the context ends
	Stale       Kind = "stale"        // the list shows the past
	Short       Kind = "short"        // the list ends early, which the adapter notices
	Empty       Kind = "empty"        // the list is empty though the zone is not, which the adapter notices
)

// pending is a call whose outcome is open.
type pending struct {
	OpenCall

	change func(*state) error
}

// OpenCall is a call that its sender gave up and that may still happen.
type OpenCall struct {
	Op   Op
	Node string
	Call *provider.Call // nil for a claim or a proof
	Sent time.Duration
}

// Open lists the calls that may still happen, oldest first. Those that are
// older than Options.Late are gone.
func (z *Zone) Open() []OpenCall {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.expire()
	calls := make([]OpenCall, len(z.open))
	for i, p := range z.open {
		calls[i] = p.OpenCall
	}
	return calls
}

// expire forgets what is too late to happen. The lock is held.
func (z *Zone) expire() {
	if z.options.Now == nil {
		return
	}
	now := z.time()
	z.open = slices.DeleteFunc(z.open, func(p pending) bool { return now-p.Sent > z.options.Late })
}

// Deliver lets the open call of this index happen now. Its error is the
// provider's refusal, which nobody but the test will see; an index that is not
// open is Permanent.
func (z *Zone) Deliver(i int) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.expire()
	if i < 0 || i >= len(z.open) {
		return provider.Failf(provider.Permanent, "deliver", "", "expected an index below %d, got %d", len(z.open), i)
	}
	p := z.open[i]
	z.open = slices.Delete(z.open, i, i+1)
	return z.apply(Cause{Op: p.Op, Node: p.Node, Call: p.Call, Late: true}, p.change)
}

// Drop lets the open call of this index be lost.
func (z *Zone) Drop(i int) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	if i < 0 || i >= len(z.open) {
		return provider.Failf(provider.Permanent, "drop", "", "expected an index below %d, got %d", len(z.open), i)
	}
	z.open = slices.Delete(z.open, i, i+1)
	return nil
}

// meet runs the hook between calls and asks the plan what goes wrong.
func (z *Zone) meet(op Op) Fault {
	z.mu.Lock()
	hook := z.between
	z.mu.Unlock()
	if hook != nil {
		hook()
	}
	z.mu.Lock()
	plan, n := z.faults, z.calls
	z.calls++
	z.mu.Unlock()
	if plan == nil {
		return Fault{}
	}
	return plan(op, n)
}
