package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
)

// mutant is an adapter that breaks one promise. Hooks that are nil keep it.
type mutant struct {
	provider.Adapter

	zone   *memory.Zone
	worldT providertest.TB

	promises func(provider.Promises) provider.Promises
	list     func(*mutant, context.Context) (*provider.Snapshot, error)
	write    func(*mutant, context.Context, provider.Call) error
	claim    func(*mutant, context.Context, *provider.Snapshot, provider.Stamp, provider.Gate) error
	prove    func(*mutant, context.Context, *provider.Snapshot, provider.Stamp, provider.Gate) error
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
	{"keeps no weight", memory.Status, func(m *mutant) { m.list = listed(flatten) }, "weight/set"},
}

// TestSuiteCatchesMutants is the proof that the suite can fail.
func TestSuiteCatchesMutants(t *testing.T) {
	for _, b := range breeds {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			failures := providertest.Check(mutantWorld(b.class, b.breed))
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
		if failures := providertest.Check(mutantWorld(class, func(*mutant) {})); len(failures) > 0 {
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
	m := &mutant{Adapter: h.hand.Another(), zone: h.zone, worldT: h.t}
	h.breed(m)
	if _, ok := m.Adapter.(provider.Fencer); ok {
		return fencedMutant{m}
	}
	return m
}

// What goes wrong after a write that went well.

func afterwards(damage func(*mutant, provider.Call)) func(*mutant, context.Context, provider.Call) error {
	return func(m *mutant, ctx context.Context, call provider.Call) error {
		err := m.honest(ctx, call)
		if err == nil {
			damage(m, call)
		}
		return err
	}
}

func (m *mutant) deleteWhere(match func(memory.Record) bool) {
	for _, r := range m.zone.Records() {
		if match(r) {
			m.edit(memory.Delete(r.Name, r.Type, r.Value))
		}
	}
}

func deletePaused(m *mutant, _ provider.Call) {
	m.deleteWhere(func(r memory.Record) bool {
		return r.Disabled || strings.HasPrefix(r.Name, provider.ParkedLabel+".")
	})
}

func deleteSiblings(m *mutant, call provider.Call) {
	m.deleteWhere(func(r memory.Record) bool {
		named := slices.ContainsFunc(slices.Concat(call.Add, call.Away), func(c record.Change) bool { return c.Value == r.Value })
		return record.Name(r.Name) == call.Key.Name && r.Type == string(call.Key.Type) && !named && !slices.Contains(call.Survivors, r.Value)
	})
}

func dropTTL(m *mutant, call provider.Call) {
	for _, r := range m.zone.Records() {
		if record.Name(r.Name) == call.Key.Name && r.Type == string(call.Key.Type) {
			m.edit(memory.Retime(r.Name, r.Type, r.Value, 600*time.Second))
		}
	}
}

func deleteMX(m *mutant, call provider.Call) {
	m.deleteWhere(func(r memory.Record) bool { return record.Name(r.Name) == call.Key.Name && r.Type == "MX" })
}

func rewriteTexts(m *mutant, _ provider.Call) {
	for _, r := range m.zone.Records() {
		if r.Type == "TXT" && strings.Contains(r.Value, `" "`) {
			m.edit(memory.Delete(r.Name, r.Type, r.Value), memory.Put(r.Name, r.Type, r.TTL, strings.ReplaceAll(r.Value, `" "`, "")))
		}
	}
}

func deleteOtherCopies(m *mutant, call provider.Call) {
	m.deleteWhere(func(r memory.Record) bool {
		p, err := provider.ParseParked(r.Value)
		return err == nil && p.Type != call.Key.Type
	})
}

func deleteOddCopies(m *mutant, _ provider.Call) {
	m.deleteWhere(func(r memory.Record) bool {
		_, err := provider.ParseParked(r.Value)
		return err != nil && strings.HasPrefix(r.Name, provider.ParkedLabel+".")
	})
}

func doubleOne(m *mutant, call provider.Call) {
	for _, c := range call.Add {
		if c.Action == record.Create {
			m.edit(memory.Put(string(c.Key.Name), string(c.Key.Type), c.TTL, c.Value))
		}
	}
}

// What goes wrong with a list.

func listed(damage func(*provider.Snapshot)) func(*mutant, context.Context) (*provider.Snapshot, error) {
	return func(m *mutant, ctx context.Context) (*provider.Snapshot, error) {
		s, err := m.Adapter.List(ctx)
		if err == nil {
			damage(s)
		}
		return s, err
	}
}

func partial(m *mutant, ctx context.Context) (*provider.Snapshot, error) {
	s, err := m.Adapter.List(ctx)
	if err != nil && ctx.Err() == nil {
		return &provider.Snapshot{Zone: m.zone.Name()}, nil
	}
	return s, err
}

func besides(m *mutant, ctx context.Context) (*provider.Snapshot, error) {
	s, err := m.Adapter.List(ctx)
	if err != nil {
		return &provider.Snapshot{Zone: m.zone.Name()}, err
	}
	return s, nil
}

// answers edits every answer of a snapshot, or drops it.
func answers(s *provider.Snapshot, keep func(record.Key, *record.Answer) bool) {
	var sets []record.Set
	for _, set := range s.Sets {
		var kept []record.Answer
		for _, a := range set.Answers {
			if keep(set.Key, &a) {
				kept = append(kept, a)
			}
		}
		if len(kept) > 0 {
			sets = append(sets, record.Set{Key: set.Key, Answers: kept})
		}
	}
	s.Sets = sets
}

func upper(s *provider.Snapshot) {
	answers(s, func(_ record.Key, a *record.Answer) bool { a.Value = strings.ToUpper(a.Value); return true })
}

func hidePaused(s *provider.Snapshot) {
	answers(s, func(_ record.Key, a *record.Answer) bool { return a.Live })
}

func holdPaused(s *provider.Snapshot) {
	answers(s, func(_ record.Key, a *record.Answer) bool {
		a.Held, a.Paused = a.Held || a.Paused, false
		return true
	})
}

func hideHalfWay(s *provider.Snapshot) {
	answers(s, func(_ record.Key, a *record.Answer) bool { a.Paused = a.Paused && !a.Live; return true })
}

func dropWildcards(s *provider.Snapshot) {
	answers(s, func(k record.Key, _ *record.Answer) bool { return !k.Name.Wildcard() })
}

func dropApex(s *provider.Snapshot) {
	answers(s, func(k record.Key, _ *record.Answer) bool { return k.Name != k.Zone })
}

func flatten(s *provider.Snapshot) {
	answers(s, func(_ record.Key, a *record.Answer) bool { a.Weight = 1; return true })
}

func dropStrangeStamps(s *provider.Snapshot) {
	s.Stamps = slices.DeleteFunc(s.Stamps, func(st provider.Stamp) bool { return st.Nonce == "" })
}

func unrelease(s *provider.Snapshot) {
	for i := range s.Stamps {
		s.Stamps[i].Released = false
	}
}

func stopsAtOdd(m *mutant, ctx context.Context) (*provider.Snapshot, error) {
	for _, r := range m.zone.Records() {
		if strings.HasPrefix(r.Type, "TYPE") {
			return nil, provider.Failf(provider.Permanent, "list", "", "cannot parse %s", r.Type)
		}
	}
	return m.Adapter.List(ctx)
}

// What goes wrong on the way to a write.

func careless(m *mutant, ctx context.Context, call provider.Call) error {
	call.Survivors, call.Empty = nil, true
	return m.honest(ctx, call)
}

// overwriting looks again after the gate, so that nothing is compared with
// what the caller had seen, and puts back what its caller saw.
func overwriting(m *mutant, ctx context.Context, call provider.Call) error {
	before := m.zone.Records()
	if err := m.passGate(&call); err != nil {
		return err
	}
	s, err := m.Adapter.List(ctx)
	if err != nil {
		return err
	}
	added := newRecords(before, m.zone.Records())
	call.Seen = s
	if err := m.honest(ctx, call); err != nil {
		return err
	}
	for _, r := range added {
		if strings.Contains(r.Name, "www") {
			m.edit(memory.Delete(r.Name, r.Type, r.Value))
		}
	}
	return nil
}

func newRecords(before, after []memory.Record) []memory.Record {
	return slices.DeleteFunc(after, func(r memory.Record) bool {
		return slices.ContainsFunc(before, func(b memory.Record) bool { return b.ID == r.ID })
	})
}

// passGate asks the gate before anything else, which is too early.
func (m *mutant) passGate(call *provider.Call) error {
	gate := call.Gate
	call.Gate = nil
	if gate == nil {
		return nil
	}
	return gate()
}

func loosely(m *mutant, ctx context.Context, call provider.Call) error {
	call.Loose = true
	return m.honest(ctx, call)
}

func strictly(m *mutant, ctx context.Context, call provider.Call) error {
	call.Loose = false
	return m.honest(ctx, call)
}

func gateless(m *mutant, ctx context.Context, call provider.Call) error {
	call.Gate = nil
	return m.honest(ctx, call)
}

func gateAfter(m *mutant, ctx context.Context, call provider.Call) error {
	gate := call.Gate
	call.Gate = nil
	if err := m.honest(ctx, call); err != nil || gate == nil {
		return err
	}
	return gate()
}

func rewrapped(m *mutant, ctx context.Context, call provider.Call) error {
	err := m.honest(ctx, call)
	if _, typed := errors.AsType[*provider.Error](err); err != nil && !typed {
		return fmt.Errorf("write: %w", err)
	}
	return err
}

func relisting(m *mutant, ctx context.Context, call provider.Call) error {
	if s, err := m.Adapter.List(ctx); err == nil && len(s.Stamps) == 1 {
		call.Seen = s
	}
	return m.honest(ctx, call)
}

func byHolder(m *mutant, ctx context.Context, call provider.Call) error {
	s, err := m.Adapter.List(ctx)
	if err == nil && len(s.Stamps) == 1 && len(call.Seen.Stamps) == 1 && s.Stamps[0].Holder == call.Seen.Stamps[0].Holder {
		call.Seen = s
	}
	return m.honest(ctx, call)
}

func lookBefore(m *mutant, ctx context.Context, call provider.Call) error {
	s, err := m.Adapter.List(ctx)
	if err != nil {
		return err
	}
	if len(s.Stamps) != 1 || s.Stamps[0].Nonce != call.Seen.Stamps[0].Nonce {
		return provider.Failf(provider.FencedOut, "write", "", "another stamp")
	}
	if err := m.passGate(&call); err != nil {
		return err
	}
	if call.Seen, err = m.Adapter.List(ctx); err != nil {
		return err
	}
	return m.honest(ctx, call)
}

func selfHealing(m *mutant, ctx context.Context, call provider.Call) error {
	s, err := m.Adapter.List(ctx)
	if err == nil && len(s.Stamps) == 0 {
		m.edit(memory.Put("_sidestep."+string(m.zone.Name()), "TXT", time.Minute, call.Seen.Stamps[0].String()))
	}
	return m.honest(ctx, call)
}

func claimAnyway(m *mutant, ctx context.Context, _ *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	s, err := m.Adapter.List(ctx)
	if err != nil {
		return err
	}
	return fencedMutant{m}.inner().Claim(ctx, s, next, gate)
}

func claimBeside(m *mutant, _ context.Context, _ *provider.Snapshot, next provider.Stamp, _ provider.Gate) error {
	m.edit(memory.Put("_sidestep."+string(m.zone.Name()), "TXT", time.Minute, next.String()))
	return nil
}

func proveWrongly(m *mutant, _ context.Context, _ *provider.Snapshot, next provider.Stamp, _ provider.Gate) error {
	m.edit(memory.Put("_sidestep."+string(m.zone.Name()), "TXT", time.Minute, next.String()))
	return nil
}

// What goes wrong with errors.

func classed(class provider.Class) func(*mutant, context.Context, provider.Call) error {
	return func(m *mutant, ctx context.Context, call provider.Call) error {
		err := m.honest(ctx, call)
		if typed, ok := errors.AsType[*provider.Error](err); ok {
			return &provider.Error{Class: class, Op: typed.Op, Err: err}
		}
		return err
	}
}

func hopeful(m *mutant, ctx context.Context, call provider.Call) error {
	err := m.honest(ctx, call)
	if err != nil && provider.ClassOf(err) == provider.Ambiguous && ctx.Err() == nil {
		return nil
	}
	return err
}

func insisting(m *mutant, ctx context.Context, call provider.Call) error {
	err := m.honest(ctx, call)
	if err != nil && provider.ClassOf(err) == provider.Ambiguous && ctx.Err() == nil {
		return m.honest(ctx, call)
	}
	return err
}

func plain(m *mutant, ctx context.Context, call provider.Call) error {
	if err := m.honest(ctx, call); err != nil {
		return errors.New(err.Error())
	}
	return nil
}

func tirelessList(m *mutant, ctx context.Context) (*provider.Snapshot, error) {
	return m.Adapter.List(m.worldT.Context())
}

func tireless(m *mutant, _ context.Context, call provider.Call) error {
	return m.honest(m.worldT.Context(), call)
}

func touchy(m *mutant, ctx context.Context, call provider.Call) error {
	for _, c := range call.Add {
		if a, found := call.Seen.Set(c.Key).Find(c.Value); found && a.Live {
			return provider.Failf(provider.Permanent, "add", "", "%s is live already", c.Value)
		}
	}
	return m.honest(ctx, call)
}

func createsAlias(m *mutant, ctx context.Context, call provider.Call) error {
	if call.Key.Type == record.CNAME && len(call.Add) > 0 {
		m.edit(memory.Put(string(call.Key.Name), "CNAME", call.Add[0].TTL, call.Add[0].Value))
		return nil
	}
	return m.honest(ctx, call)
}

func ignoresTTL(m *mutant, ctx context.Context, call provider.Call) error {
	if len(call.Away) > 0 && call.Away[0].Action == record.SetTTL {
		return nil
	}
	return m.honest(ctx, call)
}
