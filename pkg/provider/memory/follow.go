package memory

import "sidestep/pkg/provider"

// followed is the zone after an accepted write, as the sender knows it: what was
// listed, plus the call. What was done by hand between the two is not in it.
type followed struct {
	nonce string // of the call
	state state
}

// follow works out what the sender knows of an accepted write: the ids of what
// was created, which the answer tells, and nothing else of the zone. Where
// serials are compared it knows too little, since the server chooses the next
// one and its answer does not say which. The zone's lock is held.
func (a *adapter) follow(call *provider.Call, before state, change change) {
	if call == nil || a.zone.options.Class == Prerequisites {
		return
	}
	seen, ok := call.Seen.Native.(state)
	if !ok {
		return
	}
	seen.nextID = before.nextID
	if change(&seen) != nil || a.zone.settle(&seen) != nil {
		return // accepted by a provider that compares nothing
	}
	seen.serial, seen.grows = a.zone.now.serial, false
	a.followed = &followed{call.Next.Nonce, seen}
}

// After is the zone after the last write.
func (f *fencer) After(call provider.Call) *provider.Snapshot {
	if f.followed == nil || f.followed.nonce != call.Next.Nonce {
		return nil
	}
	return f.zone.snapshot(f.followed.state)
}
