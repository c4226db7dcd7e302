package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// stampTTL is the TTL of the stamp and of parked copies.
const stampTTL = 60 * time.Second

// defaultCall is the deadline of a call where the options give none.
const defaultCall = 10 * time.Second

// adapter is one node's way to a zone.
type adapter struct {
	zone     *Zone
	node     string
	class    class
	unfenced atomic.Bool // Prove found that nothing is compared
	followed *followed   // what After tells; nil when only a list can
}

// class is what differs between the six: what is promised, and which requests
// a call becomes.
type class interface {
	promises() provider.Promises

	// add and takeAway build the requests of a call. None means that the list
	// already shows what is asked for.
	add(w *work) ([]change, error)
	takeAway(w *work) ([]change, error)
}

// change is one request as the provider carries it out.
type change func(*state) error

func classOf(c Class) class {
	switch c {
	case Status:
		return statusClass{}
	case Rename:
		return renameClass{}
	case Exact:
		return exactClass{}
	case Prerequisites:
		return prerequisitesClass{}
	case Whole:
		return wholeClass{}
	default:
		return appendClass{}
	}
}

// Promises are the class's, with the times that the options give.
func (a *adapter) Promises() provider.Promises {
	p := a.class.promises()
	o := a.zone.options
	p.Late, p.Lag, p.Call = o.Late, o.Lag, cmp.Or(o.Call, defaultCall)
	p.Fenced = o.Class.Fenced() && !a.unfenced.Load()
	return p
}

// List reads the zone as it is, or as the options and faults let it look.
func (a *adapter) List(ctx context.Context) (*provider.Snapshot, error) {
	s, err := a.read(ctx, OpList)
	if err != nil {
		return nil, err
	}
	return a.zone.snapshot(s), nil
}

// read makes one request that changes nothing.
func (a *adapter) read(ctx context.Context, op Op) (state, error) {
	name := fmt.Sprintf("%s zone %s", op, a.zone.name)
	if err := ctx.Err(); err != nil {
		return state{}, &provider.Error{Class: provider.Retryable, Op: name, Err: err}
	}
	fault := a.zone.meet(op)
	switch fault.Kind {
	case None, Stale:
	case Hang:
		<-ctx.Done()
		return state{}, &provider.Error{Class: provider.Retryable, Op: name, Err: ctx.Err()}
	case Throttled:
		return state{}, throttled(name, fault)
	case Refused:
		return state{}, provider.Failf(provider.Permanent, name, "denied", "the key was refused")
	default:
		return state{}, provider.Failf(provider.Retryable, name, string(fault.Kind), "expected %d records, got fewer", len(a.zone.Records()))
	}
	a.zone.mu.Lock()
	defer a.zone.mu.Unlock()
	if op == OpLook {
		return a.zone.now, nil
	}
	return a.zone.listed(fault), nil
}

func throttled(op string, fault Fault) error {
	return &provider.Error{Class: provider.Retryable, Op: op, Code: "throttled", After: fault.After, Err: fmt.Errorf("too many requests")}
}

// Add puts values in.
func (a *adapter) Add(ctx context.Context, call provider.Call) error {
	w, err := a.prepare(OpAdd, call)
	if err != nil {
		return err
	}
	changes, err := a.class.add(w)
	if err != nil {
		return err
	}
	return a.send(ctx, OpAdd, &call, changes)
}

// TakeAway takes values out, or makes their copies.
func (a *adapter) TakeAway(ctx context.Context, call provider.Call) error {
	w, err := a.prepare(OpTakeAway, call)
	if err != nil {
		return err
	}
	if a.Promises().OneByOne {
		if w.current, err = a.look(ctx, call); err != nil {
			return err
		}
	}
	changes, err := a.class.takeAway(w)
	if err != nil {
		return err
	}
	return a.send(ctx, OpTakeAway, &call, changes)
}

// look reads the survivors just before a take-away that carries no condition.
func (a *adapter) look(ctx context.Context, call provider.Call) (state, error) {
	current, err := a.read(ctx, OpLook)
	if err != nil {
		return state{}, err
	}
	live := current.live(call.Key)
	for _, value := range call.Survivors {
		if !slices.Contains(live, value) {
			return state{}, provider.Failf(provider.Conflict, "take away from "+call.Key.String(), "survivor", "%s is no longer live", value)
		}
	}
	return current, nil
}

