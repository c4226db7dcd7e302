package daemon

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/store"
)

// How much of the journal is looked through, and how much of it is shown.
const (
	evidenceBytes = 4 << 20 // some 20,000 lines
	keptEvidence  = 8       // events of one write
	explainWrites = 6       // of one record set
)

// journalLine is what explain reads of a line of the journal.
type journalLine struct {
	control.Event
	Zone     string `json:"zone"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Variant  string `json:"variant"`
	Value    string `json:"value"`
	Action   string `json:"action"`
	Replaces string `json:"replaces"`
	Reason   string `json:"reason"`
	Error    string `json:"error"`
	Verified bool   `json:"verified"`

	Servers []heardLine `json:"servers"`
}

// trail follows one record set through the journal.
type trail struct {
	record *control.ExplainedRecord
	set    string                   // as the journal names it
	values map[string][]string      // by target or site: the values that rest on it
	names  map[string]bool          // what an override of the record set, or of a part of it, can be of
	last   map[string]control.Event // by what it is about: the last event
	fresh  []control.Event          // events since the last write
	led    []control.Event          // those that led to it
}

// addEvidence fills in the last writes of each record set, what led to them, and
// what was verified, from the end of the journal.
func addEvidence(answer *control.Explanation, dir string) {
	var trails []*trail
	for i := range answer.Records {
		trails = append(trails, newTrail(&answer.Records[i]))
	}
	filter := store.Filter{Kinds: []string{"verdict", "site", "plan", "guard", "override", "write", "verify"}, Newest: evidenceBytes}
	_, err := store.ReadJournal(dir, filter, func(l store.Line) bool {
		var line journalLine
		if json.Unmarshal(l.Raw, &line) != nil {
			return true // not of this version: it is left out
		}
		if answer.Journal.Since == nil {
			answer.Journal.Since = &line.At
		}
		for _, t := range trails {
			t.follow(line)
		}
		return true
	})
	if err != nil {
		answer.Journal.Error = err.Error()
	}
}

func newTrail(r *control.ExplainedRecord) *trail {
	key := record.Key{Name: record.Name(r.Name), Type: record.Type(r.Type), Variant: r.Variant}
	t := &trail{record: r, set: key.String(), values: map[string][]string{}, last: map[string]control.Event{}}
	t.names = map[string]bool{"all": true, r.Zone: true, r.Name: true}
	for _, s := range r.Scenarios {
		t.names[s.Name] = true
	}
	for _, a := range r.Answers {
		t.names[a.Value] = true
		for _, target := range a.Targets {
			t.values[target.ID] = append(t.values[target.ID], a.Value)
			t.names[target.Address] = true
		}
		if a.Site != "" {
			t.values[a.Site] = append(t.values[a.Site], a.Value)
		}
		t.watch(a.When, a.Value)
	}
	return t
}

// watch lets what a scenario rests on bear on a value.
func (t *trail) watch(when, value string) {
	i := slices.IndexFunc(t.record.Scenarios, func(s control.Scenario) bool { return s.Name == when })
	if i < 0 {
		return
	}
	for _, group := range t.record.Scenarios[i].Any {
		for _, term := range group {
			for _, target := range term.Targets {
				t.values[target] = append(t.values[target], value)
			}
			name := strings.TrimPrefix(term.Term, "not ")
			t.watch(name, value)
			if site, _, _ := strings.Cut(name, "."); slices.ContainsFunc(t.record.Sites, func(s control.Site) bool { return s.Name == site }) {
				t.values[site] = append(t.values[site], value)
			}
		}
	}
}

// overridesOf are the overrides of some record sets, or of what they rest on.
func overridesOf(view engine.View, records []control.ExplainedRecord) []control.Override {
	list := []control.Override{}
	for _, o := range describeOverrides(view) {
		about := slices.ContainsFunc(records, func(r control.ExplainedRecord) bool { return newTrail(&r).overruledBy(o.Target) })
		if about {
			list = append(list, o)
		}
	}
	return list
}

// overruledBy reports whether an override of a target bears on the record set.
func (t *trail) overruledBy(target string) bool { return t.names[target] || t.values[target] != nil }

func (t *trail) follow(line journalLine) {
	switch line.Kind {
	case "write":
		if line.Zone == t.record.Zone && line.Name == t.record.Name && line.Type == t.record.Type && line.Variant == t.record.Variant {
			t.wrote(line)
		}
	case "verify":
		if line.Zone == t.record.Zone {
			v := verifyLine{Verified: line.Verified, Detail: line.Detail, Servers: line.Servers}.shape(line.At)
			t.record.Verification = &v
		}
	case "override":
		if t.overruledBy(line.Target) {
			t.add(line.Event)
		}
	default:
		if t.concerns(line.Event) {
			t.last[line.Target] = line.Event
			t.add(line.Event)
		}
	}
}

// add keeps an event for the next write. That a target was found up at a start
// moved nothing but its own value.
func (t *trail) add(e control.Event) {
	if e.From == string(health.Unknown) && e.To == string(health.Up) {
		return
	}
	t.fresh = append(t.fresh, e)
	t.fresh = t.fresh[max(0, len(t.fresh)-keptEvidence):]
}

// concerns reports whether an event is about the record set, its name, one of its
// targets or a site that bears on it, or about this node: what it saw counted, or
// did not.
func (t *trail) concerns(e control.Event) bool {
	_, target := t.values[e.Target]
	return target || e.Target == t.set || e.Target == t.record.Name || e.Guard == plan.GuardCanary || e.Guard == plan.GuardClock
}

// wrote takes a write. What led to it are the events since the write before, and
// the last event of each target of its own, which may be older. Writes without
// an event in between have one cause.
func (t *trail) wrote(line journalLine) {
	if len(t.fresh) > 0 {
		t.led, t.fresh = t.fresh, nil
	}
	evidence := slices.Clone(t.led)
	for target, values := range t.values {
		own, found := t.last[target]
		about := slices.Contains(values, line.Value) || slices.Contains(values, line.Replaces)
		if found && about && !slices.Contains(evidence, own) {
			evidence = append(evidence, own)
		}
	}
	slices.SortStableFunc(evidence, func(a, b control.Event) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Target, b.Target))
	})
	write := control.ExplainedWrite{
		Write: control.Write{
			At: line.At, Zone: line.Zone, Name: line.Name, Type: line.Type, Variant: line.Variant,
			Value: line.Value, Action: line.Action, Error: line.Error,
		},
		Replaces: line.Replaces, Reason: line.Reason,
		Evidence: append([]control.Event{}, evidence[max(0, len(evidence)-keptEvidence):]...),
	}
	t.record.Writes = slices.Insert(t.record.Writes, 0, write)
	t.record.Writes = t.record.Writes[:min(len(t.record.Writes), explainWrites)]
}
