package provider

import (
	"fmt"
	"maps"
	"slices"
)

// Traits is what a provider has whatever the zone, so that it is known before
// there is an adapter to promise it.
type Traits struct {
	Weights  bool // see Promises
	Variants bool
	Rate     Rate
	Notifies bool // each write makes the name servers transfer the zone, so that none is made for nothing
}

// Rate is how many calls sidestep makes with one credential, reads and writes of
// all its zones together: less than the vendor allows, since other programs use
// the same account. The zero value is no limit.
type Rate struct {
	PerSecond float64 // on the long run
	Burst     int     // at once, after a quiet time
	Reserve   int     // of the burst, kept for writes
}

// String is for people: "3 calls a second, 60 at once after a quiet time".
func (r Rate) String() string {
	if r.PerSecond == 0 {
		return "no limit on calls"
	}
	calls := "calls"
	if r.PerSecond == 1 {
		calls = "call"
	}
	return fmt.Sprintf("at most %v %s a second, %d at once after a quiet time, %d of them kept for writes", r.PerSecond, calls, r.Burst, r.Reserve)
}

// generic is the rate at the providers that are reached through their libdns
// adapters, each call of which makes several requests. None of their APIs allows
// less than one request a second on the long run (Hetzner: 3600 an hour).
var generic = Rate{PerSecond: 1, Burst: 10, Reserve: 5}

// traits are by the provider's name in the config. One that is not there has
// none of them: a server of one's own has no limit.
var traits = map[string]Traits{
	// "API limits": 1200 requests in five minutes of one user, all tokens and the
	// dashboard together; one more, and all are refused for the next five minutes.
	"cloudflare": {Rate: Rate{PerSecond: 3, Burst: 60, Reserve: 20}},
	// "Throttling for Amazon Route 53 API requests", of 2026: 10 requests a second
	// of one account, with a bucket of 50.
	"route53": {Weights: true, Variants: true, Rate: Rate{PerSecond: 8, Burst: 40, Reserve: 10}}, // set identifiers
	// "ModifyRecordStatus": 20 requests a second; of the calls used none has less.
	"tencentcloud": {Weights: true, Variants: true, Rate: Rate{PerSecond: 10, Burst: 10, Reserve: 5}}, // lines

	"rfc2136": {Notifies: true}, // a new serial, NOTIFY (RFC 1996), a transfer to each secondary

	"hetzner": {Rate: generic},
	"gandi":   {Rate: generic},
	"ovh":     {Rate: generic},
}

// TraitsOf gives the traits of a provider by its name in the config.
func TraitsOf(name string) Traits { return traits[name] }

// WithTraits lists the names of the providers that have certain traits, sorted.
func WithTraits(has func(Traits) bool) []string {
	names := slices.Sorted(maps.Keys(traits))
	return slices.DeleteFunc(names, func(name string) bool { return !has(traits[name]) })
}
