package provider

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

// Limits hands out one Limiter for each credential, at the rate of its provider,
// since vendors count the calls of an account and not those of a zone. It is for
// one goroutine; the limiters are for many.
type Limits struct {
	limiters map[[sha256.Size]byte]*Limiter
	of       map[string][]*Limiter // by provider
}

// NewLimits has handed out none.
func NewLimits() *Limits {
	return &Limits{limiters: map[[sha256.Size]byte]*Limiter{}, of: map[string][]*Limiter{}}
}

// Used tells by provider what went through its limiters: the sums, and the longest
// that one of them is held.
func (l *Limits) Used() map[string]Used {
	all := map[string]Used{}
	for name, limiters := range l.of {
		var sum Used
		for _, one := range limiters {
			u := one.Used()
			sum = Used{Calls: sum.Calls + u.Calls, Waited: sum.Waited + u.Waited, Held: max(sum.Held, u.Held)}
		}
		all[name] = sum
	}
	return all
}

// ofZone are the options and secrets that say which zone of an account is meant,
// and nothing of the account.
var ofZone = []string{"zone_id", "zone_token", "hosted_zone_id", "server_id"}

// Of is the limiter of a zone's credential; nil where the provider has no limit.
func (l *Limits) Of(name string, s Settings) *Limiter {
	rate := TraitsOf(name).Rate
	if rate.PerSecond == 0 {
		return nil
	}
	id := credential(name, s)
	if l.limiters[id] == nil {
		l.limiters[id] = NewLimiter(rate.PerSecond, rate.Burst, rate.Reserve)
		l.of[name] = append(l.of[name], l.limiters[id])
	}
	return l.limiters[id]
}

// credential tells the accounts of a provider apart, and keeps no secret.
func credential(name string, s Settings) [sha256.Size]byte {
	text := fmt.Sprintf("%q", name)
	for _, key := range slices.Sorted(maps.Keys(s.Options)) {
		if !slices.Contains(ofZone, key) && s.Options[key] != "" {
			text += fmt.Sprintf(" %q=%q", key, s.Options[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Secrets)) {
		if !slices.Contains(ofZone, key) && !s.Secrets[key].Empty() {
			text += fmt.Sprintf(" %q:%q", key, s.Secrets[key].Reveal())
		}
	}
	return sha256.Sum256([]byte(text))
}
