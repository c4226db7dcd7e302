package steer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

func pinExact(s scene, w steer.Wanted) string {
	if w.Pinned != (len(s.in.Pin) > 0) {
		return "the pin is not noticed, or there is none"
	}
	if !w.Pinned || s.in.Spec.Key.Type.Single() {
		return ""
	}
	want := slices.DeleteFunc(s.in.Spec.Values(), func(v string) bool { return !slices.Contains(s.in.Pin, v) || s.barred(v) })
	if len(want) == 0 {
		want = s.live()
	}
	if !slices.Equal(w.Live, want) {
		return fmt.Sprintf("the pin is %v", want)
	}
	return ""
}

// newly lists the values of a group that are put in for a reason other than a
// pin or an outage of everything.
func newly(s scene, w steer.Wanted, mode steer.Mode) []string {
	if w.Pinned || w.AllDown {
		return nil
	}
	return slices.DeleteFunc(s.of(mode), func(v string) bool { return !slices.Contains(w.Live, v) || s.isLive(v) })
}

func backupsLast(s scene, w steer.Wanted) string {
	if in := newly(s, w, steer.Backup); len(in) > 0 && (len(s.usable("")) > 0 || s.doubtful("")) {
		return fmt.Sprintf("%v in", in)
	}
	if w.Pinned || w.AllDown || s.in.Spec.Policy == steer.Priority {
		return ""
	}
	for _, value := range s.of(steer.Backup) {
		kept := strings.Contains(w.Why(value), "min_live") || s.disaster() != steer.No
		if slices.Contains(w.Live, value) && !kept && len(s.usable("")) > 0 {
			return value + " stays without need"
		}
	}
	return ""
}

func reserveOnCondition(s scene, w steer.Wanted) string {
	if len(newly(s, w, steer.Reserve)) == 0 || s.disaster() == steer.Yes {
		return ""
	}
	if !s.in.Spec.DR.IfNone || len(s.usable("", steer.Backup)) > 0 || s.doubtful("", steer.Backup) {
		return "put in"
	}
	return ""
}

func disasterReplaces(s scene, w steer.Wanted) string {
	if w.Pinned || s.disaster() != steer.Yes || len(s.usable(steer.Reserve)) == 0 || s.doubtful(steer.Reserve) {
		return ""
	}
	for _, value := range w.Live {
		if !slices.Contains(s.of(steer.Reserve), value) && !strings.Contains(w.Why(value), "min_live") {
			return value + " is answered with"
		}
	}
	return ""
}

func reserveLeaves(s scene, w steer.Wanted) string {
	if w.Pinned || w.AllDown || s.disaster() != steer.No || s.in.Spec.Key.Type.Single() {
		return ""
	}
	for _, value := range s.of(steer.Reserve) {
		held := s.in.Spec.Policy == steer.Priority && (w.Due > 0 || w.Waiting != "" || s.doubtful("", steer.Backup))
		open := slices.ContainsFunc(append(s.of(""), s.of(steer.Backup)...), func(v string) bool { return slices.Contains(s.judged(steer.NotKnown), v) })
		needed := len(s.usable("", steer.Backup)) == 0 && s.in.Spec.DR.IfNone || s.doubtful("", steer.Backup) || open
		if slices.Contains(w.Live, value) && !needed && !held && !strings.Contains(w.Why(value), "min_live") {
			return value + " stays"
		}
	}
	return ""
}

func heldOnlyForUsable(s scene, w steer.Wanted) string {
	live := slices.ContainsFunc(s.judged(steer.Yes), s.isLive) || slices.ContainsFunc(s.judged(steer.NotKnown), s.isLive)
	if (w.Due > 0 || w.Waiting != "") && !live {
		return "a failback waits, and nothing usable is live"
	}
	return ""
}

func settles(s scene, w steer.Wanted) string {
	if s.in.Spec.Key.Type.Single() && len(s.seen.Live()) > 1 {
		return "" // that is a mistake, and mended step by step
	}
	next := s.after(w)
	again := next.decide()
	if want := next.live(); !slices.Equal(again.Live, want) && !again.Empty && len(again.Live) > 0 {
		return fmt.Sprintf("then %v, because %s", again.Live, again.Reason)
	}
	return ""
}

