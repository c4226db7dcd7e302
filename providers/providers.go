package providers

import (
	"sidestep/pkg/provider"
	"sidestep/providers/cloudflare"
	"sidestep/providers/gandi"
	"sidestep/providers/hetzner"
	"sidestep/providers/local"
	"sidestep/providers/ovh"
	"sidestep/providers/powerdns"
	"sidestep/providers/rfc2136"
	"sidestep/providers/route53"
	"sidestep/providers/tencentcloud"
)

// Registry maps each provider's name in the config to its constructor. The map
// is the caller's own.
func Registry() provider.Registry {
	return provider.Registry{
		"cloudflare":   cloudflare.New,
		"gandi":        gandi.New,
		"hetzner":      hetzner.New,
		"local":        local.New,
		"ovh":          ovh.New,
		"powerdns":     powerdns.New,
		"rfc2136":      rfc2136.New,
		"route53":      route53.New,
		"tencentcloud": tencentcloud.New,
	}
}
