package rto

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// judge is one way in which an answer is judged: a check, and how many of how
// many vantages have to say the same.
type judge struct {
	spec     *check.Spec
	down, of int  // 1 of 1 where this node judges alone
	when     bool // by the scenario of an answer, and not by the record set's check
}

// judges lists the ways in which the answers of a record set are judged, sorted,
// each once.
func (c Config) judges(spec *steer.Spec) []judge {
	found := map[judge]bool{}
	add := func(target check.Target, when bool) {
		j := judge{spec: c.Checks[target.Check], down: 1, of: 1, when: when}
		if rule := c.Judged[target]; rule != nil {
			j.down, j.of = rule.Down, len(rule.Of)
		}
		if j.spec != nil {
			found[j] = true
		}
	}
	for i := range spec.Len() {
		a := spec.At(i)
		for _, name := range spec.Checks {
			add(check.Target{Check: name, Address: a.Probe}, false)
		}
		if a.When != "" {
			for _, target := range c.below(a.When) {
				add(target, true)
			}
		}
	}
	list := slices.Collect(maps.Keys(found))
	slices.SortFunc(list, func(a, b judge) int { return strings.Compare(a.key(), b.key()) })
	return list
}

func (j judge) key() string { return fmt.Sprintf("%t %s %d %d", j.when, j.spec.Name, j.down, j.of) }

// below lists the targets that a scenario rests on, sorted.
func (c Config) below(name string) []check.Target {
	targets, seen := map[check.Target]bool{}, map[string]bool{}
	var walk func(name string)
	site := func(name, signal string) {
		for _, s := range c.Sites {
			for _, one := range s.Signals {
				if s.Name != name || signal != "" && signal != one.Name {
					continue
				}
				for _, address := range one.Targets {
					targets[check.Target{Check: one.Check, Address: address}] = true
				}
			}
		}
	}
	term := func(t scenario.Term) {
		switch t.Kind {
		case scenario.SiteOK:
			site(t.Name, "")
		case scenario.SignalHolds:
			site(t.Name, t.Of)
		case scenario.TargetUp:
			targets[check.Target{Check: t.Name, Address: t.Of}] = true
		case scenario.CheckUp:
			for _, target := range c.probed(t.Name) {
				targets[target] = true
			}
		case scenario.Holds:
			walk(t.Name)
		case scenario.Maintenance: // a person's word
		}
	}
	walk = func(name string) {
		i := slices.IndexFunc(c.Scenarios, func(s scenario.Scenario) bool { return s.Name == name })
		if i < 0 || seen[name] {
			return
		}
		seen[name] = true
		for _, t := range c.Scenarios[i].Terms() {
			term(t)
		}
	}
	walk(name)
	return slices.SortedFunc(maps.Keys(targets), func(a, b check.Target) int { return strings.Compare(a.ID(), b.ID()) })
}

// probed lists what a check probes.
func (c Config) probed(name string) []check.Target {
	var targets []check.Target
	for _, s := range c.Sites {
		for _, signal := range s.Signals {
			for _, address := range signal.Targets {
				if signal.Check == name {
					targets = append(targets, check.Target{Check: name, Address: address})
				}
			}
		}
	}
	for _, set := range c.Sets {
		for i := range set.Len() {
			if slices.Contains(set.Checks, name) {
				targets = append(targets, check.Target{Check: name, Address: set.At(i).Probe})
			}
		}
	}
	return targets
}

// wait is the time until enough vantages have begun a probe: of n that begin at
// random in an interval the k-th does so after k/(n+1) of it on average.
func (j judge) wait() Span {
	i := j.spec.Interval
	return Span{0, i * time.Duration(j.down) / time.Duration(j.of+1), i}
}

// row is the time from the first of so many results in a row to the last. Where
// there is a fastinter the next probe begins as soon, though not before the one
// that is in flight has ended.
func (j judge) row(results int) Span {
	fast := j.spec.FastInter
	if fast == 0 {
		return always(j.spec.Interval * time.Duration(results-1))
	}
	slow := max(fast, j.spec.Timeout)
	return Span{fast * time.Duration(results-1), slow * time.Duration(results-1), slow * time.Duration(results-1)}
}

// words says what is probed how often.
func (j judge) words() string {
	text := fmt.Sprintf("%s every %s", j.spec.Name, j.spec.Interval)
	if j.of > 1 {
		text += fmt.Sprintf(", %d of %d vantages", j.down, j.of)
	}
	return text
}

func (j judge) falls() []Part {
	s := j.spec
	fast := fmt.Sprintf("%d more in a row at the interval", s.Fall-1)
	if s.FastInter > 0 {
		fast = fmt.Sprintf("%d more in a row at the fastinter of %s", s.Fall-1, s.FastInter)
	}
	return []Part{
		{Name: Probe, Span: j.wait(), Why: "until the next probe: " + j.words()},
		{Name: Fall, Span: j.row(s.Fall), Why: fmt.Sprintf("%s: fall %d: %s", s.Name, s.Fall, fast)},
		{Name: Extra, Span: Span{Worst: s.Interval}, Why: "one probe more: late, lost, or still answered"},
		{Name: Timeout, Span: Span{0, s.Timeout, s.Timeout}, Why: fmt.Sprintf("%s: the last probe takes its timeout, unless it is refused at once", s.Name)},
	}
}

