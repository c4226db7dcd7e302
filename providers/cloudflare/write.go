package cloudflare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// written is an accepted write: what it rested on, and what the API says that
// there is now.
type written struct {
	call  provider.Call
	batch batch
	reply reply
}

// reply is what became of a batch.
type reply struct {
	Deletes []made `json:"deletes"`
	Patches []made `json:"patches"`
	Posts   []made `json:"posts"`
}

// made is a record in the answer to a write.
type made struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Content  string          `json:"content"`
	TTL      int             `json:"ttl"`
	Proxied  bool            `json:"proxied"`
	Private  bool            `json:"private_routing"`
	Comment  string          `json:"comment"`
	Tags     json.RawMessage `json:"tags"`
	Settings json.RawMessage `json:"settings"`
	Data     json.RawMessage `json:"data"`
	Priority json.RawMessage `json:"priority"`
}

// Add puts values into the answer.
func (a *Adapter) Add(ctx context.Context, call provider.Call) error {
	if len(call.Away) > 0 {
		return provider.Failf(provider.Permanent, a.op(call.Key), "", "an add with %d take-aways", len(call.Away))
	}
	return a.write(ctx, call, call.Add)
}

// TakeAway takes values out of the answer: each record gets the name of the
// parked copies, in the same batch that replaces the stamp and sees that the
// survivors are there.
func (a *Adapter) TakeAway(ctx context.Context, call provider.Call) error {
	if len(call.Add) > 0 {
		return provider.Failf(provider.Permanent, a.op(call.Key), "", "a take-away with %d adds: the name servers may see one before the other", len(call.Add))
	}
	if err := safe(a.op(call.Key), call); err != nil {
		return err
	}
	return a.write(ctx, call, call.Away)
}

func (a *Adapter) op(key record.Key) string {
	return fmt.Sprintf("write zone %s at Cloudflare: %s", a.zone, key)
}

// write is one batch for one record set.
func (a *Adapter) write(ctx context.Context, call provider.Call, changes []record.Change) error {
	op := a.op(call.Key)
	d, err := a.draw(op, call, changes)
	if err != nil {
		return err
	}
	out, err := a.send(ctx, op, d.view.zoneID, &d.batch, call.Gate)
	if err != nil {
		return a.whose(ctx, d.view.zoneID, call.Seen.Stamps, err)
	}
	listed := slices.Concat(d.view.names[call.Key.Name], d.view.names[provider.ParkedName(call.Key.Name)])
	if err := a.meant(op, &d.batch, listed, out); err != nil {
		return err
	}
	a.mu.Lock()
	a.last = &written{call, d.batch, *out}
	a.mu.Unlock()
	return nil
}

