package plan_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// drawZone draws record sets, what is known of their answers, and a zone that
// holds some of them and others beside.
func drawZone(t *rapid.T) ([]steer.Input, plan.Zone) {
	var inputs []steer.Input
	var sets []record.Set
	for i := range rapid.IntRange(1, 4).Draw(t, "sets") {
		in := drawInput(t, "s"+strconv.Itoa(i))
		inputs = append(inputs, in)
		sets = append(sets, drawSeen(t, in.Spec))
	}
	sets = append(sets, seen(key("other", record.A), "198.51.100.1 live"))
	return rapid.Permutation(inputs).Draw(t, "order"), zone(sets...)
}

func drawInput(t *rapid.T, name string) steer.Input {
	n := rapid.IntRange(1, 4).Draw(t, "answers")
	s := spec(name, n)
	if rapid.IntRange(0, 2).Draw(t, "single") == 0 {
		s = aliases(name, n)
	}
	s.TTL = rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "ttl")
	s.OnAllDown = rapid.SampledFrom([]steer.OnAllDown{steer.Keep, steer.Open, steer.None}).Draw(t, "on_all_down")
	s.AskFirst = rapid.Bool().Draw(t, "ask")
	if rapid.Bool().Draw(t, "priority") {
		s.Policy, s.MaxLive = steer.Priority, rapid.IntRange(1, n).Draw(t, "max_live")
	}
	if !s.Key.Type.Single() && s.Policy == steer.All && rapid.Bool().Draw(t, "weighted") {
		s.Policy = steer.Weighted
		for i := range s.Answers {
			s.Answers[i].Weight = rapid.IntRange(0, 3).Draw(t, "weight")
		}
	}
	s.MinLive = rapid.IntRange(0, max(s.MaxLive, 1)).Draw(t, "min_live")
	letters := rapid.StringMatching("[YYN?]{"+strconv.Itoa(n)+"}").Draw(t, "judged")
	in := judge(s, letters)
	in.Lost = rapid.IntRange(0, 5).Draw(t, "lost") == 0
	return in
}

func drawSeen(t *rapid.T, s *steer.Spec) record.Set {
	var words []string
	foreign := "198.51.100.9"
	if s.Key.Type.Single() {
		foreign = "x.example.net."
	}
	for _, value := range append(s.Values(), foreign) {
		state := rapid.SampledFrom([]string{"", "live", "live", "paused", "held", "live paused"}).Draw(t, value)
		if state != "" {
			words = append(words, value+" "+state+" "+rapid.SampledFrom([]string{"60s", "1h"}).Draw(t, "ttl")+rapid.SampledFrom([]string{"", " w0", " w2"}).Draw(t, "weight"))
		}
	}
	return seen(s.Key, words...)
}

func drawLimits(t *rapid.T, inputs []steer.Input) plan.Limits {
	l := plan.Limits{
		MaxChanges: rapid.IntRange(0, 2).Draw(t, "max_changes"), Now: time.Hour,
		MaxWrites: plan.Writes{Count: rapid.IntRange(0, 2).Draw(t, "max_writes"), Window: time.Minute},
		Written:   map[record.Key][]time.Duration{}, Adopted: map[record.Key]bool{},
	}
	for _, in := range inputs {
		for range rapid.IntRange(0, 3).Draw(t, "written") {
			l.Written[in.Spec.Key] = append(l.Written[in.Spec.Key], time.Hour-time.Second)
		}
		l.Adopted[in.Spec.Key] = rapid.Bool().Draw(t, "adopted")
	}
	return l
}

// TestNeverEmpty carries plans out change by change: no record set with a live
// answer is ever without one in between, unless an empty set is meant.
func TestNeverEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs, z := drawZone(t)
		p := diff(z, inputs...)
		for _, s := range p.Sets {
			for _, c := range s.Changes {
				had := len(record.FindSet(z.Sets, c.Key).Live()) > 0
				z = after(z, c.Change)
				if had && len(record.FindSet(z.Sets, c.Key).Live()) == 0 && !s.Wanted.Empty {
					t.Fatalf("%s left %s without an answer", c, c.Key)
				}
			}
		}
	})
}

