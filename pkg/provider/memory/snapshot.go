package memory

import (
	"slices"
	"strconv"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// snapshot reads a state as an adapter of the zone's class does.
func (z *Zone) snapshot(s state) *provider.Snapshot {
	out := &provider.Snapshot{Zone: z.name, Records: len(s.records), Version: strconv.Itoa(s.serial), Native: s}
	sets := map[record.Key]*record.Set{}
	for _, r := range s.records {
		z.read(r, out, sets)
	}
	for _, set := range sets {
		out.Sets = append(out.Sets, *set)
	}
	record.SortSets(out.Sets)
	slices.Sort(out.Delegations)
	out.Delegations = slices.Compact(out.Delegations)
	return out
}

// read files one record under what it is.
func (z *Zone) read(r Record, out *provider.Snapshot, sets map[record.Key]*record.Set) {
	switch {
	case r.name == "":
		out.Skipped = append(out.Skipped, r.String())
	case r.at(z.stampName(), record.TXT):
		stamp := provider.ParseStamp(r.Value)
		stamp.Native = r.ID
		out.Stamps = append(out.Stamps, stamp)
	case r.Type == "NS" && r.name != z.name:
		out.Delegations = append(out.Delegations, r.name)
	case r.Type == string(record.TXT):
		z.readText(r, out, sets)
	case r.steered():
		z.readAnswer(r, sets)
	}
}

// readText finds the two kinds of TXT records that mean something: parked
// copies, and what another tool's registry claims.
func (z *Zone) readText(r Record, out *provider.Snapshot, sets map[record.Key]*record.Set) {
	if owner, parked := provider.ParkedOwner(r.name); parked {
		parkedCopy, err := provider.ParseParked(r.Value)
		if err != nil {
			out.Skipped = append(out.Skipped, err.Error())
			return
		}
		key := record.Key{Zone: z.name, Name: owner, Type: parkedCopy.Type, Variant: r.Variant}
		merge(sets, key, record.Answer{Value: parkedCopy.Value, TTL: parkedCopy.TTL, Weight: 1, Paused: true, OwnTTL: z.options.Class == Append})
		return
	}
	out.Owners = append(out.Owners, provider.ParseOwners(r.name, r.Value)...)
}

// readAnswer reads an address or an alias, live or out of the answer.
func (z *Zone) readAnswer(r Record, sets map[record.Key]*record.Set) {
	key := record.Key{Zone: z.name, Name: r.name, Type: record.Type(r.Type), Variant: r.Variant}
	a := record.Answer{Value: r.value, TTL: r.TTL, Weight: r.Weight, Live: !r.Disabled, Paused: r.Disabled && r.Marked, Held: r.Disabled && !r.Marked}
	if owner, parked := provider.ParkedOwner(r.name); parked && z.options.Class == Rename {
		key.Name = owner
		a.Live, a.Paused, a.Held = false, true, false
	}
	if z.options.Class != Status {
		a.Weight = 1
	}
	a.OwnTTL = z.options.Class == Append // nothing is changed in place there
	merge(sets, key, a)
}

// merge brings what several records say of one value together. The attributes
// are those of the live record, else of the newest one.
func merge(sets map[record.Key]*record.Set, key record.Key, a record.Answer) {
	set := sets[key]
	if set == nil {
		set = &record.Set{Key: key}
		sets[key] = set
	}
	i := slices.IndexFunc(set.Answers, func(b record.Answer) bool { return b.Value == a.Value })
	if i < 0 {
		set.Answers = append(set.Answers, a)
		return
	}
	old := set.Answers[i]
	if old.Live && !a.Live {
		a.TTL, a.Weight = old.TTL, old.Weight
	}
	a.Live, a.Paused, a.Held = a.Live || old.Live, a.Paused || old.Paused, a.Held || old.Held
	set.Answers[i] = a
}
