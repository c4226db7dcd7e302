package memory_test

import (
	"context"

	"sidestep/pkg/provider"
)

// The breeds that are wrong about their own writes.

// worked works the zone out, and then something is wrong with it.
func worked(spoil func(*provider.Snapshot)) func(*mutant, provider.Call, func(provider.Call) *provider.Snapshot) *provider.Snapshot {
	return func(_ *mutant, call provider.Call, honest func(provider.Call) *provider.Snapshot) *provider.Snapshot {
		after := honest(call)
		if after != nil {
			spoil(after)
		}
		return after
	}
}

// oldNative is right for people and wrong for the next write.
func oldNative(_ *mutant, call provider.Call, honest func(provider.Call) *provider.Snapshot) *provider.Snapshot {
	after := honest(call)
	if after != nil {
		after.Native = call.Seen.Native
	}
	return after
}

// asListed is the list that the call rests on, with the new stamp.
func asListed(_ *mutant, call provider.Call, honest func(provider.Call) *provider.Snapshot) *provider.Snapshot {
	after := honest(call)
	if after != nil {
		after.Sets = call.Seen.Sets
	}
	return after
}

// relisted is a list, whatever came of the call.
func relisted(m *mutant, _ provider.Call, _ func(provider.Call) *provider.Snapshot) *provider.Snapshot {
	s, err := m.List(context.Background())
	if err != nil {
		return nil
	}
	return s
}

// lastly is the zone after the last write, whichever call is asked about.
func lastly() func(*mutant, provider.Call, func(provider.Call) *provider.Snapshot) *provider.Snapshot {
	var last *provider.Snapshot
	return func(_ *mutant, call provider.Call, honest func(provider.Call) *provider.Snapshot) *provider.Snapshot {
		if after := honest(call); after != nil {
			last = after
		}
		return last
	}
}
