package memory_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/provider/providertest"
)

// mutant is an adapter that breaks one promise. Hooks that are nil keep it.
type mutant struct {
	provider.Adapter

	zone    *memory.Zone
	worldT  providertest.TB
	another bool // not the first node of its world

	promises func(provider.Promises) provider.Promises
	list     func(*mutant, context.Context) (*provider.Snapshot, error)
	write    func(*mutant, context.Context, provider.Call) error
	claim    func(*mutant, context.Context, *provider.Snapshot, provider.Stamp, provider.Gate) error
	after    func(*mutant, provider.Call, func(provider.Call) *provider.Snapshot) *provider.Snapshot
	prove    func(*mutant, context.Context, *provider.Snapshot, provider.Stamp, provider.Gate) error
	release  func(*mutant, context.Context, *provider.Snapshot, provider.Gate) (bool, error)
}

func (m *mutant) Promises() provider.Promises {
	if m.promises == nil {
		return m.Adapter.Promises()
	}
	return m.promises(m.Adapter.Promises())
}

func (m *mutant) List(ctx context.Context) (*provider.Snapshot, error) {
	if m.list == nil {
		return m.Adapter.List(ctx)
	}
	return m.list(m, ctx)
}

func (m *mutant) Add(ctx context.Context, call provider.Call) error {
	return m.either(ctx, call)
}

func (m *mutant) TakeAway(ctx context.Context, call provider.Call) error {
	return m.either(ctx, call)
}

func (m *mutant) either(ctx context.Context, call provider.Call) error {
	if m.write == nil {
		return m.honest(ctx, call)
	}
	return m.write(m, ctx, call)
}

// honest is the write that the mutant was made from.
func (m *mutant) honest(ctx context.Context, call provider.Call) error {
	if len(call.Away) > 0 {
		return m.Adapter.TakeAway(ctx, call)
	}
	return m.Adapter.Add(ctx, call)
}

func (m *mutant) Remains(seen *provider.Snapshot) []string {
	return m.Adapter.(provider.Releaser).Remains(seen)
}

func (m *mutant) Release(ctx context.Context, seen *provider.Snapshot, gate provider.Gate) (bool, error) {
	if m.release == nil || len(m.Remains(seen)) == 0 {
		return m.Adapter.(provider.Releaser).Release(ctx, seen, gate)
	}
	return m.release(m, ctx, seen, gate)
}

func (m *mutant) edit(edits ...memory.Edit) {
	if err := m.zone.EditByHand(edits...); err != nil {
		m.worldT.Errorf("the mutant's own edit: %v", err)
	}
}

// fenced is a mutant of a Fencer.
type fencedMutant struct{ *mutant }

func (m fencedMutant) inner() provider.Fencer { return m.Adapter.(provider.Fencer) }

func (m fencedMutant) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	if m.claim == nil {
		return m.inner().Claim(ctx, seen, next, gate)
	}
	return m.claim(m.mutant, ctx, seen, next, gate)
}

func (m fencedMutant) Prove(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	if m.prove == nil {
		return m.inner().Prove(ctx, seen, next, gate)
	}
	return m.prove(m.mutant, ctx, seen, next, gate)
}

func (m fencedMutant) After(call provider.Call) *provider.Snapshot {
	follower, _ := m.Adapter.(provider.Follower)
	if m.after == nil {
		return follower.After(call)
	}
	return m.after(m.mutant, call, follower.After)
}

