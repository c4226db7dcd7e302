package powerdns

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// view is what a Snapshot keeps for Release.
type view struct {
	left []leftover
}

// leftover is something of ours that means nothing any more, and what takes it out.
type leftover struct {
	line  string
	order int // marks first, then copies, the stamp last
	patch patch
}

// perRelease is how many leftovers one PATCH takes out: far below the 2 MB that
// PowerDNS reads of a body when nothing else is configured.
const perRelease = 500

// staleMarks are marks of values that are live or gone, or that somebody else
// disabled since.
func staleMarks(key record.Key, set rrset, stale []mark) leftover {
	ours := slices.DeleteFunc(set.marks(), func(m mark) bool { return slices.Contains(stale, m) })
	comments := set.remarked(ours)
	values := make([]string, len(stale))
	for i, m := range stale {
		values[i] = m.value
	}
	return leftover{
		line:  fmt.Sprintf("a mark on %s for %s, which sidestep does not pause", key, strings.Join(values, ", ")),
		order: 1, patch: patch{Name: set.Name, Type: set.Type, ChangeType: "REPLACE", Comments: &comments},
	}
}

// doubledCopies are parked copies of values that are live.
func doubledCopies(set rrset, which []int) leftover {
	var rest []member
	for i, m := range set.Records {
		if !slices.Contains(which, i) {
			rest = append(rest, m)
		}
	}
	return leftover{
		line:  fmt.Sprintf("%d parked copies at %s of values that are live", len(which), set.Name),
		order: 2, patch: set.replaced(set.TTL, rest),
	}
}

// lastStamp is the stamp of a time in which the zone was written with a fence.
func lastStamp(set rrset) leftover {
	rest := slices.DeleteFunc(slices.Clone(set.Records), enabled)
	return leftover{line: "the stamp at " + set.Name, order: 3, patch: set.replaced(set.TTL, rest)}
}

// replaced is the PATCH that gives a set other members. One that loses its last
// takes its comments with it, so that they are sent again.
func (s rrset) replaced(ttl uint32, members []member) patch {
	if members == nil {
		members = []member{}
	}
	p := patch{Name: s.Name, Type: s.Type, TTL: &ttl, ChangeType: "REPLACE", Records: &members}
	if len(members) == 0 && len(s.Comments) > 0 {
		p.Comments = &s.Comments
	}
	return p
}

// Remains lists what sidestep left in the zone beside paused values.
func (a *Adapter) Remains(seen *provider.Snapshot) []string {
	v, ok := seen.Native.(*view)
	if !ok {
		return nil
	}
	lines := make([]string, len(v.left))
	for i, l := range v.left {
		lines[i] = l.line
	}
	return lines
}

// Release takes out what Remains lists, in one transaction unless it is a great
// deal.
func (a *Adapter) Release(ctx context.Context, seen *provider.Snapshot, gate provider.Gate) (bool, error) {
	op := fmt.Sprintf("release zone %s", a.zone)
	if seen == nil || seen.Zone != a.zone {
		return false, provider.Failf(provider.Permanent, op, "", "the call rests on no list of this zone")
	}
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	var b *builder
	known := a.known()
	h, err := a.read(ctx, op, func() reader { b = newBuilder(a.zone, known); return b })
	if err != nil {
		return false, err
	}
	if h.copied() {
		return false, a.isCopy(op, h)
	}
	now := b.finish(h)
	if !slices.Equal(a.Remains(now), a.Remains(seen)) {
		return false, provider.Failf(provider.Conflict, op, "", "what remains in the zone is not what was listed")
	}
	if len(b.left) == 0 {
		return true, nil
	}
	part := b.left[:min(len(b.left), perRelease)]
	patches := make([]patch, len(part))
	for i, l := range part {
		patches[i] = l.patch
	}
	return len(part) == len(b.left), a.send(ctx, op, patches, gate)
}
