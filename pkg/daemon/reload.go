package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// Reload reads the config anew and puts it in force, or keeps the one before
// and says why: in the log, in status, and in the error. Counters of targets
// whose check is the same go on. A zone whose credential or other settings changed
// gets a new adapter between two rounds. What only a start can change (which zones
// there are and where, the node, the state directory, the socket, the lock) is
// refused.
func (d *Daemon) Reload() error {
	_, err := d.reload("")
	return err
}

// ReloadConfig is Reload for those who ask for it and want to know what became of it.
func (d *Daemon) ReloadConfig(_ context.Context, by string) (control.Reloaded, error) {
	changed, err := d.reload(by)
	switch {
	case errors.Is(err, errStopped):
		return control.Reloaded{}, err
	case err != nil:
		return control.Reloaded{}, &control.Error{Message: err.Error(), Hint: "the config before stays in force", Exit: control.ExitUsage}
	}
	answer := control.Reloaded{Changed: changed}
	if !d.ask(func(*engine.Engine) { answer.File, answer.Loaded = d.config.File, d.loaded }) {
		return control.Reloaded{}, errStopped
	}
	return answer, nil
}

// reload says what changed; by is who asked for it, empty for a signal.
func (d *Daemon) reload(by string) (changed string, err error) {
	d.reloads.Lock()
	defer d.reloads.Unlock()
	d.tellSystemd(reloading())
	defer func() {
		d.tellSystemd(ready)
		d.tellStatusNow() // which says what was refused
	}()
	next, err := d.loadAgain()
	asked := d.ask(func(*engine.Engine) {
		var zones []reconcile.Zone
		if err == nil {
			zones, err = d.renewed(next)
		}
		if d.refused = err; err != nil {
			d.refusedAt = d.clock.Wall()
			return
		}
		changed = changedBy(d.config, next)
		for _, zone := range zones {
			d.writer.Swap(zone) // before any work that rests on the next config
		}
		d.putInForce(next)
	})
	if !asked && err == nil {
		err = errStopped
	}
	if err != nil {
		d.log.Error("reload refused; the config before stays in force", "error", err)
		d.journalConfig("refused", err.Error(), by)
		return "", fmt.Errorf("reload: %w", err)
	}
	for _, w := range next.Warnings {
		d.log.Warn("config", "warning", w.String())
	}
	d.warnUnpermitted(next)
	d.log.Info("reloaded", "config", next.File, "changed", changed)
	d.journalConfig("reloaded", changed, by)
	d.retry(next)
	return changed, nil
}

// journalConfig writes down that a config came into force, at the start or by a reload,
// or was refused; by is who asked, empty for a signal.
func (d *Daemon) journalConfig(what, detail, by string) {
	d.journal("config", struct {
		Node   string `json:"node"`
		What   string `json:"what"` // started, reloaded, refused
		File   string `json:"file"`
		Detail string `json:"detail,omitempty"`
		By     string `json:"by,omitempty"`
	}{d.options.Config.Node.Name, what, d.options.Config.File, detail, by})
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
	if changed := needsRestart(d.options.Config, next); len(changed) > 0 {
		return nil, restartFor(changed)
	}
	return next, nil
}

func restartFor(changed []string) error {
	return fmt.Errorf("%s: that takes a restart", strings.Join(changed, ", "))
}

// putInForce belongs to the loop.
func (d *Daemon) putInForce(next *config.Config) {
	d.sayDropped(d.config, next)
	d.config, d.loaded = next, d.clock.Wall()
	d.configureMeter(next)
	d.steered.set(next)
	d.setReceivers(next)
	d.letIn(next.Control)
	d.step(engine.Configure{Config: d.engineConfig(next)})
	jobs := d.jobs()
	d.schedule.Set(jobs)
	if d.options.Alone {
		useProcessors(jobs)
		d.useMemory(len(jobs))
	}
	d.canary.set(next.Canary)
	d.compareNews()
	d.lookSoon(0, zonesOf(d.options.Config)...)
	if d.nodes != nil {
		d.nodes.Reconfigured(digest(next))
	}
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

// needsRestart says what differs between two configs that a reload cannot
// change.
func needsRestart(old, next *config.Config) []string {
	var changed []string
	for _, key := range []struct {
		name string
		same bool
	}{
		{"node", old.Node == next.Node},
		{"state.dir", old.State.Dir == next.State.Dir},
		{"control.socket", old.Control.Socket == next.Control.Socket},
		{"control.listen", old.Control.Listen == next.Control.Listen},
		{"control.tls", (old.Control.TLS.Files.Cert == "") == (next.Control.TLS.Files.Cert == "")},
		{"leader", old.Leader == next.Leader},
		{"etcd", reflect.DeepEqual(old.Etcd, next.Etcd)},
		{"reconcile.retry", old.Reconcile.RetryBase == next.Reconcile.RetryBase && old.Reconcile.RetryMax == next.Reconcile.RetryMax},
	} {
		if !key.same {
			changed = append(changed, key.name+" changed")
		}
	}
	for i := range old.Zones {
		was := &old.Zones[i]
		is := next.Zone(was.Name)
		if is == nil {
			changed = append(changed, "zone "+was.Name.Unrooted()+" removed")
		} else if moved := slices.DeleteFunc(keysChanged(was, is), func(key string) bool { return !slices.Contains(whereabouts, key) }); len(moved) > 0 {
			changed = append(changed, inZone(was.Name, moved))
		}
	}
	for i := range next.Zones {
		if old.Zone(next.Zones[i].Name) == nil {
			changed = append(changed, "zone "+next.Zones[i].Name.Unrooted()+" added")
		}
	}
	return changed
}

// whereabouts are the keys of a zone's entry that say where the zone is, so that
// with another value it may be another zone: one that this process knows nothing
// of. All other keys say how it is reached and by whose right. That a credential
// of another account finds another zone of the same name is seen by the zone's own
// id, where the provider has one (reconcile.Swap).
var whereabouts = []string{
	"provider", "edition", "endpoint", "file", "hosted_zone_id", "listen", "server", "server_id", "transfer_from", "zone_id",
}

// keysChanged names the keys in which two entries of a zone differ, sorted.
func keysChanged(was, is *config.Zone) []string {
	var keys []string
	differ := func(key string, differs bool) {
		if differs {
			keys = append(keys, key)
		}
	}
	a, b := was.Settings, is.Settings
	differ("provider", was.Provider != is.Provider)
	differ("insecure", a.Insecure != b.Insecure)
	differ("lag", a.Lag != b.Lag)
	differ("late", a.Late != b.Late)
	differ("variants of its record sets", !slices.Equal(a.Variants, b.Variants))
	differ("verify.dns", was.Verify.DNS != is.Verify.DNS)
	differ("verify.servers", !slices.Equal(was.Verify.Servers, is.Verify.Servers))
	for _, key := range keysOf(a.Options, b.Options) {
		differ(key, a.Options[key] != b.Options[key])
	}
	for _, key := range keysOf(a.Secrets, b.Secrets) {
		differ(key, a.Secrets[key].Reveal() != b.Secrets[key].Reveal())
	}
	slices.Sort(keys)
	return keys
}

// keysOf are the keys of either map, each once.
func keysOf[V any](a, b map[string]V) []string {
	both := map[string]bool{}
	for key := range a {
		both[key] = true
	}
	for key := range b {
		both[key] = true
	}
	return slices.Collect(maps.Keys(both))
}

func inZone(name record.Name, keys []string) string {
	return fmt.Sprintf("zone %s: %s changed", name.Unrooted(), strings.Join(keys, " and "))
}
