package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
)

// validation is the answer of validate.
type validation struct {
	Config   string                `json:"config"`
	Valid    bool                  `json:"valid"`
	Errors   []string              `json:"errors"`
	Warnings []string              `json:"warnings"`
	Etcd     *etcdValidity         `json:"etcd,omitempty"` // what the etcd that holds the lease said, when it was asked
	Zones    []daemon.ZoneValidity `json:"zones"`
	Notify   []string              `json:"notify"` // who is told, by kind and host, and what about; the dead man's switch
}

type etcdValidity struct {
	Words string `json:"words"`
	Error string `json:"error"`
}

// thenValidate ends many a provider's hint. Where it is what was just done, or
// where there is no config yet, it is left out.
const thenValidate = "; then: sidestep validate --online"

// silent counts the zones that could not be listed.
func (v validation) silent() int {
	n := 0
	for _, z := range v.Zones {
		if z.Error != "" {
			n++
		}
	}
	return n
}

func (a *app) validateCommand() *cobra.Command {
	var online bool
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check the config and its secrets",
		Long: `Check the config and its secrets.

Every error names file, line, column and key. The files that the config names,
zone files too, have to be there and readable. Of each zone it says what its
provider can promise: how a value is paused, whether writes are atomic and
fenced, how late a call may still take effect, how many calls it may make. A
permission that the checks need and this process does not have is a warning: the
config may be meant for another machine or user. Who is told of what is shown by
kind and host; whether it arrives says: sidestep notify test.

With --online the providers are asked too, all zones side by side: whether the
key is good and what it may do, as far as the API tells, whether the zone is
there and can be listed, and how the record sets of the config stand in it: not
there yet, claimed by another tool, below a delegation, paused by somebody else.
An etcd that holds the lease is asked who leads.
Nothing is written.

Exit codes: 0 right, 2 wrong, 5 a provider, or the etcd, did not answer as it
should.`,
		Example: `  sidestep validate --config ./sidestep.yaml
  sidestep validate --online`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.validate(cmd.Context(), online)
		},
	}
	cmd.Flags().BoolVar(&online, "online", false, "ask the providers as well")
	a.addJSON(cmd)
	return cmd
}

func (a *app) validate(ctx context.Context, online bool) error {
	answer := validation{Errors: []string{}, Warnings: []string{}, Zones: []daemon.ZoneValidity{}, Notify: []string{}}
	path, err := config.Find(a.environment)
	if err != nil {
		return a.invalid(answer, err)
	}
	answer.Config = path
	cfg, err := a.read(path)
	if err != nil {
		return a.invalid(answer, err)
	}
	answer.Valid, answer.Notify = true, notifiedText(cfg)
	for _, w := range cfg.Warnings {
		answer.Warnings = append(answer.Warnings, w.String())
	}
	for _, text := range []string{daemon.Unpermitted(cfg)} {
		if text != "" {
			answer.Warnings = append(answer.Warnings, text)
		}
	}
	log, err := a.logger()
	if err != nil {
		return err
	}
	var shared *daemon.SharedLock
	if online {
		shared, answer.Etcd = askEtcd(ctx, cfg, log)
	}
	zones, err := a.askZones(ctx, cfg, shared, online, log)
	a.progressDone()
	switch {
	case ctx.Err() != nil:
		return orInterrupted(ctx, ctx.Err(), "not every zone was listed")
	case err != nil:
		return a.invalid(answer, err)
	}
	for i := range zones {
		zones[i].Error = strings.ReplaceAll(zones[i].Error, thenValidate, "")
	}
	answer.Zones = zones
	if answer.silent() > 0 || answer.Etcd != nil && answer.Etcd.Error != "" {
		a.exit = control.ExitProvider
	}
	if a.json {
		return a.printJSON(answer)
	}
	a.printValidation(answer, online)
	return nil
}

func (a *app) askZones(ctx context.Context, cfg *config.Config, shared *daemon.SharedLock, online bool, log *slog.Logger) ([]daemon.ZoneValidity, error) {
	if online {
		return daemon.ValidateOnline(ctx, cfg, shared, a.registry, a.progress, log)
	}
	return daemon.Validate(ctx, cfg, a.registry, log)
}

// askEtcd is nil where no etcd holds the lease, and the one that nodes share answers.
func askEtcd(ctx context.Context, cfg *config.Config, log *slog.Logger) (*daemon.SharedLock, *etcdValidity) {
	shared, err := daemon.DescribeEtcd(ctx, cfg, log)
	switch {
	case err != nil:
		return nil, &etcdValidity{Error: err.Error()}
	case shared != nil:
		return shared, &etcdValidity{Words: shared.Words}
	}
	return nil, nil //nolint:nilnil // no etcd is no error
}

// invalid prints what is wrong. In JSON the errors are the answer; for people
// they are the command's error.
func (a *app) invalid(answer validation, err error) error {
	if !a.json {
		return &usageError{err}
	}
	answer.Valid = false
	answer.Errors = strings.Split(err.Error(), "\n") // one a line
	a.exit = control.ExitUsage
	return a.printJSON(answer)
}

func (a *app) printValidation(answer validation, online bool) {
	for _, w := range answer.Warnings {
		fmt.Fprintf(a.io.Out, "warning: %s\n", w)
	}
	for _, z := range answer.Zones {
		for _, w := range z.Warnings {
			fmt.Fprintf(a.io.Out, "warning: %s\n", w)
		}
	}
	if e := answer.Etcd; e != nil && e.Error != "" {
		a.complain("etcd: " + e.Error)
	} else if e != nil {
		fmt.Fprintf(a.io.Out, "the lease: %s\n", e.Words)
	}
	for _, z := range answer.Zones {
		fmt.Fprintf(a.io.Out, "zone %s\n  %s\n", z.Zone, strings.ReplaceAll(z.Words, "; ", "\n  "))
		if online {
			a.printAsked(z)
		}
	}
	for _, line := range answer.Notify {
		fmt.Fprintln(a.io.Out, line)
	}
	if !online {
		fmt.Fprintln(a.io.Out, "not asked: whether the keys are good, the zones there, and what is in them: sidestep validate --online")
	}
	if e := answer.Etcd; e != nil && e.Error != "" {
		fmt.Fprintf(a.io.Out, "%s: valid, but nobody could lead: the etcd did not answer as it should\n", answer.Config)
		return
	}
	if n := answer.silent(); n > 0 {
		fmt.Fprintf(a.io.Out, "%s: valid, but %d of %d zones did not answer as they should\n", answer.Config, n, len(answer.Zones))
		return
	}
	fmt.Fprintf(a.io.Out, "%s: valid\n", answer.Config)
}

// printAsked says what the provider of a zone answered.
func (a *app) printAsked(z daemon.ZoneValidity) {
	for _, line := range z.Inspected {
		fmt.Fprintf(a.io.Out, "  %s\n", line)
	}
	if z.Error != "" {
		a.complain(zoneWords(z.Zone, z.Error))
		return
	}
	fmt.Fprintf(a.io.Out, "  listed: %s; %d of the %s of the config in it\n",
		plural(z.Records, "record", "records"), z.Found, plural(z.Configured, "record set", "record sets"))
	if len(z.Inspected) == 0 {
		fmt.Fprintln(a.io.Out, "  whether it may be written shows at the first write")
	}
	for _, line := range z.Notes {
		fmt.Fprintf(a.io.Out, "  note: %s\n", line)
	}
}
