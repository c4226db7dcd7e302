package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

var (
	_ provider.Fencer        = (*Adapter)(nil)
	_ provider.StampReader   = (*Adapter)(nil)
	_ provider.Authoritative = (*Adapter)(nil)
	_ provider.Constructor   = New
)

// Promises says that every write is one atomic update of whole sets, compared
// with the list by the server itself; Fenced turns false when Prove finds that
// the server does not compare.
func (a *Adapter) Promises() provider.Promises {
	return provider.Promises{
		Pause: provider.PauseParked, Atomic: true, Together: true, Fenced: !a.unfenced.Load(), Whole: true, Single: true,
		Late: a.late, Lag: a.lag, Call: callDeadline,
	}
}

// Servers is the server that takes the updates: the zone's primary.
func (a *Adapter) Servers() []string { return []string{a.server} }

// List transfers the zone whole.
func (a *Adapter) List(ctx context.Context) (*provider.Snapshot, error) {
	b := newBuilder(a.zone)
	if err := a.axfr(ctx, b.add); err != nil {
		return nil, err
	}
	snap, err := b.finish()
	if err != nil {
		return nil, lost(fmt.Sprintf("transfer zone %s from %s", a.zone, a.transfer), err)
	}
	return snap, nil
}

// Add puts values into the answer.
func (a *Adapter) Add(ctx context.Context, call provider.Call) error {
	if len(call.Away) > 0 {
		return provider.Failf(provider.Permanent, a.op(call.Key), "", "an add with %d take-aways", len(call.Away))
	}
	return a.write(ctx, call)
}

// TakeAway takes values out of the answer and leaves a copy of each, in one
// update; what call.Add puts in rides along.
func (a *Adapter) TakeAway(ctx context.Context, call provider.Call) error {
	return a.write(ctx, call)
}

// Claim replaces the listed stamps by next. Nothing but the stamps is
// compared, so that of several claimants of one view exactly one succeeds,
// however busy the zone is.
func (a *Adapter) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	op := fmt.Sprintf("claim zone %s", a.zone)
	var u update
	if err := a.stamp(&u, op, seen, next); err != nil {
		return err
	}
	return fencedOut(a.send(ctx, op, &u, gate))
}

// fencedOut is what a prerequisite that fails means where only the stamps were
// compared.
func fencedOut(err error) error {
	var failed *provider.Error
	if errors.As(err, &failed) && failed.Class == provider.Conflict {
		failed.Class, failed.Err = provider.FencedOut, errors.New("the stamp in the zone is not the listed one: another writer has it")
	}
	return err
}

// Prove requires a stamp that cannot be there, beside the replacement of our
// own, and expects to be refused.
func (a *Adapter) Prove(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	op := fmt.Sprintf("prove the fence of zone %s", a.zone)
	if _, err := a.view(op, seen); err != nil {
		return err
	}
	id := setID{stampName(a.zone), dns.TypeTXT}
	var u update
	u.equals(id, []string{textData("v=1 holder=nobody nonce=never-" + next.Nonce)})
	u.replace(id, rrset{stampTTL, []string{textData(next.String())}})
	err := a.send(ctx, op, &u, gate)
	var failed *provider.Error
	switch {
	case err == nil:
		a.unfenced.Store(true)
		return &provider.Error{
			Class: provider.Permanent, Op: op, Err: provider.ErrNotFenced,
			Hint: "the server ignores the prerequisites of RFC 2136; it is treated as unfenced",
		}
	case errors.As(err, &failed) && failed.Class == provider.Conflict:
		return nil
	}
	return err
}

// Stamps reads the stamps alone, by one query to the primary.
func (a *Adapter) Stamps(ctx context.Context) (*provider.Snapshot, error) {
	texts, err := a.look(ctx, stampName(a.zone))
	if err != nil {
		return nil, err
	}
	snap := &provider.Snapshot{Zone: a.zone, Native: &view{}}
	for _, data := range texts {
		text, err := textOf(data)
		if err != nil {
			return nil, lost("read the stamp of "+string(a.zone), err)
		}
		stamp := provider.ParseStamp(text)
		stamp.Native = data
		snap.Stamps = append(snap.Stamps, stamp)
	}
	return snap, nil
}

