package steer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// rule is something that holds for every decision. It returns what is wrong.
type rule struct {
	name  string
	holds func(scene, steer.Wanted) string
}

var rules = []rule{
	{"live and paused together are exactly the config's values, in its order", partition},
	{"empty only when that is meant, or when nothing is live that could stay", notEmpty},
	{"what is not judged keeps its state", keepsNotKnown},
	{"what must not be resumed is not", neverResumed},
	{"all: every usable answer is answered with", allUsable},
	{"a pin is exact", pinExact},
	{"a backup comes in only when no other answer is usable", backupsLast},
	{"an answer for disasters comes in only on its condition", reserveOnCondition},
	{"in a disaster nothing else is answered with", disasterReplaces},
	{"an answer for disasters stays only on its condition, or held, or in doubt", reserveLeaves},
	{"no failback is waited for while nothing usable is live", heldOnlyForUsable},
	{"a wanted set that was carried out leaves nothing to decide", settles},
	{"what becomes unknown moves nothing", unknownMovesNothing},
	{"priority: a usable live answer goes only for enough better ones", ranked},
	{"priority: no more than max_live usable ones", bounded},
	{"min_live answers stay live", minLive},
	{"an unusable answer is answered with only for a reason", unusableOut},
	{"a usable answer that is out has a reason of its own", reasoned},
	{"due is in the future, and something waits for it", dueLater},
	{"a set of one value has one", single},
}

// TestRules draws record sets, verdicts and zones, and holds every decision
// against every rule.
func TestRules(t *testing.T) {
	for _, r := range rules {
		t.Run(strings.ReplaceAll(r.name, " ", "_"), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := drawScene(t)
				w := s.decide()
				if wrong := r.holds(s, w); wrong != "" {
					t.Fatalf("%s\nlive %v, paused %v, reason %s\nspec %+v\njudged %+v\nseen %+v", wrong, w.Live, w.Paused, w.Reason, *s.in.Spec, s.in.Judged, s.seen.Answers)
				}
			})
		})
	}
}

func TestDecideIsAFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		first, second := s.decide(), s.decide()
		if a, b := fmt.Sprintf("%+v", first), fmt.Sprintf("%+v", second); a != b {
			t.Fatalf("got %s, then %s", a, b)
		}
	})
}

func partition(s scene, w steer.Wanted) string {
	in := func(list []string) []string {
		return slices.DeleteFunc(s.in.Spec.Values(), func(v string) bool { return !slices.Contains(list, v) })
	}
	if len(w.Live)+len(w.Paused) != len(s.in.Spec.Values()) || !slices.Equal(in(w.Live), w.Live) || !slices.Equal(in(w.Paused), w.Paused) {
		return "not a partition in order"
	}
	return ""
}

func notEmpty(s scene, w steer.Wanted) string {
	switch {
	case w.Empty && (s.in.Spec.OnAllDown != steer.None || len(w.Live) > 0 || len(s.usable("", steer.Backup)) > 0 || s.doubtful("", steer.Backup)):
		return "emptied without a word of the config, or before all were judged down"
	case !w.Empty && len(w.Live) == 0 && slices.ContainsFunc(s.in.Spec.Values(), s.isLive):
		return "emptied although a value is live"
	}
	return ""
}

func keepsNotKnown(s scene, w steer.Wanted) string {
	if s.in.Spec.Key.Type.Single() || w.Pinned {
		return ""
	}
	for _, value := range s.judged(steer.NotKnown) {
		wanted := slices.Contains(w.Live, value)
		uncalled := strings.Contains(w.Why(value), "not needed") || strings.Contains(w.Why(value), "does not hold") || strings.Contains(w.Why(value), "replaced")
		if s.isLive(value) && !wanted && !uncalled {
			return value + " is taken out"
		}
		if !s.isLive(value) && wanted {
			return value + " is put in"
		}
	}
	return ""
}

func neverResumed(s scene, w steer.Wanted) string {
	for _, value := range w.Live {
		if s.barred(value) {
			return value + " is resumed"
		}
	}
	for _, stopped := range w.Stopped {
		if !s.barred(stopped.Value) {
			return stopped.Value + " is stopped for nothing"
		}
	}
	return ""
}

