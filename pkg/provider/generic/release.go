package generic

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Remains lists the copies of values that are live.
func (a *Adapter) Remains(seen *provider.Snapshot) []string {
	var lines []string
	for _, c := range spare(seen) {
		lines = append(lines, fmt.Sprintf("%s TXT: the copy of %s %s, which is live", provider.ParkedName(c.key.Name), c.key.Type, c.Value))
	}
	return lines
}

// Release deletes one copy of a value that a new list shows live too. It must
// not be asked for before every call that may still take effect is quiet: a
// late deletion of the live record would find no copy.
func (a *Adapter) Release(ctx context.Context, seen *provider.Snapshot, gate provider.Gate) (done bool, err error) {
	op := a.op("release zone", string(a.zone))
	if seen == nil || seen.Zone != a.zone || viewOf(seen) == nil {
		return false, provider.Failf(provider.Permanent, op, "", "the call rests on no list of this adapter")
	}
	if len(spare(seen)) == 0 {
		return true, nil
	}
	entries, err := a.fetch(ctx)
	if err != nil {
		return false, err
	}
	left := spare(a.snapshot(entries))
	if len(left) == 0 {
		return true, nil
	}
	if err := a.delete(ctx, op, left[0].record, gate); err != nil {
		return false, err
	}
	return len(left) == 1, nil
}

// spareCopy is a copy that nothing would come back from.
type spareCopy struct {
	parked

	key record.Key
}

// spare lists the copies of live values, in the order of their keys.
func spare(seen *provider.Snapshot) []spareCopy {
	v := viewOf(seen)
	if v == nil {
		return nil
	}
	var found []spareCopy
	for _, key := range slices.SortedFunc(maps.Keys(v.copies), record.Key.Compare) {
		for _, p := range v.copies[key] {
			if _, live := v.find(key, p.Value); live {
				found = append(found, spareCopy{p, key})
			}
		}
	}
	return found
}
