package steer_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// situation makes a scene of words, one for each answer, for each of those for
// disasters, and for each value of the fallback list: Y usable, N not, ? not
// known; with l live, p paused, h held, m missing. A b before it stands for a
// backup, s for standby, d for one for disasters, f for a fallback. Value n is
// 192.0.2.n, counted from 1.
func situation(spec steer.Spec, words string) scene {
	spec.Key = record.Key{Zone: "example.com.", Name: "www.example.com.", Type: spec.Key.Type}
	s := scene{in: steer.Input{Spec: &spec, Now: time.Hour}}
	for i, word := range strings.Fields(words) {
		value := "192.0.2." + strconv.Itoa(i+1)
		if word[0] != 'f' {
			mode, found := map[byte]steer.Mode{'b': steer.Backup, 's': steer.Standby, 'd': steer.Reserve}[word[0]]
			list := &spec.Answers
			if mode == steer.Reserve {
				list = &spec.DR.Answers
			}
			if found {
				word = word[1:]
			}
			*list = append(*list, steer.Answer{Value: value, Probe: value, Mode: mode, Weight: i})
			s.in.Judged = append(s.in.Judged, steer.Judged{
				Usable: map[byte]steer.Usable{'Y': steer.Yes, 'N': steer.No, '?': steer.NotKnown}[word[0]], Why: "seen",
			})
		} else {
			spec.Fallback = append(spec.Fallback, value)
		}
		a := record.Answer{Value: value, Live: word[1] == 'l', Paused: word[1] == 'p', Held: word[1] == 'h'}
		if word[1] != 'm' {
			s.seen.Answers = append(s.seen.Answers, a)
		}
	}
	return s
}

// positions spells values by their last number: "1 3".
func positions(values []string) string {
	var list []string
	for _, v := range values {
		list = append(list, strings.TrimPrefix(v, "192.0.2."))
	}
	return strings.Join(list, " ")
}

