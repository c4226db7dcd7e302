package route53

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

var (
	_ provider.Fencer      = (*Adapter)(nil)
	_ provider.Checker     = (*Adapter)(nil)
	_ provider.Confirmer   = (*Adapter)(nil)
	_ provider.Follower    = (*Adapter)(nil)
	_ provider.Inspector   = (*Adapter)(nil)
	_ provider.Releaser    = (*Adapter)(nil)
	_ provider.StampReader = (*Adapter)(nil)
	_ provider.Renewer     = (*Adapter)(nil)
	_ provider.Constructor = New
)

// Promises says that every write is one atomic change of whole sets, each
// compared with the list by Route 53 itself; Fenced turns false when Prove finds
// that what answers does not compare. A pending change is listed at once
// (API_ListResourceRecordSets), so that lists have no lag.
func (a *Adapter) Promises() provider.Promises {
	return provider.Promises{
		Pause: provider.PauseParked, Atomic: true, Together: true, Fenced: !a.unfenced.Load(), Whole: true,
		Single: true, Weights: true, Variants: true,
		Late: a.late, Lag: a.lag, Call: callDeadline, List: listDeadline, Publish: publish,
	}
}

// Add puts values into the answer.
func (a *Adapter) Add(ctx context.Context, call provider.Call) error {
	if len(call.Away) > 0 {
		return provider.Failf(provider.Permanent, a.op(call.Key), "", "an add with %d take-aways", len(call.Away))
	}
	return a.write(ctx, call)
}

// TakeAway takes values out of the answer and leaves a copy of each, in one
// change; what call.Add puts in rides along.
func (a *Adapter) TakeAway(ctx context.Context, call provider.Call) error {
	return a.write(ctx, call)
}

// Claim replaces the listed stamps by next, and compares nothing else.
func (a *Adapter) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	op := fmt.Sprintf("claim zone %s", a.zone)
	v, err := a.view(op, seen)
	if err != nil {
		return err
	}
	b := new(batch)
	if err := a.stamp(b, op, v, next); err != nil {
		return err
	}
	if err = a.send(ctx, op, b, gate); err == nil {
		return nil
	}
	err = a.whose(ctx, err, v, b)
	var e *provider.Error
	if errors.As(err, &e) && e.Class == provider.Conflict && e.Code == codeBatch {
		e.Class = provider.FencedOut // nothing but the stamp was compared
	}
	return err
}

// Prove deletes a stamp that cannot be there, beside the replacement of our own,
// and expects to be refused: something that only looks whether there is a stamp
// would let it through.
func (a *Adapter) Prove(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	op := fmt.Sprintf("prove the fence of zone %s", a.zone)
	if _, err := a.view(op, seen); err != nil {
		return err
	}
	b := new(batch)
	never := a.stampSet(provider.Stamp{Raw: "v=1 holder=nobody nonce=never-" + next.Nonce})
	b.replace([]rrset{never}, []rrset{a.stampSet(next)})
	err := a.send(ctx, op, b, gate)
	var e *provider.Error
	switch {
	case err == nil:
		a.unfenced.Store(true)
		return &provider.Error{
			Class: provider.Permanent, Op: op, Err: provider.ErrNotFenced,
			Hint: "what answers at the endpoint is not Route 53: it takes deletions of what is not there; it is treated as unfenced",
		}
	case errors.As(err, &e) && e.Code == codeBatch:
		return nil
	}
	return err
}

// Confirm waits until the last accepted change is INSYNC: on all name servers of
// Route 53 (API_GetChange).
func (a *Adapter) Confirm(ctx context.Context) error {
	a.mu.Lock()
	id := a.change
	a.mu.Unlock()
	if id == "" {
		return nil
	}
	op := fmt.Sprintf("confirm change %s of zone %s", bareID(id), a.zone)
	for {
		var out *sdk.GetChangeOutput
		err := a.call(ctx, request{op: op}, func(ctx context.Context, api *sdk.Client, o func(*sdk.Options)) (err error) {
			out, err = api.GetChange(ctx, &sdk.GetChangeInput{Id: &id}, o)
			return err
		})
		if err != nil {
			return err
		}
		if out.ChangeInfo != nil && out.ChangeInfo.Status == types.ChangeStatusInsync {
			return nil
		}
		if err := provider.Sleep(ctx, a.poll); err != nil {
			return &provider.Error{Class: provider.Retryable, Op: op, Code: "PENDING", Err: err}
		}
	}
}

// Inspect tells what the API says of the hosted zone. Whether the credential may
// change it, the API tells only to who does.
func (a *Adapter) Inspect(ctx context.Context) ([]string, error) {
	out, err := a.getZone(ctx)
	if err != nil {
		return nil, err
	}
	zone, kind := out.HostedZone, "public"
	if zone.Config != nil && zone.Config.PrivateZone {
		kind = "private"
	}
	lines := []string{
		fmt.Sprintf("hosted zone %s, %s, %d record sets", bareID(aws.ToString(zone.Id)), kind, aws.ToInt64(zone.ResourceRecordSetCount)),
	}
	if out.DelegationSet != nil {
		lines = append(lines, "name servers that the registrar has to delegate to: "+strings.Join(out.DelegationSet.NameServers, ", "))
	}
	for _, vpc := range out.VPCs {
		lines = append(lines, fmt.Sprintf("answers in the network %s of %s", aws.ToString(vpc.VPCId), vpc.VPCRegion))
	}
	if _, err := a.stampSets(ctx); err != nil {
		return lines, err
	}
	return append(lines, "the credential may read the zone; whether it may change it, Route 53 tells only when it is asked to: the first claim will show"), nil
}

func (a *Adapter) op(key record.Key) string { return fmt.Sprintf("change %s of zone %s", key, a.zone) }

// view is what the list kept for the writes that rest on it.
func (a *Adapter) view(op string, seen *provider.Snapshot) (*view, error) {
	if seen != nil && seen.Zone == a.zone {
		if v, ok := seen.Native.(*view); ok {
			return v, nil
		}
	}
	return nil, provider.Failf(provider.Permanent, op, "", "the call rests on no list of this adapter")
}
