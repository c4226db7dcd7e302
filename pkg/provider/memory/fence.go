package memory

import (
	"context"
	"slices"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// genesis is the first stamp of a Rename zone, the same for everybody, so that
// of two posts one is refused as identical. Nobody writes through it.
const genesis = "v=1 holder=- at=0 epoch=0 seq=0 nonce=genesis"

// fencer is an adapter to a zone whose class compares and swaps.
type fencer struct{ *adapter }

// Stamps reads the stamps alone.
func (f *fencer) Stamps(ctx context.Context) (*provider.Snapshot, error) {
	s, err := f.read(ctx, OpStamps)
	if err != nil {
		return nil, err
	}
	return &provider.Snapshot{Zone: f.zone.name, Stamps: f.zone.snapshot(s).Stamps, Native: s}, nil
}

// Claim takes the stamp over.
func (f *fencer) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	w, err := f.prepareClaim(OpClaim, seen, next)
	if err != nil {
		return err
	}
	cause := Cause{Op: OpClaim, Node: f.node}
	if f.zone.options.Class == Rename && len(seen.Stamps) == 0 {
		if w, err = f.begin(ctx, cause, next, gate); err != nil {
			return err
		}
	}
	return f.transmit(ctx, cause, gate, w.swapStamp(next))
}

// begin makes the first claim of a Rename zone: the fixed text is posted, and
// is what the claim then takes over, unless somebody else was there first.
func (f *fencer) begin(ctx context.Context, cause Cause, next provider.Stamp, gate provider.Gate) (*work, error) {
	before, err := f.List(ctx)
	if err != nil {
		return nil, err
	}
	if len(before.Stamps) > 0 {
		return nil, provider.Failf(provider.FencedOut, "claim zone "+string(f.zone.name), "", "%q was there first", before.Stamps[0])
	}
	post := func(s *state) error {
		there := slices.ContainsFunc(s.set(f.zone.stampKey()), func(r Record) bool { return r.Value == genesis })
		if err := s.need(!there, provider.FencedOut, "identical", "another node is making the first claim"); err != nil {
			return err
		}
		s.insert(text(f.zone.stampName(), stampTTL, genesis))
		return nil
	}
	if err := f.transmit(ctx, cause, gate, post); err != nil {
		return nil, err
	}
	after, err := f.List(ctx)
	if err != nil {
		return nil, &provider.Error{Class: provider.Ambiguous, Op: "claim zone " + string(f.zone.name), Err: err}
	}
	if len(after.Stamps) != 1 || after.Stamps[0].Raw != genesis {
		return nil, provider.Failf(provider.FencedOut, "claim zone "+string(f.zone.name), "", "another node was there first")
	}
	return f.prepareClaim(cause.Op, after, next)
}

// Prove sends a change of our own stamp together with something that cannot
// be.
func (f *fencer) Prove(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	w, err := f.prepareClaim(OpProve, seen, next)
	if err != nil {
		return err
	}
	swap := w.swapStamp(next)
	refused := false
	err = f.transmit(ctx, Cause{Op: OpProve, Node: f.node}, gate, func(s *state) error {
		if err := swap(s); err != nil {
			return err
		}
		err := s.need(false, provider.Conflict, "impossible", "the record that the proof deletes cannot exist")
		refused = err != nil
		return err
	})
	switch {
	case err == nil:
		f.unfenced.Store(true)
		return provider.ErrNotFenced
	case refused && provider.ClassOf(err) == provider.Conflict:
		return nil
	default:
		return err
	}
}

func (a *adapter) prepareClaim(op Op, seen *provider.Snapshot, next provider.Stamp) (*work, error) {
	refuse := func(class provider.Class, format string, args ...any) error {
		return provider.Failf(class, string(op)+" zone "+string(a.zone.name), "", format, args...)
	}
	if seen == nil {
		return nil, refuse(provider.Permanent, "expected the list that the claim rests on, got none")
	}
	s, ok := seen.Native.(state)
	if !ok || seen.Zone != a.zone.name {
		return nil, refuse(provider.Permanent, "expected a list of zone %s, got one of %s", a.zone.name, seen.Zone)
	}
	if err := usable(next, seen.Stamps, refuse); err != nil {
		return nil, err
	}
	return &work{zone: a.zone, call: provider.Call{Seen: seen, Next: next}, seen: s}, nil
}

// swapStamp replaces the listed stamps by the next one, in the class's way: by
// id, so that a stamp that was posted anew is another one, or as an exact set.
func (w *work) swapStamp(next provider.Stamp) change {
	name := w.zone.stampName()
	seen := w.seen.set(w.zone.stampKey())
	byID := w.zone.options.Class == Rename
	same := w.sameStamp()
	return func(s *state) error {
		if err := same(s); err != nil {
			return err
		}
		s.remove(func(r Record) bool {
			return r.at(name, record.TXT) && (!byID || slices.ContainsFunc(seen, func(o Record) bool { return o.ID == r.ID }))
		})
		s.insert(text(name, stampTTL, next.String()))
		return nil
	}
}

// sameStamp compares the stamps with those that were listed.
func (w *work) sameStamp() change {
	seen := w.seen.set(w.zone.stampKey())
	return func(s *state) error {
		same := sameSet(s.set(w.zone.stampKey()), seen, w.zone.options.Class == Exact)
		if w.zone.options.Class == Rename {
			same = !slices.ContainsFunc(seen, func(r Record) bool { _, there := s.byID(r.ID); return !there })
		}
		return s.need(same, provider.FencedOut, "stamp", "the stamp is no longer the one that was listed")
	}
}

// sameSet compares the values of two sets, and their TTLs where the provider
// does so.
func sameSet(a, b []Record, ttls bool) bool {
	if len(a) != len(b) {
		return false
	}
	for _, r := range a {
		if _, found := find(b, r.value, func(o Record) bool { return !ttls || o.TTL == r.TTL }); !found {
			return false
		}
	}
	return true
}

// fence puts the swap of the stamp in front of a change, in one request.
func (w *work) fence(then change) []change {
	swap := w.swapStamp(w.call.Next)
	return []change{func(s *state) error {
		if err := swap(s); err != nil {
			return err
		}
		return then(s)
	}}
}
