package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

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

// tornList reads the copies and the answers apart.
func tornList(m *mutant, ctx context.Context) (*provider.Snapshot, error) {
	first, err := m.Adapter.List(ctx)
	if err != nil {
		return nil, err
	}
	for begun, versions := time.Now(), len(m.zone.History()); m.another && len(m.zone.History()) == versions && time.Since(begun) < 2*time.Second; {
		time.Sleep(100 * time.Microsecond) // until the writer got in between
	}
	second, err := m.Adapter.List(ctx)
	if err != nil {
		return nil, err
	}
	answers(second, func(k record.Key, a *record.Answer) bool {
		old, found := first.Set(k).Find(a.Value)
		return a.Live || found && old.Paused
	})
	return second, nil
}

func scramble(m *mutant, _ provider.Call) {
	for _, r := range m.zone.Records() {
		if strings.HasPrefix(r.Value, "v=sidestep1") {
			m.edit(memory.Delete(r.Name, r.Type, r.Value), memory.Put(r.Name, r.Type, r.TTL, "secret"))
		}
	}
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

func deafToVariants(m *mutant, ctx context.Context, call provider.Call) error {
	call.Key.Variant = ""
	call.Add, call.Away = slices.Clone(call.Add), slices.Clone(call.Away)
	for _, list := range [][]record.Change{call.Add, call.Away} {
		for i := range list {
			list[i].Key = call.Key
		}
	}
	return m.honest(ctx, call)
}

func ignoresTTL(m *mutant, ctx context.Context, call provider.Call) error {
	if len(call.Away) > 0 && call.Away[0].Action == record.SetTTL {
		return nil
	}
	return m.honest(ctx, call)
}

// leavesStamp says that it is done and puts the stamp back.
func leavesStamp(m *mutant, ctx context.Context, seen *provider.Snapshot, gate provider.Gate) (bool, error) {
	done, err := m.Adapter.(provider.Releaser).Release(ctx, seen, gate)
	if err == nil {
		m.edit(memory.Put("_sidestep.example.com.", "TXT", time.Minute, seen.Stamps[0].Raw))
	}
	return done, err
}

// releasesEverything takes whatever is under the parked names.
func releasesEverything(m *mutant, ctx context.Context, seen *provider.Snapshot, gate provider.Gate) (bool, error) {
	done, err := m.Adapter.(provider.Releaser).Release(ctx, seen, gate)
	for _, r := range m.zone.Records() {
		if _, parked := provider.ParkedOwner(record.Name(r.Name)); parked && err == nil {
			m.edit(memory.Delete(r.Name, r.Type, r.Value))
		}
	}
	return done, err
}

// releasesAnyway rests on a list of its own.
func releasesAnyway(m *mutant, ctx context.Context, _ *provider.Snapshot, gate provider.Gate) (bool, error) {
	now, err := m.Adapter.List(ctx)
	if err != nil {
		return false, err
	}
	return m.Adapter.(provider.Releaser).Release(ctx, now, gate)
}

func releasesGateless(m *mutant, ctx context.Context, seen *provider.Snapshot, _ provider.Gate) (bool, error) {
	return m.Adapter.(provider.Releaser).Release(ctx, seen, nil)
}