func (a *Adapter) op(key record.Key) string {
	return fmt.Sprintf("update zone %s at %s: %s", a.zone, a.server, key)
}

// view is what the list kept for the writes that rest on it.
func (a *Adapter) view(op string, seen *provider.Snapshot) (*view, error) {
	if seen != nil && seen.Zone == a.zone {
		if v, ok := seen.Native.(*view); ok {
			return v, nil
		}
	}
	return nil, provider.Failf(provider.Permanent, op, "", "the call rests on no list of this adapter")
}

// write is one fenced update of one record set.
func (a *Adapter) write(ctx context.Context, call provider.Call) error {
	op := a.op(call.Key)
	v, err := a.view(op, call.Seen)
	if err != nil {
		return err
	}
	u, err := a.draw(op, call, v)
	if err != nil {
		return err
	}
	err = a.send(ctx, op, u, call.Gate)
	if provider.ClassOf(err) != provider.Conflict {
		return err
	}
	return a.whose(ctx, call, err)
}

// draw turns a call into an update.
func (a *Adapter) draw(op string, call provider.Call, v *view) (*update, error) {
	if err := provider.Steerable(op, a.zone, call.Key, false); err != nil {
		return nil, err
	}
	d, err := newDraft(op, call.Key, v)
	if err != nil {
		return nil, err
	}
	for _, change := range slices.Concat(call.Add, call.Away) {
		if err := d.apply(change); err != nil {
			return nil, err
		}
	}
	if err := d.check(call); err != nil {
		return nil, err
	}
	u := new(update)
	if err := a.stamp(u, op, call.Seen, call.Next); err != nil {
		return nil, err
	}
	if !call.Loose {
		u.equals(setID{a.zone, dns.TypeSOA}, []string{v.soa})
	}
	u.draft(d)
	return u, nil
}

// stamp compares the listed stamps and leaves next. Where the server was found
// not to compare, a call without a stamp is written without one.
func (a *Adapter) stamp(u *update, op string, seen *provider.Snapshot, next provider.Stamp) error {
	if seen == nil || seen.Zone != a.zone {
		return provider.Failf(provider.Permanent, op, "", "the call rests on no list of this zone")
	}
	if next.Nonce == "" {
		if a.unfenced.Load() {
			return nil
		}
		return provider.Failf(provider.Permanent, op, "", "the call has no stamp to leave")
	}
	id := setID{stampName(a.zone), dns.TypeTXT}
	u.equals(id, stampData(seen.Stamps))
	u.replace(id, rrset{stampTTL, []string{textData(next.String())}})
	return nil
}

// stampData is the rdata of stamps, as they were listed where they were.
func stampData(stamps []provider.Stamp) []string {
	var data []string
	for _, s := range stamps {
		text, listed := s.Native.(string)
		if !listed {
			text = textData(s.String())
		}
		data = append(data, text)
	}
	slices.Sort(data)
	return data
}

// whose finds out why a prerequisite failed: one look at the stamp tells
// another writer of ours from an edit by hand. Without an answer it stays a
// conflict, after which the caller lists as well.
func (a *Adapter) whose(ctx context.Context, call provider.Call, refused error) error {
	if call.Next.Nonce == "" {
		return refused
	}
	data, err := a.look(ctx, stampName(a.zone))
	if err != nil {
		a.log.Warn("a prerequisite failed, and the stamp could not be read to tell why", "zone", string(a.zone), "err", err)
		return refused
	}
	if slices.Equal(data, stampData(call.Seen.Stamps)) {
		return refused
	}
	return fencedOut(refused)
}