// breeds are the ways in which adapters go wrong, and the case of the suite
// that has to notice.
var breeds = []struct {
	name   string
	class  memory.Class
	breed  func(*mutant)
	caught string
}{
	{"deletes on pause", memory.Exact, func(m *mutant) { m.write = afterwards(deletePaused) }, "pause/round-trip"},
	{"deletes on pause, by status", memory.Status, func(m *mutant) { m.write = afterwards(deletePaused) }, "pause/last-when-asked"},
	{"takes the siblings along", memory.Whole, func(m *mutant) { m.write = afterwards(deleteSiblings) }, "pause/foreign-value"},
	{"drops the siblings' TTL", memory.Rename, func(m *mutant) { m.write = afterwards(dropTTL) }, "pause/round-trip"},
	{"forgets the TTL on resume", memory.Status, func(m *mutant) { m.write = afterwards(dropTTL) }, "pause/round-trip"},
	{"drops other types of the name", memory.Prerequisites, func(m *mutant) { m.write = afterwards(deleteMX) }, "pause/foreign-records"},
	{"joins the chunks of foreign texts", memory.Exact, func(m *mutant) { m.write = afterwards(rewriteTexts) }, "pause/foreign-records"},
	{"forgets the copies of the other type", memory.Prerequisites, func(m *mutant) { m.write = afterwards(deleteOtherCopies) }, "pause/two-types"},
	{"throws away copies that it cannot read", memory.Exact, func(m *mutant) { m.write = afterwards(deleteOddCopies) }, "pause/unreadable-copy"},
	{"creates twice", memory.Status, func(m *mutant) { m.write = afterwards(doubleOne) }, "create/repeat"},

	{"lists a part", memory.Rename, func(m *mutant) {
		m.list = listed(func(s *provider.Snapshot) { s.Sets = s.Sets[:min(len(s.Sets), 100)] })
	}, "list/many"},
	{"lists a part and no error", memory.Status, func(m *mutant) { m.list = partial }, "fault/cut-list"},
	{"takes nothing for an empty zone", memory.Whole, func(m *mutant) { m.list = partial }, "fault/empty-list"},
	{"returns what it has beside the error", memory.Exact, func(m *mutant) { m.list = besides }, "fault/cut-list"},
	{"writes in two steps", memory.Exact, func(m *mutant) { m.list = tornList }, "list/during-writes"},
	{"keeps copies that only it can read", memory.Exact, func(m *mutant) { m.write = afterwards(scramble) }, "pause/readable-copy"},
	{"takes a refusal for a throttle", memory.Append, func(m *mutant) { m.write = classed(provider.Retryable) }, "fault/refused-write"},
	{"takes a refusal for an empty zone", memory.Append, func(m *mutant) { m.list = partial }, "fault/refused-list"},
	{"gives no deadline", memory.Append, func(m *mutant) {
		m.promises = func(p provider.Promises) provider.Promises { p.Call = 0; return p }
	}, "promises/consistent"},
	{"lists unsorted", memory.Exact, func(m *mutant) { m.list = listed(func(s *provider.Snapshot) { slices.Reverse(s.Sets) }) }, "list/sorted"},
	{"lists as spelled", memory.Status, func(m *mutant) { m.list = listed(upper) }, "list/canonical"},
	{"lists paused values as gone", memory.Status, func(m *mutant) { m.list = listed(hidePaused) }, "pause/round-trip"},
	{"lists paused values as held", memory.Whole, func(m *mutant) { m.list = listed(holdPaused) }, "pause/round-trip"},
	{"hides copies of live values", memory.Append, func(m *mutant) { m.list = listed(hideHalfWay) }, "pause/half-way-pause"},
	{"misses wildcards", memory.Exact, func(m *mutant) { m.list = listed(dropWildcards) }, "list/complete"},
	{"misses the apex", memory.Append, func(m *mutant) { m.list = listed(dropApex) }, "list/complete"},
	{"counts answers only", memory.Whole, func(m *mutant) { m.list = listed(func(s *provider.Snapshot) { s.Records = len(s.Sets) }) }, "list/counts-records"},
	{"misses owners", memory.Rename, func(m *mutant) { m.list = listed(func(s *provider.Snapshot) { s.Owners = nil }) }, "list/owners"},
	{"misses delegations", memory.Rename, func(m *mutant) { m.list = listed(func(s *provider.Snapshot) { s.Delegations = nil }) }, "list/delegations"},
	{"misses strange stamps", memory.Exact, func(m *mutant) { m.list = listed(dropStrangeStamps) }, "list/strange-stamp"},
	{"stops at an odd record", memory.Status, func(m *mutant) { m.list = stopsAtOdd }, "list/foreign-records"},

	{"takes the last one", memory.Append, func(m *mutant) { m.write = careless }, "take-away/last"},
	{"never looks at survivors", memory.Status, func(m *mutant) { m.write = careless }, "take-away/survivor-gone"},
	{"never looks at survivors, renaming", memory.Rename, func(m *mutant) { m.write = careless }, "take-away/survivor-gone-in-the-gap"},
	{"overwrites what came in the gap", memory.Prerequisites, func(m *mutant) { m.write = overwriting }, "gap/new-value"},
	{"overwrites a TTL in the gap", memory.Prerequisites, func(m *mutant) { m.write = loosely }, "gap/new-ttl"},
	{"upserts the copies", memory.Exact, func(m *mutant) { m.write = overwriting }, "gap/new-copy"},
	{"compares the serial always", memory.Prerequisites, func(m *mutant) { m.write = strictly }, "gap/elsewhere"},

	{"never asks the gate", memory.Whole, func(m *mutant) { m.write = gateless }, "gate/refuses"},
	{"asks the gate afterwards", memory.Whole, func(m *mutant) { m.write = gateAfter }, "gate/refuses"},
	{"wraps the gate's error", memory.Append, func(m *mutant) { m.write = rewrapped }, "gate/refuses"},

	{"ignores the stamp", memory.Exact, func(m *mutant) { m.write = relisting }, "fence/take-over"},
	{"compares the holder only", memory.Prerequisites, func(m *mutant) { m.write = byHolder }, "fence/nonce"},
	{"looks at the stamp before, not in the call", memory.Rename, func(m *mutant) { m.write = lookBefore }, "fence/take-over-in-the-gap"},
	{"repairs a deleted stamp by itself", memory.Exact, func(m *mutant) { m.write = selfHealing }, "fence/deleted-stamp"},
	{"promises a fence without one", memory.Status, func(m *mutant) {
		m.promises = func(p provider.Promises) provider.Promises { p.Fenced = true; return p }
	}, "fence/interface"},
	{"claims always", memory.Exact, func(m *mutant) { m.claim = claimAnyway }, "fence/two-claims"},
	{"claims by adding a stamp", memory.Prerequisites, func(m *mutant) { m.claim = claimBeside }, "fence/copied-stamp"},
	{"forgets that a stamp is released", memory.Exact, func(m *mutant) { m.list = listed(unrelease) }, "fence/release"},
	{"proves without asking", memory.Rename, func(m *mutant) { m.prove = proveWrongly }, "fence/prove"},

	{"leaves the stamp", memory.Exact, func(m *mutant) { m.release = leavesStamp }, "release/clean"},
	{"takes paused values along", memory.Prerequisites, func(m *mutant) { m.release = releasesEverything }, "release/last-copy"},
	{"takes what it cannot read along", memory.Append, func(m *mutant) { m.release = releasesEverything }, "release/unreadable-copy"},
	{"releases under any stamp", memory.Exact, func(m *mutant) { m.release = releasesAnyway }, "release/fenced"},
	{"releases without its gate", memory.Rename, func(m *mutant) { m.release = releasesGateless }, "release/gate"},

	{"forgets what it created", memory.Rename, func(m *mutant) { m.after = worked(func(s *provider.Snapshot) { s.Sets = s.Sets[:1] }) }, "follow/add"},
	{"works out what it did not see", memory.Exact, func(m *mutant) { m.after = asListed }, "follow/take-away"},
	{"keeps the old value of a swap", memory.Rename, func(m *mutant) { m.after = asListed }, "follow/swap"},
	{"keeps the stamp that it replaced", memory.Rename, func(m *mutant) { m.after = oldNative }, "follow/next-write"},
	{"writes what it worked out over another's", memory.Exact, func(m *mutant) { m.write = relisting }, "follow/take-over"},
	{"follows a write that was refused", memory.Exact, func(m *mutant) { m.after = relisted }, "follow/refused"},
	{"follows a write that it knows nothing of", memory.Rename, func(m *mutant) { m.after = relisted }, "follow/lost-reply"},
	{"follows a write that is lost", memory.Rename, func(m *mutant) { m.after = relisted }, "follow/lost-request"},
	{"follows any write", memory.Rename, func(m *mutant) { m.after = lastly() }, "follow/last-only"},

	{"calls every error permanent", memory.Status, func(m *mutant) { m.write = classed(provider.Permanent) }, "fault/throttled-write"},
	{"takes a time-out for a failure", memory.Rename, func(m *mutant) { m.write = classed(provider.Retryable) }, "fault/lost-reply"},
	{"takes a time-out for a success", memory.Whole, func(m *mutant) { m.write = hopeful }, "fault/lost-request"},
	{"sends again after a time-out", memory.Append, func(m *mutant) { m.write = insisting }, "fault/lost-reply"},
	{"returns plain errors", memory.Exact, func(m *mutant) { m.write = plain }, "take-away/last"},
	{"ignores the deadline of a list", memory.Append, func(m *mutant) { m.list = tirelessList }, "fault/hanging-list"},
	{"ignores the deadline of a write", memory.Append, func(m *mutant) { m.write = tireless }, "fault/hanging-write"},
	{"refuses a repeat as permanent", memory.Status, func(m *mutant) { m.write = touchy }, "resume/repeat"},
	{"forgets the old value of a swap", memory.Whole, func(m *mutant) { m.write = afterwards(deletePaused) }, "swap/cname"},
	{"creates CNAMEs that it cannot switch", memory.Append, func(m *mutant) { m.write = createsAlias }, "swap/refused"},
	{"sets no TTL and says so to nobody", memory.Exact, func(m *mutant) { m.write = ignoresTTL }, "ttl/set"},
	{"takes one line for another", memory.Status, func(m *mutant) { m.write = deafToVariants }, "variant/apart"},
	{"takes a variant for the set", memory.Whole, func(m *mutant) { m.write = deafToVariants }, "variant/refused"},
	{"keeps no weight", memory.Status, func(m *mutant) { m.list = listed(flatten) }, "weight/set"},
}

