package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/observe"
)

// observeFlags are how observe looks.
type observeFlags struct {
	command string // that looks

	kind, resolver, url, identity, via, svg string

	every, span time.Duration
	once        bool
}

const minEvery = 100 * time.Millisecond

const observeLong = `Watch the clocks of a switch: name servers, cache, connections.

When a name moves, four things move, each at its own time: what the name servers
of the zone answer, what a resolver answers out of its cache, where a new
connection leads, and where one leads that was opened before. A changed answer
moves no open connection. observe looks at all of them at once, every second for
a minute or as told, prints a row when something is another and a line for each
change, and says at the end where to look. It changes nothing, asks no daemon.

NAME is a record set of the config.

AUTHORITATIVE  every server of the zone, by its NS records or as listed in
  zones[].verify.servers, asked directly over UDP, then TCP, IPv4 and IPv6.
  After the values their TTL, and how many of the servers say so.
RESOLVER  those of /etc/resolv.conf, or --resolver. After the values, or
  NXDOMAIN or NODATA, how long its cache holds them yet.
KEPT CONNECTION  one that is opened at the start and used again each time. When
  it ends, a line says who ended it, and another one takes its place.
NEW CONNECTION  one for each address that the resolver answers, with Host, SNI
  and certificate name of the URL. Addresses of this machine are not dialled
  unless the config has some.

The URL is that of the record set's HTTP check, with its headers and its ca, or
--url; without either no request is made. The identity of the backend is a
header's value (header:NAME), a field of a JSON body (json:KEY, dotted), or what
the first group of a pattern matches in the body (regexp:RE). Its first line is
printed, 64 characters at most, and nothing else of bodies and header values;
credentials and the query of the URL never are. Without --identity the address
has to tell.

--via http://HOST:PORT sends every request through a proxy: an https URL through
a tunnel (CONNECT), an http URL in absolute form, which HAProxy and nginx take
as well; a user and password in it are sent to it and never shown. --via
tcp://HOST:PORT dials a gateway instead of the addresses. Either way the address
stays, and the identity alone tells the backend.

A row is marked by * where it differs from the one before; rows that do not are
folded. The first row waits for everything, later ones for nothing longer than
--every: what has not answered by then is shown as it was, "late" since it was
asked, and holds up nothing else. A change has its own time. Requests leave from
the check's source, if it has one. --svg draws all of it on one time axis.

With --json, one object a line for each sample, names that stay (times in RFC
3339, null for none):

  at, took_ms, name, type
  servers: [{at, server, address, port, outcome, values, aliases, ttl_s, detail,
    took_ms}]
    at: when it was asked; took_ms later it had answered
    server: its name in the NS records; empty where the config lists addresses
    outcome: answer, nxdomain, nodata, refused, servfail, not-authoritative,
      no-recursion, timeout, unreachable, failed
    ttl_s: of a negative answer how long it may be cached; null without an SOA
  resolver: the same
  kept: {address, port, opened, requests, protocol, status, identity, missing,
    phase, cause, detail, took_ms, ended: {at, address, by, how}}
    requests: on this connection; missing: why there is no identity
    phase, cause: why no answer came, as in check
  new: [the same]
  not_dialled: why some addresses were not
  late: [{clock, who, for_ms}]: what is shown as it was, as it has not answered
    for so long
  events: [{at, clock, who, from, to, detail}]: what changed since the last line
  findings: [{seen, look, facts}]: rows of the decision table that fit
  gaps: what could not be looked at, and why

Exit codes: 0 every clock could be read at the end, 1 one could not, which is
said, or another failure, 2 usage or config, or no such NAME.`

func (a *app) observeCommand() *cobra.Command {
	var f observeFlags
	cmd := &cobra.Command{
		Use:   "observe NAME",
		Short: "Watch the clocks of a switch: name servers, cache, connections",
		Long:  observeLong,
		Example: `  sidestep observe www.example.com
  sidestep observe www.example.com --once
  sidestep observe www --identity header:X-Backend --for 5m --svg switch.svg
  sidestep observe www --resolver 192.0.2.53 --every 500ms
  sidestep observe www --url https://www.example.com/id --identity json:node
  sidestep observe www --json | jq -c '.events[]'`,
		Args: arguments(1, 1, "one NAME"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.recordNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return a.observe(cmd.Context(), args[0], f)
		},
	}
	f.bind(cmd)
	a.addJSON(cmd)
	return cmd
}

