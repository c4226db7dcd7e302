package providertest

import (
	"errors"
	"slices"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

func refusalCases() []Case {
	return []Case{
		{"take-away/last", "a take-away that leaves nothing live, and does not say that it may, is refused with Conflict", nil, refusesLast},
		{"take-away/survivor-not-seen", "a take-away whose survivor is not live in its own list is refused with Conflict", nil, refusesUnseenSurvivor},
		{"take-away/survivor-gone", "a survivor that an operator deleted after the list is noticed or put back", nil, survivorGone},
		{"take-away/survivor-gone-in-the-gap", "also between the last read of the call and its sending", neverEmptied, survivorGoneInTheGap},
		{"take-away/value-gone", "a value that an operator deleted after the list does not come back live", nil, valueGone},
		{"gap/new-value", "a value that an operator adds in the gap is not lost", fenced, valueAddedInTheGap},
		{"gap/new-ttl", "a TTL that an operator sets in the gap is not lost", fenced, ttlChangedInTheGap},
		{"gap/new-copy", "a copy that another writer parks in the gap is not lost", func(p provider.Promises) bool { return p.Fenced && parks(p) }, copyAddedInTheGap},
		{"gap/elsewhere", "an edit elsewhere in the zone stops no call that is Loose", fenced, editedElsewhere},
		{"gate/refuses", "the gate's error stops every write, comes back as it is, and nothing is sent", nil, gateRefuses},
		{"gate/asked", "every write asks its gate", nil, gateAsked},
		{"context/ended", "a call whose context has ended returns at once and changes nothing", nil, contextEnded},
	}
}

func refusesLast(e *env) {
	key := e.key("www", record.A)
	e.put(key, one)
	call := e.call(key)
	call.Away = []record.Change{pause(key, one)}
	e.unchanged("a refused take-away", func() { e.class("take the last value away", e.send(e.adapter, call), provider.Conflict) })
	e.wantLive(key, one)
}

func refusesUnseenSurvivor(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	call := e.call(key)
	call.Away, call.Survivors = []record.Change{pause(key, one)}, []string{three}
	e.unchanged("a refused take-away", func() {
		e.class("take away beside a survivor that is not there", e.send(e.adapter, call), provider.Conflict)
	})
	e.wantLive(key, one, two)
}

// refusedOr accepts a refusal that changed nothing, and a success after which
// a condition holds.
func (e *env) refusedOr(what string, err error, holds func()) {
	e.Helper()
	if err != nil {
		e.class(what, err, provider.Conflict, provider.FencedOut)
		return
	}
	holds()
}

func survivorGone(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	e.copyIfNeeded(key)
	call := e.call(key)
	call.Away, call.Survivors = []record.Change{pause(key, one)}, []string{two}
	e.remove(key, two)
	e.refusedOr("take away beside a survivor that is gone", e.send(e.adapter, call), func() {
		if !slices.Contains(e.hand.Live(key), two) {
			e.Errorf("%s: the take-away went through though its survivor was gone", key)
		}
	})
	if len(e.hand.Live(key)) == 0 {
		e.Errorf("%s answers with nothing", key)
	}
}

// copyIfNeeded makes the copy of the first value where a take-away would only
// make it, so that the call under test is the one that removes.
func (e *env) copyIfNeeded(key record.Key) {
	e.Helper()
	if p := e.promises(); parks(p) && !p.Atomic {
		e.copyByHand(key, one)
	}
}

func survivorGoneInTheGap(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	call := e.call(key)
	call.Away, call.Survivors = []record.Change{pause(key, one)}, []string{two}
	call.Gate = e.meanwhile(func() { e.remove(key, two) })
	e.refusedOr("take away beside a survivor that is gone", e.send(e.adapter, call), func() {
		if !slices.Contains(e.hand.Live(key), two) {
			e.Errorf("%s: the take-away went through though its survivor was gone", key)
		}
	})
	if len(e.hand.Live(key)) == 0 {
		e.Errorf("%s answers with nothing", key)
	}
}

// meanwhile does something once, between the building of a call and its
// sending.
func (e *env) meanwhile(do func()) provider.Gate {
	asked := false
	return func() error {
		if !asked {
			asked = true
			do()
		}
		return nil
	}
}

func valueGone(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	call := e.call(key)
	call.Away, call.Survivors = []record.Change{pause(key, one)}, []string{two}
	e.remove(key, one)
	e.refusedOr("pause a value that is gone", e.send(e.adapter, call), func() {})
	e.wantLive(key, two)
}

func valueAddedInTheGap(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	for _, add := range []bool{false, true} {
		call := e.call(key)
		if add {
			call.Add = []record.Change{create(key, "192.0.2.9")}
		} else {
			call.Away, call.Survivors = []record.Change{pause(key, one)}, []string{two}
		}
		e.remove(key, three)
		call.Seen = e.list()
		call.Gate = e.meanwhile(func() { e.put(key, three) })
		e.refusedOr("write to a set that has changed", e.send(e.adapter, call), func() {})
		e.wantAnswer(key, live(three))
	}
}

func ttlChangedInTheGap(e *env) {
	const longer = 2 * ttl
	key := e.key("www", record.A)
	e.put(key, one, two)
	call := e.call(key)
	call.Away, call.Survivors = []record.Change{pause(key, one)}, []string{two}
	call.Gate = e.meanwhile(func() {
		for _, value := range []string{one, two} {
			rr := RR{Name: string(key.Name), Type: string(key.Type), TTL: longer, Data: value}
			e.hand.Remove(rr)
			e.hand.Put(rr)
		}
		e.settle()
	})
	e.refusedOr("write to a set whose TTL has changed", e.send(e.adapter, call), func() {})
	for _, value := range []string{one, two} {
		if a, _ := e.list().Set(key).Find(value); a.TTL != longer {
			e.Errorf("%s: expected %s to have the TTL %v that was set in the gap, got %+v", key, value, longer, a)
		}
	}
}

func copyAddedInTheGap(e *env) {
	a, aaaa := e.key("www", record.A), e.key("www", record.AAAA)
	e.put(a, one, two)
	call := e.call(a)
	call.Away, call.Survivors = []record.Change{pause(a, one)}, []string{two}
	call.Gate = e.meanwhile(func() { e.copyByHand(aaaa, "2001:db8::1") })
	e.refusedOr("write beside a copy that is new", e.send(e.adapter, call), func() {})
	e.wantAnswer(aaaa, paused("2001:db8::1"))
}

func editedElsewhere(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	call := e.call(key)
	call.Away, call.Survivors, call.Loose = []record.Change{pause(key, one)}, []string{two}, true
	call.Gate = e.meanwhile(func() {
		e.hand.Put(RR{Name: string(e.key("busy", record.A).Name), Type: "A", TTL: ttl, Data: three})
		e.settle()
	})
	if err := e.send(e.adapter, call); err != nil {
		e.Fatalf("a loose call beside an edit elsewhere: expected success, got %v", err)
	}
	e.wantLive(key, two)
	e.wantLive(e.key("busy", record.A), three)
}

// writes are one add and one take-away to a set of two values, ready to send.
func (e *env) writes() (record.Key, []provider.Call) {
	e.Helper()
	key := e.key("www", record.A)
	e.put(key, one, two)
	add, away := e.call(key), e.call(key)
	add.Add = []record.Change{create(key, three)}
	away.Away, away.Survivors = []record.Change{pause(key, one)}, []string{two}
	return key, []provider.Call{add, away}
}

var errGate = errors.New("the lease may end before the call does")

func gateRefuses(e *env) {
	_, calls := e.writes()
	for _, call := range calls {
		call.Gate = func() error { return errGate }
		e.unchanged("a write that its gate stopped", func() {
			if err := e.send(e.adapter, call); err != errGate { //nolint:errorlint // the promise is that it comes unwrapped
				e.Errorf("a write that its gate stopped: expected the gate's own error, got %v", err)
			}
		})
	}
	if !e.promises().Fenced {
		return
	}
	refuse := func() error { return errGate }
	seen, f := e.list(), e.fencer(e.adapter)
	e.unchanged("a claim that its gate stopped", func() {
		if err := f.Claim(e.Context(), seen, e.stamp("node-1"), refuse); err != errGate { //nolint:errorlint // the promise is that it comes unwrapped
			e.Errorf("a claim that its gate stopped: expected the gate's own error, got %v", err)
		}
		if err := f.Prove(e.Context(), seen, e.stamp("node-1"), refuse); err != errGate { //nolint:errorlint // the promise is that it comes unwrapped
			e.Errorf("a proof that its gate stopped: expected the gate's own error, got %v", err)
		}
	})
}

func gateAsked(e *env) {
	key, calls := e.writes()
	for _, call := range calls {
		asked := 0
		call.Seen = e.list()
		call.Gate = func() error { asked++; return nil }
		if err := e.send(e.adapter, call); err != nil {
			e.Errorf("a write with an open gate: expected success, got %v", err)
		}
		if asked == 0 {
			e.Errorf("a write to %s was sent without asking its gate", key)
		}
	}
}

func contextEnded(e *env) {
	_, calls := e.writes()
	ended, cancel := deadContext(e)
	defer cancel()
	start := time.Now()
	e.unchanged("a call whose context has ended", func() {
		_, err := e.adapter.List(ended)
		e.class("list", err, provider.Retryable)
		e.class("add", e.adapter.Add(ended, calls[0]), provider.Ambiguous, provider.Retryable)
		e.class("take away", e.adapter.TakeAway(ended, calls[1]), provider.Ambiguous, provider.Retryable)
	})
	if took := time.Since(start); took > e.world.patience() {
		e.Errorf("three calls whose context had ended took %v", took)
	}
}
