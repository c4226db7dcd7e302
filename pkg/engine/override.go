package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"sidestep/pkg/override"
)

// word is an override, and what it is in the config in force.
type word struct {
	override.Override
	thing  thing
	inert  string    // why it has no effect; empty when nothing speaks against it
	begun  bool      // it has begun, and is not over
	remind time.Time // when the journal is told again that it is still there
}

// inForce lists those that have an effect now, in their order.
func inForce(words []*word) []*word {
	var list []*word
	for _, w := range words {
		if w.begun && w.inert == "" {
			list = append(list, w)
		}
	}
	return list
}

// remindEvery is how often the journal is told of an override that is still in
// force.
const remindEvery = 24 * time.Hour

// override takes an operator's word. The same kind on the same target replaces
// the earlier one.
func (e *Engine) override(ev Override) {
	w, err := e.read(ev.Override)
	if err != nil {
		e.effects.Err = err
		return
	}
	detail := fmt.Sprintf("%s set, %s", w.Kind, w.Ends())
	if !w.Begun(e.now.Wall) {
		detail = fmt.Sprintf("%s set, from %s %s", w.Kind, w.From.UTC().Format(time.RFC3339), w.Ends())
	}
	if i := e.find(w.Override); i >= 0 {
		detail += ", in place of one " + e.words[i].Ends()
		e.words = slices.Delete(slices.Clone(e.words), i, i+1)
	}
	e.words = sorted(append(slices.Clone(e.words), w))
	e.tellWord(w, detail+": "+w.Reason, w.By)
	e.obey()
}

// clear takes operators' words back.
func (e *Engine) clear(ev Clear) {
	kept := []*word{}
	for _, w := range e.words {
		if !e.clears(ev, w) {
			kept = append(kept, w)
			continue
		}
		e.effects.Cleared = append(e.effects.Cleared, w.Override)
		e.tellWord(w, fmt.Sprintf("%s cleared", w.Kind), ev.By)
	}
	if len(e.effects.Cleared) > 0 {
		e.words = kept
		e.obey()
		return
	}
	what := "override"
	if ev.Kind != "" {
		what = string(ev.Kind)
	}
	th, err := e.thing(ev.Kind, ev.Target)
	if err != nil {
		e.effects.Err = err
		return
	}
	e.effects.Idle = fmt.Sprintf("there is no %s on %s", what, th.shown())
	if by := e.also(ev.Kind, th); by != nil {
		e.effects.Idle += fmt.Sprintf("; %s is %s with %s", th.shown(), by.Kind.Did(), by.Shown())
	}
}

// clears reports whether an override is what a Clear is about.
func (e *Engine) clears(ev Clear, w *word) bool {
	return (ev.Kind == "" || ev.Kind == w.Kind) && e.means(ev.Target, w)
}

// find is the place of the override that another one replaces; -1 for none.
func (e *Engine) find(o override.Override) int {
	return slices.IndexFunc(e.words, func(w *word) bool { return w.Same(o) })
}

// sorted puts those first that go before the others.
func sorted(words []*word) []*word {
	slices.SortFunc(words, func(a, b *word) int {
		return cmp.Or(cmp.Compare(slices.Index(override.Kinds, a.Kind), slices.Index(override.Kinds, b.Kind)), cmp.Compare(a.Target, b.Target))
	})
	return words
}

// turnWords begins and ends overrides whose time has come. They go by the wall
// clock, which is what people were told.
func (e *Engine) turnWords() {
	turned := false
	kept := make([]*word, 0, len(e.words))
	for _, w := range e.words {
		if w.Over(e.now.Wall) {
			e.tellWord(w, fmt.Sprintf("%s ended, as it was set: %s", w.Kind, w.Reason), "")
			turned = true
			continue
		}
		kept = append(kept, w)
		if !w.begun && w.Begun(e.now.Wall) {
			e.begin(w)
			turned = true
		}
		if w.begun && !e.now.Wall.Before(w.remind) {
			e.tellWord(w, fmt.Sprintf("%s is still there, since %s and %s: %s", w.Kind, w.From.UTC().Format(time.RFC3339), w.Ends(), w.Reason), "")
			w.remind = nextReminder(w.From, e.now.Wall)
		}
	}
	if turned {
		e.words = kept
		e.obey()
	}
}

