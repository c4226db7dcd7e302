package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// importFlags are those of import.
type importFlags struct {
	provider, zone, output string
	set                    []string
	port                   int
	force                  bool
}

func (a *app) importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import [ZONE]",
		Short: "Write a config for the names of a zone that have several values",
		Long: `Write a config for the names of a zone that have several values.

It lists the zone, and changes nothing there. Each A and AAAA set with two
values or more becomes a record set with all of them as answers; lines and set
identifiers become variants, and weights that differ are kept. What sidestep
paused in an earlier life is an answer as well. The rest of the zone is kept as
comments: names with one value, aliases, what another tool claims, what somebody
paused by hand.

No probe is sent, so the check is a guess, and said to be one: a connection to
port 443, or to --port. Look at it before anything else.

The zone is one of the config in use, or with --provider one that no config
knows yet; then --set gives the provider's keys, such as server=ns1.example.com,
tsig.name=sidestep and tsig.secret=env:NAME for rfc2136. A secret is named and
never written: env:NAME, file:PATH or credential:NAME. For one that is not given
the usual variable is looked for: CLOUDFLARE_API_TOKEN, TENCENTCLOUD_SECRET_ID
and TENCENTCLOUD_SECRET_KEY, PDNS_API_KEY, HETZNER_API_TOKEN, GANDI_API_TOKEN,
OVH_APPLICATION_KEY, OVH_APPLICATION_SECRET and OVH_CONSUMER_KEY; Route 53 has
the AWS chain.

The config goes to stdout, or to the file of --output, which is not replaced
unless --force says so.

Exit codes: 0 written, 1 no name has several values, or another failure, 2 usage
or config, 5 provider or network error.`,
		Example: `  sidestep import --provider cloudflare --zone example.com
  sidestep import --provider local --zone example.com --set file=example.zone
  sidestep import example.com --config ./zones.yaml --output sidestep.yaml`,
		Args: arguments(0, 1, "one ZONE"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.zoneNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.importZone(cmd.Context(), cmd, args, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.provider, "provider", "", "the zone's `PROVIDER`, for a zone that is in no config yet")
	flags.StringVar(&f.zone, "zone", "", "the `ZONE`, as the argument")
	flags.StringArrayVar(&f.set, "set", nil, "a `KEY=VALUE` of the zone, such as api_token=env:NAME; may be repeated")
	flags.StringVarP(&f.output, "output", "o", "", "write the config to this `FILE`")
	flags.BoolVar(&f.force, "force", false, "replace the file of --output")
	flags.IntVar(&f.port, "port", 443, "the `PORT` that the guessed check connects to")
	complete(cmd, "zone", a.zoneNames)
	complete(cmd, "provider", a.providerNames)
	a.completeSet(cmd, &f)
	_ = cmd.MarkFlagFilename("output", "yaml", "yml") // the flag is there
	a.addJSON(cmd)
	return cmd
}

// providerNames lists the providers that this sidestep has.
func (a *app) providerNames() []string {
	return slices.Sorted(maps.Keys(a.registry))
}

