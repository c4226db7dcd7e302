package providertest

import (
	"context"
	"slices"
	"sync"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

func fenceCases() []Case {
	return []Case{
		{"fence/interface", "an adapter is a Fencer exactly when it promises to be fenced", nil, fencerMatchesPromise},
		{"fence/stamp-after-write", "an accepted write leaves its stamp as the only one, readable, with all its fields", fenced, writeLeavesStamp},
		{"fence/two-claims", "of two claims that rest on one view exactly one succeeds", fenced, twoClaims},
		{"fence/two-first-claims", "of two first claims as well", fenced, twoFirstClaims},
		{"fence/claims-at-once", "also when they are made at the same moment", fenced, claimsAtOnce},
		{"fence/take-over", "after a take-over the old holder's writes are FencedOut and nothing of them is applied", fenced, takeOver},
		{"fence/take-over-in-the-gap", "also when it happens between the last read of a call and its sending", fenced, takeOverInTheGap},
		{"fence/own-old-view", "a write that rests on the holder's own view from before his last write is FencedOut", fenced, ownOldView},
		{"fence/deleted-stamp", "after the stamp was deleted by hand the next write is FencedOut, and a new claim mends it", fenced, deletedStamp},
		{"fence/nonce", "the same holder, epoch and sequence under a new nonce do not let an older write pass", fenced, nonceTellsApart},
		{"fence/copied-stamp", "a claim replaces every stamp that is there", fenced, copiedStamp},
		{"fence/strange-stamp", "a stamp that cannot be read is replaced by a claim like any other", fenced, strangeStamp},
		{"fence/stamps-alone", "the stamps read alone are those of a list, and a claim may rest on them", fenced, stampsAlone},
		{"fence/release", "a released stamp is listed as released and is taken over", fenced, release},
		{"fence/claim-changes-nothing-else", "a claim changes the stamp and nothing else", fenced, claimChangesNothing},
		{"fence/prove", "the provider refuses the proof's call, which changes nothing", fenced, proves},
	}
}

func fencerMatchesPromise(e *env) {
	if _, ok := e.adapter.(provider.Fencer); ok != e.promises().Fenced {
		e.Errorf("Promises.Fenced is %v, that the adapter is a Fencer is %v", e.promises().Fenced, ok)
	}
}

func writeLeavesStamp(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	add := e.call(key)
	add.Add = []record.Change{create(key, three)}
	away := add
	away.Add, away.Away, away.Survivors = nil, []record.Change{pause(key, one)}, []string{two}
	for _, call := range []provider.Call{add, away} {
		call.Seen, call.Next = e.list(), e.stamp(e.holder())
		if err := e.send(e.adapter, call); err != nil {
			e.Fatalf("write as the holder: expected success, got %v", err)
		}
		e.wantStamp(call.Next)
	}
}

func (e *env) wantStamp(want provider.Stamp) {
	e.Helper()
	stamps := e.list().Stamps
	if len(stamps) != 1 {
		e.Errorf("expected exactly one stamp, got %v", stamps)
		return
	}
	got := stamps[0]
	same := got.Holder == want.Holder && got.At.Equal(want.At) && got.Epoch == want.Epoch && got.Cluster == want.Cluster && got.Group == want.Group && got.Seq == want.Seq &&
		got.Nonce == want.Nonce && got.Released == want.Released
	if !same || got.Raw != want.String() {
		e.Errorf("expected the stamp %q, got %q", want, got)
	}
}

// stampsAlone needs no more than a list where the adapter reads nothing alone.
func stampsAlone(e *env) {
	reader, ok := e.adapter.(provider.StampReader)
	if !ok {
		return
	}
	read := func() *provider.Snapshot {
		e.Helper()
		seen, err := reader.Stamps(context.Background())
		if err != nil {
			e.Fatalf("read the stamps: expected success, got %v", err)
		}
		return seen
	}
	if seen := read(); len(seen.Stamps) != 0 {
		e.Errorf("expected no stamp, got %v", seen.Stamps)
	}
	first, second := e.stamp("node-1"), e.stamp("node-1")
	if err := e.claim(e.adapter, read(), first); err != nil {
		e.Errorf("a first claim: expected success, got %v", err)
	}
	old := read()
	if len(old.Stamps) != 1 || old.Stamps[0].Nonce != first.Nonce || old.Stamps[0].Raw != first.String() {
		e.Errorf("expected the stamp %q, got %v", first, old.Stamps)
	}
	if err := e.claim(e.adapter, old, second); err != nil {
		e.Errorf("a heartbeat: expected success, got %v", err)
	}
	e.class("a claim that rests on stamps from before", e.claim(e.adapter, old, e.stamp("node-2")), provider.FencedOut)
	e.wantStamp(second)
}

func twoClaims(e *env) {
	e.hold(e.adapter, "node-1")
	other := e.hand.Another()
	seen, seenByOther := e.list(), e.listBy(other)
	next := e.stamp("node-2")
	if err := e.claim(other, seenByOther, next); err != nil {
		e.Errorf("the first of two claims: expected success, got %v", err)
	}
	e.class("the second of two claims", e.claim(e.adapter, seen, e.stamp("node-1")), provider.FencedOut)
	e.wantStamp(next)
}

func twoFirstClaims(e *env) {
	other := e.hand.Another()
	seen, seenByOther := e.list(), e.listBy(other)
	if err := e.claim(other, seenByOther, e.stamp("node-2")); err != nil {
		e.Errorf("the first of two first claims: expected success, got %v", err)
	}
	e.class("the second of two first claims", e.claim(e.adapter, seen, e.stamp("node-1")), provider.FencedOut)
}

func claimsAtOnce(e *env) {
	e.hold(e.adapter, "node-1")
	claims := make([]func(context.Context) error, 4)
	for i := range claims {
		a := e.hand.Another()
		f, seen, next := e.fencer(a), e.listBy(a), e.stamp("node-2")
		claims[i] = func(ctx context.Context) error { return f.Claim(ctx, seen, next, nil) }
	}
	ctx, cancel := context.WithTimeout(e.Context(), e.world.patience())
	defer cancel()
	var group sync.WaitGroup
	errs := make([]error, len(claims))
	for i, claim := range claims {
		group.Go(func() { errs[i] = claim(ctx) })
	}
	group.Wait()
	e.settle()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		e.class("a lost claim", err, provider.FencedOut)
	}
	if won != 1 {
		e.Errorf("of %d claims that rest on one view %d succeeded", len(claims), won)
	}
	if stamps := e.list().Stamps; len(stamps) != 1 {
		e.Errorf("after the claims: expected one stamp, got %v", stamps)
	}
}

