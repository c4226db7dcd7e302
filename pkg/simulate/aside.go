package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/steer"
)

// tellStart tells what every record set answers with before anything happens:
// decisions only say what changes.
func (w *world) tellStart() {
	if w.options.Note == nil {
		return
	}
	for _, s := range w.engine.View(w.now()).Sets {
		live, paused := values(s.Spec, *s.Plan.Seen)
		weights := s.Spec.Weights(*s.Plan.Seen)
		w.tell("%s: live %s, paused %s", s.Spec.Key.Shown(), joined(live, weights), joined(paused, nil))
	}
}

// joined are values in a line, each with its weight where there are weights.
func joined(values []string, weights map[string]int) string {
	if len(values) == 0 {
		return "-"
	}
	words := slices.Clone(values)
	for i, value := range words {
		if weight, weighted := weights[value]; weighted {
			words[i] += "=" + strconv.Itoa(weight)
		}
	}
	return strings.Join(words, ",")
}

// tellWaiting tells of manual failbacks that begin to wait for a person. It looks
// only when something has stirred, since nothing else makes one wait.
func (w *world) tellWaiting() {
	if w.options.Note == nil || !w.manual || w.stirred != w.clock.Boot() {
		return
	}
	for _, s := range w.engine.View(w.now()).Sets {
		key, words := s.Spec.Key, s.Plan.Wanted.Waiting
		if words != "" && words != w.waiting[key] {
			w.tell("%s: %s waits for approval: sidestep approve %s", key.Shown(), words, key.Name.Unrooted())
		}
		w.waiting[key] = words
	}
}

// hasManual reports whether a failback ever waits for a person.
func hasManual(specs []*steer.Spec) bool {
	return slices.ContainsFunc(specs, func(s *steer.Spec) bool { return s.Failback.Manual })
}

// later is something that a run ends before.
type later struct {
	at   time.Duration // from the start of the run
	what string
}

// tellEnd tells what a run ends before: events of the timeline, and the ends of
// what was begun.
func (w *world) tellEnd(events []Event) {
	if w.options.Note == nil {
		return
	}
	var list []later
	if w.engine == nil {
		list = append(list, later{w.returns - begins, "the start after the restart"})
	} else {
		list = w.unfinished(w.engine.View(w.now()))
	}
	slices.SortStableFunc(list, func(a, b later) int { return cmp.Compare(a.at, b.at) })
	words := make([]string, 0, len(list)+1)
	if n := len(events); n > 0 {
		many := fmt.Sprintf("%d events", n)
		if n == 1 {
			many = "an event"
		}
		words = append(words, fmt.Sprintf("%s from line %d on, at %s", many, events[0].Line, events[0].At))
	}
	for _, l := range list {
		words = append(words, fmt.Sprintf("%s at %s", l.what, l.at))
	}
	if len(words) > 0 {
		w.options.Note(fmt.Sprintf("%s the run ends; not reached: %s; a later --until plays on", w.options.Until, strings.Join(words, ", ")))
	}
}

// unfinished are the overrides that begin or end, and the failbacks that are due,
// after the end of the run.
func (w *world) unfinished(v engine.View) []later {
	var list []later
	for _, word := range v.Words {
		name := fmt.Sprintf("%s %s", word.Kind, strings.TrimSuffix(word.Target, "."))
		if !word.Begun {
			list = append(list, later{word.From.Sub(epoch), "begin of " + name})
		}
		if !word.Forever() {
			list = append(list, later{word.Until.Sub(epoch), "end of " + name})
		}
	}
	for _, s := range v.Sets {
		if due := s.Plan.Wanted.Due; due > begins+w.options.Until {
			list = append(list, later{due - begins, "failback of " + s.Spec.Key.Shown()})
		}
	}
	return list
}