// unknownMovesNothing carries the wanted set out, and lets everything that is
// known to be usable, and then the disaster, become unknown.
func unknownMovesNothing(s scene, w steer.Wanted) string {
	if w.AllDown || s.in.Spec.Key.Type == record.CNAME {
		return ""
	}
	next := s.after(w)
	next.in.Judged = slices.Clone(s.in.Judged)
	for i := range next.in.Judged {
		if next.in.Judged[i].Usable == steer.Yes {
			next.in.Judged[i].Usable = steer.NotKnown
			if got := next.decide(); !slices.Equal(got.Live, next.live()) {
				return fmt.Sprintf("%s not known: then %v, because %s", s.in.Spec.At(i).Value, got.Live, got.Reason)
			}
		}
	}
	next.in.Judged, next.in.Disaster = s.in.Judged, steer.NotKnown
	if got := next.decide(); !slices.Equal(got.Live, next.live()) {
		return fmt.Sprintf("the disaster not known: then %v, because %s", got.Live, got.Reason)
	}
	return ""
}

// TestTiers: from which group of values a record set answers.
func TestTiers(t *testing.T) {
	all := steer.Spec{Policy: steer.All, OnAllDown: steer.Keep}
	weighted, open, first, two, least := all, all, all, all, all
	least.MinLive = 2
	weighted.Policy = steer.Weighted
	open.OnAllDown = steer.Open
	first.Policy, first.MaxLive = steer.Priority, 1
	two.Policy, two.MaxLive = steer.Priority, 2
	ifNone := func(s steer.Spec) steer.Spec { s.DR.IfNone = true; return s }
	when := func(s steer.Spec) steer.Spec { s.DR.When = "fire"; return s }
	hold := func(s steer.Spec) steer.Spec { s.Failback.Hold = 2 * time.Hour; return s }

	const no, yes, unknown = steer.No, steer.Yes, steer.NotKnown
	for _, c := range []struct {
		name     string
		spec     steer.Spec
		disaster steer.Usable
		words    string
		live     string
		reason   string
	}{
		{"a backup is not needed", all, no, "Yl Yl bYp", "1 2", "all: 2 of 2 usable"},
		{"a backup is not needed for one of two", all, no, "Yl Nl bYp", "1", "all: 1 of 2 usable"},
		{"the others are gone", all, no, "Nl Nl bYp bYp", "3 4", "backup, since no other answer is usable: 2 of 2 usable"},
		{"weighted", weighted, no, "Nl Nl bYp", "3", "backup, since no other answer is usable: 1 of 1 usable"},
		{"one is back", all, no, "Yp Np bYl", "1", "all: 1 of 2 usable"},
		{"max_live is no reason for a backup", two, no, "Yl Np bYp", "1", "priority: 1st of 3, 2 working"},
		{"a backup at the head of a chain is the last", first, no, "bYp Yl", "2", "priority: 2nd of 2, 2 working"},
		{"a chain with backups", two, no, "Nl Nl bYp bYp bYp", "3 4", "backup, since no other answer is usable: 3rd and 4th of 5, 3 working"},
		{"it holds against a backup", hold(first), no, "Yp Np bYl", "3", "backup, until a failback: 3rd of 3, 2 working"},
		{"no hold for the policy all", hold(all), no, "Yp Np bYl", "1", "all: 1 of 2 usable"},
		{"no hold against a dead backup", hold(first), no, "Yp Np bNl", "1", "priority: 1st of 3, 1 working"},
		{"not judged is not gone", all, no, "?l Nl bYp", "1", "all: 0 of 2 usable, 1 not judged and kept"},
		{"and a backup that works is not needed less", all, no, "?l Nl bYl", "1 3", "backup, since no other answer is known to be usable: 1 of 1 usable, 1 not judged and kept"},
		{"a backup that is not judged", all, no, "Nl b?l bYp", "2 3", "backup, since no other answer is usable: 1 of 2 usable, 1 not judged and kept"},
		{"everything is down, backups too", open, no, "Nl Np bNp sNp", "1 2 3", "nothing is usable: on_all_down opens every answer"},
		{"a standby is called", first, no, "Nl sYp Np", "2", "priority: 2nd of 3, 1 working"},

		{"dr is not needed", ifNone(all), no, "Nl Yl dYp", "2", "all: 1 of 2 usable"},
		{"dr: nothing else", ifNone(all), no, "Nl Nl dYp", "3", "disaster recovery, since no other answer is usable: 1 of 1 usable"},
		{"dr after backups", ifNone(all), no, "Nl bYp dYp", "2", "backup, since no other answer is usable: 1 of 1 usable"},
		{"dr is not asked for", when(all), no, "Nl Nl dYp", "1 2", "nothing is usable: the last live set is kept"},
		{"dr: the disaster is here", when(all), yes, "Yl Yl dYp dYp", "3 4", "disaster recovery, since fire holds: 2 of 2 usable"},
		{"dr: one of two is down", when(all), yes, "Yp Yp dNl dYl", "4", "disaster recovery, since fire holds: 1 of 2 usable"},
		{"dr: by priority", when(first), yes, "Yl Yp dNp dYp dYp", "4", "disaster recovery, since fire holds: 2nd of 3, 2 working"},
		{"dr is down and passed over", when(all), yes, "Yl Nl dNp", "1", "all: 1 of 2 usable"},
		{"dr is down and gives way", when(all), yes, "Yp Yp dNl", "1 2", "all: 2 of 2 usable"},
		{"dr is down, and all else", ifNone(all), no, "Nl Nl dNp", "1 2", "nothing is usable: the last live set is kept"},
		{"dr is not judged and keeps its place, and nothing comes beside it", when(all), yes, "Yp Yl d?l", "2 3", "all: 1 of 2 usable"},
		{"min_live keeps what works before what does not", least, no, "Yl Nl bYl Nl", "1 3", "all: 1 of 3 usable"},
		{"the disaster is over", when(all), no, "Yp Yp dYl", "1 2", "all: 2 of 2 usable"},
		{"it holds against a working dr", hold(ifNone(first)), no, "Yp Np dYl", "3", "disaster recovery, until a failback: 1st of 1, 1 working"},
		{"even when the disaster is over", hold(when(first)), no, "Yp Np dYl", "3", "disaster recovery, until a failback: 1st of 1, 1 working"},
		{"not against a dead one", hold(ifNone(first)), no, "Yp Np dNl", "1", "priority: 1st of 2, 1 working"},
		{"a disaster waits for nothing", hold(when(first)), yes, "Yl Yp dYp", "3", "disaster recovery, since fire holds: 1st of 1, 1 working"},
		{"whether it is a disaster is not known", when(all), unknown, "Yl Yl dYp", "1 2", "all: 2 of 2 usable"},
		{"whether it is over is not known", when(all), unknown, "Yp Yp dYl", "3", "disaster recovery, since it is not known whether fire still holds: 1 of 1 usable"},
		{"it is not known, and both are live", when(all), unknown, "Yl Np dYl", "1 3", "all: 1 of 2 usable"},
		{"it is not known, and the dr fails", when(all), unknown, "Yp Yp dNl", "1 2", "all: 2 of 2 usable"},
		{"no disaster is known, and nothing else is usable", ifNone(when(all)), unknown, "Nl Nl dYp", "3", "disaster recovery, since no other answer is usable: 1 of 1 usable"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			s := situation(c.spec, c.words)
			s.in.Disaster = c.disaster
			w := s.decide()
			if got := positions(w.Live); got != c.live || w.Reason != c.reason {
				t.Errorf("%s: got %q (%s), want %q (%s)", c.words, got, w.Reason, c.live, c.reason)
			}
		})
	}
}

