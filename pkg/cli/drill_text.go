package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"sidestep/pkg/drill"
	"sidestep/pkg/observe"
)

// printDrill prints what came of a rehearsal. That it did not hold is an error.
func (a *app) printDrill(r *drill.Report) error {
	failed := drillFailure(r)
	if a.json {
		return errors.Join(a.printJSON(describeDrill(r)), failed)
	}
	if r.DryRun {
		a.printDrillPlan(r)
		return nil
	}
	fmt.Fprintf(a.io.Out, "drill of %s %s: %s was drained\n", r.Name.Shown(), r.Type, drained(r))
	a.printMoved("moved as well", r)
	fmt.Fprintf(a.io.Out, "looked at every %s, which is how exact the times are; a way is over when two looks in a row show it\n", r.Every)
	a.printDrillWay("way out", r.Out)
	a.printDrillWay("way back", r.Back)
	if failed == nil {
		fmt.Fprintln(a.io.Out, "\nit went out and came back, and no request was lost")
	}
	a.printNotTested(r.NotTested)
	return failed
}

func drained(r *drill.Report) string {
	if r.Site == "" {
		return r.Target
	}
	return fmt.Sprintf("site %s (%s)", r.Site, r.Value)
}

// printDrillPlan prints what would be done.
func (a *app) printDrillPlan(r *drill.Report) {
	fmt.Fprintf(a.io.Out, "drill of %s %s: %s would be drained; meanwhile it answers with %s\n", r.Name.Shown(), r.Type, drained(r), strings.Join(r.During, ", "))
	a.printMoved("would move as well", r)
	fmt.Fprintf(a.io.Out, "it would be taken back as soon as all have moved (the TTL is %s), and end by itself after %s\n", r.TTL, r.For)
	switch {
	case r.ByHand:
		fmt.Fprintf(a.io.Out, "the way back would wait for a person: sidestep approve %s\n", r.Name.Unrooted())
	case r.Hold > 0:
		fmt.Fprintf(a.io.Out, "the way back would be held back for %s (failback)\n", r.Hold)
	}
	fmt.Fprintln(a.io.Out, "nothing stands in its way; nothing was drained (--dry-run)")
	a.printNotTested(r.NotTested)
}

func (a *app) printMoved(what string, r *drill.Report) {
	for _, m := range r.Also {
		fmt.Fprintf(a.io.Out, "%s: %s %s, from %s to %s\n", what, m.Name.Shown(), m.Type, strings.Join(m.Out, ", "), strings.Join(m.Live, ", "))
	}
}

func (a *app) printDrillWay(what string, y *drill.Way) {
	if y == nil {
		return
	}
	fmt.Fprintf(a.io.Out, "\n%s, %s: %s -> %s\n", what, clockText(y.Took), strings.Join(y.From, ", "), strings.Join(y.To, ", "))
	rows := [][]string{{"CLOCK", "AFTER", "SEEN"}}
	for _, c := range y.Clocks {
		after := "-"
		if c.Moved && !c.Stood {
			after = clockText(c.After)
		}
		rows = append(rows, []string{clockWords(c), after, seenWords(c)})
	}
	a.table(rows)
	for _, w := range y.Waited {
		fmt.Fprintf(a.io.Out, "of the %s, %s were a wait: %s\n", clockText(y.Took), clockText(w.Took), w.Why)
	}
	if y.Waits() != "" {
		fmt.Fprintf(a.io.Out, "at the end it waited: %s\n", y.Waits())
	}
	if y.Requests == 0 {
		return
	}
	lost := "none failed"
	if y.Failed > 0 {
		lost = fmt.Sprintf("%d FAILED", y.Failed)
	}
	fmt.Fprintf(a.io.Out, "%s, %s\n", plural(y.Requests, "request", "requests"), lost)
	for _, f := range y.Failures {
		fmt.Fprintf(a.io.Out, "  failed after %s on a %s connection: %s\n", clockText(f.At), f.Clock, f.Why)
	}
	if more := y.Failed - len(y.Failures); more > 0 {
		fmt.Fprintf(a.io.Out, "  and %d more\n", more)
	}
}

func clockWords(c *drill.Clock) string {
	words := map[observe.Clock]string{
		drill.Written: "written by sidestep", observe.Authoritative: "authoritative", observe.Resolver: "resolver",
		observe.New: "new connection", observe.Kept: "kept connection",
	}
	return strings.TrimSpace(words[c.Clock] + " " + c.Who)
}

// seenWords is what a clock showed last, and what is remarkable about it.
func seenWords(c *drill.Clock) string {
	seen := c.Seen
	switch {
	case !c.Moved:
		seen = "NOT MOVED: " + seen
	case c.Stood:
		seen = "never left: " + seen
	}
	switch {
	case c.Let > 0:
		seen += fmt.Sprintf("; the one before stayed until it was retired, idle, after %s", clockText(c.Let))
	case c.Stays && c.Ended == "":
		seen += "; that answers still, so it stays"
	case c.Ended != "":
		seen += "; the one before " + c.Ended
	}
	if c.Back > 0 {
		seen += fmt.Sprintf("; it fell back %s", plural(c.Back, "time", "times"))
	}
	return seen
}

// drillFailure is why a rehearsal did not hold; nil when it did.
func drillFailure(r *drill.Report) error {
	if r.Held() {
		return nil
	}
	var why []string
	if r.Stopped != "" {
		why = append(why, r.Stopped)
	}
	for _, y := range []*drill.Way{r.Out, r.Back} {
		if y == nil {
			continue
		}
		if missing := notMoved(y); len(missing) > 0 && (r.Stopped == "" || y == r.Back) {
			why = append(why, fmt.Sprintf("on the way %s these did not move within %s: %s", y.Direction, y.Took.Round(time.Second), strings.Join(missing, ", ")))
		}
		if y.Failed > 0 {
			why = append(why, fmt.Sprintf("on the way %s %s failed", y.Direction, plural(y.Failed, "request", "requests")))
		}
	}
	if r.Left != "" {
		why = append(why, r.Left)
	} else {
		why = append(why, "the drain was taken back")
	}
	if r.Still != "" {
		why = append(why, r.Still)
	}
	if r.Next != "" {
		why = append(why, fmt.Sprintf("a guard keeps %s out; to bring it back now: %s", r.Value, r.Next))
	}
	return fmt.Errorf("drill %s: %s", r.Name.Unrooted(), strings.Join(why, "; "))
}

func notMoved(y *drill.Way) []string {
	var list []string
	for _, c := range y.Clocks {
		if !c.Moved {
			list = append(list, clockWords(c))
		}
	}
	return list
}