// completeSet offers the keys of the provider.
func (a *app) completeSet(cmd *cobra.Command, f *importFlags) {
	_ = cmd.RegisterFlagCompletionFunc("set", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var keys []string
		for _, key := range config.ProviderKeys(f.provider) {
			keys = append(keys, key.Name+"=\t"+key.Doc)
		}
		return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

func (a *app) importZone(ctx context.Context, cmd *cobra.Command, args []string, f importFlags) error {
	if len(args) == 1 && f.zone != "" && f.zone != args[0] {
		return misused(cmd, "two zones, %s and %s; one at a time", args[0], f.zone)
	}
	if len(args) == 1 {
		f.zone = args[0]
	}
	switch {
	case f.port < 1 || f.port > 65535:
		return misused(cmd, "--port %d: expected a port from 1 to 65535", f.port)
	case f.provider == "" && len(f.set) > 0:
		return misused(cmd, "--set is for a zone that is in no config yet; say --provider too")
	case f.provider != "" && f.zone == "":
		return misused(cmd, "expected the zone: --zone ZONE")
	}
	if err := mayWrite(f); err != nil {
		return err
	}
	cfg, zone, err := a.importFrom(cmd, f)
	if err != nil {
		return err
	}
	im, err := a.readZone(ctx, cfg, zone, f)
	switch {
	case err != nil && a.json:
		im.Error, a.exit = err.Error(), exitOf(err)
		return a.printJSON(im)
	case err != nil:
		return err
	}
	return a.giveImported(im, f)
}

// importFrom finds the zone and how its provider is reached.
func (a *app) importFrom(cmd *cobra.Command, f importFlags) (*config.Config, *config.Zone, error) {
	if f.provider != "" {
		cfg, err := a.zoneFromFlags(cmd, f)
		if err != nil {
			return nil, nil, err
		}
		return cfg, &cfg.Zones[0], nil
	}
	cfg, err := a.loadZones()
	if err != nil {
		return nil, nil, fmt.Errorf("%w; a zone that is in no config yet: sidestep import --provider PROVIDER --zone ZONE", err)
	}
	if f.zone == "" && len(cfg.Zones) == 1 {
		return cfg, &cfg.Zones[0], nil
	}
	var names []string
	for i := range cfg.Zones {
		if name, err := record.ParseName(f.zone); err == nil && name == cfg.Zones[i].Name {
			return cfg, &cfg.Zones[i], nil
		}
		names = append(names, cfg.Zones[i].Name.Unrooted())
	}
	if f.zone == "" {
		return nil, nil, misused(cmd, "which zone? The config has %s", strings.Join(names, ", "))
	}
	return nil, nil, misused(cmd, "zone %s: the config has no such zone; it has %s", f.zone, strings.Join(names, ", "))
}

// usual are the environment variables in which people keep the secrets that a
// provider cannot do without.
var usual = map[string]map[string][]string{
	"cloudflare":   {"api_token": {"CLOUDFLARE_API_TOKEN", "CF_API_TOKEN", "CF_DNS_API_TOKEN"}},
	"tencentcloud": {"secret_id": {"TENCENTCLOUD_SECRET_ID"}, "secret_key": {"TENCENTCLOUD_SECRET_KEY"}},
	"powerdns":     {"api_key": {"PDNS_API_KEY", "POWERDNS_API_KEY"}},
	"hetzner":      {"api_token": {"HETZNER_API_TOKEN", "HETZNER_TOKEN"}},
	"gandi":        {"api_token": {"GANDI_API_TOKEN", "GANDI_PERSONAL_ACCESS_TOKEN"}},
	"ovh":          {"application_key": {"OVH_APPLICATION_KEY"}, "application_secret": {"OVH_APPLICATION_SECRET"}, "consumer_key": {"OVH_CONSUMER_KEY"}},
}

// zoneFromFlags makes the config that the flags say, of one zone.
func (a *app) zoneFromFlags(cmd *cobra.Command, f importFlags) (*config.Config, error) {
	keys := config.ProviderKeys(f.provider)
	given := map[string]any{}
	for _, text := range f.set {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return nil, misused(cmd, "--set %s: expected KEY=VALUE", text)
		}
		i := slices.IndexFunc(keys, func(k config.ProviderKey) bool { return k.Name == key })
		if i >= 0 && keys[i].Secret && !config.SecretReference(value) {
			return nil, misused(cmd, "--set %s: a secret on a command line can be seen by others; say where it is: %s=env:NAME, file:PATH or credential:NAME", key, key)
		}
		put(given, key, value)
	}
	a.findUsual(f.provider, keys, given)
	if err := withoutSecret(f.provider, keys, given); err != nil {
		return nil, err
	}
	given["zone"], given["provider"] = f.zone, f.provider
	text, err := json.Marshal(map[string]any{"zones": []any{given}}) // which is YAML
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	cfg, err := config.Parse("flags", text, config.Options{Getenv: a.io.Getenv, AllowNoRecords: true})
	if bad, is := errors.AsType[config.Errors](err); is {
		return nil, &usageError{flagErrors(bad)}
	}
	if err == nil {
		cfg.Zones[0].Position = config.Position{File: "import"} // in no file
	}
	return cfg, err
}

// put sets a key, which has a dot where it is nested.
func put(in map[string]any, key string, value any) {
	outer, inner, nested := strings.Cut(key, ".")
	if !nested {
		in[key] = value
		return
	}
	below, is := in[outer].(map[string]any)
	if !is {
		below = map[string]any{}
		in[outer] = below
	}
	put(below, inner, value)
}

// findUsual takes a secret that was not given from where people keep it.
func (a *app) findUsual(name string, keys []config.ProviderKey, given map[string]any) {
	for _, key := range keys {
		if _, there := given[key.Name]; there {
			continue
		}
		for _, variable := range usual[name][key.Name] {
			if a.io.Getenv(variable) != "" {
				given[key.Name] = "env:" + variable
				fmt.Fprintf(a.io.Err, "%s: taken from env:%s\n", key.Name, variable)
				break
			}
		}
	}
}

// withoutSecret says of each secret that a provider cannot do without where it is
// looked for.
func withoutSecret(name string, keys []config.ProviderKey, given map[string]any) error {
	var lines []string
	for _, key := range keys {
		variables := usual[name][key.Name]
		if _, there := given[key.Name]; there || len(variables) == 0 {
			continue
		}
		lines = append(lines, fmt.Sprintf("import: %s (%s) is missing; set %s in the environment, or --set %s=file:PATH", key.Name, key.Doc, variables[0], key.Name))
	}
	if len(lines) == 0 {
		return nil
	}
	return usagef("%s", strings.Join(lines, "\n"))
}

// flagErrors says of each key that is wrong how it is given here.
func flagErrors(bad config.Errors) error {
	var lines []string
	for _, e := range bad {
		flag := "--set " + strings.TrimPrefix(e.Key, "zones[0].")
		switch e.Key {
		case "zones[0].zone", "zones[0].provider":
			flag = "--" + strings.TrimPrefix(e.Key, "zones[0].")
		}
		text := "import: " + flag + ": " + e.Problem
		if e.Hint != "" {
			text += "; " + e.Hint
		}
		lines = append(lines, text)
	}
	return errors.New(strings.Join(lines, "\n"))
}

// readZone lists the zone and writes the config of it, which is read back before
// anybody gets it. With an error it is as far as it came.
func (a *app) readZone(ctx context.Context, cfg *config.Config, zone *config.Zone, f importFlags) (imported, error) {
	nothing := sortZone(&provider.Snapshot{Zone: zone.Name}, zone.Provider, false)
	log, err := a.logger()
	if err != nil {
		return nothing, err
	}
	a.progress("listing zone %s", zone.Name)
	snapshot, err := daemon.List(ctx, daemon.Options{Config: cfg, Registry: a.registry, Logger: log, Version: a.version}, zone.Name)
	a.progressDone()
	if ctx.Err() == nil && err != nil && strings.Contains(err.Error(), thenValidate) {
		err = &control.Error{Message: strings.ReplaceAll(err.Error(), thenValidate, ""), Exit: exitOf(err)}
	}
	if err != nil {
		return nothing, orInterrupted(ctx, err, "nothing was written")
	}
	im := sortZone(snapshot, zone.Provider, provider.TraitsOf(zone.Provider).Weights)
	if len(im.Sets) == 0 {
		return im, fmt.Errorf("import: no name of zone %s has several values, so that there is nothing to switch between (%s, %s with A, AAAA or CNAME); give one a second value and import again",
			zone.Name, plural(im.Records, "record", "records"), plural(len(im.LeftOut), "name", "names"))
	}
	im.Config = im.configText(cfg.Sources.Zones[zone.Name], f.port, time.Now(), importLine(zone, f))
	read := config.Options{Getenv: a.io.Getenv, SkipSecrets: true}
	if _, err := config.Parse("imported.yaml", []byte(im.Config), read); err != nil {
		im.Config = ""
		return im, fmt.Errorf("import: the config that was made cannot be read, which is a bug: %w", errors.New(err.Error()))
	}
	return im, nil
}

// importLine is the command line that makes the same again, for the head of the
// config.
func importLine(zone *config.Zone, f importFlags) string {
	line := "sidestep import " + zone.Name.Unrooted()
	if f.provider != "" {
		line += " --provider " + f.provider
	}
	for _, set := range f.set { // which names secrets and has none
		line += " --set " + shellWord(set)
	}
	return oneLine(line)
}

// shellWord is a word as a shell reads it back.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=:./,@+", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// giveImported prints the config, or writes its file.
func (a *app) giveImported(im imported, f importFlags) error {
	if f.output != "" {
		if err := writeImported(f, im.Config); err != nil {
			return err
		}
	}
	summary := fmt.Sprintf("%s of zone %s imported, %d left out; the check is a guess: see the top of the config",
		plural(len(im.Sets), "record set", "record sets"), im.Zone, len(im.LeftOut)+len(im.Unread))
	switch {
	case a.json:
		return a.printJSON(im)
	case f.output != "":
		fmt.Fprintf(a.io.Out, "%s: %s\nnext: sidestep validate --online --config %s\n", f.output, summary, f.output)
		return nil
	}
	fmt.Fprintln(a.io.Err, summary)
	_, err := fmt.Fprint(a.io.Out, im.Config)
	return err
}

// mayWrite refuses to replace a file, before anything is asked for.
func mayWrite(f importFlags) error {
	if f.output == "" || f.force {
		return nil
	}
	if _, err := os.Lstat(f.output); err == nil {
		return &control.Error{Message: fmt.Sprintf("import: %s is there already, and was not touched", f.output), Hint: "another name, or --force to replace it", Exit: control.ExitFailure}
	}
	return nil
}

// writeImported makes the file, whole or not at all.
func writeImported(f importFlags, text string) error {
	if !f.force {
		file, err := os.OpenFile(f.output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // no secret is in it
		if errors.Is(err, fs.ErrExist) {
			return mayWrite(f)
		}
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		_, err = file.WriteString(text)
		return errors.Join(err, file.Close())
	}
	file, err := os.CreateTemp(filepath.Dir(f.output), ".sidestep-import-*")
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	_, err = file.WriteString(text)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), f.output)
	}
	if err != nil {
		return fmt.Errorf("import: write %s: %w", f.output, errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}