func takeOver(e *env) {
	_, calls := e.writes()
	e.hold(e.hand.Another(), "node-2")
	for _, call := range calls {
		e.unchanged("a write that was fenced out", func() {
			e.class("a write after a take-over", e.send(e.adapter, call), provider.FencedOut)
		})
	}
}

func takeOverInTheGap(e *env) {
	key, calls := e.writes()
	other := e.hand.Another()
	for _, call := range calls {
		call.Seen = e.hold(e.adapter, "node-1")
		call.Gate = e.meanwhile(func() { e.hold(other, "node-2") })
		e.class("a write during a take-over", e.send(e.adapter, call), provider.FencedOut)
		e.wantLive(key, one, two)
	}
}

func ownOldView(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	old := e.call(key)
	old.Away, old.Survivors = []record.Change{pause(key, one)}, []string{two}
	e.away(key, []string{one}, pause(key, two))
	e.class("a write from an old view", e.send(e.adapter, old), provider.FencedOut)
	e.wantLive(key, one)
}

func (e *env) deleteStamps() {
	e.Helper()
	name := e.world.Zone.Below(provider.StampLabel)
	for _, rr := range e.hand.Dump() {
		if record.Name(rr.Name) == name && rr.Type == "TXT" {
			e.hand.Remove(rr)
		}
	}
	e.settle()
	if stamps := e.list().Stamps; len(stamps) != 0 {
		e.Fatalf("the stamp was deleted by hand, but is listed: %v", stamps)
	}
}

