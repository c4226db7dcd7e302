package config

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

func (b *builder) buildZones(zones *item) {
	b.zones = map[record.Name]*item{}
	b.cfg.Sources.Zones = map[record.Name][]byte{}
	if zones.shape == list && len(zones.items) == 0 {
		b.fail(zones.pos, zones.path(), "expected at least one zone, got an empty list", "")
	}
	for _, it := range zones.each() {
		if it.shape == mapping {
			b.zone(it)
		}
	}
}

func (b *builder) zone(it *item) {
	name := get[record.Name](it.at("zone"))
	if name == "" {
		return
	}
	if first := b.zones[name]; first != nil {
		b.fail(it.at("zone").pos, it.at("zone").path(), fmt.Sprintf("the zone %s is there twice, first at %s", name, first.at("zone").pos), "one zone has one entry and one provider")
		return
	}
	b.zones[name] = it
	zone := Zone{
		Name:     name,
		Provider: get[string](it.at("provider")),
		Verify:   Verify{DNS: get[bool](it.at("verify", "dns"))},
		Position: it.pos,
		Settings: provider.Settings{
			Zone:     name,
			Options:  map[string]string{},
			Secrets:  map[string]provider.Secret{},
			Insecure: get[bool](it.at("insecure")),
			Late:     get[time.Duration](it.at("late")),
			Lag:      get[time.Duration](it.at("lag")),
		},
	}
	for _, server := range it.at("verify", "servers").each() {
		if s := get[string](server); s != "" {
			zone.Verify.Servers = append(zone.Verify.Servers, s)
		}
	}
	b.foreignKeys(it, zone.Provider)
	switch zone.Provider {
	case "rfc2136":
		b.rfc2136(it, &zone.Settings)
	case "local":
		b.local(it, &zone.Settings)
	case "tencentcloud":
		b.tencentcloud(it, &zone.Settings)
	case "cloudflare":
		b.account(it, &zone.Settings, "api_token zone_token", "zone_id endpoint")
	case "route53":
		b.account(it, &zone.Settings, "access_key_id secret_access_key session_token", "profile region role_arn hosted_zone_id endpoint")
	case "hetzner", "gandi":
		b.account(it, &zone.Settings, "api_token", "")
	case "powerdns":
		b.account(it, &zone.Settings, "api_key", "server_id endpoint")
	case "ovh":
		b.account(it, &zone.Settings, "application_key application_secret consumer_key", "endpoint")
	}
	b.cfg.Zones = append(b.cfg.Zones, zone)
	b.cfg.Sources.Zones[name] = b.zoneEntry(it)
}

// foreignKeys refuses the keys of other providers.
func (b *builder) foreignKeys(it *item, provider string) {
	if provider == "" {
		return
	}
	for _, child := range it.items {
		if child.key != nil && child.key.of != "" && !slices.Contains(strings.Fields(child.key.of), provider) {
			b.fail(child.keyPos, child.path(), "not a key of the provider "+provider, known("", providerKeys(provider)))
		}
	}
}

// providerKeys lists the keys that only this provider, or it among others, has.
func providerKeys(provider string) []string {
	var keys []string
	for _, f := range zoneKeys {
		if slices.Contains(strings.Fields(f.of), provider) {
			keys = append(keys, f.name)
		}
	}
	return keys
}

// account reads the keys of a provider with an API, spelled for its adapter as in
// the config; which of them it needs the adapter knows.
func (b *builder) account(it *item, s *provider.Settings, secrets, options string) {
	for key := range strings.FieldsSeq(secrets) {
		if it.has(key) {
			s.Secrets[key] = b.secret(it.at(key))
		}
	}
	for key := range strings.FieldsSeq(options) {
		if text := get[string](it.at(key)); text != "" {
			s.Options[key] = text
		}
	}
}

func (b *builder) rfc2136(it *item, s *provider.Settings) {
	server := get[string](it.at("server"))
	if !it.has("server") {
		b.fail(it.pos, it.at("server").path(), "missing; expected the primary server, HOST:PORT", "")
	}
	s.Options["server"] = server
	s.Options["transfer_from"] = server
	if from := get[string](it.at("transfer_from")); from != "" {
		s.Options["transfer_from"] = from
	}
	if tsig := it.at("tsig"); tsig.shape == mapping {
		s.Options["tsig.name"] = string(get[record.Name](tsig.at("name")))
		s.Options["tsig.algorithm"] = get[string](tsig.at("algorithm"))
		s.Secrets["tsig.secret"] = b.secret(tsig.at("secret"))
		return
	}
	plain := s.Insecure || isLoopback(server) && isLoopback(s.Options["transfer_from"])
	if server != "" && !plain && !it.has("tsig") {
		b.fail(it.pos, it.at("tsig").path(), "missing; without it anybody between here and the server can change the zone", "add tsig: {name, algorithm, secret}, or insecure: true if that is meant")
	}
}

func isLoopback(hostPort string) bool {
	host, _, _ := cutLast(hostPort, ":")
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.IsLoopback()
}

func (b *builder) local(it *item, s *provider.Settings) {
	file := get[string](it.at("file"))
	if !it.has("file") {
		b.fail(it.pos, it.at("file").path(), "missing; expected a zone file", "")
		return
	}
	s.Options["file"] = b.absolute(file)
	if at := get[string](it.at("listen")); at != "" {
		s.Options["listen"] = at
	}
}

func (b *builder) tencentcloud(it *item, s *provider.Settings) {
	for _, name := range []string{"secret_id", "secret_key"} {
		if !it.has(name) {
			b.fail(it.pos, it.at(name).path(), "missing; expected a key of the account that has the zone", "")
		}
	}
	for _, name := range []string{"secret_id", "secret_key", "session_token"} {
		if it.has(name) {
			s.Secrets[name] = b.secret(it.at(name))
		}
	}
	s.Options["edition"] = get[string](it.at("edition"))
	if endpoint := get[string](it.at("endpoint")); endpoint != "" {
		s.Options["endpoint"] = endpoint
	}
}

// variants tells zones whose variants have a name and an id which of them the
// records name, so that each is listed as the config spells it.
func (b *builder) variants() {
	for i := range b.cfg.Zones {
		zone := &b.cfg.Zones[i]
		if zone.Provider != "tencentcloud" {
			continue
		}
		for _, spec := range b.cfg.Records {
			if variant := spec.Key.Variant; spec.Key.Zone == zone.Name && variant != "" {
				zone.Settings.Variants = append(zone.Settings.Variants, variant)
			}
		}
		slices.Sort(zone.Settings.Variants)
		zone.Settings.Variants = slices.Compact(zone.Settings.Variants)
	}
}

// zoneOf is the longest zone that holds a name; nil when none does.
func (b *builder) zoneOf(name record.Name) *item {
	for at, ok := name, true; ok; at, ok = at.Parent() {
		if it := b.zones[at]; it != nil {
			return it
		}
	}
	return nil
}

// zoneNames lists the zones, for messages.
func (b *builder) zoneNames() []string {
	var names []string
	for name := range maps.Keys(b.zones) {
		names = append(names, name.Unrooted())
	}
	return names
}
