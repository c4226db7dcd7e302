package cli

import (
	"context"

	"github.com/spf13/cobra"

	"sidestep/pkg/drill"
)

func (a *app) drillCommand() *cobra.Command {
	var local bool
	var o drill.LocalOptions
	cmd := &cobra.Command{
		Use:   "drill --local",
		Short: "Rehearse a failover, and time what moves and what does not",
		Long: `Rehearse a failover, and time what moves and what does not.

With --local it plays the reference experiment on loopback: a name server, a
cache before it, and two web servers, A at 127.0.0.1 and B at 127.0.0.2. The
TTL and the negative TTL are a second. The answer moves from A to B, and then
the name goes and comes back. It takes three seconds and needs no config.

It prints eight rows: the answer changed at the authority; the cache still has
the old one; the cache has the new one; the kept connection is still at A; idle,
it is retired, and the new connection is at B; the name is taken away, and the
cache keeps NXDOMAIN; the name is repaired, and the cache says NXDOMAIN still;
that is over, and a new connection is at B. What is asserted is this order: each
row is looked for when all before it were seen. The times are only printed.

--http2 plays the same over HTTP/2. --tls plays it over TLS and adds a row
before the first visit to B: there B shows a certificate of another name, and
has to be refused. The certificates are made in memory. Both can be given.

With --json, names that stay (times in milliseconds):

  name, type, from, to, protocol, tls, ttl_ms, negative_ttl_ms, attempts
  rows: [{row, event, what, reached, held, seen, at_ms}]: reached is false after
    a row that did not hold; then seen is what was seen instead
  held: all of them did, not_tested

Exit codes: 0 every row held, in this order, 1 one did not, or it could not be
played, 2 usage.`,
		Example: `  sidestep drill --local
  sidestep drill --local --http2 --tls
  sidestep drill --local --json | jq '.rows[] | {event, at_ms}'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !local {
				return misused(cmd, "expected --local")
			}
			return a.drillLocal(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&local, "local", false, "play the reference experiment on loopback")
	cmd.Flags().BoolVar(&o.HTTP2, "http2", false, "with --local: over HTTP/2")
	cmd.Flags().BoolVar(&o.TLS, "tls", false, "with --local: over TLS, and let a wrong certificate be refused")
	a.addJSON(cmd)
	return cmd
}

// drillLocal plays the experiment on loopback and prints its timeline.
func (a *app) drillLocal(ctx context.Context, o drill.LocalOptions) error {
	began := false
	o.Progress = func(event drill.Event) {
		if began = began || event == drill.AuthorityNew; began {
			a.progress("waiting for the row %s", event)
		}
	}
	timeline, err := drill.Local(ctx, o)
	a.progressDone()
	if err != nil {
		return orInterrupted(ctx, err, "the drill was not played to its end; nothing of it is left")
	}
	return a.printTimeline(timeline)
}
