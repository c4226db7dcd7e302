package cli

import (
	"fmt"
	"strings"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/record"
)

// printOverruled says what was said and what comes of it.
func (a *app) printOverruled(o control.Overruled) error {
	a.exit = o.Exit
	if a.json {
		return a.printJSON(o)
	}
	if o.Idle != "" {
		fmt.Fprintln(a.io.Out, o.Idle)
		if o.Here != "" {
			fmt.Fprintln(a.io.Out, o.Here)
		}
		return nil
	}
	now := time.Now()
	if o.Noted != "" {
		fmt.Fprintln(a.io.Out, o.Noted)
	}
	a.printWord(o, now)
	a.printForeseen(o, now)
	if o.Here != "" {
		fmt.Fprintln(a.io.Out, o.Here)
	}
	switch {
	case o.DryRun:
		fmt.Fprintln(a.io.Out, "nothing was kept (--dry-run)")
	case o.Leader != "" && o.Here == "" && o.Noted == "":
		fmt.Fprintf(a.io.Out, "%s leads and acts on it\n", o.Leader)
	case !o.Daemon && o.Leader == "":
		fmt.Fprintln(a.io.Out, "no daemon runs here, and nothing is written before the next run or reconcile; to write it now: sidestep reconcile")
	}
	return nil
}

// printForeseen says what becomes of each record set. Of many that stay as they
// are, or of which that is not known, it says only how many.
func (a *app) printForeseen(o control.Overruled, now time.Time) {
	const most = 5
	alike := map[string]int{}
	for _, r := range o.Records {
		why := ""
		switch {
		case !r.Known:
			why = "of which it is not known"
		case moves(r) == "" && len(r.Stays) == 0:
			why = "that stay as they are"
		}
		if alike[why]++; why != "" && alike[why] > most {
			continue
		}
		for _, line := range foreseenLines(r, o, now) {
			fmt.Fprintf(a.io.Out, "%s %s: %s\n", record.Name(r.Name).Shown(), typeWords(r.Type, r.Variant), line)
		}
	}
	for _, why := range []string{"of which it is not known", "that stay as they are"} {
		if more := alike[why] - most; more > 0 {
			fmt.Fprintf(a.io.Out, "and %s more %s\n", plural(more, "record set", "record sets"), why)
		}
	}
}

func (a *app) printWord(o control.Overruled, now time.Time) {
	if o.Override == nil {
		for _, r := range o.Replaced {
			fmt.Fprintf(a.io.Out, "cleared: %s\n", overrideWords(r, now))
		}
		if o.Left != "" {
			fmt.Fprintf(a.io.Out, "not cleared: %s\n", o.Left)
		}
		return
	}
	replaced := ""
	if len(o.Replaced) > 0 {
		replaced = "; it takes the place of the one " + endWords(o.Replaced[0], now)
	}
	fmt.Fprintf(a.io.Out, "%s%s\n", overrideWords(*o.Override, now), replaced)
}

// overrideWords is an override in one line: "drain 203.0.113.10 until 14:00
// (in 2h): new kernel".
func overrideWords(o control.Override, now time.Time) string {
	value, from := "", ""
	if o.Value != "" {
		value = " to " + o.Value
	}
	if o.From.After(now) {
		from = " from " + timeWords(o.From, now)
	}
	return fmt.Sprintf("%s %s%s%s %s: %s", o.Kind, strings.TrimSuffix(o.Target, "."), value, from, endWords(o, now), o.Reason)
}

func endWords(o control.Override, now time.Time) string {
	if o.Until == nil {
		return "forever"
	}
	return "until " + timeWords(*o.Until, now)
}

// timeWords is a time by this machine's clock, with its day when that is another.
func timeWords(at, now time.Time) string {
	return dayTime(at.Local(), now.Local())
}

// foreseenLines say what becomes of a record set.
func foreseenLines(r control.Foreseen, o control.Overruled, now time.Time) []string {
	if !r.Known {
		return troubled(r, "what happens is not known yet, because what it answers with or what the probes see is not; look: sidestep plan")
	}
	var lines []string
	when := "now"
	if o.Override != nil && o.Override.From.After(now) {
		when = "then, as things are now"
	}
	for _, s := range r.Stays {
		lines = append(lines, fmt.Sprintf("%s cannot go out %s: %s; %s", s.Value, when, s.Reason, goesWhen(r, s)))
	}
	if what := movesWhen(r, o, now); what != "" {
		lines = append(lines, troubled(r, fmt.Sprintf("%s; %s live then", what, plural(len(r.Live), "answer is", "answers are")))...)
	} else if len(r.Stays) == 0 {
		lines = append(lines, unchanged(r))
	}
	if r.Waits != nil {
		lines = append(lines, waitWords(r.Waits, now))
	}
	if len(r.Down) > 0 {
		lines = append(lines, "WARNING: down by its probes, and taken for usable until that word ends: "+strings.Join(r.Down, ", "))
	}
	for _, b := range r.Blocked {
		lines = append(lines, fmt.Sprintf("not before guard %s lets it: %s", b.Guard, b.Detail))
	}
	return lines
}

