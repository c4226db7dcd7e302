package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/daemon"
	"sidestep/pkg/observe"
	"sidestep/pkg/resolve"
	"sidestep/pkg/steer"
)

// observeSetup is what observe looks at.
type observeSetup struct {
	observe.Options

	spec        *steer.Spec
	serversFrom string // where the name servers are known from
	noServers   string // why none are known; empty when some are
}

// How long one question or request may take.
const (
	observeTimeout   = 5 * time.Second // at most, and for one sample
	observeImpatient = 2 * time.Second // at least, where the next sample waits for it
)

// observeSetup finds out what a name stands for. What the command line cannot
// mean is a usage error; name servers that are not found are none.
func (a *app) observeSetup(ctx context.Context, name string, f observeFlags) (*observeSetup, error) {
	request := observe.Request{}
	var err error
	if f.identity != "" {
		if request.Identity, err = observe.ParseIdentity(f.identity); err != nil {
			return nil, &usageError{err}
		}
	}
	if f.via != "" {
		if request.Via, err = observe.ParseVia(f.via); err != nil {
			return nil, &usageError{err}
		}
	}
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	spec, err := a.observedSet(cfg, f.command, name, f.kind)
	if err != nil {
		return nil, err
	}
	s := &observeSetup{spec: spec, Options: observe.Options{Name: spec.Key.Name, Type: spec.Key.Type, Loopback: daemon.IsLab(cfg), Timeout: observeTimeout}}
	if !f.once {
		s.Timeout = min(observeTimeout, max(observeImpatient, 2*f.every))
	}
	if s.Resolvers, err = resolversFor(f.resolver); err != nil {
		return nil, err
	}
	asked, err := a.observedURL(cfg, spec, f)
	if err != nil {
		return nil, err
	}
	if asked != nil {
		request.HTTP, request.Source = *asked, sourceOf(cfg, spec)
		s.Request = &request
	}
	a.progress("looking for the name servers of %s", spec.Key.Zone.Shown())
	s.findServers(ctx, cfg.Zone(spec.Key.Zone))
	a.progressDone()
	return s, ctx.Err()
}

// observedSet finds the one record set that is meant. Of several it takes the
// first, and says how to have another.
func (a *app) observedSet(cfg *config.Config, command, name, kind string) (*steer.Spec, error) {
	specs, err := daemon.RecordSets(cfg, name, kind)
	if err != nil {
		return nil, usagef("%s %q: %w", command, name, err)
	}
	spec := specs[0]
	for _, other := range specs[1:] {
		if other.Key.Type != spec.Key.Type {
			fmt.Fprintf(a.io.Err, "note: %s has %s too: --type %s\n", spec.Key.Name.Shown(), other.Key.Type, other.Key.Type)
			continue
		}
		fmt.Fprintf(a.io.Err, "note: of the variants of %s the servers tell the one for who asks from here\n", spec.Key.Shown())
		break
	}
	return spec, nil
}

// resolversFor are those of the flag, or of this machine.
func resolversFor(flag string) ([]netip.AddrPort, error) {
	if flag == "" {
		return resolve.Servers(resolve.DefaultFile)
	}
	addr, err := observe.ParseServer(flag)
	if err != nil {
		return nil, usagef("--resolver: %w", err)
	}
	return []netip.AddrPort{addr}, nil
}

// observedCheck is the record set's HTTP check; nil for none.
func observedCheck(cfg *config.Config, spec *steer.Spec) *check.Spec {
	for _, name := range spec.Checks {
		if c := cfg.Checks[name]; c != nil && c.HTTP != nil {
			return c
		}
	}
	return nil
}

// sourceOf is where the probes of the record set leave from.
func sourceOf(cfg *config.Config, spec *steer.Spec) netip.Addr {
	if c := observedCheck(cfg, spec); c != nil {
		return c.Source
	}
	return netip.Addr{}
}

