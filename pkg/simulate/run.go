package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/plan"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
)

// Options is what a run needs. Config and Decision must be given.
type Options struct {
	Config   *config.Config
	Timeline Timeline
	Until    time.Duration          // from the start; what happens at that very moment still counts
	Decision func(Decision)         // is told of each in order, when its moment is over
	Note     func(text string)      // is told of what is no decision and may explain one; nil tells nobody
	Progress func(at time.Duration) // is called now and then; nil for nobody
	Whole    bool                   // leave nothing out: for the test that this makes no difference
}

// Decision is one record set as one plan left it.
type Decision struct {
	At      time.Duration // from the start: when it was written
	Key     record.Key
	Live    []string       // in the order of the config, and together with Paused all values that it names
	Paused  []string       // the same
	Weights map[string]int // by value; empty unless the policy is weighted
	Reason  string
}

// Run plays a timeline to its end. Its error is that of ctx, or names the line of
// the timeline that asked for what does not exist; what was told before stands.
func Run(ctx context.Context, options Options) error {
	return newWorld(options).run(ctx)
}

func (w *world) run(ctx context.Context) error {
	options := w.options
	if err := w.setUp(ctx); err != nil {
		return err
	}
	w.tellStart()
	events := options.Timeline.Events
	const often = 4096 // moments between two reports of progress
	for n := 0; ; n++ {
		if n%often == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if options.Progress != nil {
				options.Progress(w.at())
			}
		}
		here := 0
		for here < len(events) && events[here].At == w.at() {
			here++
		}
		if err := w.moment(ctx, events[:here]); err != nil {
			return err
		}
		events = events[here:]
		at := w.nextMoment(events)
		if at-begins > options.Until {
			w.tellEnd(events)
			return nil
		}
		w.clock.Advance(at - w.clock.Boot())
	}
}

// moment plays everything that happens at one moment, in its order.
func (w *world) moment(ctx context.Context, events []Event) error {
	if len(events) > 0 {
		w.stirred = w.clock.Boot()
	}
	for _, ev := range events {
		if err := ev.do(w); err != nil {
			return Errors{fmt.Errorf("%s:%d: %w", w.options.Timeline.File, ev.Line, err)}
		}
	}
	if w.engine == nil {
		if len(w.others) == 0 && w.clock.Boot() < w.returns {
			return nil
		}
		if w.clock.Boot() >= w.returns {
			if err := w.start(); err != nil {
				return err
			}
		}
	}
	for _, n := range w.nodes() {
		if n.engine == nil {
			continue
		}
		if err := w.probe(n); err != nil {
			return err
		}
	}
	if err := w.settle(ctx); err != nil {
		return err
	}
	if w.engine == nil {
		return nil
	}
	w.flush()
	w.tellWaiting()
	return nil
}

// never is a boot time that does not come.
const never = time.Duration(1<<63 - 1)

// nextMoment is the boot time at which something happens next.
func (w *world) nextMoment(events []Event) time.Duration {
	event := never
	if len(events) > 0 {
		event = begins + events[0].At
	}
	if w.engine == nil {
		event = min(event, w.returns)
	}
	w.leaveOut(event)
	next := event
	for _, n := range w.nodes() {
		next = min(next, n.nextMoment())
	}
	if w.engine == nil {
		return next
	}
	for _, z := range w.order {
		if tries := z.next(w.leads); tries != nil {
			next = min(next, tries.due())
		}
	}
	return next
}

// decide keeps what a round wrote, one decision for each record set.
func (w *world) decide(report reconcile.Report) {
	byKey := map[record.Key][]plan.Change{}
	for _, c := range report.Applied {
		byKey[c.Key] = append(byKey[c.Key], c)
	}
	for key, changes := range byKey {
		part, found := report.Plan.Find(key)
		if !found || report.Seen == nil {
			continue
		}
		seen := record.FindSet(report.Seen.Sets, key)
		d := Decision{At: w.at(), Key: key, Reason: reason(part, changes), Weights: part.Wanted.Spec.Weights(seen)}
		d.Live, d.Paused = values(part.Wanted.Spec, seen)
		w.lines = append(w.lines, d)
	}
}

// reason is why a record set is what it is, and why each value of it changed.
func reason(part plan.Set, changes []plan.Change) string {
	words := part.Wanted.Reason
	told := map[string]bool{}
	for _, c := range changes {
		text := done(c) + " " + c.Value
		if c.Reason != "" {
			text += ": " + c.Reason
		}
		if !told[text] { // a swap takes two calls at some providers
			words += "; " + text
		}
		told[text] = true
	}
	return words
}

// done is what became of a value, in a word.
func done(c plan.Change) string {
	switch c.Action {
	case record.Create, record.Resume, record.Swap:
		return "in"
	case record.Pause:
		return "out"
	case record.SetTTL, record.SetWeight:
	}
	return string(c.Action)
}

// flush tells the decisions of one moment, sorted.
func (w *world) flush() {
	slices.SortStableFunc(w.lines, func(a, b Decision) int {
		return cmp.Or(cmp.Compare(a.Key.Name, b.Key.Name), cmp.Compare(a.Key.Type, b.Key.Type), cmp.Compare(a.Key.Variant, b.Key.Variant))
	})
	for _, d := range w.lines {
		w.options.Decision(d)
	}
	w.lines = nil
}