// unchanged says what a record set goes on answering with, by a list that may be
// out of date.
func unchanged(r control.Foreseen) string {
	live := orElse(strings.Join(r.Live, ", "), "nothing") + " (" + r.Reason + ")"
	if r.Error == "" {
		return "nothing changes: it answers with " + live
	}
	return "nothing changes by the last list, and that may be out of date: it answered with " + live + "; " + zoneWords(r.Zone, r.Error)
}

// goesWhen is what holds an answer that cannot go out, and until when.
func goesWhen(r control.Foreseen, s control.Stay) string {
	if s.Pinned {
		return "the pin holds it, and it goes out once that ends: sidestep override clear " + record.Name(r.Name).Unrooted() + " --kind pin"
	}
	return "it goes out as soon as another can take its place"
}

// troubled adds to a line that its zone cannot be written now.
func troubled(r control.Foreseen, line string) []string {
	if r.Error == "" {
		return []string{line}
	}
	return []string{line, "not before its zone can be written again, which is tried until it can; now it cannot: " + zoneWords(r.Zone, r.Error)}
}

func moves(r control.Foreseen) string {
	var parts []string
	for _, m := range []struct {
		values []string
		one    string
		more   string
	}{{r.Out, "goes out", "go out"}, {r.In, "comes in", "come in"}} {
		switch len(m.values) {
		case 0:
		case 1:
			parts = append(parts, m.values[0]+" "+m.one)
		default:
			parts = append(parts, strings.Join(m.values, ", ")+" "+m.more)
		}
	}
	return strings.Join(parts, ", ")
}

// movesWhen says what moves and when. What goes out may have to wait for longer than
// what comes in.
func movesWhen(r control.Foreseen, o control.Overruled, now time.Time) string {
	if moves(r) == "" {
		return ""
	}
	if r.Noted != "" || r.Waits == nil || len(r.In) == 0 || !r.At.Before(r.Waits.Until) {
		return moves(r) + " " + whenWords(r, o, now)
	}
	in, out := r, r
	in.Out, out.In = nil, nil
	return fmt.Sprintf("%s %s, %s at %s", moves(in), whenWords(r, o, now), moves(out), timeWords(r.Waits.Until, now))
}

// whenWords is when it is written: by the clock with a daemon.
func whenWords(r control.Foreseen, o control.Overruled, now time.Time) string {
	switch {
	case len(r.Blocked) > 0, r.Error != "", r.Noted != "":
		return "when it may"
	case !o.Daemon && o.Override != nil && o.Override.From.After(now):
		return "from " + timeWords(o.Override.From, now)
	case !o.Daemon && o.Leader != "":
		return "when " + o.Leader + " writes it"
	case !o.Daemon:
		return "with the next reconcile"
	}
	return "at " + timeWords(*r.At, now)
}

// printOverrides lists overrides, those that go before the others first.
func (a *app) printOverrides(o control.Overrides, now time.Time) {
	if !o.Daemon {
		fmt.Fprintln(a.io.Err, "no daemon runs here, "+savedWords(o, now))
	}
	if len(o.Overrides) == 0 && o.Unshared != "" {
		fmt.Fprintln(a.io.Out, "no overrides are known here")
		return
	}
	if len(o.Overrides) == 0 {
		fmt.Fprintln(a.io.Out, "there are no overrides")
		return
	}
	a.overrideTable(o.Overrides, now)
}

// savedWords says where a list comes from that no daemon gave.
func savedWords(o control.Overrides, now time.Time) string {
	saved := "and none saved anything"
	if o.SavedAt != nil {
		saved = "and this was saved " + since(now, *o.SavedAt) + " ago"
	}
	switch {
	case o.Shared:
		return "and this is what the nodes share"
	case o.Unshared != "":
		return saved + "; what persons said at the other nodes is not known here: " + o.Unshared
	}
	return saved
}

func overrideState(o control.Override) string {
	if o.Detail != "" {
		return o.State + ": " + o.Detail
	}
	return o.State
}

// overrideTable is a table of overrides, and below it what keeps some of them from
// doing all that they say: a line each, as it may be long.
func (a *app) overrideTable(overrides []control.Override, now time.Time) {
	rows := [][]string{{"OVERRIDE", "TARGET", "VALUE", "STATE", "BY", "FROM", "UNTIL", "REASON"}}
	var details []string
	for _, o := range overrides {
		until := "forever"
		if o.Until != nil {
			until = timeWords(*o.Until, now)
		}
		target := strings.TrimSuffix(o.Target, ".")
		rows = append(rows, []string{o.Kind, target, o.Value, o.State, o.By, timeWords(o.From, now), until, o.Reason})
		if o.Detail != "" {
			details = append(details, fmt.Sprintf("  %s %s: %s", o.Kind, target, o.Detail))
		}
	}
	a.table(rows)
	for _, detail := range details {
		fmt.Fprintln(a.io.Out, detail)
	}
}