// send makes the requests of a call one after the other and stops at the first
// that fails. One that fails after another succeeded is Ambiguous, because of
// the call as a whole neither "happened" nor "did not" is true.
func (a *adapter) send(ctx context.Context, op Op, call *provider.Call, changes []change) error {
	for i, change := range changes {
		err := a.transmit(ctx, Cause{Op: op, Node: a.node, Call: call}, call.Gate, change)
		if err != nil && i > 0 && provider.ClassOf(err) != provider.Ambiguous {
			return &provider.Error{Class: provider.Ambiguous, Op: fmt.Sprintf("%s, part %d of %d", op, i+1, len(changes)), Err: err}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// transmit makes one request that changes the zone, or whatever the fault plan
// makes of it.
func (a *adapter) transmit(ctx context.Context, cause Cause, gate provider.Gate, change change) error {
	name := fmt.Sprintf("%s in zone %s", cause.Op, a.zone.name)
	if err := ctx.Err(); err != nil {
		return &provider.Error{Class: provider.Retryable, Op: name, Err: err, Hint: "nothing was sent"}
	}
	a.followed = nil
	fault := a.zone.meet(cause.Op)
	if gate != nil {
		if err := gate(); err != nil {
			return err
		}
	}
	z := a.zone
	switch fault.Kind {
	case Throttled:
		return throttled(name, fault)
	case Refused:
		return provider.Failf(provider.Permanent, name, "denied", "the key was refused")
	case Hang:
		<-ctx.Done()
		return &provider.Error{Class: provider.Ambiguous, Op: name, Err: ctx.Err()}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	switch fault.Kind {
	case None, Stale:
		before := z.now
		err := z.apply(cause, change)
		if err == nil {
			a.follow(cause.Call, before, change)
		}
		return err
	case LostReply:
		return provider.Failf(provider.Ambiguous, name, "timeout", "no reply%s", unheard(z.apply(cause, change)))
	case Late:
		z.open = append(z.open, pending{OpenCall{Op: cause.Op, Node: cause.Node, Call: cause.Call, Sent: z.time()}, change})
	}
	return provider.Failf(provider.Ambiguous, name, "timeout", "no reply")
}

// unheard keeps for the test's eyes what the provider answered and the caller
// must not branch on.
func unheard(err error) string {
	if err == nil {
		return ""
	}
	return " (it was: " + err.Error() + ")"
}

// work is a call on its way to become requests.
type work struct {
	zone    *Zone
	call    provider.Call
	key     record.Key
	seen    state // what the call rests on
	current state // what a look just before the call showed, where one is taken
}

// listedSet is the steered set as the call's list had it.
func (w *work) listedSet() record.Set { return w.call.Seen.Set(w.key) }

// records are those of the set, of any status.
func (w *work) records() []Record { return w.seen.set(w.key) }

// copies are the parked copies of the name, of any type.
func (w *work) copies() []Record { return w.seen.set(copiesOf(w.key)) }

// copiesOf is where the parked copies of a set are: its own where it has
// variants.
func copiesOf(key record.Key) record.Key {
	return record.Key{Zone: key.Zone, Name: provider.ParkedName(key.Name), Type: record.TXT, Variant: key.Variant}
}

// newestCopy is the parked copy of a value that came last.
func (w *work) newestCopy(value string) (provider.Parked, bool) {
	for _, r := range slices.Backward(w.copies()) {
		if p, err := provider.ParseParked(r.Value); err == nil && p.Type == w.key.Type && p.Value == value {
			return p, true
		}
	}
	return provider.Parked{}, false
}

// parkedText is the copy of a record as a record.
func (w *work) parkedText(r Record) Record {
	p := provider.Parked{Type: w.key.Type, Value: r.value, TTL: r.TTL}
	parked := text(provider.ParkedName(w.key.Name), stampTTL, p.String())
	parked.Variant = w.key.Variant
	return parked
}

// live is the live record of a value.
func (w *work) live(value string) (Record, bool) {
	return find(w.records(), value, func(r Record) bool { return !r.Disabled })
}

func find(set []Record, value string, also func(Record) bool) (Record, bool) {
	i := slices.IndexFunc(set, func(r Record) bool { return r.value == value && also(r) })
	if i < 0 {
		return Record{}, false
	}
	return set[i], true
}

// conflict says that the zone is not what the call rests on.
func (w *work) conflict(format string, args ...any) error {
	return provider.Failf(provider.Conflict, "write to "+w.key.String(), "stale", format, args...)
}
