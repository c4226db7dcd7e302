package reconcile

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// fourth is a value beside the three that most tests do with.
const fourth = "192.0.2.4"

// full is a zone of one class whose plan lets a set have so many live values.
func full(t *testing.T, class memory.Class, most, minLive int, live ...string) *world {
	t.Helper()
	options := slow(class)
	options.Most = most
	spec := &steer.Spec{Key: www, Policy: steer.All, MaxLive: 1, MinLive: minLive, OnAllDown: steer.Keep, TTL: time.Minute}
	w := newWorldOf(t, options, spec, append(slices.Clone(values), fourth), live)
	time.Sleep(20 * time.Second) // nothing is in doubt
	return w
}

// TestCase56FullSetMakesRoom: the provider lets a name have so many live values,
// and has them. Some die and another is wanted: the add is refused, so a dead one
// goes first, beside a healthy one, or where all are dead beside one that stays in
// the answer until the other is in. The last one never goes, nor one of min_live.
func TestCase56FullSetMakesRoom(t *testing.T) {
	for _, row := range []struct {
		name         string
		most         int
		minLive      int
		live, wanted []string
		after        []string
		hints        []string
	}{
		{"beside a healthy one", 2, 1, values[:2], values[1:], values[1:], nil},
		{"one dead of three", 3, 1, values, []string{values[1], values[2], fourth}, []string{values[1], values[2], fourth}, nil},
		{"all dead of two", 2, 1, values[:2], values[2:], values[2:], nil},
		{"all dead of three", 3, 1, values, []string{fourth}, []string{fourth}, nil},
		{"all dead of three, two to keep", 3, 2, values, []string{fourth}, []string{values[0], fourth}, nil},
		{"alone", 1, 1, values[:1], values[1:2], values[:1], []string{
			"live: 192.0.2.1, and the provider takes no more than 1;", "would have no answer until 192.0.2.2 is in", "change 192.0.2.1 to 192.0.2.2 by hand", "upgrade the plan",
		}},
		{"as many as min_live", 2, 2, values[:2], values[2:], values[:2], []string{"takes no more than 2", "min_live keeps 2 of them", "lower min_live"}},
		{"all are wanted", 2, 1, values[:2], values, values[:2], []string{"live: 192.0.2.1, 192.0.2.2, and the provider takes no more than 2; all of them are wanted"}},
		{"more than the plan allows", 1, 1, values[:2], values[2:], values[1:2], []string{"live: 192.0.2.2, and the provider takes no more than 1;"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			forClasses(t, func(t *testing.T, class memory.Class) {
				w := full(t, class, row.most, row.minLive, row.live...)
				report := w.round(w.want(row.wanted...))
				if (report.Err != nil) != (row.hints != nil) {
					t.Errorf("the round ended with %v", report.Err)
				}
				for _, hint := range row.hints {
					if report.Err != nil && !strings.Contains(report.Err.Error(), hint) {
						t.Errorf("the round ended with %v; expected %q in it", report.Err, hint)
					}
				}
				w.mustLive(t, row.after...)
				w.check(t)
			}, memory.Status)
		})
	}
}

// TestRoomByHand: what the hint says of a set that has one value and takes no other
// can be done, and is as good as if sidestep had done it.
func TestRoomByHand(t *testing.T) {
	name := string(www.Name)
	for hint, edits := range map[string][]memory.Edit{
		"change 192.0.2.1 to 192.0.2.2 by hand":                     {memory.Delete(name, "A", values[0]), memory.Put(name, "A", time.Minute, values[1])},
		"enable 192.0.2.2 by hand right after you paused 192.0.2.1": {memory.Disable(name, "A", values[0]), memory.Enable(name, "A", values[1])},
	} {
		t.Run(hint, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := full(t, memory.Status, 1, 1, values[0])
				if strings.HasPrefix(hint, "enable") {
					w.hand(t, memory.Put(name, "A", time.Minute, values[1]))
					w.round(w.want(values[0]))
				}
				if report := w.round(w.want(values[1])); report.Err == nil || !strings.Contains(report.Err.Error(), hint) {
					t.Errorf("the round ended with %v", report.Err)
				}
				w.hand(t, edits...)
				if report := w.round(w.want(values[1])); report.Err != nil {
					t.Error(report.Err)
				}
				w.mustLive(t, values[1])
			})
		})
	}
}

