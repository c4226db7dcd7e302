package cloudflare

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

var (
	_ provider.Fencer      = (*Adapter)(nil)
	_ provider.StampReader = (*Adapter)(nil)
	_ provider.Constructor = New
)

// Promises says that a pause is a rename in an atomic batch which the API
// compares with the list by the stamp's id; Fenced turns false when Prove finds
// that it does not.
func (a *Adapter) Promises() provider.Promises {
	return provider.Promises{
		Pause: provider.PauseRename, Atomic: true, Fenced: !a.unfenced.Load(), Single: true, MaxChanges: maxChanges,
		Late: a.late, Lag: a.lag, Call: callDeadline, MinTTL: minTTL, MaxTTL: maxTTL, Publish: publish,
	}
}

// pageSize is the largest page that the API gives ("List DNS Records"): the
// whole zone in one, which no edit can shift while it is read.
const pageSize = 5_000_000

// List reads the zone in one page, the stamp in it.
func (a *Adapter) List(ctx context.Context) (*provider.Snapshot, error) {
	op := fmt.Sprintf("list zone %s at Cloudflare", a.zone)
	id, err := a.findZone(ctx)
	if err != nil {
		return nil, err
	}
	b := newBuilder(a.zone, id)
	query := url.Values{"per_page": {strconv.Itoa(pageSize)}}
	if err := a.stream(ctx, op, "/zones/"+id+"/dns_records", query, b.add); err != nil {
		a.forgetZone(err)
		return nil, err
	}
	if b.outside != "" {
		failed := provider.Failf(provider.Permanent, op, "", "the zone %s has a record %q, which is not in %s", id, a.said(b.outside), a.zone)
		failed.Hint = hintZoneID
		return nil, failed
	}
	return b.finish(), nil
}

// Stamps reads the stamps alone, by one filtered list.
func (a *Adapter) Stamps(ctx context.Context) (*provider.Snapshot, error) {
	id, err := a.findZone(ctx)
	if err != nil {
		return nil, err
	}
	b, err := a.listStamps(ctx, id)
	if err != nil {
		a.forgetZone(err)
		return nil, err
	}
	return b.finish(), nil
}

func (a *Adapter) lookStamps(ctx context.Context, zoneID string) ([]provider.Stamp, error) {
	b, err := a.listStamps(ctx, zoneID)
	return b.view.stamps(a.zone), err
}

func (a *Adapter) listStamps(ctx context.Context, zoneID string) (*builder, error) {
	name := a.zone.Below(provider.StampLabel)
	b := newBuilder(a.zone, zoneID)
	query := url.Values{"type": {string(record.TXT)}, "name": {name.Unrooted()}, "per_page": {"100"}}
	err := a.stream(ctx, "read the stamp of zone "+string(a.zone), "/zones/"+zoneID+"/dns_records", query, b.add)
	return b, err
}
