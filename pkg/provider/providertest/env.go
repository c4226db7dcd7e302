package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// The values that the cases steer: documentation addresses (RFC 5737, RFC 3849).
const (
	one   = "192.0.2.1"
	two   = "192.0.2.2"
	three = "192.0.2.3"

	// ttl is above every hosted provider's minimum.
	ttl = 300 * time.Second

	// rounds is how often a take-away may be asked for before the list shows
	// it: a copy is made in one call, the record leaves in the next.
	rounds = 3
)

// env is one case in its zone.
type env struct {
	TB
	world   World
	adapter provider.Adapter
	hand    Hand
	seq     uint64
}

func (e *env) promises() provider.Promises { return e.adapter.Promises() }

// key is a record set by its labels below the zone, "@" for the apex.
func (e *env) key(label string, t record.Type) record.Key {
	name := e.world.Zone
	if label != "@" {
		name = record.Name(label + "." + string(name))
	}
	return record.Key{Zone: e.world.Zone, Name: name, Type: t}
}

// put makes values live by hand.
func (e *env) put(key record.Key, values ...string) {
	e.Helper()
	for _, v := range values {
		e.hand.Put(RR{Name: string(key.Name), Type: string(key.Type), TTL: ttl, Data: v})
	}
	e.settle()
}

func (e *env) remove(key record.Key, value string) {
	e.Helper()
	e.hand.Remove(RR{Name: string(key.Name), Type: string(key.Type), Data: value})
	e.settle()
}

func (e *env) settle() {
	if s, ok := e.hand.(Settler); ok {
		s.Settle()
	}
}

// inject arms a fault, or skips the case in a world that has none of it.
func (e *env) inject(fault Fault) {
	e.Helper()
	faulty, ok := e.hand.(Faulty)
	if !ok || !faulty.Fault(fault) {
		e.Skipf("does not apply: this world cannot make the fault %s", fault)
	}
}

// list is a list that has to come.
func (e *env) list() *provider.Snapshot {
	e.Helper()
	return e.listBy(e.adapter)
}

func (e *env) listBy(a provider.Adapter) *provider.Snapshot {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), e.world.patience())
	defer cancel()
	snapshot, err := a.List(ctx)
	if err != nil {
		e.Fatalf("list: expected a snapshot, got %v", err)
	}
	if snapshot == nil {
		e.Fatalf("list: got neither a snapshot nor an error")
	}
	return snapshot
}

// stamp is one that was never used before.
func (e *env) stamp(holder string) provider.Stamp {
	e.seq++
	return provider.Stamp{Holder: holder, At: time.Unix(1764460800, 0).UTC(), Epoch: 1, Cluster: 0xcdf818194e3a8c32, Group: 0x1a2b3c4d, Seq: e.seq, Nonce: fmt.Sprintf("%016x", 0xabc0000+e.seq)}
}

// fencer is the adapter as what it promises to be.
func (e *env) fencer(a provider.Adapter) provider.Fencer {
	e.Helper()
	f, ok := a.(provider.Fencer)
	if !ok {
		e.Fatalf("Promises.Fenced holds, but the adapter is no Fencer")
	}
	return f
}

func (e *env) claim(a provider.Adapter, seen *provider.Snapshot, next provider.Stamp) error {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), e.world.patience())
	defer cancel()
	err := e.fencer(a).Claim(ctx, seen, next, nil)
	e.settle()
	return err
}

// hold makes an adapter the holder, where there is something to hold, and
// returns a list in which its stamp is the only one.
func (e *env) hold(a provider.Adapter, holder string) *provider.Snapshot {
	e.Helper()
	seen := e.listBy(a)
	if !e.promises().Fenced {
		return seen
	}
	for range rounds {
		next := e.stamp(holder)
		if err := e.claim(a, seen, next); err != nil {
			e.Fatalf("claim: expected to become the holder, got %v", err)
		}
		seen = e.listBy(a)
		if len(seen.Stamps) == 1 && seen.Stamps[0].Nonce == next.Nonce {
			return seen
		}
	}
	e.Fatalf("claim: expected exactly our stamp in the list, got %v", seen.Stamps)
	return nil
}