// TestTierReasons: what is said of the values of a group that is not asked.
func TestTierReasons(t *testing.T) {
	all := steer.Spec{Policy: steer.All, OnAllDown: steer.Keep}
	none, fire, both, first, first2 := all, all, all, all, all
	first2.Policy, first2.MaxLive, first2.DR.When = steer.Priority, 1, "fire"
	none.DR.IfNone = true
	fire.DR.When = "fire"
	both.DR = steer.DR{When: "fire", IfNone: true}
	first.Policy, first.MaxLive, first.DR.IfNone, first.Failback.Manual = steer.Priority, 1, true, true
	for _, c := range []struct {
		spec     steer.Spec
		disaster steer.Usable
		words    string
		want     string // by value, divided by |
	}{
		{all, steer.No, "Yl Yl bYp", "seen|seen|seen; backup: not needed while 2 others are usable"},
		{all, steer.No, "Yl Nl bYl", "seen|seen|seen; backup: not needed while 1 other is usable"},
		{all, steer.No, "?l bYp", "seen|seen; backup: not needed while what is live is not judged"},
		{none, steer.No, "Yl bYp dYp", "seen|seen; backup: not needed while 1 other is usable|seen; disaster recovery: not needed while 2 others are usable"},
		{fire, steer.No, "Yl dYl", "seen|seen; disaster recovery: fire does not hold"},
		{fire, steer.NotKnown, "Yl dYp", "seen|seen; disaster recovery: not known whether fire holds"},
		{both, steer.No, "Yl dYl", "seen|seen; disaster recovery: fire does not hold, and not needed while 1 other is usable"},
		{first2, steer.Yes, "Yl dYl dYp", "seen; replaced by disaster recovery, since fire holds|seen|seen; lower in rank than what is live"},
		{both, steer.Yes, "Yl Nl dYl", "seen; replaced by disaster recovery, since fire holds|seen|seen"},
		{fire, steer.NotKnown, "Yp dYl", "seen; waits until it is known whether fire holds|seen; kept, since it is not known whether fire holds"},
		{first, steer.No, "Yp Np dYl", "seen; waits for approval of its failback|seen|seen"},
		{fire, steer.No, "Np Np dYp", "seen|seen|seen; disaster recovery: fire does not hold"},
	} {
		s := situation(c.spec, c.words)
		s.in.Disaster = c.disaster
		w := s.decide()
		var got []string
		for _, value := range s.in.Spec.Values() {
			got = append(got, w.Why(value))
		}
		if text := strings.Join(got, "|"); text != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.words, text, c.want)
		}
	}
}