func TestDecide(t *testing.T) {
	all := steer.Spec{Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep}
	first := steer.Spec{Policy: steer.Priority, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep}
	two := steer.Spec{Policy: steer.Priority, MaxLive: 2, MinLive: 1, OnAllDown: steer.Keep}
	with := func(spec steer.Spec, change func(*steer.Spec)) steer.Spec { change(&spec); return spec }
	fallback := with(all, func(s *steer.Spec) { s.OnAllDown = steer.Fallback })
	open := with(all, func(s *steer.Spec) { s.OnAllDown = steer.Open })
	none := with(all, func(s *steer.Spec) { s.OnAllDown = steer.None })
	three := with(all, func(s *steer.Spec) { s.MinLive = 3 })
	waits := with(first, func(s *steer.Spec) { s.Failback.Hold = 2 * time.Hour })
	alias := with(all, func(s *steer.Spec) { s.Key.Type = record.CNAME })

	for _, c := range []struct {
		name   string
		spec   steer.Spec
		words  string
		live   string
		reason string
	}{
		{"all usable", all, "Yl Yl Yl", "1 2 3", "all: 3 of 3 usable"},
		{"one is down", all, "Yl Nl Yl", "1 3", "all: 2 of 3 usable"},
		{"one came back", all, "Yl Yp Nm", "1 2", "all: 2 of 3 usable"},
		{"one was never made", all, "Yl Ym", "1 2", "all: 2 of 2 usable"},
		{"not judged", all, "Yl ?l ?p", "1 2", "all: 1 of 3 usable, 1 not judged and kept"},
		{"all down", all, "Nl Nl Np", "1 2", "nothing is usable: the last live set is kept"},
		{"all down, nothing live", all, "Np Nm", "", "nothing is usable: the last live set is kept"},
		{"not judged is not down", all, "Nl ?l Np", "2", "all: 0 of 3 usable, 1 not judged and kept"},

		{"first of three", first, "Yl Yp Yp", "1", "priority: 1st of 3, 3 working"},
		{"first fails", first, "Nl Yp Yp", "2", "priority: 2nd of 3, 2 working"},
		{"first is back", first, "Yp Yl Yp", "1", "priority: 1st of 3, 3 working"},
		{"first is back, and has to wait", waits, "Yp Yl Yp", "2", "priority: 2nd of 3, 3 working"},
		{"no wait when nothing usable is live", waits, "Yp Nl Yp", "1", "priority: 1st of 3, 2 working"},
		{"no wait beside a value that is not judged and paused", waits, "Yp ?p Nl", "1", "priority: 1st of 3, 1 working"},
		{"too many live", waits, "Nl Yl Yl", "2", "priority: 2nd of 3, 2 working"},
		{"a live one that is not judged keeps its place", first, "Yp ?l Yp", "2", "priority: 2nd of 3, 3 working"},
		{"but takes none away", first, "?l Yl Yp", "1 2", "priority: 1st and 2nd of 3, 3 working"},
		{"two of four", two, "Yl Yl Yp Yp", "1 2", "priority: 1st and 2nd of 4, 4 working"},
		{"two of four, the first two down", two, "Nl Nl Yp Yp", "3 4", "priority: 3rd and 4th of 4, 2 working"},
		{"two places, one usable", two, "Nl Np Yl Np", "3", "priority: 3rd of 4, 1 working"},
		{"none", first, "Nl Np", "1", "nothing is usable: the last live set is kept"},

		{"fallback", fallback, "Nl Np fm", "3", "nothing is usable: the fallback list"},
		{"fallback stays", fallback, "Np Np fl", "3", "nothing is usable: the fallback list"},
		{"fallback gives way", fallback, "Np Yp fl", "2", "all: 1 of 2 usable"},
		{"fallback is held", fallback, "Nl Np fh", "1", "nothing is usable: the last live set is kept"},
		{"one of two fallbacks is held", fallback, "Nl Np fh fp", "4", "nothing is usable: the fallback list"},
		{"fallback, and min_live", with(fallback, func(s *steer.Spec) { s.MinLive = 2 }), "Nl Nl fm", "2 3", "nothing is usable: the fallback list"},
		{"open", open, "Nl Np Nm", "1 2 3", "nothing is usable: on_all_down opens every answer"},
		{"open but for what is held", open, "Nl Nh Np", "1 3", "nothing is usable: on_all_down opens every answer"},
		{"open but for what is not judged", open, "Nl ?p Np", "1 3", "nothing is usable: on_all_down opens every answer"},
		{"open, and nothing is judged", open, "?p ?m", "", "nothing is usable: the last live set is kept"},
		{"open, and all is held", open, "Nh Nh", "", "nothing is usable: the last live set is kept"},
		{"none", none, "Nl Nl", "", "nothing is usable: on_all_down: none empties the set"},
		{"none, but one is not judged", none, "Nl ?p", "1", "nothing is usable: the last live set is kept"},
		{"none, but one waits for a person", none, "Nl Yh", "1", "nothing is usable: the last live set is kept"},

		{"min_live", three, "Nl Nl Yl Nl", "2 3 4", "all: 1 of 4 usable"},
		{"min_live makes nothing live", three, "Np Yl Nl", "2 3", "all: 1 of 3 usable"},

		{"one value: the live one stays", alias, "Yp Yl", "2", "all: 2 of 2 usable"},
		{"one value: the first usable", alias, "Np Yp Yp", "2", "all: 2 of 3 usable"},
		{"one value: two are live by mistake", alias, "Np Yl Yl", "2", "all: 2 of 3 usable"},

		{"held is stepped over", first, "Nl Yh Yp", "3", "priority: 3rd of 3, 1 working"},
		{"held and not needed", first, "Yl Yh Yp", "1", "priority: 1st of 3, 3 working"},
		{"held, and nothing else", all, "Nl Yh", "1", "nothing is usable: the last live set is kept"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			s := situation(c.spec, c.words)
			for i := range s.in.Judged {
				s.in.Judged[i].Since = time.Duration(i) * time.Minute // the later in the list, the later it failed
			}
			w := s.decide()
			if w.AllDown != strings.HasPrefix(w.Reason, "nothing is usable") {
				t.Errorf("%s: all down is %t, the reason is %q", c.words, w.AllDown, w.Reason)
			}
			if got := positions(w.Live); got != c.live || w.Reason != c.reason {
				t.Errorf("%s: got %q (%s), want %q (%s)", c.words, got, w.Reason, c.live, c.reason)
			}
			if w.Empty != (c.reason == "nothing is usable: on_all_down: none empties the set") {
				t.Errorf("%s: empty is %v", c.words, w.Empty)
			}
		})
	}
}

