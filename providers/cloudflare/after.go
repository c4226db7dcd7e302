package cloudflare

import (
	"encoding/json"
	"maps"
	"slices"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

var _ provider.Follower = (*Adapter)(nil)

// After is the zone after the last accepted write: what was listed, without what
// was deleted, with the records as the answer to the batch shows them, among
// them the new stamp with its id. It is nil when that answer does not show
// everything that was asked for.
func (a *Adapter) After(call provider.Call) *provider.Snapshot {
	a.mu.Lock()
	w := a.last
	a.mu.Unlock()
	if w == nil || call.Seen == nil || w.call.Seen != call.Seen || w.call.Next.Nonce != call.Next.Nonce || w.call.Key != call.Key {
		return nil
	}
	records, shown := w.records()
	if !shown {
		return nil
	}
	old := call.Seen
	v, ok := old.Native.(*view)
	if !ok {
		return nil
	}
	b := newBuilder(a.zone, v.zoneID)
	b.view.names = w.without(v, a.zone)
	for _, r := range records {
		b.add(&r)
	}
	if b.outside != "" || len(b.snap.Skipped) > 0 {
		return nil
	}
	maps.DeleteFunc(b.view.names, func(_ record.Name, entries []*entry) bool { return len(entries) == 0 })
	after := *old
	after.Stamps, after.Native = b.view.stamps(a.zone), b.view
	after.Records += len(w.batch.Posts) - len(w.batch.Deletes)
	after.Sets = replaced(old.Sets, b.view.set(call.Key))
	return &after
}

// records are those that the batch changed or made, as the answer has them.
func (w *written) records() (records []wire, shown bool) {
	if len(w.reply.Posts) != len(w.batch.Posts) {
		return nil, false
	}
	for i, p := range w.batch.Posts {
		m := w.reply.Posts[i]
		if m.ID == "" || m.Type != p.Type || m.Name != p.Name {
			return nil, false
		}
		records = append(records, m.wire())
	}
	for _, p := range w.batch.Patches {
		i := slices.IndexFunc(w.reply.Patches, func(m made) bool { return m.ID == p.ID })
		if i < 0 || p.Name != "" && w.reply.Patches[i].Name != p.Name {
			return nil, false
		}
		records = append(records, w.reply.Patches[i].wire())
	}
	return records, true
}

// without is a copy of what the list had, less what the batch deleted or
// patched.
func (w *written) without(v *view, zone record.Name) map[record.Name][]*entry {
	gone := map[string]bool{}
	for _, d := range w.batch.Deletes {
		gone[d.ID] = true
	}
	for _, p := range w.batch.Patches {
		gone[p.ID] = true
	}
	names := maps.Clone(v.names)
	name := w.call.Key.Name
	for _, n := range []record.Name{name, provider.ParkedName(name), zone.Below(provider.StampLabel)} {
		names[n] = slices.DeleteFunc(slices.Clone(names[n]), func(e *entry) bool { return gone[e.ID] })
	}
	return names
}

// replaced are the sets with one of them in the place of what was there.
func replaced(sets []record.Set, set record.Set) []record.Set {
	i, found := slices.BinarySearchFunc(sets, set.Key, func(s record.Set, k record.Key) int { return s.Key.Compare(k) })
	switch {
	case !found && len(set.Answers) == 0:
		return sets
	case !found:
		return slices.Insert(slices.Clone(sets), i, set)
	case len(set.Answers) == 0:
		return slices.Delete(slices.Clone(sets), i, i+1)
	}
	sets = slices.Clone(sets)
	sets[i] = set
	return sets
}

// wire is the record as a list would have it.
func (m made) wire() wire {
	return wire{
		ID: m.ID, Name: m.Name, Type: m.Type, Content: m.Content, TTL: m.TTL, Proxied: m.Proxied, Private: m.Private, Comment: m.Comment,
		Tags: some(m.Tags), Settings: some(m.Settings), Data: some(m.Data), Priority: some(m.Priority),
	}
}

// some is JSON that says something, as the list's reader keeps it.
func some(raw json.RawMessage) string {
	switch string(raw) {
	case "{}", "[]", "null":
		return ""
	}
	return string(raw)
}