// call is a write that rests on a fresh list, the adapter being the holder.
func (e *env) call(key record.Key) provider.Call {
	e.Helper()
	seen := e.list()
	if e.promises().Fenced && (len(seen.Stamps) != 1 || seen.Stamps[0].Holder != e.holder()) {
		seen = e.hold(e.adapter, e.holder())
	}
	return provider.Call{Key: key, Seen: seen, Next: e.stamp(e.holder())}
}

func (e *env) holder() string { return "node-1" }

// send makes one call, whichever of the two kinds it is.
func (e *env) send(a provider.Adapter, call provider.Call) error {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), e.world.patience())
	defer cancel()
	write := a.Add
	if len(call.Away) > 0 {
		write = a.TakeAway
	}
	sorted(call.Add)
	sorted(call.Away)
	err := write(ctx, call)
	e.settle()
	return err
}

func sorted(changes []record.Change) {
	slices.SortFunc(changes, func(a, b record.Change) int { return strings.Compare(a.Value, b.Value) })
}

// add has to succeed.
func (e *env) add(key record.Key, changes ...record.Change) {
	e.Helper()
	call := e.call(key)
	call.Add = changes
	if err := e.send(e.adapter, call); err != nil {
		e.Fatalf("add %v: expected success, got %v", changes, err)
	}
}

// away asks for take-aways, one a call where the provider has no transaction,
// each as often as it takes until the list shows it, and sees that the set is
// never empty on the way.
func (e *env) away(key record.Key, survivors []string, changes ...record.Change) {
	e.Helper()
	groups := [][]record.Change{changes}
	if e.promises().OneByOne {
		groups = slices.Collect(slices.Chunk(changes, 1))
	}
	for _, group := range groups {
		e.awayGroup(key, survivors, group)
	}
}

func (e *env) awayGroup(key record.Key, survivors []string, changes []record.Change) {
	e.Helper()
	for range rounds {
		call := e.call(key)
		call.Away, call.Survivors = changes, survivors
		call.Empty = len(survivors) == 0 && changes[0].Action == record.Pause
		if err := e.send(e.adapter, call); err != nil {
			e.Fatalf("take away %v: expected success, got %v", changes, err)
		}
		if !call.Empty && len(e.hand.Live(key)) == 0 {
			e.Fatalf("take away %v: %s answers with nothing", changes, key)
		}
		if done(e.list().Set(key), changes) {
			return
		}
	}
	e.Errorf("take away %v: the list does not show it after %d calls that succeeded: %v", changes, rounds, e.list().Set(key))
}

// done reports whether a set shows what the changes asked for.
func done(set record.Set, changes []record.Change) bool {
	return !slices.ContainsFunc(changes, func(c record.Change) bool {
		a, found := set.Find(c.Value)
		switch c.Action {
		case record.Pause:
			return !found || a.Live || !a.Paused
		case record.Swap:
			old, kept := set.Find(c.From)
			return !a.Live || !kept || old.Live || !old.Paused
		case record.SetTTL:
			return a.TTL != c.TTL
		case record.SetWeight:
			return a.Weight != c.Weight
		default:
			return !a.Live
		}
	})
}

// class checks that an error is one of the contract's and has one of the
// classes that the case allows.
func (e *env) class(what string, err error, want ...provider.Class) {
	e.Helper()
	var typed *provider.Error
	switch {
	case err == nil:
		e.Errorf("%s: expected an error of class %v, got success", what, want)
	case !errors.As(err, &typed):
		e.Errorf("%s: expected a *provider.Error, got %T: %v", what, err, err)
	case !slices.Contains(want, typed.Class):
		e.Errorf("%s: expected class %v, got %v: %v", what, want, typed.Class, err)
	}
}

