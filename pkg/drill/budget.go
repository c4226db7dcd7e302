package drill

import (
	"fmt"
	"strings"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// fits refuses where guard max_writes would stop a record set on its way out or back:
// a drain takes out what is not usable any more, which the guard lets pass, and what
// comes back would wait for the window.
func (r *rehearsal) fits(f control.Foreseen) error {
	budget := f.Writes
	if budget == nil {
		return nil
	}
	need := 2
	if f.Waits != nil && len(f.In) > 0 { // what comes in and what goes out are written apart
		need = 4
	}
	used := len(budget.Ends)
	if used+need <= budget.Most {
		return nil
	}
	when := fmt.Sprintf("it never fits: raise guard.max_writes to %d or more", need)
	if need <= budget.Most {
		when = "it fits from " + budget.Ends[used+need-budget.Most-1].UTC().Format(time.RFC3339) + " on"
	}
	name := record.Name(f.Name).Unrooted()
	return r.refuse(control.ExitGuard, "see: sidestep explain "+name,
		"guard %s would stop the way back of %s: it was written %d times in the last %s, out and back need %d, and it allows %d; %s",
		plan.GuardMaxWrites, name, used, budget.Window, need, budget.Most, when)
}

// passing is what lets a way back pass a guard that stops it; empty where none does.
func (r *rehearsal) passing(status control.Status) string {
	set := r.set(status)
	if set == nil || len(set.Blocked) == 0 {
		return ""
	}
	b := set.Blocked[0]
	// The guards that an operator may let a plan pass say so in their words.
	if command := "sidestep reconcile --override-guard " + b.Guard; strings.Contains(b.Detail, command) {
		return command
	}
	return "see: sidestep explain " + r.plan.Name.Unrooted()
}
