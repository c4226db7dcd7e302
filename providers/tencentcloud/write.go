package tencentcloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// work is a call on its way to become requests.
type work struct {
	a    *Adapter
	op   string
	call provider.Call
	key  record.Key
	view *view
	sent bool // a request of it that changes an answer was carried out
}

// begin checks that a call is one that can be made here.
func (a *Adapter) begin(ctx context.Context, call provider.Call) (*work, error) {
	w := &work{a: a, op: fmt.Sprintf("update zone %s: %s", a.zone, call.Key), call: call, key: call.Key}
	if err := ctx.Err(); err != nil {
		return nil, &provider.Error{Class: provider.Retryable, Op: w.op, Err: err, Hint: "nothing was sent"}
	}
	if err := provider.Steerable(w.op, a.zone, call.Key, true); err != nil {
		return nil, err
	}
	if spelled := a.spellings(line{defaultLine, a.edition.line}); call.Key.Variant == "" && len(spelled) > 0 {
		return nil, w.permanent("the records of the config call the default line %q; write variant: %s on this one, too", spelled[0], spelled[0])
	}
	v, ok := a.viewOf(call.Seen)
	if !ok {
		return nil, w.permanent("the call rests on no list of this adapter")
	}
	w.view = v
	return w, nil
}

func (w *work) permanent(format string, args ...any) error {
	return provider.Failf(provider.Permanent, w.op, "", format, args...)
}

func (w *work) conflict(format string, args ...any) error {
	return provider.Failf(provider.Conflict, w.op, "", format, args...)
}

// value makes a change's value canonical.
func (w *work) value(text string) (string, error) {
	value, err := record.ParseValue(w.key.Type, text)
	if err != nil {
		return "", provider.Failf(provider.Permanent, w.op, "", "%w", err)
	}
	return value, nil
}

// find gives the first record of a value that is as asked for; nil when the
// list has none.
func (w *work) find(value string, as func(*item) bool) *item {
	for _, i := range w.view.sets[w.key] {
		if have, err := record.ParseValue(w.key.Type, i.Value); err == nil && have == value && as(i) {
			return i
		}
	}
	return nil
}

func (w *work) live(value string) *item { return w.find(value, (*item).live) }

// paused prefers the record that sidestep paused where somebody paused another
// of the same value.
func (w *work) paused(value string) *item {
	ours := w.find(value, func(i *item) bool {
		_, mark := splitRemark(i.Remark)
		return !i.live() && mark != ""
	})
	if ours != nil {
		return ours
	}
	return w.find(value, func(i *item) bool { return !i.live() })
}

// copied is the parked copy of a value that came last.
func (w *work) copied(value string) (parkedCopy, bool) {
	for _, c := range slices.Backward(w.view.copies[w.key]) {
		if c.text.Value == value {
			return c, true
		}
	}
	return parkedCopy{}, false
}

// write sends a request that changes the zone, once.
func (w *work) write(ctx context.Context, action string, params any) error {
	return w.a.do(ctx, request{op: w.op, action: action, params: params, write: true, gate: w.call.Gate}, &answer{})
}

// add puts one value in.
func (w *work) add(ctx context.Context, c record.Change) error {
	value, err := w.value(c.Value)
	if err != nil {
		return err
	}
	c.Value = value
	if w.live(value) != nil {
		return nil
	}
	parked, copied := w.copied(value)
	switch paused := w.paused(value); {
	case paused != nil && c.Action == record.Create:
		return w.conflict("%s is there and out of the answer: resume it", value)
	case paused != nil:
		return w.resume(ctx, paused)
	case c.Action == record.Resume && !copied:
		return w.conflict("%s is not there", value)
	case copied && c.TTL == 0:
		c.TTL = parked.text.TTL
	}
	if copied && c.Weight == 0 {
		if weight := parseWeight(parked.text.Extra["weight"]); weight != nil {
			c.Weight = int(*weight)
		}
	}
	return w.create(ctx, c)
}

// resume lets a record be answered with again, and then takes the mark off.
func (w *work) resume(ctx context.Context, i *item) error {
	if err := w.alone(); err != nil {
		return err
	}
	if err := w.write(ctx, "ModifyRecordStatus", statusParams{w.a.name(), i.ID, enabled}); err != nil {
		return err
	}
	w.sent = true
	w.a.resumedBeside(i.ID)
	w.unmark(ctx, i)
	return nil
}

// alone refuses a second live value of a type that can have one.
func (w *work) alone() error {
	if w.key.Type.Single() && slices.ContainsFunc(w.view.sets[w.key], (*item).live) {
		return w.permanent("a name can have one %s: swap it", w.key.Type)
	}
	return nil
}

