package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/drill"
)

// drillFlags are what is rehearsed, and how it is watched.
type drillFlags struct {
	look   observeFlags // of which the times count for nothing
	span   time.Duration
	dryRun bool

	local      bool
	experiment drill.LocalOptions
}

const drillHelp = `Rehearse a failover, and time what moves and what does not.

It drains what NAME, a record set of the config, leads with: the site of its
first live answer, or that answer where it has no site. It then watches until
each of these has moved, and takes the drain back, and watches the way back:

  what sidestep wrote; the answer of each name server; that of the resolver; new
  connections; and one that is kept open, once it is retired

The kept connection is drill's own. It is closed only when new ones have moved,
while no request is on it; connections of others are not touched. What is asked
for and looked at is what sidestep observe does, with the same flags.

It goes through the daemon on this machine, which has to lead, and refuses where
a rehearsal would hurt: what would carry the name has to be up and to answer the
URL with a certificate that holds; nothing may be frozen, pending or stopped by
a guard, and guard max_writes has to have room for the way out and back; name
servers, resolver and requests have to show the name as it is. A drain moves
every name of the site, or with the answer; these have to be as healthy, and are
listed. --dry-run looks at all that and drains nothing.

The drain is always undone: at the end, after Ctrl-C, and when the rest fails on
the way. A drill that is killed leaves an override which ends by itself, after
--for at the latest (two TTLs and a minute, unless given). Only its own override
is taken back. A failback that is held back (failback.hold) is waited for, and
so is a person's yes to it, for two TTLs and a minute.

--local is another thing: the reference experiment, on loopback, without config
and daemon. A name server, a cache before it, and two web servers, A at
127.0.0.1 and B at 127.0.0.2; TTL and negative TTL are a second. The answer
moves from A to B, and then the name goes and comes back. Of the eight rows that
it prints the order is asserted: each is looked for when all before it were
seen. The times are only printed. --http2 plays it over HTTP/2. --tls plays it
over TLS and adds a row: B shows a certificate of another name first, and has to
be refused. The certificates are made in memory.

With --json, names that stay (times in milliseconds, null for none):

  name, type, zone, policy, target, site, value, before, during, ttl_ms, for_ms
  also: [{name, type, out, live}]: other record sets that moved
  reason, until: of the override, every_ms: how exact the times are
  dry_run, restored, left: what is left in force, stopped: why it ended early
  still: what it answers with yet, and when it returns; empty once it is back
  next: the command that brings the answer back where a guard keeps it out
  ways: [{way: out or back, from, to, began, took_ms, samples, waits,
    clocks: [{clock: written, authoritative, resolver, new or kept, who, moved,
      never_left, after_ms, fell_back, seen, stayed_ms, retired_ms, ended}],
    never_left: on the way back, of what had not moved out; after_ms is null
    retired_ms: when the kept connection was retired, so long (stayed_ms) after
      new ones had moved
    waited: [{for: freeze or another guard, approval, hold or zone, why, until,
      after_ms, took_ms}]: parts of the time in which nothing could be written
    waits: the last of them, where it was not over
    requests, failed, failures: [{after_ms, clock, why}]}]
  held: all moved out and back, and no request was lost, not_tested

and with --local:

  name, type, from, to, protocol, tls, ttl_ms, negative_ttl_ms, attempts
  rows: [{row, event, what, reached, held, seen, at_ms}]: reached is false after
    a row that did not hold; then seen is what was seen instead
  held, not_tested

Exit codes: 0 all moved out and back and no request was lost, or every row held,
1 not so, or it could not be watched, or another failure, 2 usage or config, or
no such NAME, 3 refused: the rest is not healthy enough, or the name is not
settled, or a guard would keep it from coming back, 4 this node is not the
leader, 5 the zone cannot be reached, 6 it is frozen.`

