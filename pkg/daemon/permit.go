package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sidestep/pkg/config"
	"sidestep/pkg/probe"
)

// Unpermitted says which checks of a config this process has no permission for,
// and the remedy; empty when it may make them all. It is no error of the
// config, which may be meant for another machine.
func Unpermitted(c *config.Config) string {
	return unpermitted(c, func(name string) error { return probe.Permitted(c.Checks[name]) })
}

func unpermitted(c *config.Config, permitted func(name string) error) string {
	var names []string
	var why error
	for _, name := range slices.Sorted(maps.Keys(c.Checks)) {
		if err := permitted(name); err != nil {
			names, why = append(names, "checks."+name), err
		}
	}
	if why == nil {
		return ""
	}
	return fmt.Sprintf("%s: %s: %v; until then the results here are unknown, and nothing is written for them",
		c.Sources.Checks[strings.TrimPrefix(names[0], "checks.")], strings.Join(names, ", "), why)
}

// warnUnpermitted says it in the log: once for a config, however many probes
// will say it of themselves.
func (d *Daemon) warnUnpermitted(c *config.Config) {
	if d.options.Probe != nil {
		return
	}
	if text := Unpermitted(c); text != "" {
		d.log.Warn("config", "warning", text)
	}
}