// TestForeignIsLeft: what the config does not name is as it was, whatever a
// plan does, unless it is the one value of its set, which a guard stops.
func TestForeignIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs, before := drawZone(t)
		p := diff(before, inputs...)
		p.Check(plan.Limits{}, before)
		now := before
		for _, s := range p.Sets {
			for _, c := range s.Open() {
				if !s.Wanted.Spec.Names(c.Value) || c.From != "" && !s.Wanted.Spec.Names(c.From) {
					t.Fatalf("%s changes a foreign value", c)
				}
				now = after(now, c.Change)
			}
		}
		for _, set := range before.Sets {
			for _, a := range set.Answers {
				s, found := p.Find(set.Key)
				got, _ := record.FindSet(now.Sets, set.Key).Find(a.Value)
				if (!found || !s.Wanted.Spec.Names(a.Value)) && got != a {
					t.Fatalf("%s of %s was %+v and is %+v", a.Value, set.Key, a, got)
				}
			}
		}
	})
}

// TestConverges: once a plan that nothing blocks was carried out, the zone is in
// sync, by what was wanted before and by what is wanted now. Two live values of
// a set that can have one, neither of them wanted, take two plans, and so does a
// value that comes back with another weight.
func TestConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs, z := drawZone(t)
		var p plan.Plan
		for range 1 + max(tooMany(inputs, z), weighted(inputs)) {
			p = diff(z, inputs...)
			for _, c := range p.Changes() {
				z = after(z, c.Change)
			}
		}
		var wanted []steer.Wanted
		for _, s := range p.Sets {
			wanted = append(wanted, *s.Wanted)
		}
		if same := plan.Diff(wanted, z); len(same.Changes()) > 0 {
			t.Fatalf("the same is wanted, and is not there:\n%s", same)
		}
		if anew := diff(z, inputs...); len(anew.Changes()) > 0 {
			t.Fatalf("after\n%s\nworked out anew:\n%s", p, anew)
		}
	})
}

// tooMany is 1 when a set that can have one live value has more.
func tooMany(inputs []steer.Input, z plan.Zone) int {
	for _, in := range inputs {
		if in.Spec.Key.Type.Single() && len(record.FindSet(z.Sets, in.Spec.Key).Live()) > 1 {
			return 1
		}
	}
	return 0
}

// weighted is 1 when a set has weights.
func weighted(inputs []steer.Input) int {
	if slices.ContainsFunc(inputs, func(in steer.Input) bool { return in.Spec.Policy == steer.Weighted }) {
		return 1
	}
	return 0
}

// TestPlansAreSorted: sets by key, and in each the adds first, by action and
// value; whatever the order of what was wanted.
func TestPlansAreSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs, z := drawZone(t)
		p := diff(z, inputs...)
		if !slices.IsSortedFunc(p.Sets, func(a, b plan.Set) int { return a.Key().Compare(b.Key()) }) {
			t.Fatalf("sets are not sorted: %v", p.Lines())
		}
		for _, s := range p.Sets {
			var order []string
			for _, c := range s.Changes {
				order = append(order, fmt.Sprint(!c.Action.Add(), c.Action, c.Value))
			}
			if !slices.IsSorted(order) {
				t.Fatalf("changes are not sorted: %v", p.Lines())
			}
		}
		slices.Reverse(inputs)
		if other := diff(z, inputs...); !reflect.DeepEqual(p.Lines(), other.Lines()) {
			t.Fatalf("the other way round:\n%s\n%s", p, other)
		}
	})
}

// TestGuardsOnlyStop: a guard never adds, drops or frees a change; what is
// stopped has a refusal; a record set is stopped as a whole.
func TestGuardsOnlyStop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs, z := drawZone(t)
		free, held := diff(z, inputs...), diff(z, inputs...)
		held.Check(drawLimits(t, inputs), z)
		if a, b := changes(free), changes(held); a != b || free.Checksum() != held.Checksum() {
			t.Fatalf("%s became %s", a, b)
		}
		for _, s := range held.Sets {
			stopped := len(s.Changes) - len(s.Open())
			if stopped != 0 && stopped != len(s.Changes) {
				t.Fatalf("half of a set is stopped: %v", held.Lines())
			}
			if stopped > 0 && !strings.Contains(refusals(held), s.Changes[0].Guard+": ") {
				t.Fatalf("stopped without a word: %v", held.Lines())
			}
		}
	})
}