func (a *app) drillCommand() *cobra.Command {
	var f drillFlags
	cmd := &cobra.Command{
		Use:   "drill {NAME | --local}",
		Short: "Rehearse a failover, and time what moves and what does not",
		Long:  drillHelp,
		Example: `  sidestep drill www.example.com --dry-run
  sidestep drill www.example.com --identity header:X-Backend
  sidestep drill www --resolver 192.0.2.53 --for 10m --json > report.json
  sidestep drill --local
  sidestep drill --local --http2 --tls`,
		Args: func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.recordNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.local {
				return a.drillLocal(cmd.Context(), f.experiment)
			}
			return a.drill(cmd.Context(), args[0], f)
		},
	}
	f.bind(cmd)
	a.addJSON(cmd)
	return cmd
}

func (f *drillFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.look.bindLook(cmd)
	flags.DurationVar(&f.span, "for", 0, "end the drain after this `DURATION` at the latest (default two TTLs and a minute)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "look whether it can be done and say what would be, and drain nothing")
	flags.BoolVar(&f.local, "local", false, "play the reference experiment on loopback instead")
	flags.BoolVar(&f.experiment.HTTP2, "http2", false, "with --local: over HTTP/2")
	flags.BoolVar(&f.experiment.TLS, "tls", false, "with --local: over TLS, and let a wrong certificate be refused")
	complete(cmd, "for", func() []string { return []string{"5m", "10m", "30m"} })
}

// ofNames and ofLocal are the flags that go with one of the two alone.
var (
	ofNames = []string{"type", "resolver", "url", "identity", "via", "for", "dry-run"}
	ofLocal = []string{"http2", "tls"}
)

// check refuses what cannot be meant, before anything is asked.
func (f *drillFlags) check(cmd *cobra.Command, args []string) error {
	wrong, why := ofLocal, "is of --local"
	if f.local {
		wrong, why = ofNames, "is of a NAME, and --local has its own world"
	}
	switch {
	case f.local && len(args) > 0:
		return misused(cmd, "expected a NAME or --local, got both")
	case !f.local && len(args) != 1:
		return misused(cmd, "expected one NAME, or --local")
	case f.span < 0 || cmd.Flags().Changed("for") && f.span < time.Second:
		return misused(cmd, "--for %s: expected a second or more", f.span)
	}
	for _, name := range wrong {
		if cmd.Flags().Changed(name) {
			return misused(cmd, "--%s %s", name, why)
		}
	}
	return f.look.checkLook(cmd)
}

// progressWidth is how much of a line of progress fits a terminal.
const progressWidth = 79

// drill rehearses through the daemon, and prints the report.
func (a *app) drill(ctx context.Context, name string, f drillFlags) error {
	setup, err := a.observeSetup(ctx, name, f.look)
	if err != nil {
		return orInterrupted(ctx, err, "nothing was drained")
	}
	if setup.noServers != "" {
		return errors.New("drill: the name servers are not known: " + setup.noServers)
	}
	setup.Timeout = observeTimeout
	file, err := config.Find(a.environment)
	if err != nil {
		return &usageError{err}
	}
	client, err := control.Dial(ctx, config.Socket(file))
	if errors.Is(err, control.ErrNoDaemon) {
		return errors.New("drill: no daemon runs here, and it is the one that is rehearsed; start it: sidestep run")
	} else if err != nil {
		return err
	}
	report, err := drill.Run(ctx, drill.Options{
		Daemon: client, Zone: setup.spec.Key.Zone, Watch: setup.Options, For: f.span, DryRun: f.dryRun,
		Hold: setup.spec.Failback.Hold, ByHand: setup.spec.Failback.Manual,
		Notice:   func(text string) { fmt.Fprintln(a.screen, text) },
		Progress: func(text string) { a.progress("%s", text[:min(len(text), progressWidth)]) },
	})
	a.progressDone()
	if errors.Is(err, drill.ErrLeft) {
		return err
	} else if err != nil {
		return orInterrupted(ctx, err, "nothing was drained")
	}
	return a.printDrill(report)
}

// drillLocal plays the experiment on loopback and prints its timeline.
func (a *app) drillLocal(ctx context.Context, o drill.LocalOptions) error {
	o.Progress = func(event drill.Event) { a.progress("waiting for the row %s", event) }
	timeline, err := drill.Local(ctx, o)
	a.progressDone()
	if err != nil {
		return orInterrupted(ctx, err, "the drill was not played to its end; nothing of it is left")
	}
	return a.printTimeline(timeline)
}