func (e *env) wantLive(key record.Key, values ...string) {
	e.Helper()
	if got := e.hand.Live(key); !slices.Equal(got, values) {
		e.Errorf("%s: resolvers should be answered with %v, are with %v", key, values, got)
	}
}

// wantAnswer checks what the list says of one value; its weight, whether and in
// which range its TTL can be set, and its native part are the provider's.
func (e *env) wantAnswer(key record.Key, want record.Answer) {
	e.Helper()
	got, found := e.list().Set(key).Find(want.Value)
	if !found {
		e.Errorf("%s: the list has lost %s", key, want.Value)
		return
	}
	got.Weight, got.MinTTL, got.MaxTTL, got.OwnTTL, got.Proxied, got.Native = want.Weight, want.MinTTL, want.MaxTTL, want.OwnTTL, want.Proxied, want.Native
	if got != want {
		e.Errorf("%s: the list should say\n %+v, says\n %+v", key, want, got)
	}
}

func live(value string) record.Answer   { return record.Answer{Value: value, TTL: ttl, Live: true} }
func paused(value string) record.Answer { return record.Answer{Value: value, TTL: ttl, Paused: true} }

func pause(key record.Key, value string) record.Change {
	return record.Change{Action: record.Pause, Key: key, Value: value}
}

func resume(key record.Key, value string) record.Change {
	return record.Change{Action: record.Resume, Key: key, Value: value}
}

func create(key record.Key, value string) record.Change {
	return record.Change{Action: record.Create, Key: key, Value: value, TTL: ttl, Weight: 1}
}

// others dumps everything that a write to a key has no business with: all but
// the set itself, its parked copies, the stamp, and what the server keeps up by
// itself (serial, signatures).
func (e *env) others(key record.Key) []string {
	e.Helper()
	var lines []string
	for _, rr := range e.hand.Dump() {
		if !e.concerns(rr, key) {
			lines = append(lines, rr.String())
		}
	}
	slices.Sort(lines)
	return lines
}

var serversOwn = []string{"SOA", "RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "DNSKEY", "CDS", "CDNSKEY", "TYPE65534"}

func (e *env) concerns(rr RR, key record.Key) bool {
	name := record.Name(rr.Name)
	set := name == key.Name && rr.Type == string(key.Type)
	stamp := name == e.world.Zone.Below(provider.StampLabel) && rr.Type == "TXT"
	return set || stamp || name == provider.ParkedName(key.Name) || slices.Contains(serversOwn, rr.Type)
}

// everything dumps the whole zone but for the server's own records.
func (e *env) everything() []string {
	e.Helper()
	rrs := slices.DeleteFunc(e.hand.Dump(), func(rr RR) bool { return slices.Contains(serversOwn, rr.Type) })
	sortRRs(rrs)
	lines := make([]string, len(rrs))
	for i, rr := range rrs {
		lines[i] = rr.String()
	}
	return lines
}

// unchanged runs something that must not change one record of the zone.
func (e *env) unchanged(what string, run func()) {
	e.Helper()
	before := e.everything()
	run()
	e.compare(what, before, e.everything())
}

// untouched runs a write to a key and sees that nothing else was changed.
func (e *env) untouched(key record.Key, run func()) {
	e.Helper()
	before := e.others(key)
	run()
	e.compare("a write to "+key.String(), before, e.others(key))
}

func (e *env) compare(what string, before, after []string) {
	e.Helper()
	for _, line := range before {
		if !slices.Contains(after, line) {
			e.Errorf("%s: must not touch, but is gone: %s", what, line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			e.Errorf("%s: must not touch, but is new: %s", what, line)
		}
	}
	if len(before) != len(after) {
		e.Errorf("%s: %d records before, %d after", what, len(before), len(after))
	}
}
