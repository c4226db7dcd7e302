package plan_test

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

const zoneName = record.Name("example.com.")

func key(name string, t record.Type) record.Key {
	return record.Key{Zone: zoneName, Name: record.Name(name + "." + string(zoneName)), Type: t}
}

// spec names addresses from 192.0.2.1 on.
func spec(name string, answers int) *steer.Spec {
	s := &steer.Spec{Key: key(name, record.A), Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep}
	for i := range answers {
		value := "192.0.2." + strconv.Itoa(i+1)
		s.Answers = append(s.Answers, steer.Answer{Value: value, Probe: value})
	}
	return s
}

// aliases names hosts from a.example.net. on, of which one can be live.
func aliases(name string, answers int) *steer.Spec {
	s := &steer.Spec{Key: key(name, record.CNAME), Policy: steer.Priority, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep}
	for i := range answers {
		s.Answers = append(s.Answers, steer.Answer{Value: string(rune('a'+i)) + ".example.net.", Probe: "192.0.2.1"})
	}
	return s
}

// seen is a record set of words: "192.0.2.1 live 60s".
func seen(k record.Key, answers ...string) record.Set {
	set := record.Set{Key: k}
	for _, text := range answers {
		words := strings.Fields(text)
		a := record.Answer{Value: words[0], TTL: time.Minute, Weight: 1}
		for _, word := range words[1:] {
			switch d, err := time.ParseDuration(word); {
			case err == nil:
				a.TTL = d
			case word == "live":
				a.Live = true
			case word == "paused":
				a.Paused = true
			case word == "held":
				a.Held = true
			case word == "own-ttl":
				a.OwnTTL = true
			case word == "max-30s":
				a.MaxTTL = 30 * time.Second
			case word == "min-90s":
				a.MinTTL = 90 * time.Second
			case word[0] == 'w':
				a.Weight, _ = strconv.Atoi(word[1:])
			}
		}
		set.Answers = append(set.Answers, a)
	}
	set.Sort()
	return set
}

func zone(sets ...record.Set) plan.Zone {
	record.SortSets(sets)
	return plan.Zone{Name: zoneName, Sets: sets, Owners: map[record.Name]string{}}
}

// judge says of each answer by a letter: Y usable, N not, ? not known.
func judge(s *steer.Spec, letters string) steer.Input {
	in := steer.Input{Spec: s, Now: time.Hour}
	for i, letter := range letters {
		usable := map[rune]steer.Usable{'Y': steer.Yes, 'N': steer.No, '?': steer.NotKnown}[letter]
		why := map[rune]string{'Y': " up", 'N': " down: connect/refused", '?': " not judged yet"}[letter]
		in.Judged = append(in.Judged, steer.Judged{Usable: usable, Why: "web@" + s.Answers[i].Probe + why})
	}
	return in
}

// diff decides and compares.
func diff(z plan.Zone, inputs ...steer.Input) plan.Plan {
	var wanted []steer.Wanted
	for _, in := range inputs {
		wanted = append(wanted, steer.Decide(in, record.FindSet(z.Sets, in.Spec.Key)))
	}
	return plan.Diff(wanted, z)
}

// after is a zone after one change. Nothing is ever deleted.
func after(z plan.Zone, c record.Change) plan.Zone {
	sets := slices.Clone(z.Sets)
	i := slices.IndexFunc(sets, func(s record.Set) bool { return s.Key == c.Key })
	if i < 0 {
		i, sets = len(sets), append(sets, record.Set{Key: c.Key})
	}
	sets[i].Answers = slices.Clone(sets[i].Answers)
	find := func(value string) *record.Answer {
		j := slices.IndexFunc(sets[i].Answers, func(a record.Answer) bool { return a.Value == value })
		if j < 0 {
			j, sets[i].Answers = len(sets[i].Answers), append(sets[i].Answers, record.Answer{Value: value, TTL: time.Minute, Weight: 1})
		}
		return &sets[i].Answers[j]
	}
	out := c.From
	if c.Action == record.Pause {
		out = c.Value
	}
	if out != "" {
		a := find(out)
		a.Live, a.Paused = false, true
	}
	if c.Action != record.Pause {
		a := find(c.Value)
		a.Live, a.Paused, a.Held = true, false, false
		if c.Action == record.SetWeight || c.Weight > 0 {
			a.Weight = c.Weight
		}
		if c.TTL > 0 {
			a.TTL = c.TTL
		}
	}
	z.Sets = sets
	record.SortSets(z.Sets)
	return z
}