func deletedStamp(e *env) {
	key, calls := e.writes()
	e.deleteStamps()
	for _, call := range calls {
		e.unchanged("a write that was fenced out", func() {
			e.class("a write after the stamp was deleted", e.send(e.adapter, call), provider.FencedOut)
		})
	}
	e.away(key, []string{two}, pause(key, one))
	e.wantLive(key, two)
}

func nonceTellsApart(e *env) {
	_, calls := e.writes()
	held := calls[1].Seen.Stamps[0]
	e.deleteStamps()
	again := provider.Stamp{Holder: held.Holder, At: held.At, Epoch: held.Epoch, Seq: held.Seq, Nonce: "00000000feedbeef"}
	for range rounds {
		if err := e.claim(e.adapter, e.list(), again); err != nil {
			e.Fatalf("claim after the stamp was deleted: expected success, got %v", err)
		}
		if len(e.list().Stamps) == 1 {
			break
		}
		again.Nonce = "00000001feedbeef"
	}
	e.unchanged("a write from before the stamp was deleted", func() {
		e.class("a write from before the stamp was deleted", e.send(e.adapter, calls[1]), provider.FencedOut)
	})
}

// stampByHand adds a stamp's record as an operator might copy one.
func (e *env) stampByHand(text string) {
	e.hand.Put(RR{Name: string(e.world.Zone.Below(provider.StampLabel)), Type: "TXT", TTL: ttl, Data: `"` + text + `"`})
	e.settle()
}

func copiedStamp(e *env) {
	e.hold(e.adapter, "node-1")
	e.stampByHand(e.stamp("copy").String())
	seen := e.list()
	if len(seen.Stamps) != 2 {
		e.Fatalf("list: expected both stamps, got %v", seen.Stamps)
	}
	next := e.stamp("node-1")
	if err := e.claim(e.adapter, seen, next); err != nil {
		e.Fatalf("claim over two stamps: expected success, got %v", err)
	}
	e.wantStamp(next)
}

func strangeStamp(e *env) {
	e.stampByHand("written by hand; no stamp at all")
	next := e.stamp("node-1")
	if err := e.claim(e.adapter, e.list(), next); err != nil {
		e.Fatalf("claim over a strange stamp: expected success, got %v", err)
	}
	e.wantStamp(next)
}

func release(e *env) {
	seen := e.hold(e.adapter, "node-1")
	next := e.stamp("node-1")
	next.Released = true
	if err := e.claim(e.adapter, seen, next); err != nil {
		e.Fatalf("release: expected success, got %v", err)
	}
	e.wantStamp(next)
	e.hold(e.hand.Another(), "node-2")
}

func claimChangesNothing(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	e.putForeign()
	e.away(key, []string{two}, pause(key, one))
	without := func() []string {
		stamp := string(e.world.Zone.Below(provider.StampLabel))
		var lines []string
		for _, rr := range e.hand.Dump() {
			if rr.Name != stamp && !slices.Contains(serversOwn, rr.Type) {
				lines = append(lines, rr.String())
			}
		}
		return lines
	}
	before := without()
	e.hold(e.hand.Another(), "node-2")
	e.compare("a claim", before, without())
}

func proves(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	seen := e.hold(e.adapter, "node-1")
	ctx, cancel := context.WithTimeout(e.Context(), e.world.patience())
	defer cancel()
	e.unchanged("a proof", func() {
		if err := e.fencer(e.adapter).Prove(ctx, seen, e.stamp("node-1"), nil); err != nil {
			e.Errorf("prove: expected the provider to refuse, got %v", err)
		}
	})
	if !e.promises().Fenced {
		e.Errorf("prove: the promise to be fenced is gone though the provider refused")
	}
	e.away(key, []string{two}, pause(key, one))
}
