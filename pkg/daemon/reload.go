package daemon

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"sidestep/pkg/config"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
	"sidestep/pkg/steer"
)

// Reload reads the config anew and puts it in force, or keeps the one before
// and says why: in the log, in status, and in the error. Counters of targets
// whose check is the same go on. What only a start can change (zones and their
// providers, the node, the state directory, the socket, the lock) is refused.
func (d *Daemon) Reload() error {
	d.tellSystemd(reloading())
	defer d.tellSystemd(ready)
	next, err := d.loadAgain()
	changed := ""
	asked := d.ask(func(*engine.Engine) {
		if d.refused = err; err != nil {
			d.refusedAt = d.clock.Wall()
			return
		}
		changed = changedBy(d.config, next)
		d.putInForce(next)
	})
	if !asked && err == nil {
		err = errStopped
	}
	if err != nil {
		d.log.Error("reload refused; the config before stays in force", "error", err)
		return fmt.Errorf("reload: %w", err)
	}
	for _, w := range next.Warnings {
		d.log.Warn("config", "warning", w.String())
	}
	d.warnUnpermitted(next)
	d.log.Info("reloaded", "config", next.File, "changed", changed)
	return nil
}

// loadAgain reads the config, and sees that a reload can put it in force.
func (d *Daemon) loadAgain() (*config.Config, error) {
	if d.options.Load == nil {
		return nil, errors.New("this sidestep cannot read its config again")
	}
	next, err := d.options.Load()
	if err != nil {
		return nil, err
	}
	if what := needsRestart(d.options.Config, next); what != "" {
		return nil, fmt.Errorf("%s changed: that takes a restart", what)
	}
	return next, nil
}

// putInForce belongs to the loop.
func (d *Daemon) putInForce(next *config.Config) {
	d.sayDropped(d.config, next)
	d.config, d.loaded = next, d.clock.Wall()
	d.steered.set(next)
	d.step(engine.Configure{Config: d.engineConfig(next)})
	jobs := d.jobs()
	d.schedule.Set(jobs)
	if d.options.Alone {
		useProcessors(jobs)
		d.useMemory(len(jobs))
	}
	d.canary.set(next.Canary)
}

// sayDropped logs what the next config does not name any more. Nothing of it is
// changed in the zone: what answers goes on answering, what is paused stays so.
func (d *Daemon) sayDropped(old, next *config.Config) {
	for _, was := range old.Records {
		i := slices.IndexFunc(next.Records, func(is *steer.Spec) bool { return is.Key == was.Key })
		for _, value := range was.Values() {
			if i < 0 || !next.Records[i].Names(value) {
				d.log.Warn("no longer steered: it stays in the zone as it is", "set", was.Key.String(), "value", value)
			}
		}
	}
}

// needsRestart names what differs between two configs that a reload cannot
// change; empty when nothing does.
func needsRestart(old, next *config.Config) string {
	switch {
	case old.Node != next.Node:
		return "node"
	case old.State.Dir != next.State.Dir:
		return "state.dir"
	case old.Control != next.Control:
		return "control"
	case old.Leader != next.Leader:
		return "leader"
	case old.Reconcile.RetryBase != next.Reconcile.RetryBase || old.Reconcile.RetryMax != next.Reconcile.RetryMax:
		return "reconcile.retry"
	case !slices.EqualFunc(old.Zones, next.Zones, sameZone):
		return "zones"
	}
	return ""
}

func sameZone(a, b config.Zone) bool {
	sameSecret := func(x, y provider.Secret) bool { return x.Reveal() == y.Reveal() }
	return a.Name == b.Name && a.Provider == b.Provider &&
		slices.Equal(a.Verify.Servers, b.Verify.Servers) && a.Verify.DNS == b.Verify.DNS &&
		a.Settings.Insecure == b.Settings.Insecure && a.Settings.Late == b.Settings.Late && a.Settings.Lag == b.Settings.Lag &&
		maps.Equal(a.Settings.Options, b.Settings.Options) && slices.Equal(a.Settings.Variants, b.Settings.Variants) &&
		maps.EqualFunc(a.Settings.Secrets, b.Settings.Secrets, sameSecret)
}
