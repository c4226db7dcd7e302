package memory

import (
	"slices"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// image is a set and the copies below its name as they should be after a call:
// what the classes write that know sets and not records.
type image struct {
	w      *work
	native bool // paused values stay in the set, with a flag
	set    []Record
	copies []Record
}

// image works a call out on what was listed.
func (w *work) image(native bool) (image, error) {
	im := image{w: w, native: native, set: slices.Clone(w.records()), copies: slices.Clone(w.copies())}
	for _, c := range slices.Concat(w.call.Add, w.call.Away) {
		if err := im.apply(c); err != nil {
			return im, err
		}
	}
	return im, nil
}

func (im *image) apply(c record.Change) error {
	switch c.Action {
	case record.Create:
		im.create(c)
	case record.Resume:
		return im.resume(c)
	case record.Pause:
		return im.pause(c.Value)
	case record.Swap:
		return im.swap(c)
	case record.SetTTL:
		im.level(c.TTL)
	case record.SetWeight:
		return im.w.conflict("there are no weights here")
	}
	return nil
}

func (im *image) create(c record.Change) {
	if im.index(c.Value) >= 0 {
		return
	}
	im.set = append(im.set, answer(c.Key, c))
	im.level(c.TTL)
}

// resume brings a value back with the change's TTL, else its siblings', else
// the copy's: a set has one TTL. A copy that says something else than the live
// record is kept.
func (im *image) resume(c record.Change) error {
	i := im.index(c.Value)
	if i >= 0 && im.set[i].Disabled {
		im.set[i].Disabled, im.set[i].Marked = false, false
		return nil
	}
	parked, found := im.w.newestCopy(c.Value)
	switch {
	case i >= 0 && (!found || parked.TTL != im.set[i].TTL):
		return nil
	case i < 0 && !found:
		return im.w.conflict("there is no copy of %s", c.Value)
	case i < 0:
		if ttl := im.ttl(); c.TTL == 0 && ttl != 0 {
			c.TTL = ttl
		} else if c.TTL == 0 {
			c.TTL = parked.TTL
		}
		im.set = append(im.set, answer(c.Key, c))
		im.level(c.TTL)
	}
	im.dropCopies(c.Value)
	return nil
}

func (im *image) pause(value string) error {
	i := im.index(value)
	_, copied := im.w.newestCopy(value)
	switch {
	case i < 0 && copied:
		return nil
	case i < 0:
		return im.w.conflict("%s is not there", value)
	case im.native && im.set[i].Disabled:
		return nil
	case im.native:
		im.set[i].Disabled, im.set[i].Marked = true, true
		return nil
	}
	im.dropCopies(value)
	im.copies = append(im.copies, im.w.parkedText(im.set[i]))
	im.set = slices.Delete(im.set, i, i+1)
	return nil
}

func (im *image) swap(c record.Change) error {
	if im.index(c.Value) >= 0 {
		return nil
	}
	i := im.index(c.From)
	if i < 0 {
		return im.w.conflict("%s is not there", c.From)
	}
	if c.TTL == 0 {
		c.TTL = im.set[i].TTL
	}
	im.dropCopies(c.From)
	im.dropCopies(c.Value)
	im.copies = append(im.copies, im.w.parkedText(im.set[i]))
	im.set[i] = answer(c.Key, c)
	return nil
}

func (im *image) index(value string) int {
	return slices.IndexFunc(im.set, func(r Record) bool { return r.value == value })
}

// ttl is that of the set, 0 of an empty one.
func (im *image) ttl() time.Duration {
	if len(im.set) == 0 {
		return 0
	}
	return im.set[0].TTL
}

func (im *image) level(ttl time.Duration) {
	for i := range im.set {
		im.set[i].TTL = ttl
	}
}

// dropCopies removes the readable copies of a value: others say something that
// nobody here understands, and stay.
func (im *image) dropCopies(value string) {
	im.copies = slices.DeleteFunc(im.copies, func(r Record) bool {
		p, err := provider.ParseParked(r.Value)
		return err == nil && p.Type == im.w.key.Type && p.Value == value
	})
}

// write puts the image in the place of what is there.
func (im *image) write(s *state) {
	s.replace(im.w.key, im.set)
	s.replace(copiesOf(im.w.key), im.copies)
}
