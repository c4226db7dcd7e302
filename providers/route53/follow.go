package route53

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// After is the zone after the write of call, when that was the last one that was
// accepted: the list, with what the batch deleted and created.
func (a *Adapter) After(call provider.Call) *provider.Snapshot {
	a.mu.Lock()
	done := a.done
	a.mu.Unlock()
	if call.Seen == nil || done.nonce == "" || done.nonce != call.Next.Nonce {
		return nil
	}
	seen, ok := call.Seen.Native.(*view)
	if !ok || call.Seen.Zone != a.zone {
		return nil
	}
	v := &view{stamps: slices.Clone(seen.stamps), places: maps.Clone(seen.places)}
	after := *call.Seen
	for _, c := range done.changes {
		v.apply(a.zone, c, &after.Records)
	}
	p := v.places[call.Key.Name]
	if len(p.sets)+len(p.parked) == 0 {
		delete(v.places, call.Key.Name)
	}
	after.Native, after.Stamps = v, stampsOf(v.stamps)
	after.Skipped = slices.Clone(call.Seen.Skipped)
	var skipped provider.Snapshot // what is unreadable at the name is told already
	after.Sets = splice(call.Seen.Sets, call.Key, p.read(a.zone, call.Key.Name, &skipped))
	return &after
}

// splice puts the sets of one name in the place of those that were listed.
func splice(sets []record.Set, key record.Key, now []record.Set) []record.Set {
	record.SortSets(now)
	from, _ := slices.BinarySearchFunc(sets, record.Key{Zone: key.Zone, Name: key.Name}, func(s record.Set, k record.Key) int { return s.Key.Compare(k) })
	to := from
	for to < len(sets) && sets[to].Key.Name == key.Name {
		to++
	}
	return slices.Concat(sets[:from], now, sets[to:])
}

// apply is what one line of a batch does to a view.
func (v *view) apply(zone record.Name, c types.Change, records *int) {
	s := c.ResourceRecordSet
	name, err := parseName(aws.ToString(s.Name))
	if err != nil {
		return // we wrote it
	}
	count := max(1, len(s.ResourceRecords))
	edit := func(sets []rrset) []rrset {
		if c.Action == types.ChangeActionDelete {
			*records -= count
			return slices.DeleteFunc(slices.Clone(sets), func(o rrset) bool { return same(&o, s) })
		}
		*records += count
		return append(slices.Clone(sets), *s)
	}
	owner, parked := provider.ParkedOwner(name)
	switch {
	case name == stampName(zone):
		v.stamps = edit(v.stamps)
	case parked:
		p := v.places[owner]
		p.parked = edit(p.parked)
		v.places[owner] = p
	default:
		p := v.places[name]
		p.sets = edit(p.sets)
		v.places[name] = p
	}
}
