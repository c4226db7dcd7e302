package plan

import (
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/record"
)

// String renders the plan for people.
func (p Plan) String() string { return strings.Join(p.Lines(), "\n") + "\n" }

// Lines is the plan for people: a heading, a line for each change, one for each
// refusal of a guard, one for each record set of which nothing is usable, one for
// each value that could not be paused, one for what waits for a person, and one for
// each value that is steered no longer.
func (p Plan) Lines() []string {
	if p.InSync() {
		return append([]string{fmt.Sprintf("zone %s: in sync, nothing to change", p.Zone.Shown())}, p.rest()...)
	}
	changes := p.Changes()
	lines := []string{fmt.Sprintf("zone %s: %d to change, plan %s", p.Zone.Shown(), len(changes), p.Checksum())}
	for _, c := range changes {
		lines = append(lines, "  "+c.String())
	}
	for _, b := range p.Blocked {
		lines = append(lines, "  "+b.String())
	}
	return append(lines, p.rest()...)
}

// rest is what a plan shows and does not change: where nothing is usable, what
// could not be paused, what waits for a person, and what is steered no longer.
func (p Plan) rest() []string {
	lines := slices.Concat(p.allDown(), p.stuck(), p.waits())
	for _, l := range p.Left {
		lines = append(lines, "  "+l.String())
	}
	return lines
}

// allDown is a line for each record set of which nothing is usable: in sync does
// not mean that all is well.
func (p Plan) allDown() []string {
	var lines []string
	for _, s := range p.Sets {
		if s.Wanted.AllDown {
			lines = append(lines, fmt.Sprintf("  %s: %s", s.Key(), s.Wanted.Reason))
		}
	}
	return lines
}

// stuck is a line for each value that a failover could not take out.
func (p Plan) stuck() []string {
	var lines []string
	for _, s := range p.Sets {
		for _, a := range s.Seen.Answers {
			if a.Live && a.Stuck != "" && s.Wanted.Spec.Names(a.Value) {
				lines = append(lines, fmt.Sprintf("  warning: %s %s cannot be paused: %s", s.Key().Shown(), a.Value, a.Stuck))
			}
		}
	}
	return lines
}

// waits is a line for each record set that does not change before a person says
// so.
func (p Plan) waits() []string {
	var lines []string
	for _, s := range p.Sets {
		if s.Wanted.Waiting != "" {
			lines = append(lines, fmt.Sprintf("  %s waits for you: %s; if that is meant: sidestep approve %s", s.Key().Shown(), s.Wanted.Waiting, s.Key().Name.Unrooted()))
		}
	}
	return lines
}

// String is one line: sign, name, type, action, value, guard, reason.
func (c Change) String() string {
	text := fmt.Sprintf("%s %s %s %s", sign(c.Action), c.Key.Shown(), c.Action, c.Value)
	if c.Weight > 0 && c.Action == record.Create {
		text += fmt.Sprintf(" with weight %d", c.Weight)
	}
	if c.Guard != "" {
		text += " [stopped by guard " + c.Guard + "]"
	}
	if c.Reason != "" {
		text += "  (" + c.Reason + ")"
	}
	return text
}

func sign(a record.Action) string {
	switch {
	case a.Add():
		return "+"
	case a == record.Pause:
		return "-"
	}
	return "~"
}

// String is one line: the guard, and why it refuses.
func (b Blocked) String() string { return "blocked by guard " + b.Guard + ": " + b.Detail }

// String is one line: what is left, and how to bring it back.
func (l Left) String() string {
	return fmt.Sprintf("no longer steered: %s %s is paused by sidestep and stays so; name it in the config again to bring it back", l.Key.Shown(), l.Value)
}
