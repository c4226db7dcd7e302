package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/control"
	"sidestep/pkg/record"
)

func (a *app) statusCommand() *cobra.Command {
	var watched bool
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show what is up, what the names answer with, and who writes",
		Long: `Show what is up, what the names answer with, and who writes.

It asks the daemon on this machine. NAME shows one name and what it rests on:
targets, sites with the state of each signal, and scenarios with each term.

The state of a site is the first of these that is so: maintenance, no-internet,
no-access, no-wan, no-lan (that signal of it is false), no-NAME of its other
signals by name, unknown (none is false, and one is not known), ok. It takes no
answer out but by a scenario that asks for it, named in the answer's when;
maintenance takes out all answers that name the site.

Of a target that several vantages judge, VERDICT is what their words come to,
and LAST begins with who says what, and who is silent for how long.

With --watch it goes on until Ctrl-C: the daemon's events say when something is
another, and it is shown at once; ages and counters every few seconds. A
terminal is redrawn in place, as many lines as fit, and is left as it was. If
stdout is anything else, each change prints the whole anew, below a line with
the time, or with --json one object on a line of its own; counters, ages, lists
and probes that say the same again are no change. When the daemon goes away that
is said, on a terminal above the last that is known, else on stderr, and it goes
on as soon as one answers again.

Exit codes: 0 the daemon answered, whatever it said, 1 no daemon runs here, or
none did when --watch was ended, or another failure, 2 usage or config, or no
such NAME.`,
		Example: `  sidestep status
  sidestep status www.example.com
  sidestep status --watch
  sidestep status --json | jq '.targets[] | select(.verdict == "down")'`,
		Args: arguments(0, 1, "one NAME at most"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.recordNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.status(cmd.Context(), strings.Join(args, ""), watched)
		},
	}
	cmd.Flags().BoolVar(&watched, "watch", false, "go on until Ctrl-C, and show each change as it comes")
	a.addJSON(cmd)
	return cmd
}

func (a *app) status(ctx context.Context, name string, watched bool) error {
	client, err := a.dial(ctx)
	if errors.Is(err, control.ErrNoDaemon) {
		if _, _, loadErr := a.withoutSecrets(); loadErr != nil {
			return loadErr
		}
		return fmt.Errorf("%w; start it: sidestep run, or look without it: sidestep check, sidestep plan, sidestep override list", err)
	}
	if err != nil {
		return err
	}
	status, err := client.Status(ctx, name)
	if err != nil {
		return orInterrupted(ctx, err, "the daemon had not answered")
	}
	switch {
	case watched:
		return a.watch(ctx, client, name, status)
	case a.json:
		return a.printJSON(status)
	}
	a.printStatus(status, time.Now())
	return nil
}

func (a *app) printStatus(s control.Status, now time.Time) {
	fmt.Fprintf(a.io.Out, "node %s, %s\n", s.Node, leaderWords(s.Leader, now))
	for _, n := range s.Notices {
		fmt.Fprintf(a.io.Out, "notice: %s\n", strings.ReplaceAll(n, "\n", "\n  "))
	}
	fmt.Fprintf(a.io.Out, "config %s, in force for %s\n", s.Config.File, since(now, s.Config.Loaded))
	fmt.Fprintf(a.io.Out, "probes %s\n", probeWords(s.Schedule))
	if s.Canary != nil {
		fmt.Fprintln(a.io.Out, canaryLine(*s.Canary, now))
	}
	if len(s.Nodes) > 0 {
		fmt.Fprintln(a.io.Out)
		a.table(nodeRows(s.Nodes, now))
	}
	if len(s.Overrides) > 0 {
		fmt.Fprintln(a.io.Out)
		a.overrideTable(s.Overrides, now)
	}
	a.printZones(s.Zones, s.Leader, now)
	a.printRecords(s.Records, now)
	a.printSites(s.Sites, s.Scenarios)
	a.printTargets(s.Targets, now)
	a.printWrites(s.Writes, now)
}

// canaryLine says whether this node sees the world, and by whose word.
func canaryLine(c control.Canary, now time.Time) string {
	text := "canary: " + map[string]string{"pass": "passes", "fail": "fails", "unknown": "not probed often enough yet"}[c.State]
	if c.Since != nil {
		text += " for " + since(now, *c.Since)
	}
	if len(c.Targets) == 0 {
		return text
	}
	text += fmt.Sprintf(", %d of %d answered, %d needed", c.Answered, len(c.Targets), c.Need)
	for _, t := range c.Targets {
		if t.Result != "pass" {
			text += fmt.Sprintf("; %s %s/%s %s", t.Target, t.Phase, t.Cause, t.Detail)
		}
	}
	return strings.TrimSpace(text)
}

// startsWithin is how long nobody need to lead while nodes start and end.
const startsWithin = 10 * time.Second

