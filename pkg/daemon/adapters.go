package daemon

import (
	"fmt"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
)

// adapters makes the adapter of every zone.
func (d *Daemon) adapters() ([]reconcile.Zone, error) {
	var zones []reconcile.Zone
	d.limits = provider.NewLimits()
	for i := range d.config.Zones {
		zone, err := d.adapter(&d.config.Zones[i])
		if err != nil {
			return nil, err
		}
		if err := suits(d.config, zone.Name, zone.Adapter.Promises()); err != nil {
			return nil, err
		}
		zones = append(zones, zone)
	}
	return zones, nil
}

// adapter makes the adapter of one zone.
func (d *Daemon) adapter(z *config.Zone) (reconcile.Zone, error) {
	construct, found := d.options.Registry[z.Provider]
	if !found {
		return reconcile.Zone{}, fmt.Errorf("open zone %s: this sidestep has no provider %q", z.Name, z.Provider)
	}
	settings := z.Settings
	settings.Limiter = d.limits.Of(z.Provider, settings)
	settings.Logger, settings.Client = d.log, "sidestep/"+d.options.Version
	adapter, err := construct(settings)
	if err != nil {
		return reconcile.Zone{}, &control.Error{Message: fmt.Sprintf("%s: open zone %s: %v", z.Position, z.Name, err), Exit: control.ExitUsage}
	}
	return reconcile.Zone{
		Name: z.Name, Adapter: adapter, Servers: z.Verify.Servers, NoDNS: !z.Verify.DNS, Dead: d.unserved(adapter),
		Find:   hasWorld(d.config, z, adapter),
		Lease:  leaseOf(d.options.Config.Leader, z.Provider, adapter.Promises()),
		Safety: safety(d.options.Config.Leader, adapter.Promises()),
	}, nil
}

// unserved is where only the daemon answers for an adapter's zone, for a command
// that does its work without one; else empty.
func (d *Daemon) unserved(adapter provider.Adapter) string {
	if l, ok := adapter.(provider.Listener); ok && d.options.Once {
		return l.Listens()
	}
	return ""
}

// renewed makes a new adapter for every zone whose settings the next config
// changes, and sees that the zones can hold what it steers. It belongs to the loop.
func (d *Daemon) renewed(next *config.Config) ([]reconcile.Zone, error) {
	var zones []reconcile.Zone
	for i := range next.Zones {
		z := &next.Zones[i]
		promises, _ := d.writer.Promises(z.Name)
		if changed := keysChanged(d.config.Zone(z.Name), z); len(changed) > 0 {
			zone, err := d.adapter(z)
			if err != nil {
				return nil, err
			}
			if _, serves := zone.Adapter.(provider.Server); serves {
				return nil, restartFor([]string{inZone(z.Name, changed)})
			}
			promises = zone.Adapter.Promises()
			zones = append(zones, zone)
		}
		if err := suits(next, z.Name, promises); err != nil {
			return nil, err
		}
	}
	return zones, nil
}

// retry lets the adapters look again for a credential that lies outside the config,
// and has the zones whose last round failed tried now: a reload is what a person
// does about them.
func (d *Daemon) retry(c *config.Config) {
	for _, adapter := range d.writer.Adapters() {
		if r, ok := adapter.(provider.Renewer); ok {
			if err := r.Renew(); err != nil {
				d.log.Warn("the credential before stays in use", "error", err)
			}
		}
	}
	for i := range c.Zones {
		d.writer.Hasten(c.Zones[i].Name)
	}
}
