package providertest

import (
	"reflect"
	"slices"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

func followCases() []Case {
	return []Case{
		{"follow/add", "after an accepted add, After is what a list shows then", fenced, followsAdd},
		{"follow/take-away", "after an accepted take-away, After is what a list shows then", fenced, followsAway},
		{"follow/swap", "after an accepted swap, After is what a list shows then", func(p provider.Promises) bool { return p.Fenced && p.Single }, followsSwap},
		{"follow/next-write", "a write that rests on After is accepted like one that rests on a list", fenced, writesOn},
		{"follow/take-over", "a write that rests on After is FencedOut once another node took over", fenced, followedIsFenced},
		{"follow/refused", "after a refused write there is no After", fenced, followsNoRefusal},
		{"follow/lost-reply", "after a write whose reply is lost there is no After", fenced, func(e *env) { followsNothingUnclear(e, LostReply) }},
		{"follow/lost-request", "after a write that is lost there is no After", fenced, func(e *env) { followsNothingUnclear(e, LostRequest) }},
		{"follow/last-only", "there is an After of the last write only", fenced, followsLastOnly},
	}
}

// follower is the adapter as one that knows the zone after its own writes; not
// every one has to.
func (e *env) follower() provider.Follower {
	e.Helper()
	f, ok := e.adapter.(provider.Follower)
	if !ok {
		e.Skipf("does not apply: this adapter follows none of its writes, each is followed by a list")
	}
	return f
}

// after is what the adapter knows after a write that has to be accepted. One
// that knows nothing is asked no further.
func (e *env) after(call provider.Call) *provider.Snapshot {
	e.Helper()
	f := e.follower()
	if err := e.send(e.adapter, call); err != nil {
		e.Fatalf("write: expected success, got %v", err)
	}
	after := f.After(call)
	if after == nil {
		e.Skipf("does not apply: only a list can tell what came of this write")
	}
	return after
}

// follows makes a write and holds After against a list.
func (e *env) follows(call provider.Call) *provider.Snapshot {
	e.Helper()
	after := e.after(call)
	listed := e.list()
	for _, part := range []struct {
		what     string
		got, has any
	}{
		{"zone", after.Zone, listed.Zone},
		{"sets", bare(after.Sets), bare(listed.Sets)},
		{"stamps", texts(after.Stamps), texts(listed.Stamps)},
		{"owners", sortedOwners(after.Owners), sortedOwners(listed.Owners)},
		{"delegations", slices.Concat(after.Delegations), slices.Concat(listed.Delegations)},
		{"count of records", after.Records, listed.Records},
	} {
		if !reflect.DeepEqual(part.got, part.has) {
			e.Errorf("After: its %s should be\n %+v, are\n %+v", part.what, part.has, part.got)
		}
	}
	return after
}

// bare are sets without what only the adapter reads.
func bare(sets []record.Set) []record.Set {
	out := make([]record.Set, len(sets))
	for i, s := range sets {
		out[i] = record.Set{Key: s.Key, Answers: slices.Clone(s.Answers)}
		for j := range out[i].Answers {
			out[i].Answers[j].Native = nil
		}
	}
	return out
}

func texts(stamps []provider.Stamp) []string {
	list := make([]string, len(stamps))
	for i, s := range stamps {
		list[i] = s.String() + " nonce " + s.Nonce
	}
	slices.Sort(list)
	return list
}

func sortedOwners(owners []provider.Owner) []provider.Owner {
	list := slices.Concat(owners)
	slices.SortFunc(list, func(a, b provider.Owner) int { return strings.Compare(string(a.Name)+a.Owner, string(b.Name)+b.Owner) })
	return list
}

// crowd puts what a list may hold beside the set that is written.
func (e *env) crowd(key record.Key) {
	e.Helper()
	e.put(key, one, two)
	e.put(e.key("mail", record.A), three)
	e.put(e.key("www", record.AAAA), "2001:db8::1")
	e.hand.Put(RR{Name: "below." + string(e.world.Zone), Type: "NS", TTL: ttl, Data: "ns.example.net."})
	e.hand.Put(RR{Name: "a-mail." + string(e.world.Zone), Type: "TXT", TTL: ttl, Data: `"heritage=external-dns,external-dns/owner=k8s"`})
	e.settle()
}

func followsAdd(e *env) {
	e.follower()
	key := e.key("www", record.A)
	e.crowd(key)
	call := e.call(key)
	call.Add = []record.Change{create(key, three)}
	e.follows(call)
	e.wantLive(key, one, two, three)

	e.away(key, []string{two, three}, pause(key, one))
	call = e.call(key)
	call.Add = []record.Change{resume(key, one)}
	e.follows(call)
	e.wantLive(key, one, two, three)

	fresh := e.key("fresh", record.A)
	call = e.call(fresh)
	call.Add = []record.Change{create(fresh, one), create(fresh, two)}
	e.follows(call)
	e.wantLive(fresh, one, two)
}

func followsAway(e *env) {
	e.follower()
	key := e.key("www", record.A)
	e.crowd(key)
	call := e.call(key)
	call.Away, call.Survivors = []record.Change{pause(key, one)}, []string{two}
	e.follows(call)
	e.wantLive(key, two)
	call = e.call(key)
	call.Away, call.Empty = []record.Change{pause(key, two)}, true
	e.follows(call)
	e.wantLive(key)
}

func followsSwap(e *env) {
	e.follower()
	const old, next = "dc1.example.net.", "dc2.example.net."
	key := e.key("alias", record.CNAME)
	e.put(key, old)
	for _, step := range [][2]string{{old, next}, {next, old}} {
		call := e.call(key)
		call.Away = []record.Change{{Action: record.Swap, Key: key, From: step[0], Value: step[1], TTL: ttl}}
		e.follows(call)
		e.wantLive(key, step[1])
	}
}

// writesOn switches there and back, of two sets by turns, on one list.
func writesOn(e *env) {
	e.follower()
	keys := []record.Key{e.key("www", record.A), e.key("mail", record.A)}
	for _, key := range keys {
		e.put(key, one)
	}
	call := e.call(keys[0])
	for _, value := range []string{two, one, two} {
		other := map[string]string{one: two, two: one}[value]
		for _, key := range keys {
			action := create(key, value)
			if a, found := call.Seen.Set(key).Find(value); found && a.Paused {
				action = resume(key, value)
			}
			add := provider.Call{Key: key, Seen: call.Seen, Next: e.stamp(e.holder()), Add: []record.Change{action}}
			call.Seen = e.follows(add)
			away := provider.Call{Key: key, Seen: call.Seen, Next: e.stamp(e.holder()), Away: []record.Change{pause(key, other)}, Survivors: []string{value}}
			call.Seen = e.follows(away)
			e.wantLive(key, value)
			e.wantAnswer(key, paused(other))
		}
	}
}

func followedIsFenced(e *env) {
	e.follower()
	key := e.key("www", record.A)
	e.put(key, one)
	call := e.call(key)
	call.Add = []record.Change{create(key, two)}
	after := e.after(call)
	e.hold(e.hand.Another(), "node-2")
	away := provider.Call{Key: key, Seen: after, Next: e.stamp(e.holder()), Away: []record.Change{pause(key, one)}, Survivors: []string{two}}
	e.unchanged("a write of the old holder", func() {
		e.class("a write that rests on After", e.send(e.adapter, away), provider.FencedOut)
	})
	e.nothingAfter(away)
}

// nothingAfter sees that nothing is worked out of a call.
func (e *env) nothingAfter(call provider.Call) {
	e.Helper()
	if after := e.follower().After(call); after != nil {
		e.Errorf("After: expected nothing, got %+v", after)
	}
}

func followsNoRefusal(e *env) {
	e.follower()
	key := e.key("www", record.A)
	e.put(key, one)
	first := e.call(key)
	first.Add = []record.Change{create(key, two)}
	if err := e.send(e.adapter, first); err != nil {
		e.Fatalf("write: expected success, got %v", err)
	}
	e.inject(RefusedWrite)
	call := e.call(key)
	call.Add = []record.Change{create(key, three)}
	e.class("a refused write", e.send(e.adapter, call), provider.Permanent)
	e.nothingAfter(call)
}

func followsNothingUnclear(e *env, fault Fault) {
	e.follower()
	key := e.key("www", record.A)
	e.put(key, one)
	call := e.call(key)
	call.Add = []record.Change{create(key, two)}
	e.inject(fault)
	e.class("a write that is "+string(fault), e.send(e.adapter, call), provider.Ambiguous)
	e.nothingAfter(call)
}

func followsLastOnly(e *env) {
	e.follower()
	key := e.key("www", record.A)
	e.put(key, one)
	first := e.call(key)
	e.nothingAfter(first)
	first.Add = []record.Change{create(key, two)}
	e.after(first)
	second := e.call(key)
	e.nothingAfter(second)
	second.Add = []record.Change{create(key, three)}
	e.after(second)
	e.nothingAfter(first)
}