func leaderWords(l control.Leader, now time.Time) string {
	switch l.State {
	case "leader":
		text := "leader"
		if l.Until != nil {
			text += ", renewed all the time; should that stop, only until " + timeWords(*l.Until, now)
		}
		return text
	case "none":
		text := "not the leader"
		if l.Since != nil && now.Sub(*l.Since) >= startsWithin {
			text += fmt.Sprintf(", and for %s nobody is known to be", since(now, *l.Since))
		}
		return text + ": " + l.Detail
	case "two-writers":
		return l.State + ": " + strings.Replace(l.Detail, "two writers: ", "", 1)
	}
	return l.State + ": " + l.Detail
}

// probeWords says how punctual the probes are.
func probeWords(s control.Schedule) string {
	text := fmt.Sprintf("%s, %d in flight, at most %.0f ms late", plural(s.Targets, "target", "targets"), s.InFlight, math.Ceil(s.LagMS))
	if s.Late > 0 {
		text += fmt.Sprintf("; %d began more than an interval late", s.Late)
	}
	if s.Gaps > 0 {
		text += fmt.Sprintf("; this process stood still %s", plural(int(s.Gaps), "time", "times"))
	}
	return text
}

// printZones shows the zones. Of one that this node does not lead it says how old
// the list is: what the leader writes is not in it before the next.
func (a *app) printZones(zones []control.Zone, leader control.Leader, now time.Time) {
	rows := [][]string{{"ZONE", "PROVIDER", "PAUSE", "WRITES", "STATE"}}
	for _, z := range zones {
		state := "listed"
		switch {
		case z.Error != "":
			state = "in trouble" // in words below: they would make the table as wide as they are
		case !z.Listed:
			state = "not listed yet"
		case z.ListedAt != nil && (z.WrittenAt != nil || !leads(z.Leader, leader)):
			state = listWords(z.ListedAt, z.WrittenAt, now)
		}
		if z.OpenCalls > 0 {
			state += ", " + plural(z.OpenCalls, "open call", "open calls")
		}
		if z.Waits != nil {
			state += ", " + waitWords(z.Waits, now)
		}
		if z.Leader != nil && z.Leader.Holder != "" {
			state += ", led by " + z.Leader.Holder
		}
		rows = append(rows, []string{z.Zone, z.Provider, z.Pause, writeWords(z), state})
	}
	fmt.Fprintln(a.io.Out)
	a.table(rows)
	for _, z := range zones {
		if z.Error != "" {
			fmt.Fprintln(a.io.Out, zoneWords(z.Zone, z.Error))
		}
		if z.Checked != nil && !z.Checked.Verified {
			fmt.Fprintf(a.io.Out, "%s the last write is not verified, as asked %s ago: %s\n", z.Zone, since(now, z.Checked.At), z.Checked.Detail)
			if until := z.Checked.AskedUntil; until != nil {
				fmt.Fprintf(a.io.Out, "%s who lags is asked on until %s; no write waits for that\n", z.Zone, timeWords(*until, now))
			}
		}
		for _, l := range z.Left {
			fmt.Fprintln(a.io.Out, l.Text)
		}
	}
}

// leads reports whether this node leads a zone: by the zone's own lease, if it has
// one, else by that of the process.
func leads(zone *control.Leader, process control.Leader) bool {
	if zone != nil {
		process = *zone
	}
	return process.State == "leader"
}

// waitWords is until when is waited, and for what.
func waitWords(w *control.Wait, now time.Time) string {
	return fmt.Sprintf("waits until %s (%s): %s", timeWords(w.Until, now), max(w.Until.Sub(now), 0).Round(time.Second), w.Why)
}

// listWords is how old the list is that all is told from. After a write it is another
// that is awaited: right after a take-over the last one may be minutes old.
func listWords(listed, written *time.Time, now time.Time) string {
	text := "as listed " + timeWords(*listed, now)
	switch {
	case written == nil:
		return text
	case listed.Before(*written):
		return fmt.Sprintf("%s, before the write at %s", text, timeWords(*written, now))
	}
	return fmt.Sprintf("%s, too soon to show the write at %s for certain", text, timeWords(*written, now))
}

func writeWords(z control.Zone) string {
	words := []string{}
	if z.Atomic {
		words = append(words, "atomic")
	}
	if z.Fenced {
		words = append(words, "fenced")
	}
	if len(words) == 0 {
		return "one by one"
	}
	return strings.Join(words, ", ")
}

