package provider

import (
	"maps"
	"slices"
)

// Traits is what the records of a provider can have whatever the zone, so that
// it is known before there is an adapter to promise it.
type Traits struct {
	Weights  bool // see Promises
	Variants bool
}

// traits are by the provider's name in the config. One that is not there has
// none of them.
var traits = map[string]Traits{
	"route53":      {Weights: true, Variants: true}, // set identifiers
	"tencentcloud": {Weights: true, Variants: true}, // lines
}

// TraitsOf gives the traits of a provider by its name in the config.
func TraitsOf(name string) Traits { return traits[name] }

// WithTraits lists the names of the providers that have certain traits, sorted.
func WithTraits(has func(Traits) bool) []string {
	names := slices.Sorted(maps.Keys(traits))
	return slices.DeleteFunc(names, func(name string) bool { return !has(traits[name]) })
}
