package cloudflaretest

import (
	"fmt"
	"net/http"
	"slices"
)

// zone is one zone with its records, which are never changed in place.
type zone struct {
	id        string
	name      string // without the final dot
	status    string
	account   account
	plan      Plan
	quota     int
	forgiving bool
	records   []*Record
}

type account struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// transaction is a change of a zone that is applied whole or not at all.
type transaction struct {
	fake    *Fake
	zone    *zone
	records []*Record
	notes   []string
}

func (f *Fake) begin(z *zone) *transaction {
	return &transaction{fake: f, zone: z, records: slices.Clone(z.records)}
}

// commit makes the change the zone's.
func (t *transaction) commit(who string) {
	t.fake.changes++
	t.zone.records = t.records
	for _, note := range t.notes {
		t.fake.history = append(t.fake.history, fmt.Sprintf("%d %s %s", t.fake.changes, who, note))
	}
}

func (t *transaction) note(what string, r *Record) {
	t.notes = append(t.notes, what+" "+r.attributes())
}

func (t *transaction) find(id string) int {
	return slices.IndexFunc(t.records, func(r *Record) bool { return r.ID == id })
}

func (t *transaction) remove(id string) (*Record, *apiError) {
	i := t.find(id)
	if i < 0 {
		return nil, errMissing
	}
	gone := t.records[i]
	t.records = slices.Delete(t.records, i, i+1)
	t.note("delete", gone)
	return gone, nil
}

func (t *transaction) patch(id string, sent fields) (*Record, *apiError) {
	i := t.find(id)
	if i < 0 {
		return nil, errMissing
	}
	r := *t.records[i]
	if sent.Type != nil && *sent.Type != r.Type {
		return nil, invalid(9203, "The type of a record cannot be changed.")
	}
	return t.replace(i, &r, sent, "patch")
}

func (t *transaction) put(id string, sent fields) (*Record, *apiError) {
	if failed := complete(sent); failed != nil {
		return nil, failed
	}
	i := t.find(id)
	if i < 0 {
		return nil, errMissing
	}
	old := t.records[i]
	return t.replace(i, &Record{ID: id, TTL: 1, made: old.made}, sent, "put")
}

func (t *transaction) replace(i int, r *Record, sent fields, what string) (*Record, *apiError) {
	if failed := sent.onto(r); failed != nil {
		return nil, failed
	}
	if failed := t.zone.normal(r); failed != nil {
		return nil, failed
	}
	if failed := alone(t.records, r); failed != nil {
		return nil, failed
	}
	r.changed = t.fake.changes + 1
	t.records[i] = r
	t.note(what, r)
	return r, nil
}

func (t *transaction) post(sent fields) (*Record, *apiError) {
	if failed := complete(sent); failed != nil {
		return nil, failed
	}
	r := &Record{made: t.fake.changes + 1, changed: t.fake.changes + 1}
	if failed := sent.onto(r); failed != nil {
		return nil, failed
	}
	if failed := t.zone.normal(r); failed != nil {
		return nil, failed
	}
	if failed := alone(t.records, r); failed != nil {
		return nil, failed
	}
	if t.zone.quota > 0 && len(t.records) >= t.zone.quota {
		return nil, refuse(http.StatusBadRequest, 81045, "Record quota exceeded. Please delete some records or upgrade your plan.")
	}
	r.ID = t.fake.newID()
	t.records = append(t.records, r)
	t.note("post", r)
	return r, nil
}

// complete checks what a record that is sent whole must have.
func complete(sent fields) *apiError {
	switch {
	case sent.Name == nil:
		return invalid(9101, "name is a required field.")
	case sent.Type == nil:
		return invalid(9101, "type is a required field.")
	case sent.TTL == nil:
		return invalid(9101, "ttl is a required field.")
	case sent.Content == nil && sent.Data == nil:
		return invalid(9101, "content is a required field.")
	}
	return nil
}

// batch is several changes in one transaction.
type batch struct {
	Deletes []fields `json:"deletes"`
	Patches []fields `json:"patches"`
	Puts    []fields `json:"puts"`
	Posts   []fields `json:"posts"`
}

// done is what became of a batch.
type done struct {
	Deletes []*Record `json:"deletes"`
	Patches []*Record `json:"patches"`
	Puts    []*Record `json:"puts"`
	Posts   []*Record `json:"posts"`
}

// apply carries a batch out in the documented order.
func (t *transaction) apply(b batch) (*done, *apiError) {
	n := len(b.Deletes) + len(b.Patches) + len(b.Puts) + len(b.Posts)
	if n == 0 || n > t.zone.plan.Batch {
		return nil, invalid(9208, "A batch has 1 to %d changes on this plan, this one has %d.", t.zone.plan.Batch, n)
	}
	out := &done{[]*Record{}, []*Record{}, []*Record{}, []*Record{}}
	steps := []struct {
		list []fields
		to   *[]*Record
		id   bool
		do   func(id string, sent fields) (*Record, *apiError)
	}{
		{b.Deletes, &out.Deletes, true, func(id string, _ fields) (*Record, *apiError) { return t.remove(id) }},
		{b.Patches, &out.Patches, true, t.patch},
		{b.Puts, &out.Puts, true, t.put},
		{b.Posts, &out.Posts, false, func(_ string, sent fields) (*Record, *apiError) { return t.post(sent) }},
	}
	for _, step := range steps {
		for _, sent := range step.list {
			if step.id && sent.ID == nil {
				return nil, invalid(9101, "id is a required field.")
			}
			id := ""
			set(&id, sent.ID)
			r, failed := step.do(id, sent)
			switch {
			case failed == errMissing && t.zone.forgiving:
			case failed != nil:
				return nil, failed
			default:
				*step.to = append(*step.to, r)
			}
		}
	}
	return out, nil
}
