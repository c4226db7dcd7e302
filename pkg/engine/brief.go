package engine

import (
	"iter"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// TargetBrief is a target in as few words as can be counted.
type TargetBrief struct {
	Target   check.Target
	Verdict  health.Verdict // what counts: of several vantages what they add up to, else what this node's probes have shown lately
	Cooldown health.Life
}

// TargetBriefs tells of every target, in no order, without a copy of all that is
// known of it. It rests on the moment of the last Step, View or Overview.
func (e *Engine) TargetBriefs() iter.Seq[TargetBrief] {
	return func(yield func(TargetBrief) bool) {
		for _, t := range e.targets {
			verdict := t.health.Shown(e.now.Boot, t.spec.Interval, t.spec.Timeout, t.heldUntil())
			switch {
			case t.panel == nil:
			case t.suspected():
				verdict = health.Suspected
			default:
				verdict = t.observed()
			}
			if !yield(TargetBrief{t.id, verdict, e.cooldownView(t).State}) {
				return
			}
		}
	}
}

// SetBrief is a record set in numbers. Live and Paused are counts of configured
// values, as the zone was listed last.
type SetBrief struct {
	Key                  record.Key
	Listed               bool // else nothing is known of Live and Paused
	Answers              int  // that the config names, fallbacks left out
	Usable, Live, Paused int
}

// SetBriefs tells of every record set, in the order of the config, likewise.
func (e *Engine) SetBriefs() iter.Seq[SetBrief] {
	return func(yield func(SetBrief) bool) {
		for _, s := range e.sets {
			if !yield(briefOf(s)) {
				return
			}
		}
	}
}

func briefOf(s *set) SetBrief {
	b := SetBrief{Key: s.spec.Key, Listed: s.zone.listed, Answers: s.spec.Len()}
	for _, judged := range s.judged {
		if judged.Usable == steer.Yes {
			b.Usable++
		}
	}
	for _, a := range record.FindSet(s.zone.seen.Sets, s.spec.Key).Answers {
		switch {
		case !s.spec.Names(a.Value):
		case a.Live:
			b.Live++
		case a.Paused:
			b.Paused++
		}
	}
	return b
}
