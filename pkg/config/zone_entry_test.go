package config

import (
	"slices"
	"strings"
	"testing"

	"sidestep/pkg/record"
)

// TestZoneEntryMovesElsewhere: the entry of a zone means the same in a file of
// another folder, and holds no secret.
func TestZoneEntryMovesElsewhere(t *testing.T) {
	const text = `zones:
  - zone: Example.COM
    provider: rfc2136
    server: 127.0.0.1
    tsig: {name: sidestep., secret: aGVsbG8gd29ybGQ=}
    verify: {servers: [192.0.2.53], dns: false}
  - {zone: example.net, provider: rfc2136, server: 127.0.0.1, tsig: {name: k, secret: "file:tsig.secret"}, insecure: true}
  - {zone: example.org, provider: local, file: example.org.zone}
`
	opts := wealthy()
	opts.AllowNoRecords = true
	opts.SkipSecrets = true
	opts.Abs = func(string) (string, error) { return "/etc/sidestep", nil }
	c := mustParse(t, "sidestep.yaml", text, opts)
	entries := ""
	for _, zone := range []record.Name{"example.com.", "example.net.", "example.org."} {
		entries += string(c.Sources.Zones[zone])
	}
	for _, want := range []string{"zone: Example.COM", "env:SIDESTEP_RFC2136_TSIG_SECRET # the secret itself stood here", "secret: file:/etc/sidestep/tsig.secret", "file: /etc/sidestep/example.org.zone", "servers: [192.0.2.53]", "insecure: true"} {
		if !strings.Contains(entries, want) {
			t.Errorf("expected %q in\n%s", want, entries)
		}
	}
	if strings.Contains(entries, "aGVsbG8") {
		t.Errorf("a secret in\n%s", entries)
	}
	opts.Abs = func(string) (string, error) { return "/elsewhere", nil }
	again := mustParse(t, "other.yaml", "zones:\n"+entries, opts)
	for i := range c.Zones {
		if got, want := again.Zones[i].Settings.Options["file"], c.Zones[i].Settings.Options["file"]; got != want {
			t.Errorf("file %q became %q", want, got)
		}
	}
}

func TestProviderKeys(t *testing.T) {
	var names, secrets []string
	for _, key := range ProviderKeys("rfc2136") {
		names = append(names, key.Name)
		if key.Secret {
			secrets = append(secrets, key.Name)
		}
	}
	if want := []string{"server", "transfer_from", "tsig.name", "tsig.algorithm", "tsig.secret"}; !slices.Equal(names, want) {
		t.Errorf("keys %q, want %q", names, want)
	}
	if !slices.Equal(secrets, []string{"tsig.secret"}) {
		t.Errorf("secrets %q", secrets)
	}
	for text, want := range map[string]bool{"env:X": true, "file:/x": true, "credential:x": true, "env:": false, "literal": false, "a:b": false} {
		if SecretReference(text) != want {
			t.Errorf("SecretReference(%q) is %v", text, !want)
		}
	}
}