func (a *app) printRecords(records []control.Record, now time.Time) {
	for _, r := range records {
		fmt.Fprintf(a.io.Out, "\n%s %s  %s\n", record.Name(r.Name).Shown(), typeWords(r.Type, r.Variant), r.Reason)
		rows := [][]string{}
		for _, answer := range r.Answers {
			rows = append(rows, []string{"  " + answer.Value + roleWords(answer), answer.State, answer.Verdict, answer.Reason})
		}
		a.table(rows)
		for _, c := range r.Pending {
			fmt.Fprintf(a.io.Out, "  to be written: %s %s  (%s)\n", c.Action, c.Value, c.Reason)
		}
		if r.HoldEnds != nil {
			fmt.Fprintf(a.io.Out, "  a failback is held back until %s (in %s)\n", timeWords(*r.HoldEnds, now), max(r.HoldEnds.Sub(now), 0).Round(time.Second))
		}
		if r.Waiting != "" {
			fmt.Fprintf(a.io.Out, "  waits for you: %s; sidestep approve %s\n", r.Waiting, strings.TrimSuffix(r.Name, "."))
		}
		if len(r.Foreign) > 0 {
			fmt.Fprintf(a.io.Out, "  foreign, left alone: %s\n", strings.Join(r.Foreign, ", "))
		}
		if len(r.Held) > 0 {
			fmt.Fprintf(a.io.Out, "  held by somebody else: %s\n", strings.Join(r.Held, ", "))
		}
		for _, b := range r.Blocked {
			fmt.Fprintf(a.io.Out, "  blocked by guard %s: %s\n", b.Guard, b.Detail)
		}
	}
}

// typeWords is a type with the variant of a record set, where it is one.
func typeWords(kind, variant string) string {
	if variant == "" {
		return kind
	}
	return kind + " [" + variant + "]"
}

// roleWords is an answer's part in its record set, in brackets; empty where all
// answers are alike.
func roleWords(a control.Answer) string {
	var words []string
	if a.Rank > 0 {
		words = append(words, fmt.Sprintf("#%d", a.Rank))
	}
	if a.Mode != "" {
		words = append(words, a.Mode)
	}
	if a.Weight != nil {
		words = append(words, fmt.Sprintf("weight %d", *a.Weight))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

func (a *app) printTargets(targets []control.Target, now time.Time) {
	rows := [][]string{{"TARGET", "VERDICT", "FOR", "IN A ROW", "LAST"}}
	for _, t := range targets {
		row := plural(t.Passes, "pass", "passes")
		if t.Fails > 0 {
			row = plural(t.Fails, "failure", "failures")
		}
		last := t.Detail
		if t.Phase != "" {
			last = strings.TrimSpace(t.Phase + "/" + t.Cause + " " + last)
		}
		if t.Waiting == "canary" {
			last = "waits for the canary: " + last
		}
		last = strings.TrimSuffix(cooldownWords(t, now)+last, "; ")
		verdict, at := t.Verdict, t.Since
		if c := t.Counted; c != nil {
			verdict, at = c.Verdict, c.Since
			last = strings.TrimSuffix(c.Detail+hereWords(t)+"; "+last, "; ")
		}
		rows = append(rows, []string{t.ID, verdict, since(now, at), row, last})
	}
	fmt.Fprintln(a.io.Out)
	a.table(rows)
}

// hereWords are what this node says of a target that vantages judge, where that is
// something else than what counts, or counts for nothing.
func hereWords(t control.Target) string {
	if t.Verdict == t.Counted.Verdict || t.Verdict == "unknown" {
		return ""
	}
	return "; here " + t.Verdict
}

// cooldownWords say why nothing is sent to a target, in front of what it did
// last; they are empty while it is probed.
func cooldownWords(t control.Target, now time.Time) string {
	switch c := t.Cooldown; {
	case c.State == "cooling" && c.Until != nil:
		return "left alone until " + timeWords(*c.Until, now) + "; "
	case c.State == "disabled":
		return "disabled until: sidestep approve " + t.Address + "; "
	}
	return ""
}

func (a *app) printWrites(writes []control.Write, now time.Time) {
	if len(writes) == 0 {
		return
	}
	rows := [][]string{{"WRITTEN", "NAME", "ACTION", "VALUE", "OUTCOME"}}
	for _, w := range writes {
		outcome := "done"
		if w.Error != "" {
			outcome = shortened(w.Error)
		}
		rows = append(rows, []string{since(now, w.At) + " ago", w.Name + " " + typeWords(w.Type, w.Variant), w.Action, w.Value, outcome})
	}
	fmt.Fprintln(a.io.Out)
	a.table(rows)
}

// widest is how many letters of an error a table shows.
const widest = 60

// shortened is the beginning of an error, where the whole of it would widen a table;
// explain and history have that.
func shortened(text string) string {
	letters := []rune(text)
	if len(letters) <= widest {
		return text
	}
	return string(letters[:widest-1]) + "…"
}

// since is an age with no more digits than people read.
func since(now, at time.Time) string {
	age := max(now.Sub(at), 0)
	switch {
	case age < time.Minute:
		return age.Round(time.Second).String()
	case age < 24*time.Hour:
		return strings.TrimSuffix(age.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd", int(age/(24*time.Hour)))
}
