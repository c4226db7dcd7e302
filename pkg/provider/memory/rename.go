package memory

import (
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// renameClass is Cloudflare's: one batch by record id in which the stamp is
// deleted and posted anew, and the survivors ride along as witnesses. Adds never
// ride along with take-aways, because the batch is atomic in the database and
// not at the name servers.
type renameClass struct{}

func (renameClass) promises() provider.Promises {
	return provider.Promises{Pause: provider.PauseRename, Atomic: true, Single: true}
}

func (c renameClass) add(w *work) ([]change, error)      { return c.batch(w, w.call.Add) }
func (c renameClass) takeAway(w *work) ([]change, error) { return c.batch(w, w.call.Away) }

func (renameClass) batch(w *work, changes []record.Change) ([]change, error) {
	var b batch
	for _, c := range changes {
		if err := b.change(w, c); err != nil {
			return nil, err
		}
	}
	for _, value := range w.call.Survivors {
		if r, found := w.live(value); found {
			b.patches = append(b.patches, patch{r.ID, func(now *Record) { now.Name = string(w.key.Name) }})
		}
	}
	return w.fence(b.apply), nil
}

// batch is a batch in the order in which the provider carries it out.
type batch struct {
	deletes []int
	patches []patch
	posts   []Record
}

// patch changes some attributes of a record and leaves the others.
type patch struct {
	id int
	do func(*Record)
}

func (b *batch) apply(s *state) error {
	for _, id := range b.deletes {
		_, there := s.byID(id)
		if err := s.need(there, provider.Conflict, "missing", "record %d is gone", id); err != nil {
			return err
		}
		s.remove(func(r Record) bool { return r.ID == id })
	}
	for _, p := range b.patches {
		r, there := s.byID(p.id)
		if err := s.need(there, provider.Conflict, "missing", "record %d is gone", p.id); err != nil {
			return err
		}
		p.do(&r)
		s.update(r)
	}
	for _, r := range b.posts {
		s.insert(r)
	}
	return nil
}

func (b *batch) rename(id int, to record.Name) {
	b.patches = append(b.patches, patch{id, func(r *Record) { r.Name = string(to) }})
}

// witness makes a record's presence a condition and changes nothing.
func (b *batch) witness(id int) { b.patches = append(b.patches, patch{id, func(*Record) {}}) }

func (b *batch) change(w *work, c record.Change) error {
	liveRecord, live := w.live(c.Value)
	switch {
	case c.Action == record.SetTTL && live:
		b.patches = append(b.patches, patch{liveRecord.ID, func(r *Record) { r.TTL = c.TTL }})
	case c.Action == record.SetTTL:
		return w.conflict("%s is not live", c.Value)
	case c.Action == record.Create && !live:
		b.posts = append(b.posts, answer(w.key, c))
	case c.Action == record.Create:
	case w.key.Type.Single():
		return b.single(w, c)
	case c.Action == record.Pause:
		return b.pause(w, c.Value)
	case c.Action == record.Resume:
		return b.resume(w, c.Value)
	}
	return nil
}

// renamed is the record of a value under the parked name.
func renamed(w *work, value string) (Record, bool) {
	set := w.seen.set(record.Key{Name: provider.ParkedName(w.key.Name), Type: w.key.Type})
	return find(set, value, func(Record) bool { return true })
}

// pause renames. Where a copy is under that name already it has to go first,
// and may only when it says the same.
func (b *batch) pause(w *work, value string) error {
	r, live := w.live(value)
	old, parked := renamed(w, value)
	switch {
	case !live && parked:
		return nil
	case !live:
		return w.conflict("%s is not live", value)
	case parked && old.TTL != r.TTL:
		return w.conflict("%s is live and paused with different attributes, a person has to choose", value)
	case parked:
		b.deletes = append(b.deletes, old.ID)
	}
	b.rename(r.ID, provider.ParkedName(w.key.Name))
	return nil
}

// resume renames back. Where the value is live again the copy goes when it says
// the same, and stays when it does not.
func (b *batch) resume(w *work, value string) error {
	r, live := w.live(value)
	old, parked := renamed(w, value)
	switch {
	case !live && !parked:
		return w.conflict("there is no copy of %s", value)
	case !live:
		b.rename(old.ID, w.key.Name)
	case parked && old.TTL == r.TTL:
		b.deletes = append(b.deletes, old.ID)
		b.witness(r.ID)
	}
	return nil
}

// single changes a type of which two cannot share a parked name: the record's
// content is patched, and the old value kept as a readable copy.
func (b *batch) single(w *work, c record.Change) error {
	out := c.From
	if c.Action == record.Pause {
		out = c.Value
	}
	old, there := w.live(out)
	_, done := w.live(c.Value)
	parkedCopy, copied := w.newestCopy(c.Value)
	switch c.Action {
	case record.Resume:
		if done {
			return nil
		}
		if !copied {
			return w.conflict("there is no copy of %s", c.Value)
		}
		if c.TTL == 0 {
			c.TTL = parkedCopy.TTL
		}
		b.posts = append(b.posts, answer(w.key, c))
		b.dropCopies(w, c.Value)
	case record.Pause:
		if !there && copied {
			return nil
		}
		if !there {
			return w.conflict("%s is not live", c.Value)
		}
		b.keep(w, old)
		b.deletes = append(b.deletes, old.ID)
	case record.Swap:
		if done {
			return nil
		}
		if !there {
			return w.conflict("%s is not live", c.From)
		}
		b.keep(w, old)
		b.dropCopies(w, c.Value)
		b.patches = append(b.patches, patch{old.ID, func(r *Record) {
			r.Value = c.Value
			if c.TTL != 0 {
				r.TTL = c.TTL
			}
		}})
	}
	return nil
}

// keep posts the copy of a record in the place of older ones.
func (b *batch) keep(w *work, r Record) {
	b.dropCopies(w, r.value)
	b.posts = append(b.posts, w.parkedText(r))
}

func (b *batch) dropCopies(w *work, value string) {
	for _, r := range w.copies() {
		if p, err := provider.ParseParked(r.Value); err == nil && p.Type == w.key.Type && p.Value == value {
			b.deletes = append(b.deletes, r.ID)
		}
	}
}
