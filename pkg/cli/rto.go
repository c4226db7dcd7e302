package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/daemon"
	"sidestep/pkg/rto"
)

func (a *app) rtoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rto [NAME...]",
		Short: "Work out how long a switch takes, and what makes it slow",
		Long: `Work out how long a switch takes, and what makes it slow.

Of each record set, or of those of the NAMEs: how long after an address dies the
clients are elsewhere, and how long after it lives again they are back. Best,
expected and worst are split into their parts, with where each number comes
from, what takes longest, and what cheaper settings would gain.

Expected is a machine that answers nothing any more, and resolvers half through
the TTL. Worst counts one probe more than needed and the slowest check.

It is arithmetic: nobody is asked and nothing is probed. How long a write takes,
and the name servers after it, comes from the journal in the state directory;
where that has nothing yet the numbers are assumed, and say so. Without its
secrets a provider's bounds are assumed as well. What the numbers do not cover,
such as connections that are kept, is listed below them.

With --json, names that stay (times such as 1m30s):

  records: name, type, variant,
    best, expected, worst: until the clients are elsewhere,
    parts: by name: {best, expected, worst, why, assumed}: probe, fall, extra,
      timeout, canary, confirm, cooldown, rise, hold, debounce, write,
      propagation, ttl, negative_ttl, as far as the way has them,
    dominates: the name of the longest part,
    back: {best, expected, worst, parts, dominates, waits: whom for},
    not_covered: a line each,
    gains: [{setting, from, to, expected, worst, price}]: so much less

Exit codes: 0 it was worked out, 1 another failure, 2 usage or config, or no
such NAME.`,
		Example: `  sidestep rto
  sidestep rto www.example.com
  sidestep rto --json | jq '.records[] | {name, worst, dominates}'`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.recordNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.rto(args) },
	}
	a.addJSON(cmd)
	return cmd
}

func (a *app) rto(names []string) error {
	cfg, err := a.loadAnyhow()
	if err != nil {
		return err
	}
	log, err := a.logger()
	if err != nil {
		return err
	}
	list, notes, err := daemon.RTO(cfg, a.registry, names, log)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(a.io.Err, "note: %s\n", note)
	}
	if a.json {
		return a.printJSON(rtoAnswer(list))
	}
	for i, e := range list {
		if i > 0 {
			fmt.Fprintln(a.io.Out)
		}
		a.printRTO(e)
	}
	return nil
}

// loadAnyhow reads the config with its secrets, or without them where they are not
// to be had.
func (a *app) loadAnyhow() (*config.Config, error) {
	path, err := config.Find(a.environment)
	if err != nil {
		return nil, &usageError{err}
	}
	cfg, err := a.read(path)
	if err != nil {
		var without error
		if cfg, without = config.Load(path, config.Options{Getenv: a.io.Getenv, SkipSecrets: true}); without != nil {
			return nil, &usageError{without}
		}
	}
	fmt.Fprintf(a.io.Err, "config: %s\n", path)
	return cfg, nil
}

// rtoJSON is the answer in JSON.
type rtoJSON struct {
	Records []rtoRecord `json:"records"`
}

type rtoRecord struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Variant string `json:"variant"`
	rtoWay
	Back       rtoBack   `json:"back"`
	NotCovered []string  `json:"not_covered"`
	Gains      []rtoGain `json:"gains"`
}

type rtoWay struct {
	rtoSpan
	Parts     map[string]rtoPart `json:"parts"`
	Dominates string             `json:"dominates"`
}

type rtoBack struct {
	rtoWay
	Waits []string `json:"waits"`
}

type rtoSpan struct {
	Best     string `json:"best"`
	Expected string `json:"expected"`
	Worst    string `json:"worst"`
}

type rtoPart struct {
	rtoSpan
	Why     string `json:"why"`
	Assumed bool   `json:"assumed"`
}

type rtoGain struct {
	Setting  string `json:"setting"`
	From     string `json:"from"`
	To       string `json:"to"`
	Expected string `json:"expected"`
	Worst    string `json:"worst"`
	Price    string `json:"price"`
}