func (f *observeFlags) bind(cmd *cobra.Command) {
	f.bindLook(cmd)
	flags := cmd.Flags()
	flags.DurationVar(&f.every, "every", time.Second, "take a sample every `DURATION`, at least 100ms")
	flags.DurationVar(&f.span, "for", time.Minute, "go on for `DURATION`")
	flags.BoolVar(&f.once, "once", false, "take one sample")
	flags.StringVar(&f.svg, "svg", "", "draw the clocks on one time axis into `FILE`")
	_ = cmd.MarkFlagFilename("svg", "svg") // the flag is there
}

// bindLook binds the flags that say what is looked at, which observe and drill have.
func (f *observeFlags) bindLook(cmd *cobra.Command) {
	f.command = cmd.Name()
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "type", "", "the record set of this `TYPE`, when the name has several")
	flags.StringVar(&f.resolver, "resolver", "", "ask the resolver at `ADDR[:PORT]` (default those of /etc/resolv.conf)")
	flags.StringVar(&f.url, "url", "", "request this `URL` (default that of the record set's HTTP check)")
	flags.StringVar(&f.identity, "identity", "", "tell backends apart by `WHAT`: header:NAME, json:KEY or regexp:RE")
	flags.StringVar(&f.via, "via", "", "send requests through a proxy, http://HOST:PORT, or to a gateway, tcp://HOST:PORT, as `URL`")
	complete(cmd, "type", func() []string { return []string{"A", "AAAA", "CNAME"} })
	complete(cmd, "identity", func() []string { return []string{"header:", "json:", "regexp:"} })
	complete(cmd, "via", func() []string { return []string{"http://", "tcp://"} })
}

// check refuses what cannot be meant, before anything is asked.
func (f *observeFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	if err := f.checkLook(cmd); err != nil {
		return err
	}
	switch {
	case f.once && (changed("every") || changed("for")):
		return misused(cmd, "--once takes one sample; leave out --every and --for")
	case f.every < minEvery:
		return misused(cmd, "--every %s: expected at least %s", f.every, minEvery)
	case f.span <= 0:
		return misused(cmd, "--for %s: expected more than nothing; one sample is --once", f.span)
	}
	return nil
}

// checkLook refuses a flag that is given without a value, as by a script whose variable
// is not set: it would count as not given, and something else be looked at.
func (f *observeFlags) checkLook(cmd *cobra.Command) error {
	for _, flag := range []struct{ name, value, expected string }{
		{"type", f.kind, "A, AAAA or CNAME"},
		{"resolver", f.resolver, "ADDRESS or ADDRESS:PORT"},
		{"url", f.url, "a URL that begins with http:// or https://"},
		{"identity", f.identity, "header:NAME, json:KEY or regexp:RE"},
		{"via", f.via, "http://HOST:PORT or tcp://HOST:PORT"},
		{"svg", f.svg, "a file"},
	} {
		if flag.value == "" && cmd.Flags().Changed(flag.name) {
			return misused(cmd, "--%s: expected %s, got nothing", flag.name, flag.expected)
		}
	}
	return nil
}

func (a *app) observe(ctx context.Context, name string, f observeFlags) error {
	setup, err := a.observeSetup(ctx, name, f)
	if err != nil {
		return orInterrupted(ctx, err, "nothing was observed")
	}
	var line observe.Timeline
	printer := a.observePrinter(setup, f)
	var failed error
	err = observe.Watch(setup.Options, func(w *observe.Watcher) error {
		w.Follow(ctx, f.every, func(s observe.Sample) bool {
			events := line.Add(s)
			if failed = printer.sample(&line, s, events); failed != nil {
				return false
			}
			return !f.once && time.Since(line.Samples[0].At)+f.every <= f.span
		})
		return failed
	})
	if err != nil {
		return err
	}
	if len(line.Samples) == 0 {
		return orInterrupted(ctx, ctx.Err(), "nothing was observed")
	}
	printer.end(&line)
	if gaps := setup.gaps(&line); len(gaps) > 0 {
		a.exit = 1
		for _, gap := range gaps {
			a.complain(gap)
		}
	}
	if f.svg == "" {
		return nil
	}
	return a.draw(&line, f.svg, "sidestep observe "+setup.title())
}

// draw writes the picture, and says where it is.
func (a *app) draw(line *observe.Timeline, file, title string) error {
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("draw the picture: %w", err)
	}
	err = line.SVG(out, title)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("draw the picture: %w", err)
	}
	fmt.Fprintf(a.io.Err, "picture: %s\n", file)
	return nil
}
