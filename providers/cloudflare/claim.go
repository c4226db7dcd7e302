package cloudflare

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"sidestep/pkg/provider"
)

// genesis is the first stamp of a zone, the same for everybody, so that of two
// that are posted one is refused as identical. Nobody writes through it.
const genesis = "v=1 holder=- at=0 epoch=0 seq=0 nonce=genesis"

// Claim replaces every listed stamp by next. Where none was listed it posts the
// genesis text first, and takes that over when it is the only one.
func (a *Adapter) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	op := fmt.Sprintf("claim zone %s at Cloudflare", a.zone)
	v, err := a.view(op, seen)
	if err != nil {
		return err
	}
	if err := usable(op, next, seen.Stamps); err != nil {
		return err
	}
	stamps := seen.Stamps
	if len(stamps) == 0 {
		if stamps, err = a.begin(ctx, op, v.zoneID, gate); err != nil {
			return err
		}
	}
	var b batch
	b.stamp(a.zone, stamps, next)
	if _, err = a.send(ctx, op, v.zoneID, &b, gate); err != nil {
		return a.lost(ctx, v.zoneID, stamps, err)
	}
	return nil
}

// begin makes the first claim of a zone, unless somebody else was there first.
func (a *Adapter) begin(ctx context.Context, op, zoneID string, gate provider.Gate) ([]provider.Stamp, error) {
	before, err := a.lookStamps(ctx, zoneID)
	if err != nil {
		return nil, err
	}
	if len(before) > 0 {
		return nil, provider.Failf(provider.FencedOut, op, "", "%q was there first", before[0])
	}
	var b batch
	b.text(a.zone.Below(provider.StampLabel), genesis)
	out, err := a.send(ctx, op, zoneID, &b, gate)
	if err != nil {
		return nil, a.lost(ctx, zoneID, nil, err)
	}
	if err := a.placed(op, out); err != nil {
		if gone := a.withdraw(ctx, op, zoneID, out, gate); gone {
			err.Hint = hintZoneID + "; that record is deleted again"
		}
		return nil, err
	}
	after, err := a.lookStamps(ctx, zoneID)
	if err != nil {
		return nil, &provider.Error{Class: provider.Ambiguous, Op: op, Err: err}
	}
	if len(after) == 1 && after[0].Raw == genesis {
		return after, nil
	}
	a.withdraw(ctx, op, zoneID, out, gate)
	return nil, provider.Failf(provider.FencedOut, op, "", "another node was there first")
}

// placed sees that the first record which is ever written went where it was
// meant to: the API takes a name that is not in the zone for one below it, so
// that the zone_id of another zone would put it there.
func (a *Adapter) placed(op string, out *reply) *provider.Error {
	want := a.zone.Below(provider.StampLabel).Unrooted()
	for _, m := range out.Posts {
		if !strings.EqualFold(m.Name, want) {
			failed := provider.Failf(provider.Permanent, op, "", "the record %s was made as %s", want, a.said(m.Name))
			failed.Hint = hintZoneID + ", and delete that record"
			return failed
		}
	}
	return nil
}

// withdraw takes the genesis text of our own out again, by its id and so no other:
// one that came too late, so that it does not stand beside the winner's stamp
// until the next claim, or one that went to another zone, where nobody will ever
// take it over. gone reports that it is out.
func (a *Adapter) withdraw(ctx context.Context, op, zoneID string, out *reply, gate provider.Gate) (gone bool) {
	if len(out.Posts) != 1 || out.Posts[0].ID == "" {
		return false
	}
	b := batch{Deletes: []reference{{out.Posts[0].ID}}}
	if _, err := a.send(ctx, op, zoneID, &b, gate); err != nil {
		a.log.Debug("a first stamp that is not wanted stays for now", "zone", string(a.zone), "record", out.Posts[0].ID, "error", err)
		return false
	}
	return true
}

// Prove deletes a record that cannot exist in one batch with the replacement of
// our own stamp, and expects to be refused with nothing applied, under whatever
// code.
func (a *Adapter) Prove(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	op := fmt.Sprintf("prove the fence of zone %s at Cloudflare", a.zone)
	v, err := a.view(op, seen)
	if err != nil {
		return err
	}
	if err := usable(op, next, seen.Stamps); err != nil {
		return err
	}
	var b batch
	b.stamp(a.zone, seen.Stamps, next)
	b.Deletes = append(b.Deletes, reference{fmt.Sprintf("%032s", next.Nonce)})
	_, err = a.send(ctx, op, v.zoneID, &b, gate)
	switch {
	case err == nil:
		return a.notFenced(op, "the API accepts a batch that deletes a record which is not there")
	case refused(err):
		return a.untouched(ctx, op, v.zoneID, next)
	}
	return err
}

// untouched sees that the refused call left nothing of itself.
func (a *Adapter) untouched(ctx context.Context, op, zoneID string, next provider.Stamp) error {
	now, err := a.lookStamps(ctx, zoneID)
	if err != nil {
		return err
	}
	for _, s := range now {
		if s.Nonce == next.Nonce {
			return a.notFenced(op, "the API refused a batch and applied a part of it")
		}
	}
	return nil
}

func (a *Adapter) notFenced(op, why string) error {
	a.unfenced.Store(true)
	return &provider.Error{
		Class: provider.Permanent, Op: op, Code: fmt.Sprintf("HTTP %d", http.StatusOK), Err: fmt.Errorf("%s: %w", why, provider.ErrNotFenced),
		Hint: "this is not how Cloudflare's API is documented; see endpoint. The zone is treated as unfenced",
	}
}
