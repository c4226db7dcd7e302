package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
	"sidestep/pkg/override"
)

// historyFlags are the filters as they were typed.
type historyFlags struct {
	since, until string
	kinds        []string
	request      control.HistoryRequest
}

func (a *app) historyCommand() *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Show what happened, from the journal",
		Long: `Show what happened, from the journal.

One line an event, the newest last: verdicts, operators' words, what somebody
else changed, writes and whether they were verified, who led, what a guard
stopped, which config came into force. It asks the daemon on this machine; where
none runs it reads the journal in the state directory. It changes nothing.

Filters are ANDed. TIME is a duration (2h, 1d: so long ago) or a time by this
machine's clock: 03:10 (the last one), 2026-01-02, "2026-01-02 22:00", or with
its zone 2026-01-02T22:00:00Z. Since is inside, until is outside.

--target is a site, an address, CHECK@ADDRESS, a scenario or a record set: what
was seen of it and said of it, and the writes that moved it. --name is a record
set: its writes, refusals and overrides, and what was seen of the targets and
sites that it rests on. --zone is what was written to a zone, verified, led and
stopped there.

Kinds of events:
  verdict   a target turned: up, down, suspected, unknown
  override  an operator's word was set, began, ended, was cleared
  plan      somebody else changed the zone
  write     one change at the provider, or one that it refused
  verify    what the zone's name servers said after a write
  leader    a node won or lost the lead, or nobody led
  guard     a limit stopped a change; a person approved
  config    a config came into force, or was refused
  site      the state of a site changed, or it waits
  vantage   what one of several vantages said, or that it is silent

The journal is kept up to 16 MiB and once as much before that. A line in it that
cannot be read is left out and counted on stderr.

With --json, one object a line: at, kind, and by kind:
  verdict   target, address, from, to, phase, cause, detail
  write     zone, name, type, variant, value, action, and where there is one:
            replaces, weight, reason, error, took_ms
  override, guard, plan, site, vantage: target, detail, by, guard, override, ...
  verify    zone, verified, detail, servers
  leader    node, what, zone, holder, detail
  config    node, what (started, reloaded, refused), file, detail

Exit codes: 0 it could be read, also when nothing was picked, 1 other failure,
2 usage or config.`,
		Example: `  sidestep history --last 20
  sidestep history --since 2h --name www.example.com
  sidestep history --since 03:00 --until 03:30 --kind verdict,write
  sidestep history --target 203.0.113.10 --json | jq -r '.at + " " + .kind'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(cmd, time.Now()); err != nil {
				return err
			}
			return a.history(cmd.Context(), f.request)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "", "only events from this `TIME` on, or from so long ago on")
	flags.StringVar(&f.until, "until", "", "only events before this `TIME`")
	flags.StringSliceVar(&f.kinds, "kind", nil, "only events of this `KIND`; may be given again, or several after commas")
	flags.StringVar(&f.request.Target, "target", "", "only events about this `TARGET`")
	flags.StringVar(&f.request.Name, "name", "", "only events about this record set `NAME` and what it rests on")
	flags.StringVar(&f.request.Zone, "zone", "", "only events of this `ZONE`")
	flags.IntVar(&f.request.Last, "last", 0, "only the newest `N` of them")
	complete(cmd, "kind", control.HistoryKinds)
	complete(cmd, "name", a.recordNames)
	complete(cmd, "zone", a.zoneNames)
	complete(cmd, "target", func() []string { return a.overrideTargets("") })
	a.addJSON(cmd)
	return cmd
}

// read makes a request of what was typed. Kinds and names are judged by who knows
// them.
func (f *historyFlags) read(cmd *cobra.Command, now time.Time) error {
	for flag, part := range map[string]struct {
		text string
		at   *time.Time
	}{"since": {f.since, &f.request.Since}, "until": {f.until, &f.request.Until}} {
		if !cmd.Flags().Changed(flag) {
			continue
		}
		at, err := pastTime(part.text, now)
		if err != nil {
			return misused(cmd, "--%s: %w", flag, err)
		}
		*part.at = at
	}
	if cmd.Flags().Changed("last") && f.request.Last < 1 {
		return misused(cmd, "--last: expected a whole number above 0, got %d", f.request.Last)
	}
	for _, kind := range f.kinds {
		f.request.Kinds = append(f.request.Kinds, strings.ToLower(strings.TrimSpace(kind)))
	}
	return nil
}

// pastTime reads a moment before now: a duration that long ago, a day, or a time as
// overrides have it, of which a time of day is the last one that was.
func pastTime(text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now, nil
	}
	if ago, err := override.ParseFor(text); err == nil && ago > 0 {
		return now.Add(-ago), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return day, nil
	}
	at, err := override.ParseAt(text, now)
	if err != nil {
		return time.Time{}, fmt.Errorf("expected a duration such as 30m, 4h or 2d, or a time such as 22:00, 2026-01-02, \"2026-01-02 22:00\" or 2026-01-02T22:00:00Z, got %q", text)
	}
	if len(text) <= len("15:04:05") && at.After(now) { // a time of day
		at = at.AddDate(0, 0, -1)
	}
	return at, nil
}

func (a *app) history(ctx context.Context, request control.HistoryRequest) error {
	client, err := a.dial(ctx)
	var answer control.History
	switch {
	case err == nil:
		answer, err = client.History(ctx, request)
	case errors.Is(err, control.ErrNoDaemon):
		answer, err = a.historySaved(ctx, request)
	}
	if err != nil {
		return orInterrupted(ctx, err, "the journal was not read to its end")
	}
	if answer.Damaged > 0 {
		fmt.Fprintf(a.io.Err, "warning: %s of the journal cannot be read and %s left out\n",
			plural(answer.Damaged, "line", "lines"), map[bool]string{true: "is", false: "are"}[answer.Damaged == 1])
	}
	if a.json {
		err = a.printEvents(answer.Events)
	} else {
		a.printHistory(answer)
	}
	if err == nil && answer.Error != "" {
		err = fmt.Errorf("the journal was not read to its end: %s", answer.Error)
	}
	return err
}

// historySaved needs no secret: nobody is asked.
func (a *app) historySaved(ctx context.Context, request control.HistoryRequest) (control.History, error) {
	cfg, _, err := a.withoutSecrets()
	if err != nil {
		return control.History{}, err
	}
	return daemon.HistorySaved(ctx, cfg, request)
}

// printEvents prints them as they are, one a line.
func (a *app) printEvents(events []json.RawMessage) error {
	for _, event := range events {
		if _, err := fmt.Fprintf(a.io.Out, "%s\n", event); err != nil {
			return fmt.Errorf("print the answer: %w", err)
		}
	}
	if len(events) == 0 {
		fmt.Fprintln(a.io.Err, "no event was picked")
	}
	return nil
}