// TestSuiteCatchesMutants is the proof that the suite can fail.
func TestSuiteCatchesMutants(t *testing.T) {
	for _, b := range breeds {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			failures := providertest.Check(mutantWorld(b.class, b.breed), b.caught)
			caught := slices.ContainsFunc(failures, func(f providertest.Failure) bool { return f.Case == b.caught })
			if !caught {
				t.Errorf("expected the case %s to fail, these did: %v", b.caught, failures)
			}
		})
	}
}

// TestSuiteFailsNobodyElse keeps the proof honest: an adapter with no hook at
// all passes through the same machinery.
func TestSuiteFailsNobodyElse(t *testing.T) {
	for _, class := range memory.Classes() {
		w := mutantWorld(class, func(*mutant) {})
		w.Patience = 0 // that of the suite
		if failures := providertest.Check(w); len(failures) > 0 {
			t.Errorf("%s: expected no failures, got %v", class, failures)
		}
	}
}

func mutantWorld(class memory.Class, breed func(*mutant)) providertest.World {
	w := world(class)
	w.Patience = time.Second
	w.New = func(t providertest.TB) (provider.Adapter, providertest.Hand) {
		zone := memory.NewZone("example.com.", memory.Options{Class: class})
		m := &mutant{Adapter: zone.Adapter("node-1"), zone: zone, worldT: t}
		breed(m)
		if class.Fenced() {
			return fencedMutant{m}, mutantHand{newHand(t, zone), breed}
		}
		return m, mutantHand{newHand(t, zone), breed}
	}
	return w
}

// mutantHand lets every node of a world be of the same breed.
type mutantHand struct {
	*hand

	breed func(*mutant)
}

func (h mutantHand) Another() provider.Adapter {
	m := &mutant{Adapter: h.hand.Another(), zone: h.zone, worldT: h.t, another: true}
	h.breed(m)
	if _, ok := m.Adapter.(provider.Fencer); ok {
		return fencedMutant{m}
	}
	return m
}
