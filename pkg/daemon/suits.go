package daemon

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/lease/zone"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// suits refuses record sets that a zone cannot hold. The config tells it by the
// provider's name, and the adapter has the last word.
func suits(c *config.Config, zone record.Name, promises provider.Promises) error {
	for _, spec := range c.Records {
		lacks := ""
		switch {
		case spec.Key.Zone != zone:
		case spec.Policy == steer.Weighted && !promises.Weights:
			lacks = "policy: weighted needs weights, and the zone's records have none; use all or priority"
		case spec.Key.Variant != "" && !promises.Variants:
			lacks = "the zone has one set of a name and type and no variants of it; remove variant"
		case spec.Key.Type.Single() && !promises.Single:
			lacks = "the provider cannot switch a " + string(spec.Key.Type) + " in place, and the name would have no answer for a moment; use addresses"
		}
		if lacks != "" {
			return &control.Error{Message: fmt.Sprintf("%s: %s in zone %s: %s", c.Sources.Records[spec.Key], spec.Key, zone, lacks), Exit: control.ExitUsage}
		}
	}
	if err := suitsLease(c, zone, promises); err != nil {
		return err
	}
	return suitsSafety(c, c.Zone(zone), promises)
}

// suitsLease refuses a zone whose stamp is to be the lease and cannot be, and times
// by which a leader that lives would be taken over.
func suitsLease(c *config.Config, name record.Name, promises provider.Promises) error {
	if c.Leader.Lock != config.LockZone {
		return nil
	}
	z := c.Zone(name)
	refuse := func(format string, args ...any) error {
		return &control.Error{Message: fmt.Sprintf("%s: ", c.Sources.Leader) + fmt.Sprintf(format, args...), Exit: control.ExitUsage}
	}
	if !promises.Fenced {
		return refuse("leader.lock: the stamp in zone %s cannot be the lock: %s does not compare it with the one that was read before it writes, so that two nodes could write at once; use lock: file, for one host", name, z.Provider)
	}
	if err := leaseOf(c.Leader, z.Provider, promises).Check(); err != nil {
		return refuse("zone %s: %v", name, err)
	}
	return nil
}

// The times of a lease by default, and where each write costs the name servers a
// transfer.
var (
	leaseTimes = zone.Times{Heartbeat: 30 * time.Second, Takeover: 2 * time.Minute, Poll: 10 * time.Second}
	rareTimes  = zone.Times{Heartbeat: time.Minute, Takeover: 4 * time.Minute, Poll: 10 * time.Second}
)

// leaseOf are the times of a zone whose stamp is the lease; zero under another lock.
func leaseOf(l config.Leader, providerName string, promises provider.Promises) zone.Times {
	if l.Lock != config.LockZone {
		return zone.Times{}
	}
	times := leaseTimes
	if provider.TraitsOf(providerName).Notifies {
		times = rareTimes
	}
	times.Heartbeat = cmp.Or(l.Heartbeat, times.Heartbeat)
	times.Takeover = cmp.Or(l.Takeover, times.Takeover)
	times.Poll = cmp.Or(l.Poll, times.Poll)
	times.Lag, times.Call = promises.Lag, promises.Call
	return times
}

// exposed says whose answers for disasters anybody can read in a zone, where
// people may mean to hide them; empty for nobody's. Single-valued types are parked
// as text whatever the provider's pause is.
func exposed(c *config.Config, zone record.Name, promises provider.Promises) string {
	parks := promises.Pause == provider.PauseParked
	var names []string
	for _, spec := range c.Records {
		if spec.Key.Zone == zone && len(spec.DR.Answers) > 0 && (parks || spec.Key.Type.Single()) {
			names = append(names, spec.Key.Name.Shown())
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case !parks:
		return "; once they were used, the targets for disasters of " + strings.Join(names, ", ") + " can be read by anybody: an alias that is paused leaves a copy in a TXT record"
	}
	return "; once they were used, the addresses for disasters of " + strings.Join(names, ", ") + " are among those copies"
}