// begin lets an override's time begin. What was set to begin at once was told
// when it was set.
func (e *Engine) begin(w *word) {
	w.begun = true
	w.remind = nextReminder(w.From, e.now.Wall)
	if w.From.After(w.Said) {
		e.tellWord(w, fmt.Sprintf("%s begins, %s: %s", w.Kind, w.Ends(), w.Reason), "")
	}
}

func nextReminder(from, now time.Time) time.Time {
	past := int(now.Sub(from) / remindEvery)
	return from.Add(remindEvery * time.Duration(past+1))
}

// obey works out anew what every override does. All record sets are judged
// again: an operator's word is rare.
func (e *Engine) obey() {
	e.effects.Save = true
	e.orders = inForce(e.words)
	e.forceTargets()
	e.forceScenes()
	e.outdate(e.sets...)
	for _, z := range e.zones {
		z.dirty, z.froze = true, len(e.frozenSets(z)) > 0
	}
}

// wordsDue is the boot time at which an override begins, ends or is told of
// again; 0 when none will.
func (e *Engine) wordsDue() time.Duration {
	due := time.Duration(0)
	at := func(wall time.Time) {
		due = sooner(due, max(e.now.Boot+wall.Sub(e.now.Wall), e.now.Boot+1))
	}
	for _, w := range e.words {
		if !w.begun {
			at(w.From)
			continue
		}
		at(w.remind)
		if !w.Forever() {
			at(w.Until)
		}
	}
	return due
}

// reread finds out what overrides mean in a config that is new. One whose
// target is gone, or is something else now, has no effect, and stays.
func (e *Engine) reread() {
	for i, before := range e.words {
		w := *before
		now, err := e.read(w.Override)
		w.inert = ""
		if err != nil {
			w.inert, w.thing = inertWords(err), thing{}
		} else {
			w.thing = now.thing
		}
		e.words[i] = &w
		switch {
		case before.inert == "" && w.inert != "":
			e.tellWord(&w, fmt.Sprintf("%s has no effect any more: %s", w.Kind, w.inert), "")
		case before.inert != "" && w.inert == "":
			e.tellWord(&w, fmt.Sprintf("%s has effect again: %s", w.Kind, w.Reason), "")
		}
	}
	if len(e.words) > 0 {
		e.obey()
	}
}

func inertWords(err error) string {
	if unknown, is := errors.AsType[*UnknownTargetError](err); is {
		return fmt.Sprintf("the config has no %q any more", unknown.Target)
	}
	return err.Error()
}

// restoreWords takes up what an earlier process left, whatever its age. What
// ended in the meantime ends now.
func (e *Engine) restoreWords(saved []override.Override) {
	e.words, e.orders = nil, nil
	for _, o := range saved {
		w, err := e.read(o)
		if err != nil {
			w = &word{Override: o, inert: inertWords(err)}
		}
		if w.begun = w.Begun(e.now.Wall); w.begun {
			w.remind = nextReminder(w.From, e.now.Wall)
		}
		e.words = append(e.words, w)
	}
	e.words = sorted(e.words)
	e.obey()
}

func (e *Engine) tellWord(w *word, detail, by string) {
	o := w.Override
	e.tell(Entry{Kind: "override", Target: w.Target, Detail: detail, By: by, Override: &o})
}

// OverrideView is an override for people.
type OverrideView struct {
	override.Override
	Begun bool
	Inert string // why it has no effect; empty when nothing speaks against it
}

func (e *Engine) overrideViews() []OverrideView {
	var list []OverrideView
	for _, w := range e.words {
		list = append(list, OverrideView{Override: w.Override, Begun: w.begun, Inert: w.inert})
	}
	return list
}