// TestReasons: what is said of each value, where what is known of it does not
// settle what becomes of it.
func TestReasons(t *testing.T) {
	first := steer.Spec{Policy: steer.Priority, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep}
	hold, manual, min2, open, alias := first, first, first, first, first
	hold.Failback.Hold = 2 * time.Hour
	manual.Failback.Manual = true
	min2.Policy, min2.MinLive = steer.All, 2
	open.OnAllDown = steer.Open
	alias.Policy, alias.Key.Type = steer.All, record.CNAME
	fallback := first
	fallback.OnAllDown = steer.Fallback
	for _, c := range []struct {
		spec  steer.Spec
		words string
		want  string // by value, divided by |
	}{
		{first, "Yl Yp Nm", "seen|seen; lower in rank than what is live|seen"},
		{first, "Yp ?l Np", "seen; waits until what is live in its place is judged|seen|seen"},
		{hold, "Yp Yl", "seen; held back for 2h0m0s after it came back|seen"},
		{manual, "Yp Yl", "seen; waits for approval of its failback|seen"},
		{first, "Nl Np", "seen; kept because nothing is usable|seen"},
		{open, "Nl Np", "seen; answered with because nothing is usable|seen; answered with because nothing is usable"},
		{min2, "Yl Nl", "seen|seen; stays because min_live is 2"},
		{first, "Nl Yh Yp", "seen|seen; paused by somebody else|seen"},
		{alias, "Yl Yp", "seen|seen; a name has one value of this type"},
		{fallback, "Yl fp", "seen|fallback; not needed"},
		{fallback, "Nl fp", "seen|fallback; needed because nothing is usable"},
	} {
		s := situation(c.spec, c.words)
		w := s.decide()
		var got []string
		for _, value := range s.in.Spec.Values() {
			got = append(got, w.Why(value))
		}
		if text := strings.Join(got, "|"); text != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.words, text, c.want)
		}
	}
	w := situation(first, "Yl Np").decide()
	if got := w.Why("198.51.100.7"); got != "the config does not name it" {
		t.Errorf("of a foreign value: got %q", got)
	}
	if !w.Usable("192.0.2.1") || w.Usable("192.0.2.2") || w.Usable("198.51.100.7") {
		t.Error("only the first is usable")
	}
}

// TestWhatMayNotBeResumed: a person's yes lets a held value in, and after a lost
// state nothing that is paused comes in, approved or not.
func TestWhatMayNotBeResumed(t *testing.T) {
	spec := steer.Spec{Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep}
	for _, c := range []struct {
		name    string
		resume  []string
		lost    bool
		live    string
		stopped []steer.Stopped
	}{
		{"nobody said anything", nil, false, "1 3 4", []steer.Stopped{{Value: "192.0.2.2", Held: true}}},
		{"approved", []string{"192.0.2.2"}, false, "1 2 3 4", nil},
		{"another was approved", []string{"192.0.2.3"}, false, "1 3 4", []steer.Stopped{{Value: "192.0.2.2", Held: true}}},
		{"lost", nil, true, "1 4", []steer.Stopped{{Value: "192.0.2.2", Held: true}, {Value: "192.0.2.3"}}},
		{"lost and approved", []string{"192.0.2.2"}, true, "1 4", []steer.Stopped{{Value: "192.0.2.2"}, {Value: "192.0.2.3"}}},
	} {
		s := situation(spec, "Yl Yh Yp Ym")
		s.in.Resume, s.in.Lost = c.resume, c.lost
		w := s.decide()
		if got := positions(w.Live); got != c.live || !slices.Equal(w.Stopped, c.stopped) {
			t.Errorf("%s: got %s, stopped %+v; want %s, %+v", c.name, got, w.Stopped, c.live, c.stopped)
		}
	}
}

