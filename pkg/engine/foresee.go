package engine

import (
	"slices"
	"time"

	"sidestep/pkg/health"
	"sidestep/pkg/override"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// Foreseen is what an operator's word will do, as things are now.
type Foreseen struct {
	Override override.Override   // as it would be kept; of a Clear empty
	Replaced []override.Override // those that it takes the place of, or takes back
	Left     string              // what a Clear of all does not take back, in words; empty when nothing is left
	Sets     []Foresight         // what it is about, and what else changes by it; sorted by key
}

// Foresight is what becomes of one record set.
type Foresight struct {
	Key     record.Key
	Known   bool // false where it is not planned yet; then the rest is empty
	Before  plan.Set
	After   plan.Set
	Blocked []plan.Blocked // the refusals of After that concern the set
	Stays   []string       // answers that the word takes out, and that stay live
	Down    []string       // answers that the word puts in although the probes say that they are down
	At      time.Time      // when it is written at the earliest
	Written []time.Time    // its writes within the window of max_writes, oldest first
	Err     string         // why its zone could not be listed or written last; also where it is not planned yet
}

// Foresee says what an Override or a Clear would do, and changes nothing. An
// override that begins later is taken as if it began now. The error is that of
// the event.
func (e *Engine) Foresee(now Now, event Event) (Foreseen, error) {
	e.now = now
	var out Foreseen
	var about []*word
	words := slices.Clone(e.words)
	switch ev := event.(type) {
	case Override:
		w, err := e.read(ev.Override)
		if err != nil {
			return Foreseen{}, err
		}
		w.begun = true
		if i := e.find(w.Override); i >= 0 {
			out.Replaced = append(out.Replaced, words[i].Override)
			words = slices.Delete(words, i, i+1)
		}
		out.Override = w.Override
		words, about = sorted(append(words, w)), []*word{w}
	case Clear:
		words, out.Left = nil, e.spared(ev)
		for _, w := range e.words {
			if e.clears(ev, w) {
				out.Replaced, about = append(out.Replaced, w.Override), append(about, w)
			} else {
				words = append(words, w)
			}
		}
	}
	for _, name := range e.config.Zones {
		e.refresh(e.zones[name])
	}
	defer e.suppose(words)()
	for _, name := range e.config.Zones {
		z := e.zones[name]
		after := e.work(z, nil).Plan(z.seen)
		for _, s := range z.sets {
			if f, touched := e.foresight(s, after, about); touched {
				out.Sets = append(out.Sets, f)
			}
		}
	}
	return out, nil
}

// suppose lets other words be in force until the function that it gives is
// called. Nothing may happen to the engine meanwhile.
func (e *Engine) suppose(words []*word) (restore func()) {
	orders, judged := e.orders, make([][]steer.Judged, len(e.sets))
	for i, s := range e.sets {
		judged[i] = s.judged
	}
	e.orders = inForce(words)
	e.forceTargets()
	e.forceNet()
	e.scenes.net.Settle()
	for _, s := range e.sets {
		s.judged = e.judgedNow(s)
	}
	return func() {
		e.orders = orders
		e.forceTargets()
		e.forceNet()
		e.scenes.net.Settle()
		for i, s := range e.sets {
			s.judged = judged[i]
		}
	}
}

// foresight compares what becomes of a record set; false where the words are
// not about it and nothing changes by them.
func (e *Engine) foresight(s *set, after plan.Plan, about []*word) (Foresight, bool) {
	key := s.spec.Key
	f := Foresight{Key: key, Err: s.zone.err}
	meant := slices.ContainsFunc(about, func(w *word) bool {
		return s.under(w) || s.reachedAnywhere(w.thing) || w.thing.kind == override.Scenario && slices.Contains(s.spec.Whens(), w.thing.text)
	})
	is, planned := after.Find(key)
	was, known := s.zone.plan.Find(key)
	if !planned || !known || !s.zone.listed || !s.ready {
		return f, meant
	}
	f.Known, f.Before, f.After, f.At = true, was, is, e.writeTime(s.zone, about)
	for _, at := range s.written {
		f.Written = append(f.Written, e.wall(at))
	}
	for _, b := range after.Blocked {
		if b.Key == key || b.Key == (record.Key{Zone: key.Zone}) {
			f.Blocked = append(f.Blocked, b)
		}
	}
	for i := range s.spec.Len() {
		value := s.spec.At(i).Value
		out := slices.ContainsFunc(about, func(w *word) bool { return w.Kind.Out() && s.reached(w.thing, i) && slices.Contains(e.orders, w) })
		if out && slices.Contains(is.Wanted.Live, value) {
			f.Stays = append(f.Stays, value)
		}
		if e.keepsDead(s, i, about) && (!is.Wanted.Pinned || slices.Contains(is.Wanted.Live, value)) {
			f.Down = append(f.Down, value)
		}
	}
	if frozen := len(about) > 0 && about[0].Kind == override.Freeze; frozen {
		return f, meant && len(is.Changes) > 0 // the others answer with what they answer with
	}
	return f, meant || !slices.Equal(was.Wanted.Live, is.Wanted.Live)
}

// keepsDead reports whether one of the words in force puts an answer in whose
// probes say that it is down.
func (e *Engine) keepsDead(s *set, i int, about []*word) bool {
	kind := e.ruling(s, i)
	return seenBy(s.targets[i]) == health.Down && slices.ContainsFunc(about, func(w *word) bool {
		puts := w.Kind == override.ForceUp || w.Kind == override.Pin && s.under(w)
		return puts && w.Kind == kind && slices.Contains(e.orders, w)
	})
}

// writeTime is when a zone is written at the earliest by what begins with the
// words.
func (e *Engine) writeTime(z *zone, about []*word) time.Time {
	from := e.now.Wall
	for _, w := range about {
		if w.From.After(from) {
			from = w.From
		}
	}
	if z.window != 0 && from.Equal(e.now.Wall) {
		return e.wall(z.window)
	}
	return from.Add(e.config.Debounce)
}