func (j judge) rises() []Part {
	s := j.spec
	wait, pause := j.wait(), Part{Name: Cooldown, Why: s.Name + " has none"}
	probe := Part{Name: Probe, Span: wait, Why: "until the next probe: " + j.words()}
	row := j.row(s.Rise)
	row.Expected = row.Best // passes come back soon
	if cool := s.Cooldown; cool != nil {
		longest := max(cool.Max+s.Timeout, s.Interval)
		pause.Span = Span{0, longest / 2, longest}
		pause.Why = fmt.Sprintf("%s: left alone for up to %s after a failure, unless nothing else is usable", s.Name, cool.Max)
		probe.Span, probe.Why = Span{}, "in the cooldown"
		row.Worst = max(row.Worst, s.Interval*time.Duration(s.Rise-1))
	}
	return []Part{
		probe, pause,
		{Name: Rise, Span: row, Why: fmt.Sprintf("%s: rise %d: %d more in a row", s.Name, s.Rise, s.Rise-1)},
		{Name: Extra, Span: Span{Worst: s.Interval}, Why: "one probe more: late or lost"},
		{Name: Timeout, Span: Span{Worst: s.Timeout}, Why: fmt.Sprintf("%s: a pass that is slow", s.Name)},
	}
}

func sum(parts []Part) Span { return Way{Parts: parts}.Sum() }

// option is what one judge makes of the parts.
type option struct {
	judge judge
	parts []Part
}

// options gives those of all judges, and of those that are the record set's own
// checks; of all where it has none.
func options(judges []judge, parts func(judge) []Part) (all, own []option) {
	for _, j := range judges {
		o := option{j, parts(j)}
		all = append(all, o)
		if !j.when {
			own = append(own, o)
		}
	}
	if len(own) == 0 {
		own = all
	}
	return all, own
}

// least and greatest choose among options, which there are, by one column.
func least(list []option, column func(Span) time.Duration) option {
	return slices.MinFunc(list, func(a, b option) int { return cmp.Compare(column(sum(a.parts)), column(sum(b.parts))) })
}

func greatest(list []option, column func(Span) time.Duration) option {
	return slices.MaxFunc(list, func(a, b option) int { return cmp.Compare(column(sum(a.parts)), column(sum(b.parts))) })
}

func best(s Span) time.Duration     { return s.Best }
func expected(s Span) time.Duration { return s.Expected }
func worst(s Span) time.Duration    { return s.Worst }

// merge takes each column from another option.
func merge(best, expected, worst option) []Part {
	parts := slices.Clone(worst.parts)
	for i := range parts {
		parts[i].Span = Span{best.parts[i].Best, expected.parts[i].Expected, worst.parts[i].Worst}
		var others []string
		for _, o := range []struct {
			column string
			option
		}{{"best", best}, {"expected", expected}} {
			if o.judge.spec != worst.judge.spec && o.parts[i].Why != parts[i].Why {
				others = append(others, o.column+" "+o.judge.spec.Name)
			}
		}
		if len(others) > 0 {
			parts[i].Why += "; " + strings.Join(others, ", ")
		}
	}
	return parts
}

// falling is the way from the death of an address to the verdict on it. All checks
// of a dead machine fail, and the first brings it down; where it is judged by
// nothing but a scenario that may take all of them.
func (c Config) falling(spec *steer.Spec) []Part {
	judges := c.judges(spec)
	if len(judges) == 0 {
		return nil
	}
	all, own := options(judges, judge.falls)
	usual := least(own, expected)
	if usual.judge.when {
		usual = greatest(own, expected)
	}
	parts := merge(least(all, best), usual, greatest(all, worst))
	canary := Part{Name: Canary, Why: "there is none"}
	if c.Canary > 0 {
		canary.Worst, canary.Why = c.Canary, "until the canary has passed after the last failure, at its slowest"
	}
	parts = append(parts, canary)
	if c.Mass.AtLeast == 1 {
		more := time.Duration(0)
		for _, j := range judges {
			more = max(more, j.spec.Interval*time.Duration(c.Mass.Confirm))
		}
		parts = append(parts, Part{Name: Confirm, Span: Span{Worst: more}, Why: fmt.Sprintf("guard mass holds even one address up: %d more failures", c.Mass.Confirm)})
	}
	return parts
}

// rising is the way from an address that lives again to the answer that may be
// used: all of its checks have to pass.
func (c Config) rising(spec *steer.Spec) []Part {
	judges := c.judges(spec)
	if len(judges) == 0 {
		return nil
	}
	all, own := options(judges, judge.rises)
	return append(merge(least(all, best), greatest(own, expected), greatest(all, worst)), hold(spec))
}

// hold is how long a better answer that is back has to last before it displaces a
// worse one.
func hold(spec *steer.Spec) Part {
	switch {
	case spec.Policy != steer.Priority || spec.Len() < 2:
		return Part{Name: Hold, Why: "policy " + string(spec.Policy) + " has none"}
	case spec.Failback.Manual:
		return Part{Name: Hold, Why: "failback is manual"}
	}
	return Part{Name: Hold, Span: always(spec.Failback.Hold), Why: "failback.hold, which nothing waits for while nothing else is usable"}
}
