package daemon

import (
	"sync/atomic"

	"sidestep/pkg/config"
	"sidestep/pkg/record"
)

// steered are the names that the config in force answers for. The loop sets
// them, probes ask.
type steered struct {
	names atomic.Pointer[map[record.Name]bool]
}

func (s *steered) set(c *config.Config) {
	names := map[record.Name]bool{}
	for _, spec := range c.Records {
		names[spec.Key.Name] = true
	}
	s.names.Store(&names)
}

// find is a probe.Steered: the record set of a name, or a wildcard that covers
// it. Whether a nearer name keeps the wildcard away (RFC 4592 section 3.3.1)
// is not to be seen from here.
func (s *steered) find(name string) (string, bool) {
	names := *s.names.Load()
	target := record.Name(name)
	if names[target] {
		return name, true
	}
	for at, ok := target.Parent(); ok; at, ok = at.Parent() {
		if wild := at.Below("*"); names[wild] {
			return string(wild), true
		}
	}
	return "", false
}