func allUsable(s scene, w steer.Wanted) string {
	if s.in.Spec.Policy == steer.Priority || s.in.Spec.Key.Type.Single() || w.Pinned || s.disaster() != steer.No {
		return ""
	}
	for _, value := range s.usable("") {
		if !slices.Contains(w.Live, value) {
			return value + " is left out"
		}
	}
	return ""
}

func ranked(s scene, w steer.Wanted) string {
	if s.in.Spec.Key.Type.Single() || w.Pinned || s.disaster() != steer.No {
		return ""
	}
	usable, unknown := slices.DeleteFunc(s.judged(steer.Yes), func(v string) bool { return !slices.Contains(s.of(""), v) }), 0
	for _, value := range s.judged(steer.NotKnown) {
		if s.isLive(value) && slices.Contains(s.of(""), value) {
			unknown++ // and has its place
		}
	}
	for rank, value := range usable {
		if !s.isLive(value) || slices.Contains(w.Live, value) {
			continue
		}
		better := 0
		for _, b := range usable[:rank] {
			if slices.Contains(w.Live, b) {
				better++
			}
		}
		if s.in.Spec.Policy != steer.Priority || better == 0 || better+unknown < s.in.Spec.MaxLive {
			return fmt.Sprintf("%s is taken out, and only %d better ones are in", value, better)
		}
	}
	return ""
}

func bounded(s scene, w steer.Wanted) string {
	if s.in.Spec.Policy != steer.Priority || w.Pinned {
		return ""
	}
	for _, mode := range []steer.Mode{"", steer.Backup, steer.Reserve} {
		n := len(slices.DeleteFunc(s.usable(mode), func(v string) bool {
			return !slices.Contains(w.Live, v) || strings.Contains(w.Why(v), "min_live") || strings.Contains(w.Why(v), "kept")
		}))
		if n > s.in.Spec.MaxLive {
			return fmt.Sprintf("%d usable ones of %q", n, mode)
		}
	}
	return ""
}

func minLive(s scene, w steer.Wanted) string {
	live := 0
	for i := range s.in.Spec.Len() {
		if s.isLive(s.in.Spec.At(i).Value) {
			live++
		}
	}
	if need := min(s.in.Spec.MinLive, live); !w.Empty && !w.Pinned && !s.in.Spec.Key.Type.Single() && len(w.Live) < need {
		return fmt.Sprintf("%d values, %d are needed", len(w.Live), need)
	}
	return ""
}

func unusableOut(s scene, w steer.Wanted) string {
	if w.Pinned {
		return ""
	}
	kept := len(w.Live) <= s.in.Spec.MinLive
	for _, value := range s.judged(steer.No) {
		if !slices.Contains(w.Live, value) {
			continue
		}
		allDown := strings.HasPrefix(w.Reason, "nothing is usable")
		if !allDown && (!kept || !s.isLive(value)) {
			return value + " is answered with"
		}
	}
	return ""
}

func reasoned(s scene, w steer.Wanted) string {
	for _, value := range s.judged(steer.Yes) {
		if !slices.Contains(w.Live, value) && w.Why(value) == "what is known of "+value {
			return value + " is out because of " + w.Why(value)
		}
	}
	for _, value := range s.judged(steer.No) {
		if slices.Contains(w.Live, value) && w.Why(value) == "what is known of "+value {
			return value + " is in because of " + w.Why(value)
		}
	}
	return ""
}

func dueLater(s scene, w steer.Wanted) string {
	if w.Due == 0 {
		return ""
	}
	waits := slices.ContainsFunc(append(w.Paused, w.Live...), func(v string) bool { return strings.Contains(w.Why(v), "held back") })
	if w.Due <= s.in.Now || !waits {
		return fmt.Sprintf("due %s, now %s, waits %v", w.Due, s.in.Now, waits)
	}
	return ""
}

func single(s scene, w steer.Wanted) string {
	if s.in.Spec.Key.Type == record.CNAME && len(w.Live) > 1 {
		return "more than one"
	}
	return ""
}
