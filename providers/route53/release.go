package route53

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Remains lists the stamps, and the parked copies of values that are live.
func (a *Adapter) Remains(seen *provider.Snapshot) []string {
	v, err := a.view("", seen)
	if err != nil {
		return nil
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(v.places)) {
		_, spent := a.unspent(v.places[name], name, seen)
		for _, c := range spent {
			lines = append(lines, fmt.Sprintf("%s TXT, a copy of the live %s value %s", provider.ParkedName(name), c.copy.Type, c.copy.Value))
		}
	}
	for _, s := range seen.Stamps {
		lines = append(lines, fmt.Sprintf("%s TXT, the stamp %q", stampName(a.zone), s))
	}
	return lines
}

// unspent parts the parked texts of a name: those that have to stay, and the
// copies of values that are live.
func (a *Adapter) unspent(p place, name record.Name, seen *provider.Snapshot) (keep, spent []parkedText) {
	for i := range p.parked {
		for _, c := range copiesOf(&p.parked[i]) {
			if c.copy != nil {
				key := record.Key{Zone: a.zone, Name: name, Type: c.copy.Type, Variant: c.variant()}
				if answer, found := seen.Set(key).Find(c.copy.Value); found && answer.Live {
					spent = append(spent, c)
					continue
				}
			}
			keep = append(keep, c)
		}
	}
	return keep, spent
}

// having are the sets that the values of copies are live in: they have to be so
// still when the copies go.
func (p place) having(copies []parkedText) []rrset {
	var sets []rrset
	for i := range p.sets {
		s := &p.sets[i]
		if slices.ContainsFunc(copies, func(c parkedText) bool {
			return string(c.copy.Type) == string(s.Type) && c.variant() == variant(s) && fixed(s) == ""
		}) {
			sets = append(sets, *s)
		}
	}
	return sets
}

// Release removes the copies of live values, as many as fit one change, and the
// stamp in the last one. Until then the stamp is replaced in each, so that a
// change that is late finds another.
func (a *Adapter) Release(ctx context.Context, seen *provider.Snapshot, gate provider.Gate) (bool, error) {
	op := fmt.Sprintf("release zone %s", a.zone)
	v, err := a.view(op, seen)
	if err != nil {
		return false, err
	}
	b, rest := new(batch), false
	for _, name := range slices.Sorted(maps.Keys(v.places)) {
		p := v.places[name]
		keep, spent := a.unspent(p, name, seen)
		if len(spent) == 0 {
			continue
		}
		values, chars := b.size()
		if values > maxValues/4 || chars > maxChars/4 { // one set has at most 400 values
			rest = true
			break
		}
		d := draft{key: record.Key{Zone: a.zone, Name: name}, place: p, parked: keep}
		b.replace(p.parked, d.parkedAfter())
		witnesses := p.having(spent)
		b.replace(witnesses, witnesses)
	}
	if len(b.changes) == 0 && len(v.stamps) == 0 {
		return true, nil
	}
	next, err := a.leaving(v, rest)
	if err != nil {
		return false, err
	}
	b.changes = slices.Concat((&batch{}).replaced(v.stamps, next), b.changes)
	if err := a.send(ctx, op, b, gate); err != nil {
		return false, a.whose(ctx, err, v, b)
	}
	return !rest, nil
}

func (b *batch) replaced(before, after []rrset) []types.Change {
	b.replace(before, after)
	return b.changes
}

// leaving is the stamp that a release leaves while there is more to remove.
func (a *Adapter) leaving(v *view, rest bool) ([]rrset, error) {
	if !rest {
		return nil, nil
	}
	nonce := make([]byte, 8)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	next := provider.Stamp{Holder: "release"}
	if stamps := stampsOf(v.stamps); len(stamps) > 0 && stamps[0].Nonce != "" {
		next = stamps[0]
	}
	next.Raw, next.Released, next.Nonce = "", true, hex.EncodeToString(nonce)
	return []rrset{a.stampSet(next)}, nil
}
