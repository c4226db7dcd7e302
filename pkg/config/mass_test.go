package config

import (
	"fmt"
	"strings"
	"testing"
)

// massConfig has two sites of two addresses each, and an address without a site.
const massConfig = `
zones: [{zone: example.com, provider: local, file: /z}]
canary: {targets: [{tcp: "198.51.100.53:53"}]}
checks: {web: {tcp: {port: 8443}}}
guard: {mass: %s}
sites:
  dc1: {signals: {access: {check: web, targets: [203.0.113.1]}}}
  dc2: {signals: {access: {check: web, targets: [203.0.113.3]}}}
scenarios: {dc1-on: {all: [dc1]}, dc2-on: {all: [dc2]}}
records:
  - {name: www, check: web, answers: [{value: 203.0.113.1, site: dc1, when: dc1-on}, {value: 203.0.113.2, site: dc1}, {value: 203.0.113.4, site: dc2, when: dc2-on}, 203.0.113.5]}
`

// TestAMassGuardThatCanNeverHold: four sites and addresses cannot be, of which the
// config probes three; what nobody wrote is not warned about.
func TestAMassGuardThatCanNeverHold(t *testing.T) {
	for _, tt := range []struct{ config, want string }{
		{fmt.Sprintf(massConfig, "{percent: 50, at_least: 3, within: 1m}"), ""},
		{fmt.Sprintf(massConfig, "{percent: 50, at_least: 4, within: 1m}"), "guard.mass.at_least: at least 4 of all sites and other addresses have to fail together, and this config probes 3: "},
		{fmt.Sprintf(massConfig, "0"), ""},
		{fmt.Sprintf(massConfig, "{percent: 0}"), "guard.mass.percent: any 3 addresses that fail together are more than 0%: this is the strictest guard, not none; mass: 0 switches the guard off"},
		{small + "guard: {mass: {percent: 50, within: 1m}}\n", "guard.mass: at least 3 of all addresses have to fail together, and this config probes 2: the guard never holds anything; write a smaller at_least, or mass: 0"},
		{small + "guard: {mass: {at_least: 1}}\n", ""},
		{small, ""},
	} {
		said := ""
		for _, w := range mustParse(t, "t.yaml", tt.config, world()).Warnings {
			if strings.Contains(w.Key, "guard.mass") {
				said += w.String()
			}
		}
		if !strings.Contains(said, tt.want) || tt.want == "" && said != "" {
			t.Errorf("%s\nwarned %q, want %q", tt.config, said, tt.want)
		}
	}
}