// TestFailback: when a better answer that came back is due, and what is told of
// the one that is due first.
func TestFailback(t *testing.T) {
	spec := steer.Spec{Policy: steer.Priority, MaxLive: 1, OnAllDown: steer.Keep, Failback: steer.Failback{Hold: 10 * time.Minute}}
	s := situation(spec, "Yp Yp Yl")
	s.in.Judged[0].Since, s.in.Judged[1].Since = 55*time.Minute, 51*time.Minute
	if w := s.decide(); positions(w.Live) != "3" || w.Due != 61*time.Minute || w.Waiting != "" {
		t.Errorf("both wait: got %s, due %s", positions(w.Live), w.Due)
	}
	s.in.Now = 61 * time.Minute
	if w := s.decide(); positions(w.Live) != "2" || w.Due != 65*time.Minute {
		t.Errorf("at the moment itself: got %s, due %s", positions(w.Live), w.Due)
	}
	s.in.Now = 65 * time.Minute
	if w := s.decide(); positions(w.Live) != "1" || w.Due != 0 {
		t.Errorf("both due: got %s, due %s", positions(w.Live), w.Due)
	}

	spec.Failback = steer.Failback{Manual: true, Hold: 10 * time.Minute}
	s = situation(spec, "Yp Yp Yl")
	if w := s.decide(); positions(w.Live) != "3" || w.Due != 0 || w.Waiting != "failback to 192.0.2.1" {
		t.Errorf("manual: got %s, due %s, waiting for %q", positions(w.Live), w.Due, w.Waiting)
	}
	s.in.Failback = true
	if w := s.decide(); positions(w.Live) != "1" || w.Waiting != "" {
		t.Errorf("approved: got %s, waiting for %q", positions(w.Live), w.Waiting)
	}
}

func TestOrdinals(t *testing.T) {
	words := make([]string, 0, 24)
	for range 23 {
		words = append(words, "Np")
	}
	for i, want := range map[int]string{0: "1st", 1: "2nd", 2: "3rd", 3: "4th", 10: "11th", 11: "12th", 12: "13th", 20: "21st", 21: "22nd", 22: "23rd"} {
		one := slices.Clone(words)
		one[i] = "Yl"
		w := situation(steer.Spec{Policy: steer.Priority, MaxLive: 1, OnAllDown: steer.Keep}, strings.Join(one, " ")).decide()
		if got := "priority: " + want + " of 23, 1 working"; w.Reason != got {
			t.Errorf("got %q, want %q", w.Reason, got)
		}
	}
}

func TestSpecNames(t *testing.T) {
	spec := situation(steer.Spec{}, "Yl Yl fl").in.Spec
	for value, want := range map[string]int{"192.0.2.1": 0, "192.0.2.2": 1, "192.0.2.3": -1, "192.0.2.4": -1} {
		if got := spec.Position(value); got != want {
			t.Errorf("position of %s: got %d, want %d", value, got, want)
		}
		if got := spec.Names(value); got != (value != "192.0.2.4") {
			t.Errorf("names %s: got %v", value, got)
		}
	}
	if got := positions(spec.Values()); got != "1 2 3" {
		t.Errorf("values: got %s", got)
	}
}

// Weights are of what is live and named, under a policy that goes by them.
func TestWeights(t *testing.T) {
	seen := record.Set{Answers: []record.Answer{
		{Value: "192.0.2.1", Live: true, Weight: 3}, {Value: "192.0.2.2", Paused: true, Weight: 5}, {Value: "198.51.100.7", Live: true, Weight: 9},
	}}
	s := steer.Spec{Policy: steer.Weighted, Answers: []steer.Answer{{Value: "192.0.2.1"}, {Value: "192.0.2.2"}}}
	if got := s.Weights(seen); !maps.Equal(got, map[string]int{"192.0.2.1": 3}) {
		t.Errorf("got %v", got)
	}
	s.Policy = steer.All
	if got := s.Weights(seen); len(got) != 0 {
		t.Errorf("policy all goes by the weights %v", got)
	}
}

// A check of an address bears on a set that names both.
func TestRestsOn(t *testing.T) {
	s := steer.Spec{Checks: []string{"web"}, Answers: []steer.Answer{{Value: "a.example.net.", Probe: "192.0.2.1"}}}
	s.DR.Answers = []steer.Answer{{Value: "192.0.2.9", Probe: "192.0.2.9"}}
	for target, want := range map[[2]string]bool{
		{"web", "192.0.2.1"}: true, {"web", "192.0.2.9"}: true, {"web", "192.0.2.2"}: false, {"ssh", "192.0.2.1"}: false, {"web", "a.example.net."}: false,
	} {
		if got := s.RestsOn(target[0], target[1]); got != want {
			t.Errorf("%v: %v", target, got)
		}
	}
}