// create makes a record, and makes it once: a repeat before a list shows it
// would make a second. Only a TTL that the plan refused is asked for again,
// because then nothing happened, and an address must not wait for its TTL.
func (w *work) create(ctx context.Context, c record.Change) error {
	if err := w.alone(); err != nil {
		return err
	}
	params, err := w.fresh(ctx, c)
	if err != nil {
		return err
	}
	err = w.write(ctx, "CreateRecord", params)
	if code(err) == "LimitExceeded.RecordTtlLimit" && seconds(params.TTL) < freeTTL {
		w.a.raise()
		params.TTL = uint32(w.a.kept(seconds(params.TTL)) / time.Second) //nolint:gosec // a plan's smallest TTL
		err = w.write(ctx, "CreateRecord", params)
	}
	w.sent = w.sent || err == nil
	return err
}

// maxTTL is the vendor's largest ("ModifyRecord"): a wish above it gets it.
const maxTTL = 604800 * time.Second

// fresh are the attributes of a record that is made. A value that is created
// beside others takes their TTL where nobody says one.
func (w *work) fresh(ctx context.Context, c record.Change) (fullParams, error) {
	l, err := w.a.lineOf(ctx, w.op, w.key, w.view)
	if err != nil {
		return fullParams{}, err
	}
	ttl := c.TTL
	for _, i := range w.view.sets[w.key] {
		if ttl == 0 && i.live() {
			ttl = seconds(i.TTL)
		}
	}
	if ttl == 0 {
		ttl = defaultTTL
	}
	params := fullParams{
		Domain: w.a.name(), SubDomain: w.key.Name.Relative(w.a.zone), RecordType: string(w.key.Type),
		RecordLine: l.name, RecordLineID: l.id, Value: c.Value, Status: enabled,
	}
	if params.TTL, err = w.ttl(ttl); err != nil {
		return fullParams{}, err
	}
	if c.Weight > 0 {
		params.Weight, err = w.weight(c.Weight)
	}
	return params, err
}

func (w *work) ttl(ttl time.Duration) (uint32, error) {
	if ttl < time.Second {
		return 0, w.permanent("a TTL of %v; expected a second or more", ttl)
	}
	return uint32(w.a.kept(ttl) / time.Second), nil //nolint:gosec // kept bounds it
}

// weight is a weight as the vendor has them. 0 would not take the value out of
// the answer but give it a full share, so it is refused.
func (w *work) weight(n int) (*uint32, error) {
	if n < 1 || n > 100 {
		e := provider.Failf(provider.Permanent, w.op, "", "a weight of %d; DNSPod has weights from 1 to 100, and 0 switches them off", n)
		e.Hint = "write weights from 1 to 100; leave an answer out that should get no share"
		return nil, e
	}
	weight := uint32(n)
	return &weight, nil
}

// unmark takes the mark off a record that is live again. That it fails is no
// failure of the call, whose answer is in: the mark goes on the next chance.
func (w *work) unmark(ctx context.Context, i *item) {
	if _, mark := splitRemark(i.Remark); mark == "" {
		return
	}
	now, err := w.describe(ctx, i.ID)
	if err == nil && now.live() {
		err = w.remark(ctx, now, false)
	}
	if err != nil {
		w.a.log.Debug("the mark of a pause is still on a live record", "record", i.ID, "error", err)
	}
}

// remark puts the mark on a record, or takes it off, beside what else its
// remark says.
func (w *work) remark(ctx context.Context, now *info, mark bool) error {
	words, had := splitRemark(now.Remark)
	text := words
	switch {
	case mark:
		text = marked(words, w.a.now())
	case had == "":
		return nil
	}
	err := w.write(ctx, "ModifyRecordRemark", remarkParams{w.a.name(), now.ID, text})
	var typed *provider.Error
	if errors.As(err, &typed) && typed.Class == provider.Ambiguous && !mark {
		w.a.leaveOpen(now.ID)
	}
	return err
}

// describe reads one record as it is now.
func (w *work) describe(ctx context.Context, id uint64) (*info, error) {
	var out recordReply
	err := w.a.do(ctx, request{op: w.op, action: "DescribeRecord", params: recordParams{w.a.name(), id}}, &out)
	switch {
	case err != nil:
		return nil, err
	case out.Info == nil || out.Info.ID != id || out.Info.Enabled == nil:
		return nil, provider.Failf(provider.Retryable, w.op, "", "the answer does not tell record %d", id)
	}
	return out.Info, nil
}

func (i *info) live() bool { return i.Enabled != nil && *i.Enabled == 1 }

// same reports whether a record is still the one that was listed, whatever its
// state, TTL, weight and remark are now.
func (w *work) same(now *info, listed *item) bool {
	value, err := record.ParseValue(w.key.Type, now.Value)
	was, listedErr := record.ParseValue(w.key.Type, listed.Value)
	return err == nil && listedErr == nil && value == was && strings.EqualFold(now.Name, listed.Name) && now.Type == listed.Type && now.LineID == listed.LineID
}
