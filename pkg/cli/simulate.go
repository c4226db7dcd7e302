package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/simulate"
)

func (a *app) simulateCommand() *cobra.Command {
	var end string
	cmd := &cobra.Command{
		Use:   "simulate TIMELINE",
		Short: "Rehearse what would be written, event by event, in virtual time",
		Long: `Rehearse what would be written, event by event, in virtual time.

TIMELINE is a file (- is stdin) with one event a line, in the order of time, and
comments that begin with #:

  TIME up|down|unknown TARGET [PHASE/CAUSE] [from VANTAGE]
                               what probes of TARGET find from then on, at every
                               node, or at that of one vantage
  TIME drain|undrain|freeze|unfreeze|approve|override set|override clear ...
                               as on the command line; --at may be a TIME
  TIME provider fail|ok ZONE   calls to the zone's provider fail, or work again
  TIME canary fail|ok          no target of the canary answers, or all do
  TIME restart [DOWNTIME]      the daemon ends, and one begins after DOWNTIME
  TIME lease lost|won          this node may not write, or may again
  TIME vantage silent|back NAME
                               the node of another vantage is not heard, or is
                               again; after 30s its word counts as unknown

TIME is a duration from the start: 90s, 1h30m, or a number of seconds. TARGET is
an address, CHECK@ADDRESS or SITE.SIGNAL. PHASE/CAUSE is where and why it fails,
as check and status show it: connect/timeout unless it is given.

The run begins settled: all targets up for long, the zones as reconcile would
leave them, every other value of the config parked, nothing waiting for a first
yes. Time is exact: targets are probed at 0 and at every multiple of their
interval, and the result is there at once. At one moment the events come first,
in the order of the file, then ends of overrides, probes, and writes. The wall
clock of the run begins at 2000-01-01T00:00:00Z.

The answer is one line for each record set that a plan changed, at the moment of
the write. On stderr stands what the names answer with at the start, what a
guard refuses, an override that ends, what waits for a person, what a provider
did not take, and what the run ended before. Nothing is opened but the config
and the timeline, and no secret is read; a provider that this version does not
have may be named.

With --json one object a line, with names that stay:

  at (from the start, such as 1m21s), name, type, variant, live, paused,
  weights: by value, reason

Exit codes: 0 the timeline was played, 1 interrupted or another failure,
2 usage, config or timeline.`,
		Example: `  sidestep simulate timeline.txt --config config.yaml
  sidestep simulate timeline.txt --until 24h --json | jq -r .at
  echo "1m down 203.0.113.10" | sidestep simulate -`,
		Args: arguments(1, 1, "one TIMELINE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			until := byDefault
			if cmd.Flags().Changed("until") {
				var err error
				if until, err = simulate.ParseTime(end); err != nil {
					return misused(cmd, "--until: %w", err)
				}
			}
			return a.simulate(cmd.Context(), args[0], until)
		},
	}
	cmd.Flags().StringVar(&end, "until", "", "end the run this `TIME` after its start (default one hour after the last event)")
	a.addJSON(cmd)
	return cmd
}

// afterLast is how long a run goes on after the last event.
const afterLast = time.Hour

// byDefault is the until of a run that nobody gave an end.
const byDefault = time.Duration(-1)

// simulate plays a timeline until so long after the start.
func (a *app) simulate(ctx context.Context, file string, until time.Duration) error {
	cfg, err := a.loadToRehearse()
	if err != nil {
		return err
	}
	text, err := a.readTimeline(file)
	if err != nil {
		return err
	}
	timeline, err := simulate.Parse(file, text, cfg)
	if err != nil {
		return &usageError{err}
	}
	if until == byDefault {
		until = timeline.End() + afterLast
	}
	var decisions []simulate.Decision
	err = simulate.Run(ctx, simulate.Options{
		Config: cfg, Timeline: timeline, Until: until,
		Decision: func(d simulate.Decision) { decisions = append(decisions, d) },
		Note:     func(text string) { fmt.Fprintln(a.io.Err, text) },
		Progress: func(at time.Duration) { a.progress("%s of %s played", at, until) },
	})
	a.progressDone()
	if printed := a.printDecisions(decisions); printed != nil {
		return printed
	}
	if wrong := (simulate.Errors)(nil); errors.As(err, &wrong) {
		return &usageError{err}
	}
	return orInterrupted(ctx, err, "the timeline was not played to its end")
}

// loadToRehearse reads the config without its secrets.
func (a *app) loadToRehearse() (*config.Config, error) {
	path, err := config.Find(a.environment)
	if err != nil {
		return nil, &usageError{err}
	}
	cfg, err := config.Load(path, config.Options{Getenv: a.io.Getenv, SkipSecrets: true})
	if err != nil {
		return nil, &usageError{err}
	}
	fmt.Fprintf(a.io.Err, "config: %s\n", path)
	return cfg, nil
}

// maxTimeline is the size of the largest timeline.
const maxTimeline = 64 << 20

func (a *app) readTimeline(file string) (text []byte, err error) {
	in := a.io.In
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, usagef("read timeline: %w", err)
		}
		defer func() { _ = opened.Close() }() // only read
		in = opened
	}
	text, err = io.ReadAll(io.LimitReader(in, maxTimeline+1))
	if err == nil && len(text) > maxTimeline {
		err = fmt.Errorf("%s has more than %d bytes", file, maxTimeline)
	}
	if err != nil {
		return nil, usagef("read timeline: %w", err)
	}
	return text, nil
}

// decision is a decision in JSON.
type decision struct {
	At      string         `json:"at"`
	Name    string         `json:"name"`
	Type    string         `json:"type"`
	Variant string         `json:"variant"`
	Live    []string       `json:"live"`
	Paused  []string       `json:"paused"`
	Weights map[string]int `json:"weights"`
	Reason  string         `json:"reason"`
}

func (a *app) printDecisions(decisions []simulate.Decision) error {
	if !a.json {
		a.table(decisionRows(decisions))
		return nil
	}
	out := json.NewEncoder(a.io.Out)
	out.SetEscapeHTML(false)
	for _, d := range decisions {
		err := out.Encode(decision{
			At: d.At.String(), Name: string(d.Key.Name), Type: string(d.Key.Type), Variant: d.Key.Variant,
			Live: d.Live, Paused: d.Paused, Weights: d.Weights, Reason: d.Reason,
		})
		if err != nil {
			return fmt.Errorf("print the decisions: %w", err)
		}
	}
	return nil
}

func decisionRows(decisions []simulate.Decision) [][]string {
	rows := [][]string{{"AT", "NAME", "TYPE", "LIVE", "PAUSED", "REASON"}}
	for _, d := range decisions {
		kind := string(d.Key.Type)
		if d.Key.Variant != "" {
			kind += " [" + d.Key.Variant + "]"
		}
		rows = append(rows, []string{
			d.At.String(), d.Key.Name.Shown(), kind, listed(d.Live, d.Weights), listed(d.Paused, nil), d.Reason,
		})
	}
	return rows
}

// listed are values in a cell, each with its weight where there are weights.
func listed(values []string, weights map[string]int) string {
	if len(values) == 0 {
		return "-"
	}
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = value
		if weight, weighted := weights[value]; weighted {
			words[i] += "=" + strconv.Itoa(weight)
		}
	}
	return strings.Join(words, ",")
}
