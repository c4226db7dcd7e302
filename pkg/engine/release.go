package engine

import (
	"fmt"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// LeftOut is a value that a release leaves out of the answer, and why.
type LeftOut struct {
	Key   record.Key
	Value string
	Why   string // in words, with what a person can do
}

// releaseWhy is the reason of every change of a release.
const releaseWhy = "sidestep lets go of the zone"

// ReleaseWork is the work that brings back every value of a zone that sidestep
// paused and one of the specs names, and takes nothing out. Whoever may write one
// text record can make what looks like a parked copy, so a value that the config
// does not name stays as it is. So does what somebody else paused, and a value
// beside which there is another where the name can have one: the copy of it is the
// only memory of it.
//
// It is an operator's word for the whole zone, so another tool's claim on a name
// and a delegation above it stop nothing: what was paused there was sidestep's.
func ReleaseWork(zone plan.Zone, specs []*steer.Spec) (Work, []LeftOut) {
	work := Work{Zone: zone.Name, Limits: plan.Limits{Override: map[string]bool{plan.GuardOwned: true, plan.GuardDelegation: true}}}
	byKey := make(map[record.Key]*steer.Spec, len(specs))
	for _, spec := range specs {
		byKey[spec.Key] = spec
	}
	var stays []LeftOut
	for _, set := range zone.Sets {
		back, stay := comesBack(set, byKey[set.Key])
		stays = append(stays, stay...)
		if len(back) > 0 {
			work.Inputs = append(work.Inputs, allLive(set, back))
		}
	}
	return work, stays
}

// comesBack lists the values of a set that sidestep paused, and those that stay
// out of the answer. spec is what the config says of the set; nil for nothing.
func comesBack(set record.Set, spec *steer.Spec) (back []string, stays []LeftOut) {
	stay := func(value, why string) { stays = append(stays, LeftOut{set.Key, value, why}) }
	for _, a := range set.Answers {
		switch {
		case a.Live:
		case a.Held:
			stay(a.Value, "somebody else paused it; resume it at the provider if it should answer")
		case a.Paused && (spec == nil || !spec.Names(a.Value)):
			stay(a.Value, "the config does not name it, so it may be anybody's; if it should answer, put it into the config and release again, else delete it at the provider")
		case a.Paused:
			back = append(back, a.Value)
		}
	}
	live := set.Live()
	if !set.Key.Type.Single() || len(live)+len(back) < 2 {
		return back, stays
	}
	why := "several values were paused, and the name can have one; put the one that is meant in at the provider"
	if len(live) > 0 {
		why = fmt.Sprintf("the name can have one value, and answers with %s; the parked copy stays, the only memory of this one: delete it at the provider when nobody needs it", live[0])
	}
	for _, value := range back {
		stay(value, why)
	}
	return nil, stays
}

// allLive wants some values of a set beside those that are live.
func allLive(set record.Set, back []string) steer.Input {
	spec := &steer.Spec{Key: set.Key, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep}
	in := steer.Input{Spec: spec}
	for _, value := range append(set.Live(), back...) {
		spec.Answers = append(spec.Answers, steer.Answer{Value: value, Probe: value, Weight: 1})
		in.Judged = append(in.Judged, steer.Judged{Usable: steer.Yes, Why: releaseWhy})
	}
	return in
}
