package daemon

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"sidestep/pkg/config"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// steered are the names that the config in force answers for. The loop sets
// them, probes ask.
type steered struct {
	names atomic.Pointer[map[record.Name]bool]
	lab   atomic.Bool
}

func (s *steered) set(c *config.Config) {
	s.lab.Store(IsLab(c))
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

// inLab reports whether the config in force is of a lab on this machine.
func (s *steered) inLab() bool { return s.lab.Load() }

// IsLab reports whether a config steers this machine's own loopback: an answer
// or what is probed for it is there, or a zone is served there. Then a name may
// resolve to it, too.
func IsLab(c *config.Config) bool {
	isLoopback := func(text string) bool {
		addr, err := netip.ParseAddr(text)
		return err == nil && addr.IsLoopback()
	}
	return slices.ContainsFunc(c.Zones, func(z config.Zone) bool {
		listen, err := netip.ParseAddrPort(z.Settings.Options["listen"])
		return err == nil && listen.Addr().IsLoopback()
	}) || slices.ContainsFunc(c.Records, func(spec *steer.Spec) bool {
		return slices.ContainsFunc(spec.Answers, func(a steer.Answer) bool { return isLoopback(a.Value) || isLoopback(a.Probe) })
	})
}