func rtoAnswer(list []rto.Estimate) rtoJSON {
	answer := rtoJSON{Records: []rtoRecord{}}
	for _, e := range list {
		r := rtoRecord{
			Name: string(e.Key.Name), Type: string(e.Key.Type), Variant: e.Key.Variant,
			rtoWay: wayOf(e.Out), Back: rtoBack{wayOf(e.Back), append([]string{}, e.Back.Waits...)},
			NotCovered: e.Limits, Gains: []rtoGain{},
		}
		for _, g := range e.Gains {
			r.Gains = append(r.Gains, rtoGain{
				Setting: g.Setting, From: g.From, To: g.To, Expected: exactly(g.Expected), Worst: exactly(g.Worst), Price: g.Price,
			})
		}
		answer.Records = append(answer.Records, r)
	}
	return answer
}

func wayOf(w rto.Way) rtoWay {
	way := rtoWay{rtoSpan: spanOf(w.Sum()), Parts: map[string]rtoPart{}, Dominates: string(w.Longest().Name)}
	for _, p := range w.Parts {
		way.Parts[string(p.Name)] = rtoPart{spanOf(p.Span), p.Why, p.Assumed}
	}
	return way
}

func spanOf(s rto.Span) rtoSpan {
	return rtoSpan{exactly(s.Best), exactly(s.Expected), exactly(s.Worst)}
}

// exactly is a time as Go writes it, in whole microseconds.
func exactly(d time.Duration) string { return d.Round(time.Microsecond).String() }

func (a *app) printRTO(e rto.Estimate) {
	fmt.Fprintf(a.io.Out, "%s %s\n", e.Key.Name.Shown(), typeWords(string(e.Key.Type), e.Key.Variant))
	a.printWay("after an address dies, clients are elsewhere", e.Out)
	back := "after it lives again, they are back"
	if e.Back.Approve != "" {
		back = fmt.Sprintf("after it lives again, it waits for you (sidestep approve %s); after that they are back", e.Back.Approve)
	}
	a.printWay(back, e.Back)
	for _, text := range e.Back.Waits {
		fmt.Fprintf(a.io.Out, "    beside that: %s\n", text)
	}
	if len(e.Gains) > 0 {
		fmt.Fprint(a.io.Out, "\n  what other settings would save on the way out, each alone:\n")
		rows := [][]string{{"    SETTING", "NOW", "THEN", "EXPECTED", "WORST", "THE PRICE"}}
		for _, g := range e.Gains {
			rows = append(rows, []string{"    " + g.Setting, g.From, g.To, less(g.Expected), less(g.Worst), g.Price})
		}
		a.table(rows)
	}
	fmt.Fprint(a.io.Out, "\n  not covered:\n")
	for _, text := range e.Limits {
		fmt.Fprintf(a.io.Out, "    %s\n", text)
	}
}

func (a *app) printWay(what string, w rto.Way) {
	sum := w.Sum()
	fmt.Fprintf(a.io.Out, "\n  %s within %s as a rule, %s at worst; the longest part is %s\n\n",
		what, rto.Short(sum.Expected), rto.Short(sum.Worst), w.Longest().Name)
	a.table(rtoRows(w))
}

func less(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	return "-" + rto.Short(d)
}

// rtoRows are the parts of a way that take any time, or may, and their sum.
func rtoRows(w rto.Way) [][]string {
	rows := [][]string{{"    PART", "BEST", "EXPECTED", "WORST", ""}}
	row := func(name string, s rto.Span, why string) {
		rows = append(rows, []string{"    " + name, rto.Short(s.Best), rto.Short(s.Expected), rto.Short(s.Worst), why})
	}
	for _, p := range w.Parts {
		if p.Span == (rto.Span{}) && !p.Assumed {
			continue
		}
		row(string(p.Name), p.Span, p.Why)
	}
	row("in all", w.Sum(), "")
	return rows
}
