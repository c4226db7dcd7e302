package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/notify"
)

func (a *app) notifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Try out who is told what happens",
		Long: `Try out who is told what happens.

The daemon tells of targets that go down and come up again, of what it writes,
of guards, of who leads, and of overrides that are there for long, to everybody
whom the config names under notify: chat rooms, mailboxes, webhooks. One event
is one message, however many targets it is about, and no failover waits for it.

Exit codes: 0 shown, 2 usage.`,
		Example: `  sidestep notify test`,
		Args:    unknownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.notifyTestCommand())
	return cmd
}

func (a *app) notifyTestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Send a test message to everybody who is told",
		Long: `Send a test message to everybody who is told.

Each entry of notify in the config gets one message, whatever its topics, all of
them side by side, and the other side has ten seconds to take it. The answer is
what each of them said. Nothing is tried twice, no daemon is needed, and URLs
are shown as kind and host: they are secrets.

With --json, names that stay:

  results: [{kind, host, on: [...], ok, answer, error, took_ms}]

Exit codes: 0 all took it, 5 one did not, or did not answer, 2 usage or config,
or nobody to be told, 1 other failure.`,
		Example: `  sidestep notify test
  sidestep notify test --json | jq '.results[] | select(.ok | not)'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.notifyTest(cmd.Context()) },
	}
	a.addJSON(cmd)
	return cmd
}

// told is what came of one test message.
type told struct {
	Kind   notify.Kind    `json:"kind"`
	Host   string         `json:"host"`
	On     []notify.Topic `json:"on"`
	OK     bool           `json:"ok"`
	Answer string         `json:"answer"`
	Error  string         `json:"error"`
	TookMS float64        `json:"took_ms"`
}

// testWithin is how long the other side has.
const testWithin = 10 * time.Second

func (a *app) notifyTest(ctx context.Context) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	if len(cfg.Notify) == 0 {
		return usagef("notify test: the config names nobody under notify; add it, such as notify: [{url: env:SLACK_URL}]")
	}
	a.progress("sending %s", plural(len(cfg.Notify), "message", "messages"))
	results := make([]told, len(cfg.Notify))
	var group sync.WaitGroup
	for i, entry := range cfg.Notify {
		group.Go(func() { results[i] = sendTest(ctx, cfg.Node.Name, entry) })
	}
	group.Wait()
	a.progressDone()
	if ctx.Err() != nil {
		return orInterrupted(ctx, ctx.Err(), "not every message was sent")
	}
	for _, r := range results {
		if !r.OK {
			a.exit = control.ExitProvider
		}
	}
	if a.json {
		return a.printJSON(struct {
			Results []told `json:"results"`
		}{results})
	}
	rows := [][]string{{"KIND", "HOST", "RESULT", "TIME", "ANSWER"}}
	for _, r := range results {
		result, said := "taken", r.Answer
		if !r.OK {
			result, said = "failed", r.Error
		}
		rows = append(rows, []string{string(r.Kind), r.Host, result, fmt.Sprintf("%.0fms", r.TookMS), said})
	}
	a.table(rows)
	return nil
}

func sendTest(ctx context.Context, node string, entry config.Notify) told {
	result := told{Kind: entry.Kind, Host: entry.Host, On: entry.On}
	receiver, err := entry.Receiver()
	if err != nil {
		result.Error = err.Error()
		return result
	}
	within, cancel := context.WithTimeout(ctx, testWithin)
	defer cancel()
	began := time.Now()
	result.Answer, err = receiver.Send(within, notify.Sample(node, began))
	result.TookMS = float64(time.Since(began).Round(time.Microsecond)) / float64(time.Millisecond)
	if result.OK = err == nil; result.OK {
		return result
	}
	result.Error = err.Error()
	if refusal, ok := errors.AsType[*notify.Error](err); ok {
		result.Error = refusal.Text // kind and host stand beside it
	}
	return result
}

// notifiedText says for validate who is told, and what about.
func notifiedText(cfg *config.Config) []string {
	lines := []string{}
	for _, n := range cfg.Notify {
		topics := ""
		for i, t := range n.On {
			if i > 0 {
				topics += ", "
			}
			topics += string(t)
		}
		lines = append(lines, fmt.Sprintf("notify: %s at %s: %s", n.Kind, n.Host, topics))
	}
	if p := cfg.Ping; p.Every > 0 {
		lines = append(lines, fmt.Sprintf("ping: %s every %s", p.Host, p.Every))
	}
	return lines
}