// observedURL is what is requested: as the flag says, with the TLS of the
// record set's HTTP check, or as that check does; nil without either.
func (a *app) observedURL(cfg *config.Config, spec *steer.Spec, f observeFlags) (*check.HTTP, error) {
	var of *check.HTTP
	if c := observedCheck(cfg, spec); c != nil {
		of = c.HTTP
	}
	if f.url == "" {
		if of == nil && (f.identity != "" || f.via != "") {
			return nil, usagef("%s: %s has no HTTP check, so nothing is requested; give --url", f.command, spec.Key.Name.Shown())
		}
		if of == nil {
			fmt.Fprintf(a.io.Err, "note: %s has no HTTP check, so connections are not looked at; give --url\n", spec.Key.Name.Shown())
		}
		return of, nil
	}
	asked, err := config.ParseURL(f.url)
	if err != nil {
		return nil, usagef("--url: %w", err)
	}
	if of != nil {
		asked.TLS = of.TLS
		if of.Host != asked.Host {
			asked.TLS.ServerName = ""
		}
	}
	return &asked, nil
}

// findServers finds the name servers: those that the config lists, else sidestep
// itself where it serves the zone, else those of the zone's NS records, else the
// one that takes the writes.
func (s *observeSetup) findServers(ctx context.Context, zone *config.Zone) {
	if list := parsedServers(zone.Verify.Servers); len(list) > 0 {
		s.Servers, s.serversFrom = list, "verify.servers"
		return
	}
	if list := parsedServers([]string{zone.Settings.Options["listen"]}); len(list) > 0 {
		s.Servers, s.serversFrom = list, "listen of the zone"
		return
	}
	found, err := observe.FindServers(ctx, s.Resolvers, zone.Name)
	if err == nil {
		s.Servers, s.serversFrom = found, "NS records"
		return
	}
	if list := parsedServers([]string{zone.Settings.Options["server"]}); len(list) > 0 {
		s.Servers, s.serversFrom = list, fmt.Sprintf("server of the zone, as its NS records lead nowhere: %v", err)
		return
	}
	s.noServers = err.Error() + "; list them in zones[].verify.servers"
}

func parsedServers(texts []string) []observe.Server {
	var list []observe.Server
	for _, text := range texts {
		if addr, err := observe.ParseServer(text); err == nil {
			list = append(list, observe.Server{Addr: addr})
		}
	}
	return list
}

func (s *observeSetup) title() string { return s.Name.Shown() + " " + string(s.Type) }

// gaps are what the last sample could not read, and what no sample could.
func (s *observeSetup) gaps(line *observe.Timeline) []string {
	gaps := line.Samples[len(line.Samples)-1].Gaps()
	if s.noServers != "" {
		gaps = slices.Insert(gaps, 0, "authoritative: "+s.noServers)
	}
	return gaps
}

// lines say what is looked at.
func (s *observeSetup) lines(f observeFlags) []string {
	how := fmt.Sprintf("every %s for %s", f.every, f.span)
	if f.once {
		how = "once"
	}
	lines := []string{fmt.Sprintf("%s, %s", s.title(), how)}
	if s.noServers != "" {
		lines = append(lines, "name servers: none known: "+s.noServers)
	} else {
		lines = append(lines, fmt.Sprintf("name servers: %s (%s)", joined(s.Servers), s.serversFrom))
	}
	from := "--resolver"
	if f.resolver == "" {
		from = resolve.DefaultFile
	}
	var resolvers []observe.Server
	for _, addr := range s.Resolvers {
		resolvers = append(resolvers, observe.Server{Addr: addr})
	}
	lines = append(lines, fmt.Sprintf("resolver: %s (%s)", joined(resolvers), from))
	if s.Request == nil {
		return lines
	}
	request := fmt.Sprintf("request: %s %s", cmp.Or(s.Request.HTTP.Method, "GET"), s.Request.HTTP.URL())
	if s.Request.Via != nil {
		request += ", via " + s.Request.Via.String()
	}
	if s.Request.Via == nil && s.Request.Source.IsValid() {
		request += ", from " + s.Request.Source.String()
	}
	if !s.Request.Identity.IsZero() {
		request += ", identity " + s.Request.Identity.String()
	}
	return append(lines, request)
}

func joined(servers []observe.Server) string {
	words := make([]string, len(servers))
	for i, s := range servers {
		words[i] = s.String()
	}
	return strings.Join(words, ", ")
}
