package tencentcloud

import (
	"context"
	"slices"
	"strconv"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// away takes one value out, or changes it.
func (w *work) away(ctx context.Context, c record.Change) error {
	value, err := w.value(c.Value)
	if err != nil {
		return err
	}
	c.Value = value
	switch c.Action {
	case record.Pause:
		return w.pause(ctx, value)
	case record.Swap:
		return w.swap(ctx, c)
	case record.SetTTL, record.SetWeight:
		return w.set(ctx, c)
	default:
		return w.permanent("%s is no take-away", c.Action)
	}
}

// pause marks a record and lets it be answered with no more: the mark first, so
// that no moment has a pause of ours that looks like somebody else's.
func (w *work) pause(ctx context.Context, value string) error {
	i := w.live(value)
	if i == nil {
		return w.pausedAlready(value)
	}
	stay, err := w.survivors(value)
	if err != nil {
		return err
	}
	now, err := w.describe(ctx, i.ID)
	switch {
	case err != nil:
		return err
	case !w.same(now, i):
		return w.conflict("record %d is no longer %s", i.ID, value)
	case !now.live():
		return w.conflict("%s is no longer live", value)
	}
	if _, mark := splitRemark(now.Remark); !fresh(mark, w.a.now()) {
		if err := w.remark(ctx, now, true); err != nil {
			return err
		}
	}
	if err := w.look(ctx, stay); err != nil {
		return err
	}
	err = w.write(ctx, "ModifyRecordStatus", statusParams{w.a.name(), i.ID, disabled})
	if err == nil || provider.ClassOf(err) == provider.Ambiguous {
		w.a.pausedBeside(i.ID)
	}
	return err
}

// pausedAlready is what becomes of a pause of a value that is not live.
func (w *work) pausedAlready(value string) error {
	a, found := w.call.Seen.Set(w.key).Find(value)
	switch {
	case found && a.Paused:
		return nil
	case found:
		return w.conflict("%s was paused by somebody else", value)
	}
	return w.conflict("%s is not there", value)
}

// survivors are the records that have to be live when a value leaves: one of
// each value that the call names; where it names none, those of any other live
// value, of which one will do.
func (w *work) survivors(leaving string) ([][]*item, error) {
	var stay [][]*item
	for _, text := range w.call.Survivors {
		value, err := w.value(text)
		if err != nil {
			return nil, err
		}
		alive := w.allLive(func(have string) bool { return have == value })
		if value == leaving || len(alive) == 0 {
			return nil, w.conflict("the survivor %s is not live in the list, or does not stay so", value)
		}
		stay = append(stay, alive)
	}
	if len(stay) > 0 || w.call.Empty {
		return stay, nil
	}
	others := w.allLive(func(have string) bool { return have != leaving })
	if len(others) == 0 && len(w.allLive(func(string) bool { return true })) <= 1 {
		return nil, w.conflict("the call would leave the name without an answer, and does not say that it may")
	}
	if len(others) == 0 { // another record of the same value
		return nil, nil
	}
	return [][]*item{others}, nil
}

func (w *work) allLive(as func(value string) bool) []*item {
	var live []*item
	for _, i := range w.view.sets[w.key] {
		if value, err := record.ParseValue(w.key.Type, i.Value); err == nil && i.live() && as(value) {
			live = append(live, i)
		}
	}
	return live
}

// look reads survivors just before a take-away, which carries no condition
// itself: of each group one has to be live.
func (w *work) look(ctx context.Context, stay [][]*item) error {
	for _, group := range stay {
		if err := w.lookAt(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) lookAt(ctx context.Context, group []*item) error {
	for _, i := range group {
		now, err := w.describe(ctx, i.ID)
		switch {
		case provider.ClassOf(err) == provider.Conflict: // the record is gone
		case err != nil:
			return err
		case now.live() && w.same(now, i):
			return nil
		}
	}
	return w.conflict("a survivor is no longer live")
}

// set gives a live record another TTL or weight.
func (w *work) set(ctx context.Context, c record.Change) error {
	i := w.live(c.Value)
	if i == nil {
		return w.conflict("%s is not live", c.Value)
	}
	if c.Action == record.SetWeight {
		weight, err := w.weight(c.Weight)
		if err != nil {
			return err
		}
		return w.modify(ctx, i, func(p *fullParams) { p.Weight = weight })
	}
	ttl, err := w.ttl(c.TTL)
	if err != nil {
		return err
	}
	if i.TTL == ttl {
		return nil // the plan keeps none smaller
	}
	err = w.modify(ctx, i, func(p *fullParams) { p.TTL = ttl })
	if code(err) == "LimitExceeded.RecordTtlLimit" && c.TTL < freeTTL {
		w.a.raise()
	}
	return err
}

// modify writes every attribute of a record as it was read just before, with
// some of them new: what changes in between is overwritten.
func (w *work) modify(ctx context.Context, i *item, do func(*fullParams)) error {
	now, err := w.describe(ctx, i.ID)
	switch {
	case err != nil:
		return err
	case !w.same(now, i) || !now.live():
		return w.conflict("record %d is no longer %s, or not live", i.ID, i.Value)
	}
	params := fullParams{
		Domain: w.a.name(), RecordID: now.ID, SubDomain: now.Name, RecordType: now.Type, RecordLine: now.Line, RecordLineID: now.LineID,
		Value: now.Value, MX: now.MX, TTL: now.TTL, Weight: now.Weight, Status: enabled, Remark: now.Remark,
	}
	do(&params)
	return w.write(ctx, "ModifyRecord", params)
}

// swap puts a value in the place of another: first a copy of the old value, and
// once a list shows that, the new value in the same record.
func (w *work) swap(ctx context.Context, c record.Change) error {
	from, err := w.value(c.From)
	if err != nil {
		return err
	}
	if !w.key.Type.Single() {
		return w.permanent("swap %s for %s: a set of type %s has a record for each value", from, c.Value, w.key.Type)
	}
	if w.live(c.Value) != nil {
		return nil
	}
	old := w.live(from)
	if old == nil {
		return w.conflict("%s is not live", from)
	}
	for _, text := range w.call.Survivors {
		if value, err := w.value(text); err != nil || value != from {
			return w.conflict("the survivor %s is not live in the list, or does not stay so", text)
		}
	}
	if !w.isCopied(old, from) {
		return w.park(ctx, old, from)
	}
	ttl := old.TTL
	if c.TTL != 0 {
		if ttl, err = w.ttl(c.TTL); err != nil {
			return err
		}
	}
	return w.modify(ctx, old, func(p *fullParams) { p.Value, p.TTL = c.Value, ttl })
}

// isCopied reports whether a copy keeps what the record is.
func (w *work) isCopied(i *item, value string) bool {
	want := w.parkedOf(i, value).String()
	return slices.ContainsFunc(w.view.copies[w.key], func(c parkedCopy) bool { return c.text.String() == want })
}

func (w *work) parkedOf(i *item, value string) provider.Parked {
	p := provider.Parked{Type: w.key.Type, Value: value, TTL: seconds(i.TTL), Extra: map[string]string{}}
	if !i.line().isDefault() {
		p.Extra["line"] = lineField(i.LineID)
	}
	if i.Weight != nil && *i.Weight > 0 {
		p.Extra["weight"] = strconv.Itoa(int(*i.Weight))
	}
	return p
}

// park makes the copy of a value, a TXT record on the default line.
func (w *work) park(ctx context.Context, i *item, value string) error {
	ttl, err := w.ttl(max(defaultTTL, w.a.domainKnown().minTTL))
	if err != nil {
		return err
	}
	return w.write(ctx, "CreateRecord", fullParams{
		Domain: w.a.name(), SubDomain: provider.ParkedName(w.key.Name).Relative(w.a.zone), RecordType: string(record.TXT),
		RecordLine: w.a.edition.line, RecordLineID: defaultLine, Value: w.parkedOf(i, value).String(), TTL: ttl, Status: enabled,
	})
}
