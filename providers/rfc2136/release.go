package rfc2136

import (
	"context"
	"fmt"
	"slices"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

var _ provider.Releaser = (*Adapter)(nil)

// releaseAtOnce is how many names' copies one update removes at most: with what
// it compares, all of a large zone would not fit into one message.
const releaseAtOnce = 100

// leftCopies are the parked copies of one name whose values are live.
type leftCopies struct {
	owner record.Name
	texts []string // of the copies, for people
	data  []string // their rdata
	live  []setID  // the sets in which their values are live, sorted by type
}

// leftovers lists, by name, the copies that sidestep can do without.
func (v *view) leftovers() []leftCopies {
	var names []leftCopies
	for id, set := range v.sets {
		owner, parked := provider.ParkedOwner(id.name)
		if !parked || id.kind != dns.TypeTXT {
			continue
		}
		if left := v.leftBelow(owner, set); len(left.data) > 0 {
			names = append(names, left)
		}
	}
	slices.SortFunc(names, func(a, b leftCopies) int {
		if a.owner < b.owner {
			return -1
		}
		return 1 // no two are the same
	})
	return names
}

func (v *view) leftBelow(owner record.Name, set rrset) leftCopies {
	left := leftCopies{owner: owner}
	for _, data := range slices.Sorted(slices.Values(set.data)) {
		text, err := textOf(data)
		if err != nil {
			continue
		}
		copied, err := provider.ParseParked(text)
		if err != nil {
			continue // nobody knows what it says: it stays
		}
		id := setID{owner, kinds[copied.Type]}
		if !v.isLive(id, copied) {
			continue
		}
		left.texts, left.data = append(left.texts, text), append(left.data, data)
		if !slices.Contains(left.live, id) {
			left.live = append(left.live, id)
		}
	}
	return left
}

func (v *view) isLive(id setID, copied provider.Parked) bool {
	return slices.ContainsFunc(v.sets[id].data, func(data string) bool {
		value, err := valueOf(copied.Type, data)
		return err == nil && value == copied.Value
	})
}

// Remains lists the parked copies of values that are live, and the stamps.
func (a *Adapter) Remains(seen *provider.Snapshot) []string {
	v, err := a.view("", seen)
	if err != nil {
		return nil
	}
	var lines []string
	for _, left := range v.leftovers() {
		for _, text := range left.texts {
			lines = append(lines, fmt.Sprintf("%s TXT %q", provider.ParkedName(left.owner), text))
		}
	}
	for _, s := range seen.Stamps {
		lines = append(lines, fmt.Sprintf("%s TXT %q", stampName(a.zone), s))
	}
	return lines
}

// Release removes copies, and with the last of them the stamps, in one update
// that requires the listed stamps, copies and live sets. The zone's serial is
// not compared: a busy zone can be left as well, and nothing is written whose TTL
// could be out of date.
func (a *Adapter) Release(ctx context.Context, seen *provider.Snapshot, gate provider.Gate) (done bool, err error) {
	op := fmt.Sprintf("release zone %s at %s", a.zone, a.server)
	v, err := a.view(op, seen)
	if err != nil {
		return false, err
	}
	left := v.leftovers()
	if len(left) == 0 && len(seen.Stamps) == 0 {
		return true, nil
	}
	var u update
	stamp := setID{stampName(a.zone), dns.TypeTXT}
	u.equals(stamp, stampData(seen.Stamps))
	now := left[:min(len(left), releaseAtOnce)]
	for _, l := range now {
		parked := setID{provider.ParkedName(l.owner), dns.TypeTXT}
		u.equals(parked, v.sets[parked].data)
		for _, id := range l.live {
			u.equals(id, v.sets[id].data)
		}
		u.remove(parked, l.data...)
	}
	last := len(now) == len(left)
	if last {
		u.replace(stamp, rrset{})
	}
	err = a.send(ctx, op, &u, gate)
	if provider.ClassOf(err) == provider.Conflict {
		err = a.whose(ctx, provider.Call{Seen: seen, Next: provider.Stamp{Nonce: "asked"}}, err)
	}
	return err == nil && last, err
}
