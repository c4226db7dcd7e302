package route53

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// batch is one change of the zone, all or nothing. It deletes only what is
// exactly as it was listed, and creates only what is not there, so that each of
// its lines compares.
type batch struct {
	changes []types.Change
}

// replace puts sets in the place of those that were listed.
func (b *batch) replace(before, after []rrset) {
	for i := range before {
		b.changes = append(b.changes, types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: &before[i]})
	}
	for i := range after {
		b.changes = append(b.changes, types.Change{Action: types.ChangeActionCreate, ResourceRecordSet: &after[i]})
	}
}

// draft compares the set with the list whether it changes or not, and the parked
// copies where they change.
func (b *batch) draft(d *draft) error {
	witness, err := d.witness()
	if err != nil {
		return err
	}
	if witness != nil {
		b.replace([]rrset{*witness}, []rrset{*witness})
	}
	b.replace(d.before, d.after())
	if parked := d.parkedAfter(); !slices.EqualFunc(d.place.parked, parked, func(x, y rrset) bool { return same(&x, &y) }) {
		b.replace(d.place.parked, parked)
	}
	return nil
}

// stamp replaces the listed stamps by next.
func (a *Adapter) stamp(b *batch, op string, v *view, next provider.Stamp) error {
	if next.Nonce == "" {
		if a.unfenced.Load() {
			return nil
		}
		return provider.Failf(provider.Permanent, op, "", "the call has no stamp to leave")
	}
	b.replace(v.stamps, []rrset{a.stampSet(next)})
	return nil
}

func (a *Adapter) stampSet(stamps ...provider.Stamp) rrset {
	s := rrset{Name: aws.String(string(stampName(a.zone))), Type: types.RRTypeTxt, TTL: aws.Int64(stampTTL)}
	for _, stamp := range stamps {
		s.ResourceRecords = append(s.ResourceRecords, types.ResourceRecord{Value: aws.String(formatText(stamp.String()))})
	}
	return s
}

// The limits of one request (API_ChangeResourceRecordSets): values, and
// characters in them.
const (
	maxValues = 1000
	maxChars  = 32000
)

func (b *batch) size() (values, chars int) {
	for _, c := range b.changes {
		values += max(1, len(c.ResourceRecordSet.ResourceRecords))
		for _, r := range c.ResourceRecordSet.ResourceRecords {
			chars += len(aws.ToString(r.Value))
		}
	}
	return values, chars
}

// fits refuses what the API would, before the gate is asked.
func (b *batch) fits(op string) error {
	if values, chars := b.size(); values > maxValues || chars > maxChars {
		return provider.Failf(provider.Permanent, op, "", "the change has %d values of %d characters; Route 53 takes %d of %d in one request", values, chars, maxValues, maxChars)
	}
	return nil
}

// send makes one attempt.
func (a *Adapter) send(ctx context.Context, op string, b *batch, gate provider.Gate) error {
	if err := b.fits(op); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	id, err := a.zoneID(ctx)
	if err != nil {
		return err
	}
	input := &sdk.ChangeResourceRecordSetsInput{HostedZoneId: &id, ChangeBatch: &types.ChangeBatch{Changes: b.changes, Comment: aws.String(a.agent)}}
	var out *sdk.ChangeResourceRecordSetsOutput
	err = a.call(ctx, request{op: op, write: true, gate: gate}, func(ctx context.Context, api *sdk.Client, o func(*sdk.Options)) (err error) {
		out, err = api.ChangeResourceRecordSets(ctx, input, o)
		return err
	})
	if err != nil {
		return err
	}
	if out.ChangeInfo == nil || aws.ToString(out.ChangeInfo.Id) == "" {
		return &provider.Error{Class: provider.Ambiguous, Op: op, Err: errors.New("the answer names no change: it is not one of the API")}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.change = *out.ChangeInfo.Id
	return nil
}

// write is one fenced change of one record set.
func (a *Adapter) write(ctx context.Context, call provider.Call) error {
	op := a.op(call.Key)
	v, err := a.view(op, call.Seen)
	if err != nil {
		return err
	}
	b, err := a.draw(op, call, v)
	if err != nil {
		return err
	}
	if err := a.send(ctx, op, b, call.Gate); err != nil {
		return a.whose(ctx, err, v, b)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = accepted{call.Next.Nonce, b.changes}
	return nil
}

// draw turns a call into a batch.
func (a *Adapter) draw(op string, call provider.Call, v *view) (*batch, error) {
	if err := provider.Steerable(op, a.zone, call.Key, true); err != nil {
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
	b := new(batch)
	if err := a.stamp(b, op, v, call.Next); err != nil {
		return nil, err
	}
	return b, b.draft(d)
}

// whose finds out what a refused batch rested on that is no longer so: the list
// says it, not the text of the refusal. Another stamp is another writer's; a set
// that differs was edited by hand; and where nothing differs, the batch itself
// is what the API refuses. Without an answer it stays a conflict, after which
// the caller lists as well.
func (a *Adapter) whose(ctx context.Context, refused error, v *view, b *batch) error {
	var e *provider.Error
	if !errors.As(refused, &e) || e.Code != codeBatch {
		return refused
	}
	now, err := a.stampSets(ctx)
	if err != nil {
		a.log.Warn("a change was refused, and the stamp could not be read to tell why", "zone", string(a.zone), "err", err)
		return refused
	}
	if !slices.EqualFunc(v.stamps, now, func(x, y rrset) bool { return same(&x, &y) }) {
		e.Class, e.Err = provider.FencedOut, fmt.Errorf("the stamp in the zone is not the listed one, another writer has it: %w", e.Err)
		return e
	}
	held, err := a.holds(ctx, b)
	switch {
	case err != nil:
		a.log.Warn("a change was refused, and the sets could not be read to tell why", "zone", string(a.zone), "err", err)
	case held:
		e.Class, e.Hint = provider.Permanent, "the zone is as it was listed, so the change itself is refused: see what the API says of it"
	default:
		e.Err = fmt.Errorf("the zone is not as it was listed, somebody changed it by hand: %w", e.Err)
	}
	return e
}

// holds reports whether everything that a batch deletes is still there, and
// nothing that it creates anew.
func (a *Adapter) holds(ctx context.Context, b *batch) (bool, error) {
	sets := map[record.Name][]rrset{}
	for _, c := range b.changes {
		name, err := parseName(aws.ToString(c.ResourceRecordSet.Name))
		if err != nil {
			return false, err
		}
		if _, asked := sets[name]; asked {
			continue
		}
		if sets[name], err = a.setsAt(ctx, name, ""); err != nil {
			return false, err
		}
	}
	deleted := map[string]bool{}
	for _, c := range b.changes {
		s := c.ResourceRecordSet
		name, _ := parseName(aws.ToString(s.Name)) // read above
		id := string(s.Type) + " " + string(name) + " " + aws.ToString(s.SetIdentifier)
		there := slices.ContainsFunc(sets[name], func(o rrset) bool {
			if c.Action == types.ChangeActionDelete {
				return same(&o, s)
			}
			return o.Type == s.Type && aws.ToString(o.SetIdentifier) == aws.ToString(s.SetIdentifier)
		})
		switch {
		case c.Action == types.ChangeActionDelete && !there, c.Action == types.ChangeActionCreate && there && !deleted[id]:
			return false, nil
		case c.Action == types.ChangeActionDelete:
			deleted[id] = true
		}
	}
	return true, nil
}