// TestRoomWaitsForAnOpenPause: a pause that made room got no answer and is still on
// its way when its value is wanted again. Until it can no longer arrive, the other
// live value does not make room beside it.
func TestRoomWaitsForAnOpenPause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := full(t, memory.Status, 2, 1, values[:2]...)
		w.fault(memory.OpTakeAway, memory.Late)
		// List, the refused add, list, look, that pause, list.
		w.before(6, func() { w.only().shut(errors.New("shut")) })
		if report := w.round(w.want(values[2])); report.Err == nil || len(w.zone.Open()) != 1 {
			t.Fatalf("got %v, and %d open calls", report.Err, len(w.zone.Open()))
		}
		w.only().shut(nil)
		start := w.clock.Boot()
		report := w.round(w.want(values[0], values[2]))
		if report.Err != nil || w.clock.Boot()-start < 9*time.Second {
			t.Errorf("the round ended after %v with %v", w.clock.Boot()-start, report.Err)
		}
		w.mustLive(t, values[0], values[2])
		w.check(t)
	})
}

// TestRoomIsNoneForOnlyAdds: nothing is taken away where only adds were asked for.
func TestRoomIsNoneForOnlyAdds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := full(t, memory.Status, 2, 1, values[:2]...)
		report := w.only().round(w.want(values[2]), Orders{OnlyAdd: true})
		if report.Err == nil || !strings.Contains(report.Err.Error(), "one has to go first, and only adds were asked for") {
			t.Errorf("the round ended with %v", report.Err)
		}
		w.mustLive(t, values[:2]...)
	})
}

// TestRoomBesideWhatIsCertain: what an open call may take out is nothing that
// stays, and goes before what is certain to stay.
func TestRoomBesideWhatIsCertain(t *testing.T) {
	a, b, c := values[0], values[1], values[2]
	pausing := func(value string) []plan.Change {
		return []plan.Change{{Change: record.Change{Action: record.Pause, Key: www, Value: value}}}
	}
	for _, row := range []struct {
		name     string
		live     string
		usable   string // of those that have to go
		minLive  int
		happened func(*doubts)
		away     string
		survive  string
		wait     time.Duration
	}{
		{name: "one of two", live: "a b", minLive: 1, away: "a", survive: "b"},
		{name: "the doubtful one", live: "a b", minLive: 1,
			happened: func(d *doubts) { d.ambiguous(now-4*time.Second, pausing(b)) }, away: "b", survive: "a"},
		{name: "both are doubtful", live: "a b", minLive: 1,
			happened: func(d *doubts) { d.doubtAll(now - 4*time.Second) }, wait: 8 * time.Second},
		{name: "two have to stay and one is doubtful", live: "a b", minLive: 2,
			happened: func(d *doubts) { d.ambiguous(now-4*time.Second, pausing(b)) }, wait: 8 * time.Second},
		{name: "only time is no help", live: "a b", minLive: 2},
		{name: "a list inside the lag", live: "a b", minLive: 1,
			happened: func(d *doubts) { d.wrote(now-time.Second, pausing(c)) }, wait: time.Second},
		{name: "a dead one before a working one", live: "a b", usable: "a", minLive: 1, away: "b", survive: "a"},
		{name: "a working one while a dead one is left", live: "a b", usable: "a", minLive: 1,
			happened: func(d *doubts) { d.ambiguous(now-4*time.Second, pausing(a)) }, wait: 8 * time.Second},
		{name: "alone", live: "a", minLive: 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			names := map[string]string{"a": a, "b": b, "c": c}
			spec := &steer.Spec{Key: www, Policy: steer.All, MinLive: row.minLive, TTL: time.Minute, Answers: []steer.Answer{{Value: a}, {Value: b}, {Value: fourth}}}
			set := plan.Set{Wanted: &steer.Wanted{Spec: spec, Live: []string{fourth}, Paused: []string{a, b}}, Seen: &record.Set{Key: www}}
			set.Changes = []plan.Change{{Change: record.Change{Action: record.Create, Key: www, Value: fourth}}}
			for name := range strings.FieldsSeq(row.live) {
				set.Seen.Answers = append(set.Seen.Answers, record.Answer{Value: names[name], Live: true})
				change := pausing(names[name])[0]
				change.Usable = strings.Contains(row.usable, name)
				set.Changes = append(set.Changes, change)
			}
			on := footing{promises: flags, doubt: newDoubts(begun, flags), now: now, full: map[record.Key]error{www: errors.New("full")}}
			if row.happened != nil {
				row.happened(on.doubt)
			}
			got := on.next(set)
			var away []string
			for _, change := range got.away {
				away = append(away, change.Value)
			}
			word := func(list []string) string {
				var words []string
				for _, value := range list {
					words = append(words, map[string]string{a: "a", b: "b"}[value])
				}
				return strings.Join(words, " ")
			}
			wait := got.wait
			if wait > 0 {
				wait -= now
			}
			if len(got.add) > 0 || word(away) != row.away || word(got.survivors) != row.survive || wait != row.wait {
				t.Errorf("away %q beside %q after %v, %q; want %q beside %q after %v", word(away), word(got.survivors), wait, got.why, row.away, row.survive, row.wait)
			}
		})
	}
}