// TestPin: a pin beats everything, min_live too, and says who pinned it.
func TestPin(t *testing.T) {
	spec := steer.Spec{Policy: steer.Priority, MaxLive: 1, MinLive: 3, OnAllDown: steer.None}
	spec.DR = steer.DR{When: "fire", IfNone: true}
	for _, c := range []struct{ words, pin, live, why string }{
		{"Yl Nl Yl dYp", "2", "2", "seen; pinned by ann: test"},
		{"Nl Np Np dYl", "2 3", "2 3", "seen; pinned by ann: test"},
		{"Yl Yl dYp fp", "2 4", "2 4", "seen; pinned by ann: test"},
		{"Yl Yh dYp", "2", "1", "seen; paused by somebody else"},
		{"Yl Yh dYp", "2 3", "3", "seen; paused by somebody else"},
		{"Np Yl Ym dYp", "9", "2 4", "seen; stays because min_live is 3"}, // a value that the config does not name pins nothing
	} {
		s := situation(spec, c.words)
		s.in.Disaster, s.in.Pinned = steer.Yes, "pinned by ann: test"
		for n := range strings.FieldsSeq(c.pin) {
			s.in.Pin = append(s.in.Pin, "192.0.2."+n)
		}
		w := s.decide()
		if got := positions(w.Live); got != c.live || w.Why("192.0.2.2") != c.why || w.Empty || w.AllDown {
			t.Errorf("%s, pin %s: got %s, %s", c.words, c.pin, got, w.Why("192.0.2.2"))
		}
	}
}

// TestWeight: only the policy weighted says something of a value's weight.
func TestWeight(t *testing.T) {
	s := situation(steer.Spec{Policy: steer.Weighted}, "Yl Nl dYp fp")
	w := s.decide()
	for value, want := range map[string]int{"192.0.2.1": 0, "192.0.2.2": 1, "192.0.2.3": 2} {
		if got, says := w.Weight(value); got != want || !says {
			t.Errorf("%s: got %d, %v", value, got, says)
		}
	}
	if _, says := w.Weight("192.0.2.4"); says {
		t.Error("a fallback has no weight")
	}
	s.in.Spec.Policy = steer.All
	if _, says := w.Weight("192.0.2.2"); says {
		t.Error("all has no weights")
	}
}
