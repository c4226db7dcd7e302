package cloudflare

import (
	"context"
	"fmt"
	"slices"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

var _ provider.Releaser = (*Adapter)(nil)

// leftover is one record that sidestep can do without: a parked record or a copy
// of a value that is live, with the live one beside it, or a stamp.
type leftover struct {
	*entry

	live *entry // nil for a stamp
}

// differs reports that something would be lost with the record: it has other
// attributes than the live one.
func (l leftover) differs() bool { return l.live != nil && l.copy == nil && !l.equal(l.live) }

// leftovers lists what Release takes out of the zone, the stamps last.
func (a *Adapter) leftovers(seen *provider.Snapshot, v *view) []leftover {
	var list []leftover
	for _, set := range seen.Sets {
		live := v.live(set.Key)
		for _, e := range slices.Concat(v.renamed(set.Key), v.copies(set.Key)) {
			value := e.value
			if e.copy != nil {
				value = e.copy.Value
			}
			if i := slices.IndexFunc(live, func(l *entry) bool { return l.value == value }); i >= 0 {
				list = append(list, leftover{e, live[i]})
			}
		}
	}
	for _, e := range v.names[a.zone.Below(provider.StampLabel)] {
		if e.Type == string(record.TXT) {
			list = append(list, leftover{entry: e})
		}
	}
	return list
}

// Remains lists the parked records and copies of live values, and the stamps.
func (a *Adapter) Remains(seen *provider.Snapshot) []string {
	v, err := a.view("", seen)
	if err != nil {
		return nil
	}
	var lines []string
	for _, l := range a.leftovers(seen, v) {
		line := fmt.Sprintf("%s %s %s", l.name, l.Type, l.Content)
		if l.differs() {
			line += fmt.Sprintf(" (its attributes are not those of the live record %s: remove one of the two by hand)", l.live.ID)
		}
		lines = append(lines, line)
	}
	return lines
}

// perRelease is how many copies one batch takes out, each with its live record
// as a witness, beside the stamps.
const perRelease = 90

// Release takes everything out in one batch: the copies, on the condition that
// the live records are there, and the stamps by their ids, so that it is refused
// when another node has replaced one. More copies than a batch takes go first,
// the stamps a condition.
func (a *Adapter) Release(ctx context.Context, seen *provider.Snapshot, gate provider.Gate) (done bool, err error) {
	op := fmt.Sprintf("release zone %s at Cloudflare", a.zone)
	v, err := a.view(op, seen)
	if err != nil {
		return false, err
	}
	left := a.leftovers(seen, v)
	if len(left) == 0 {
		return true, nil
	}
	b, done, err := drawRelease(op, left)
	if err != nil {
		return false, err
	}
	out, err := a.send(ctx, op, v.zoneID, b, gate)
	if err != nil {
		return false, a.whose(ctx, v.zoneID, seen.Stamps, err)
	}
	var listed []*entry
	for _, l := range left {
		if l.live != nil {
			listed = append(listed, l.entry, l.live)
		}
	}
	if err := a.meant(op, b, listed, out); err != nil {
		return false, err
	}
	return done, nil
}

func drawRelease(op string, left []leftover) (b *batch, done bool, err error) {
	b, done = new(batch), true
	witnesses := map[string]bool{}
	for _, l := range left {
		switch {
		case l.differs():
			failed := provider.Failf(provider.Permanent, op, "", "%s %s is live and, with other attributes, paused (ids %s and %s)", l.live.name, l.value, l.live.ID, l.ID)
			failed.Hint = "remove the one that is not wanted in the dashboard, and release again"
			return nil, false, failed
		case l.live == nil && done:
			b.remove(l.entry)
			continue
		case l.live == nil:
			b.witness(l.entry)
			continue
		case len(b.Deletes) == perRelease:
			done = false
			continue
		}
		b.remove(l.entry)
		if !witnesses[l.live.ID] {
			witnesses[l.live.ID] = true
			b.witness(l.live)
		}
	}
	return b, done, nil
}
