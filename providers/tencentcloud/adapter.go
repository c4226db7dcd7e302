package tencentcloud

import (
	"context"
	"errors"
	"fmt"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

var (
	_ provider.Adapter     = (*Adapter)(nil)
	_ provider.Inspector   = (*Adapter)(nil)
	_ provider.Releaser    = (*Adapter)(nil)
	_ provider.Constructor = New
)

// Promises says that each request changes one record and carries no condition.
// MinTTL is known once the zone was listed or inspected, where the plan is one
// whose smallest TTL is known.
func (a *Adapter) Promises() provider.Promises {
	return provider.Promises{
		Pause: provider.PauseNative, OneByOne: true, Weights: true, Variants: true, Single: true,
		Late: a.late, Signed: signatureLife + clockError, Lag: a.lag, Call: callDeadline, MinTTL: a.domainKnown().minTTL, MaxTTL: maxTTL,
	}
}

// Add puts values into the answer, one request for each: what is there and
// paused is resumed by its id, everything else is created once.
func (a *Adapter) Add(ctx context.Context, call provider.Call) error {
	w, err := a.begin(ctx, call)
	if err != nil {
		return err
	}
	if len(call.Away) > 0 {
		return w.permanent("an add with %d take-aways", len(call.Away))
	}
	for n, c := range call.Add {
		if !c.Action.Add() {
			return w.permanent("%s is no add", c.Action)
		}
		if err := w.add(ctx, c); err != nil {
			return w.after(err, n, len(call.Add))
		}
	}
	return nil
}

// after is an error in the midst of several requests: of the call as a whole
// neither "happened" nor "did not" is true.
func (w *work) after(err error, n, all int) error {
	var typed *provider.Error
	if !w.sent || !errors.As(err, &typed) || typed.Class == provider.Ambiguous {
		return err
	}
	return &provider.Error{Class: provider.Ambiguous, Op: fmt.Sprintf("%s, part %d of %d", w.op, n+1, all), Code: typed.Code, After: typed.After, Hint: typed.Hint, Err: err}
}

// TakeAway takes one value out of the answer, or changes it. A pause marks the
// record and flips its status; a swap makes the copy of the old value, and asked
// again once a list shows the copy, it writes the new one.
func (a *Adapter) TakeAway(ctx context.Context, call provider.Call) error {
	w, err := a.begin(ctx, call)
	switch {
	case err != nil:
		return err
	case len(call.Away) != 1 || len(call.Add) > 0:
		return w.permanent("expected one take-away and no add, got %d and %d: DNSPod changes one record a call", len(call.Away), len(call.Add))
	}
	return w.away(ctx, call.Away[0])
}

// Remains lists what sidestep left beside paused values: marks on live records,
// copies of values that are live, and a stamp that came with the records from
// another provider.
func (a *Adapter) Remains(seen *provider.Snapshot) []string {
	v, ok := a.viewOf(seen)
	if !ok {
		return nil
	}
	var lines []string
	for _, left := range v.remains(seen) {
		lines = append(lines, left.text)
	}
	return lines
}

// viewOf is what a list of this adapter kept.
func (a *Adapter) viewOf(seen *provider.Snapshot) (*view, bool) {
	if seen == nil || seen.Zone != a.zone {
		return nil, false
	}
	v, ok := seen.Native.(*view)
	return v, ok
}

// remain is one thing that is left.
type remain struct {
	item *item
	mark bool       // else the record itself goes
	key  record.Key // of a mark, and of a copy the set that it is of
	of   string     // the value of a copy, which has to be live
	text string
}

func (v *view) remains(seen *provider.Snapshot) []remain {
	var left []remain
	for _, set := range seen.Sets {
		for _, i := range v.sets[set.Key] {
			if _, mark := splitRemark(i.Remark); i.live() && mark != "" {
				left = append(left, remain{item: i, mark: true, key: set.Key, text: fmt.Sprintf("the mark %s in the remark of %s %s, which is live", mark, set.Key, i.Value)})
			}
		}
		for _, c := range v.copies[set.Key] {
			if answer, found := set.Find(c.text.Value); found && answer.Live {
				left = append(left, remain{item: c.item, key: set.Key, of: c.text.Value, text: fmt.Sprintf("the copy of %s %s, which is live, in TXT %s", set.Key, c.text.Value, provider.ParkedName(set.Key.Name))})
			}
		}
	}
	for _, i := range v.stamps {
		left = append(left, remain{item: i, text: fmt.Sprintf("the stamp in TXT %s", seen.Zone.Below(provider.StampLabel))})
	}
	return left
}

// Release removes the first thing of what Remains lists.
func (a *Adapter) Release(ctx context.Context, seen *provider.Snapshot, gate provider.Gate) (done bool, err error) {
	v, ok := a.viewOf(seen)
	if !ok {
		return false, provider.Failf(provider.Permanent, "release zone "+string(a.zone), "", "it rests on no list of this adapter")
	}
	left := v.remains(seen)
	if len(left) == 0 {
		return true, nil
	}
	first := left[0]
	w := &work{a: a, op: fmt.Sprintf("release zone %s: remove %s", a.zone, first.text), call: provider.Call{Key: first.key, Seen: seen, Gate: gate}, key: first.key, view: v}
	now, err := w.describe(ctx, first.item.ID)
	if err != nil {
		return false, err
	}
	if first.mark {
		if !now.live() {
			return false, w.conflict("record %d is no longer live", now.ID)
		}
		return len(left) == 1, w.remark(ctx, now, false)
	}
	if now.Value != first.item.Value {
		return false, w.conflict("record %d is no longer what was listed", now.ID)
	}
	if first.of != "" {
		if err := w.lookAt(ctx, w.allLive(func(value string) bool { return value == first.of })); err != nil {
			return false, err
		}
	}
	return len(left) == 1, w.write(ctx, "DeleteRecord", recordParams{a.name(), first.item.ID})
}
