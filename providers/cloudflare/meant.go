package cloudflare

import (
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// meant compares what an accepted batch did, by the answer to it, with what it
// was meant to do to the listed records. A batch goes by ids and compares no
// content: where somebody edited a record between the list and the batch, it is
// the new content that was renamed or deleted, or that stands where a survivor
// was to be. That is told here, and the zone listed again. A content that the
// batch itself wrote hides what it wrote over.
func (a *Adapter) meant(op string, b *batch, listed []*entry, out *reply) error {
	var lines []string
	for _, p := range b.Patches {
		e, m := entryWith(listed, p.ID), madeWith(out.Patches, p.ID)
		if e == nil || m == nil {
			continue
		}
		if m.Name != "" && p.Name != "" && !strings.EqualFold(strings.TrimSuffix(m.Name, "."), p.Name) {
			lines = append(lines, fmt.Sprintf("the record %s was to be at %s and is at %s", p.ID, p.Name, a.said(m.Name)))
		}
		if p.Content == "" && e.edited(m.Content) {
			lines = append(lines, fmt.Sprintf("the record %s had become %s, was listed as %s, and is at %s now", p.ID, a.said(m.Content), e.Content, p.Name))
		}
	}
	for _, d := range b.Deletes {
		e, m := entryWith(listed, d.ID), madeWith(out.Deletes, d.ID)
		if e != nil && m != nil && e.edited(m.Content) {
			lines = append(lines, fmt.Sprintf("the record %s at %s had become %s, was listed as %s, and is deleted", d.ID, e.name, a.said(m.Content), e.Content))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	failed := provider.Failf(provider.Ambiguous, op, "", "somebody edited the zone between the list and this write: %s", strings.Join(lines, "; "))
	failed.Hint = "see those records in the dashboard, and put right what the edit was for"
	a.log.Warn("a write met a record that was edited since the list; the zone is listed again", "zone", string(a.zone), "error", failed)
	return failed
}

// edited reports whether a record says something else than it was listed with,
// however that is spelled. An answer that does not show the content says nothing.
func (e *entry) edited(now string) bool {
	if now == "" || now == e.Content {
		return false
	}
	if e.Type == string(record.TXT) {
		return unquote(now) != e.text
	}
	value, err := record.ParseValue(record.Type(e.Type), now)
	return err != nil || value != e.value
}

func entryWith(list []*entry, id string) *entry {
	if i := slices.IndexFunc(list, func(e *entry) bool { return e.ID == id }); i >= 0 {
		return list[i]
	}
	return nil
}

func madeWith(list []made, id string) *made {
	if i := slices.IndexFunc(list, func(m made) bool { return m.ID == id }); i >= 0 {
		return &list[i]
	}
	return nil
}
