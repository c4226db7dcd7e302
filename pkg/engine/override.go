package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/override"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// word is an override, and what it is in the config in force. Its times are boot
// times: a wall clock that jumps must neither end it nor keep it.
type word struct {
	override.Override
	thing  thing
	inert  string // why it has no effect; empty when nothing speaks against it
	begun  bool   // it has begun, and is not over
	from   time.Duration
	until  time.Duration // never for one without an end
	remind time.Duration // when the journal is told again that it is still there
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

// remindLate is when a reminder is told that fell due while no process was there: once
// it is known who leads, for a standby tells nobody.
const remindLate = time.Minute

// maxWords is how many overrides there can be: more are nobody's intention.
const maxWords = 1000

// override takes an operator's word. The same kind on the same target replaces
// the earlier one.
func (e *Engine) override(ev Override) {
	w, err := e.read(ev.Override)
	if err != nil {
		e.effects.Err = err
		return
	}
	if len(e.words) >= maxWords && e.find(w.Override) < 0 {
		e.effects.Err = fmt.Errorf("there are %d overrides, and no more are kept; clear some", maxWords)
		return
	}
	detail := fmt.Sprintf("%s set, %s", w.Kind, w.Ends())
	if w.from > e.now.Boot {
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
	th, err := e.thing(ev.Kind, ev.Target)
	if err != nil {
		e.effects.Err = err
		return
	}
	e.effects.Idle = fmt.Sprintf("nothing to clear: no %s on %s", cmp.Or(string(ev.Kind), "override"), th.shown())
	by, spared := e.also(ev.Kind, th), e.spared(ev)
	switch {
	case len(e.words) == 0:
		e.effects.Idle += "; there are no overrides"
	case spared != "":
		e.effects.Idle += "; " + spared
	case by != nil:
		e.effects.Idle += fmt.Sprintf("; %s is %s with %s: sidestep override clear %[3]s --kind %s", th.shown(), by.Kind.Did(), by.Shown(), by.Kind)
	default:
		e.effects.Idle += "; what there is: sidestep override list"
	}
}

// spared names the overrides of a kind, or of any, that a Clear of all leaves: who
// clears all may take it for every one of them. It is empty where there are none.
func (e *Engine) spared(ev Clear) string {
	const most = 5
	if th, err := e.thing(ev.Kind, ev.Target); err != nil || th.kind != override.All {
		return ""
	}
	var list []string
	for _, w := range e.words {
		if (ev.Kind == "" || w.Kind == ev.Kind) && !e.clears(ev, w) {
			list = append(list, fmt.Sprintf("sidestep override clear %s --kind %s", w.Shown(), w.Kind))
		}
	}
	switch more := len(list) - most; {
	case len(list) == 0:
		return ""
	case more > 0:
		list = append(list[:most], fmt.Sprintf("and %d more: sidestep override list", more))
	}
	return "all is a target of its own, and those on others are cleared one by one: " + strings.Join(list, ", ")
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

// time puts the times of an override onto the boot clock, by what both clocks say
// now.
func (e *Engine) time(w *word) {
	boot := func(wall time.Time) time.Duration {
		const longest = 100 * 365 * 24 * time.Hour // whatever a file says
		return e.now.Boot + min(max(wall.Sub(e.now.Wall), -longest), longest)
	}
	w.from, w.until = boot(w.From), never
	if !w.Forever() {
		w.until = boot(w.Until)
	}
	w.remind = nextReminder(w, e.now.Boot)
}

// timeWords does so for all of them. It is called when the clock was wrong when
// that was done before.
func (e *Engine) timeWords() {
	for _, w := range e.words {
		e.time(w)
	}
	e.turn = e.now.Boot
}

// turnWords begins and ends overrides whose time has come.
func (e *Engine) turnWords() {
	if len(e.words) == 0 || e.now.Boot < e.turn {
		return
	}
	turned := false
	kept := make([]*word, 0, len(e.words))
	for _, w := range e.words {
		if e.now.Boot >= w.until {
			e.tellWord(w, fmt.Sprintf("%s ended, as it was set: %s", w.Kind, w.Reason), "")
			turned = true
			continue
		}
		kept = append(kept, w)
		if !w.begun && e.now.Boot >= w.from {
			e.begin(w)
			turned = true
		}
		if w.begun && e.now.Boot >= w.remind {
			e.remindOf(w)
			w.remind = nextReminder(w, e.now.Boot)
		}
	}
	e.words = kept
	if turned {
		e.obey()
	}
	e.turn = e.nextTurn()
}

// begin lets an override's time begin. What was set to begin at once was told
// when it was set.
func (e *Engine) begin(w *word) {
	w.begun = true
	w.remind = nextReminder(w, e.now.Boot)
	if w.From.After(w.Said) {
		e.tellWord(w, fmt.Sprintf("%s begins, %s: %s", w.Kind, w.Ends(), w.Reason), "")
	}
}

// nextReminder is when next to tell that a word is still there, after a boot time.
func nextReminder(w *word, after time.Duration) time.Duration {
	past := int(max(after-w.from, 0) / remindEvery)
	return w.from + remindEvery*time.Duration(past+1)
}

// obey works out anew what every override does. All record sets are judged
// again: an operator's word is rare.
func (e *Engine) obey() {
	e.effects.Save, e.turn = true, e.now.Boot
	e.orders = inForce(e.words)
	e.forceTargets()
	e.forceScenes()
	e.outdate(e.sets...)
	for _, z := range e.zones {
		z.dirty, z.froze = true, len(e.frozenSets(z)) > 0
	}
}

// nextTurn is the boot time at which an override begins, ends or is told of
// again; never when none will.
func (e *Engine) nextTurn() time.Duration {
	next := never
	for _, w := range e.words {
		if w.begun {
			next = min(next, w.remind, w.until)
		} else {
			next = min(next, w.from, w.until)
		}
	}
	return next
}

// wordsDue is nextTurn where there is one, else 0.
func (e *Engine) wordsDue() time.Duration {
	if len(e.words) == 0 || e.turn == never {
		return 0
	}
	return e.turn
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
func (e *Engine) restoreWords(words []override.Override, saved time.Time) {
	reminded := e.now.Boot
	if !saved.IsZero() {
		reminded -= max(e.now.Wall.Sub(saved), 0)
	}
	e.words, e.orders = nil, nil
	for _, o := range words {
		w, err := e.read(o)
		if err != nil {
			w = &word{Override: o, inert: inertWords(err)}
			e.time(w)
		}
		w.begun, w.remind = e.now.Boot >= w.from, max(nextReminder(w, reminded), e.now.Boot+remindLate)
		e.words = append(e.words, w)
	}
	e.words = sorted(e.words)
	e.breakHolds()
	e.obey()
}

// breakHolds lets a word that took answers out, and ended before this process
// began, bear on since when they are usable: it broke that as it would have then.
func (e *Engine) breakHolds() {
	for _, w := range e.words {
		if w.inert != "" || !w.Kind.Out() || e.now.Boot < w.until {
			continue
		}
		for _, s := range e.sets {
			for i := range s.targets {
				value := s.spec.At(i).Value
				if before, found := s.earlier[value]; found && s.reached(w.thing, i) && before.Usable == steer.Yes && before.Since < w.until {
					before.Since = w.until
					s.earlier[value] = before
				}
			}
		}
	}
}

// remindOf tells that an override is still there.
func (e *Engine) remindOf(w *word) {
	o := w.Override
	detail := fmt.Sprintf("%s is still there, since %s and %s: %s", w.Kind, w.From.UTC().Format(time.RFC3339), w.Ends(), w.Reason)
	e.tell(Entry{Kind: "override", Target: w.Target, Detail: detail, Override: &o, Reminder: true})
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
	Stays []Stay // answers that it takes out and that stay live; a few of them at most
}

// Stay is an answer that is taken out and stays live.
type Stay struct {
	Key    record.Key
	Value  string
	Pinned bool
}

func (e *Engine) overrideViews() []OverrideView {
	var list []OverrideView
	for _, w := range e.words {
		list = append(list, OverrideView{Override: w.Override, Begun: w.begun, Inert: w.inert, Stays: e.stays(w)})
	}
	return list
}

// mostStays is how many answers are looked for that one override leaves live:
// people want to know that it does, and where.
const mostStays = 3

// stays lists answers that an override in force takes out and that are wanted all
// the same: nothing else can carry the name, or a pin holds them.
func (e *Engine) stays(w *word) []Stay {
	var list []Stay
	if !w.Kind.Out() || !w.begun || w.inert != "" {
		return nil
	}
	for _, s := range e.sets {
		p, planned := s.zone.plan.Find(s.spec.Key)
		if !planned || !s.reachedAnywhere(w.thing) {
			continue
		}
		for i := range s.spec.Len() {
			value := s.spec.At(i).Value
			if s.reached(w.thing, i) && slices.Contains(p.Wanted.Live, value) {
				list = append(list, Stay{Key: s.spec.Key, Value: value, Pinned: p.Wanted.Pinned})
			}
			if len(list) == mostStays {
				return list
			}
		}
	}
	return list
}