// draw turns a call into a batch.
func (a *Adapter) draw(op string, call provider.Call, changes []record.Change) (*draft, error) {
	v, err := a.view(op, call.Seen)
	if err != nil {
		return nil, err
	}
	if err := a.steerable(op, call); err != nil {
		return nil, err
	}
	d := &draft{op: op, key: call.Key, view: v}
	if err := a.stamp(op, d, call); err != nil {
		return nil, err
	}
	for _, c := range changes {
		if c.Value, err = record.ParseValue(call.Key.Type, c.Value); err != nil {
			return nil, provider.Failf(provider.Permanent, op, "", "%s: %w", c.Action, err)
		}
		if err := d.apply(c); err != nil {
			return nil, err
		}
	}
	return d, d.fill(call.Survivors)
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

func (a *Adapter) steerable(op string, call provider.Call) error {
	key := call.Key
	if err := provider.Steerable(op, a.zone, key, false); err != nil {
		return err
	}
	for _, c := range slices.Concat(call.Add, call.Away) {
		if c.Key != key {
			return provider.Failf(provider.Permanent, op, "", "a change to %s among those to %s", c.Key, key)
		}
	}
	live := call.Seen.Set(key).Live()
	for _, c := range call.Add {
		if key.Type.Single() && len(live) > 0 && !slices.Contains(live, c.Value) {
			return provider.Failf(provider.Conflict, op, "", "%s is live: a CNAME stands alone, swap it", live[0])
		}
	}
	return nil
}

// stamp puts the swap of the stamp in front of the batch. Where the API was
// found not to compare, a call without a stamp is written without one.
func (a *Adapter) stamp(op string, d *draft, call provider.Call) error {
	unfenced := a.unfenced.Load()
	switch {
	case call.Next.Nonce == "" && unfenced:
		return nil
	case len(call.Seen.Stamps) != 1 && !unfenced:
		failed := provider.Failf(provider.FencedOut, op, "", "expected one stamp in the list, found %d", len(call.Seen.Stamps))
		failed.Hint = "claim the zone first"
		return failed
	}
	if err := usable(op, call.Next, call.Seen.Stamps); err != nil {
		return err
	}
	d.stamp(a.zone, call.Seen.Stamps, call.Next)
	return nil
}

// usable refuses a stamp that would tell no call apart from another.
func usable(op string, next provider.Stamp, seen []provider.Stamp) error {
	if next.Nonce == "" {
		return provider.Failf(provider.Permanent, op, "", "the call has no stamp to leave")
	}
	for _, s := range seen {
		if s.Nonce == next.Nonce {
			return provider.Failf(provider.Permanent, op, "", "the nonce %s is in the zone already", next.Nonce)
		}
	}
	return nil
}

// fill adds the witnesses. A batch takes 200 changes on the smallest plan: so
// many survivors as find room are witnesses, and changes alone that find none
// are refused.
func (d *draft) fill(survivors []string) error {
	room := batchLimit - d.size()
	if room < min(1, len(survivors)) {
		failed := provider.Failf(provider.Permanent, d.op, "", "%d changes in one batch, more than the %d that every plan allows", d.size(), batchLimit)
		failed.Hint = "change fewer values of this record set at a time"
		return failed
	}
	for _, value := range survivors {
		e, err := d.one(d.view.live(d.key), value)
		switch {
		case err != nil:
			return err
		case e == nil:
			return d.conflict("the survivor %s is not live in the list", value)
		case slices.Contains(d.moved, e.ID):
			continue
		case room == 0:
			return nil
		}
		d.witness(e)
		room--
	}
	return nil
}

// safe sees that a take-away leaves something live by its own list, and that the
// survivors it names are there.
func safe(op string, call provider.Call) error {
	if call.Seen == nil {
		return provider.Failf(provider.Permanent, op, "", "the call rests on no list")
	}
	live := call.Seen.Set(call.Key).Live()
	after := slices.Clone(live)
	for _, c := range call.Away {
		out := c.Value
		if c.Action == record.Swap {
			out, after = c.From, append(after, c.Value)
		}
		if c.Action == record.Pause || c.Action == record.Swap {
			after = slices.DeleteFunc(after, func(v string) bool { return v == out })
		}
	}
	for _, value := range call.Survivors {
		if !slices.Contains(live, value) || !slices.Contains(after, value) {
			return provider.Failf(provider.Conflict, op, "", "%s does not survive: it is not live in the list, or is taken away itself", value)
		}
	}
	if len(live) > 0 && len(after) == 0 && !call.Empty {
		return provider.Failf(provider.Conflict, op, "", "nothing would be left live")
	}
	return nil
}

// send posts a batch once.
func (a *Adapter) send(ctx context.Context, op, zoneID string, b *batch, gate provider.Gate) (*reply, error) {
	answer, err := a.do(ctx, call{op: op, method: http.MethodPost, path: "/zones/" + zoneID + "/dns_records/batch", body: b, token: a.token, gate: gate})
	if err != nil {
		return nil, err
	}
	out := new(reply)
	if err := json.Unmarshal(answer.Result, out); err != nil {
		a.log.Debug("the write was accepted, and its answer cannot be read: the next list tells", "zone", string(a.zone), "error", err)
		return new(reply), nil
	}
	return out, nil
}

// whose finds out why the API refused a batch, whatever its code says: a look at
// the stamps tells another writer of ours from an edit by hand. Without an answer
// it stays what it is, and so does every other error.
func (a *Adapter) whose(ctx context.Context, zoneID string, seen []provider.Stamp, failed error) error {
	if !refused(failed) {
		return failed
	}
	now, err := a.lookStamps(ctx, zoneID)
	if err != nil {
		a.log.Warn("a write was refused, and the stamp could not be read to tell why", "zone", string(a.zone), "error", err)
		return failed
	}
	if sameStamps(now, seen) {
		return failed
	}
	return fencedOut(failed)
}

func sameStamps(a, b []provider.Stamp) bool {
	ids := func(stamps []provider.Stamp) []string {
		var list []string
		for _, s := range stamps {
			id, _ := s.Native.(string)
			list = append(list, id)
		}
		slices.Sort(list)
		return list
	}
	return slices.Equal(ids(a), ids(b))
}

// lost is what becomes of a batch that nothing but the stamps can be in the way
// of: a conflict needs no look, another refusal does.
func (a *Adapter) lost(ctx context.Context, zoneID string, seen []provider.Stamp, failed error) error {
	if provider.ClassOf(failed) == provider.Conflict {
		return fencedOut(failed)
	}
	return a.whose(ctx, zoneID, seen, failed)
}

// fencedOut is a refusal that the stamps brought about.
func fencedOut(err error) error {
	if failed, ok := errors.AsType[*provider.Error](err); ok {
		failed.Class, failed.Err, failed.Hint = provider.FencedOut, errors.New("the stamp in the zone is not the listed one: another writer has it"), ""
	}
	return err
}
