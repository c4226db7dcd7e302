package daemon

import (
	"fmt"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// costs says what a zone costs in calls, where those are counted; empty where
// they are not.
func costs(adapter provider.Adapter, rate provider.Rate, every time.Duration) string {
	if rate.PerSecond == 0 {
		return ""
	}
	p := adapter.Promises()
	_, follows := adapter.(provider.Follower)
	text := "; a switch of one record set takes "
	switch {
	case p.Together:
		text += "a list, one write and a list"
	case follows && p.Fenced:
		text += "a list, two writes and a list"
	case p.OneByOne && p.Pause == provider.PauseParked: // add, copy, remove
		text += "three writes, with a list before and after each"
	case p.OneByOne:
		text += "a list and a write for each record, and a list at the end"
	default:
		text += "two writes, with a list before and after each"
	}
	if every > 0 {
		text += fmt.Sprintf("; while nothing changes it is listed every %s", every)
	}
	return text
}

// oddTTLs warns of record sets whose TTL the provider does not keep as given. What
// it keeps may be known only after it was asked.
func oddTTLs(c *config.Config, zone record.Name, p provider.Promises) []string {
	var warnings []string
	for _, spec := range specsIn(c, zone) {
		kept := record.Answer{MinTTL: p.MinTTL, MaxTTL: p.MaxTTL}.Kept(spec.TTL)
		if spec.TTL == 0 || kept == spec.TTL {
			continue
		}
		bound := "below"
		if kept < spec.TTL {
			bound = "above"
		}
		warnings = append(warnings, fmt.Sprintf("%s: %s: the provider keeps no TTL %s %s, and the config says %s: name servers answer with %[4]s",
			c.Sources.Records[spec.Key], spec.Key.Shown(), bound, kept, spec.TTL))
	}
	return warnings
}

// crowded warns, once for each credential, of more zones than can be listed, and
// their stamps looked at where those are the lock, in time by half of what the
// provider allows; the rest is for writes.
func crowded(c *config.Config) map[int]string {
	limits := provider.NewLimits()
	count, first := map[*provider.Limiter]int{}, map[*provider.Limiter]int{}
	for i, z := range c.Zones {
		l := limits.Of(z.Provider, z.Settings)
		if count[l]++; count[l] == 1 {
			first[l] = i
		}
	}
	warnings := map[int]string{}
	for l, n := range count {
		zone := c.Zones[first[l]]
		rate, every := provider.TraitsOf(zone.Provider).Rate, c.Reconcile.Every
		if most := rate.PerSecond / 2 * every.Seconds(); l != nil && every > 0 && float64(n) > most {
			least := time.Duration(float64(n) / rate.PerSecond * 2 * float64(time.Second))
			warnings[first[l]] = fmt.Sprintf("%s: reconcile.every: %d zones share this credential, and listing each every %s takes more than half of its %v calls a second; use %s",
				zone.Position, n, every, rate.PerSecond, (least + time.Minute - 1).Truncate(time.Minute))
		}
		if text := crowdedLocks(c.Leader, zone.Provider, n); l != nil && text != "" {
			warnings[first[l]] = fmt.Sprintf("%s: %s", zone.Position, text)
		}
	}
	return warnings
}

// crowdedLocks warns of more zones of one credential than their stamps can be the
// locks of; empty where they are not, or are few enough.
func crowdedLocks(l config.Leader, providerName string, zones int) string {
	times, rate := leaseOf(l, providerName, provider.Promises{}), provider.TraitsOf(providerName).Rate
	if times.Poll == 0 || rate.PerSecond == 0 {
		return ""
	}
	leader, standby := float64(zones)*2/times.Heartbeat.Seconds(), float64(zones)/times.Poll.Seconds()
	if max(leader, standby) <= rate.PerSecond/2 {
		return ""
	}
	return fmt.Sprintf("leader.lock: %d zones share this credential, and their stamps as locks take %.3g calls a second of the leader and %.3g of a standby, more than half of the %v that it makes; use longer heartbeat, takeover and poll, or a lock that all zones share",
		zones, leader, standby, rate.PerSecond)
}
