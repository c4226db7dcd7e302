package memory

import (
	"slices"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// prepare checks a call before anything of it is built: that it is one which
// the class can carry out at all, and that it is safe by its own list.
func (a *adapter) prepare(op Op, call provider.Call) (*work, error) {
	refuse := func(class provider.Class, format string, args ...any) error {
		return provider.Failf(class, string(op)+" to "+call.Key.String(), "", format, args...)
	}
	if call.Seen == nil {
		return nil, refuse(provider.Permanent, "expected the list that the call rests on, got none")
	}
	seen, ok := call.Seen.Native.(state)
	if !ok || call.Seen.Zone != a.zone.name || call.Key.Zone != a.zone.name {
		return nil, refuse(provider.Permanent, "expected a list and a key of zone %s, got %s and %s", a.zone.name, call.Seen.Zone, call.Key.Zone)
	}
	if err := a.fits(op, call, refuse); err != nil {
		return nil, err
	}
	if op == OpTakeAway {
		if err := safe(call, refuse); err != nil {
			return nil, err
		}
	}
	return &work{zone: a.zone, call: call, key: call.Key, seen: seen}, a.mayWrite(call, refuse)
}

type refusal func(class provider.Class, format string, args ...any) error

// fits holds a call against the promises.
func (a *adapter) fits(op Op, call provider.Call, refuse refusal) error {
	p := a.Promises()
	switch {
	case op == OpAdd && len(call.Away) > 0:
		return refuse(provider.Permanent, "expected adds only, got take-aways")
	case op == OpTakeAway && len(call.Add) > 0 && !p.Together:
		return refuse(provider.Permanent, "expected take-aways only, got adds: no call does both here")
	case op == OpTakeAway && len(call.Away) != 1 && p.OneByOne:
		return refuse(provider.Permanent, "expected one take-away, got %d: there is no transaction here", len(call.Away))
	case call.Key.Variant != "" && !p.Variants:
		return refuse(provider.Permanent, "there are no variants of a set here")
	case call.Key.Type.Single() && !p.Single:
		return refuse(provider.Permanent, "%s cannot be switched in place here", call.Key.Type)
	}
	for _, c := range slices.Concat(call.Add, call.Away) {
		switch {
		case c.Key != call.Key:
			return refuse(provider.Permanent, "expected changes to one set, got one to %s", c.Key)
		case c.Action == record.SetWeight && !p.Weights:
			return refuse(provider.Permanent, "there are no weights here")
		case c.Action == record.Swap && !c.Key.Type.Single():
			return refuse(provider.Permanent, "only single-valued types are swapped, %s is not", c.Key.Type)
		}
	}
	if slices.ContainsFunc(call.Add, func(c record.Change) bool { return !c.Action.Add() }) ||
		slices.ContainsFunc(call.Away, func(c record.Change) bool { return c.Action.Add() }) {
		return refuse(provider.Permanent, "adds and take-aways are in each other's place")
	}
	return crowded(call, refuse)
}

// crowded refuses a second value of a single-valued type.
func crowded(call provider.Call, refuse refusal) error {
	if !call.Key.Type.Single() {
		return nil
	}
	live := call.Seen.Set(call.Key).Live()
	for _, c := range call.Add {
		if len(live) > 0 && !slices.Contains(live, c.Value) {
			return refuse(provider.Conflict, "%s is live: a second value would break the name, swap it", live[0])
		}
	}
	return nil
}

// safe sees that a take-away leaves something live by its own list, and that
// the survivors it names are there.
func safe(call provider.Call, refuse refusal) error {
	live := call.Seen.Set(call.Key).Live()
	after := slices.Clone(live)
	for _, c := range call.Add {
		after = append(after, c.Value)
	}
	for _, c := range call.Away {
		out := c.Value
		if c.Action == record.Swap {
			out = c.From
			after = append(after, c.Value)
		}
		if c.Action == record.Pause || c.Action == record.Swap {
			after = slices.DeleteFunc(after, func(v string) bool { return v == out })
		}
	}
	for _, value := range call.Survivors {
		if !slices.Contains(live, value) || !slices.Contains(after, value) {
			return refuse(provider.Conflict, "%s does not survive: it is not live, or is taken away itself", value)
		}
	}
	if len(live) > 0 && len(after) == 0 && !call.Empty {
		return refuse(provider.Conflict, "nothing would be left live")
	}
	return nil
}

// mayWrite is asked of fenced classes: the caller's stamp is the only one, and
// the next one is new.
func (a *adapter) mayWrite(call provider.Call, refuse refusal) error {
	if !a.zone.options.Class.Fenced() {
		return nil
	}
	if len(call.Seen.Stamps) != 1 {
		return refuse(provider.FencedOut, "expected one stamp in the list, found %d: claim first", len(call.Seen.Stamps))
	}
	return usable(call.Next, call.Seen.Stamps, refuse)
}

func usable(next provider.Stamp, seen []provider.Stamp, refuse refusal) error {
	if next.Nonce == "" {
		return refuse(provider.Permanent, "expected a stamp with a nonce")
	}
	for _, s := range seen {
		if s.Nonce == next.Nonce {
			return refuse(provider.Permanent, "nonce %s is in the zone already: it tells no call apart", next.Nonce)
		}
	}
	return nil
}
