package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/zone"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// ZoneValidity is what validate says of one zone.
type ZoneValidity struct {
	Zone       string   `json:"zone"`
	Provider   string   `json:"provider"`
	Pause      string   `json:"pause"`
	Atomic     bool     `json:"atomic"`
	Fenced     bool     `json:"fenced"`
	Records    int      `json:"records"`
	Words      string   `json:"words"`
	Lease      *Lease   `json:"lease,omitempty"` // where the zone's stamp is the lock
	Warnings   []string `json:"warnings"`        // what is probably not meant, a line each
	Inspected  []string `json:"inspected"`       // what the API says of the credential and the zone
	Configured int      `json:"configured"`      // record sets of the config in this zone
	Found      int      `json:"found"`           // those that the zone answers with
	Notes      []string `json:"notes"`           // what a person should know of the zone, a line each, with what to do
	Error      string   `json:"error"`           // what stands in the way

	adapter provider.Adapter
}

// Lease is what the stamp of a zone costs as a lock between nodes, and how fast it
// is. Times are in seconds.
type Lease struct {
	Heartbeat     float64 `json:"heartbeat_s"`
	Takeover      float64 `json:"takeover_s"`
	Poll          float64 `json:"poll_s"`
	LeastTakeover float64 `json:"least_takeover_s"` // below it a leader that loses two heartbeats is taken over
	Worst         float64 `json:"worst_s"`          // from the leader's death to the take-over
	LeaderWrites  float64 `json:"leader_writes_a_minute"`
	LeaderReads   float64 `json:"leader_reads_a_minute"`
	StandbyReads  float64 `json:"standby_reads_a_minute"`
}

// leaseCost is nil and empty where the zone's stamp is not the lock.
func leaseCost(t zone.Times) (*Lease, string) {
	if t == (zone.Times{}) {
		return nil, ""
	}
	beats := float64(time.Minute) / float64(t.Heartbeat)
	return &Lease{
		Heartbeat: t.Heartbeat.Seconds(), Takeover: t.Takeover.Seconds(), Poll: t.Poll.Seconds(),
		LeastTakeover: t.Least().Seconds(), Worst: t.Worst().Seconds(),
		LeaderWrites: beats, LeaderReads: beats, StandbyReads: float64(time.Minute) / float64(t.Poll),
	}, "; its stamp is the lock: " + t.Cost()
}

// Validate makes the adapter of every zone, and asks no provider. An error means
// that the config is wrong in a way that only an adapter can see.
func Validate(_ context.Context, c *config.Config, registry provider.Registry, log *slog.Logger) ([]ZoneValidity, error) {
	d := &Daemon{options: Options{Config: c, Registry: registry}, config: c, log: log}
	zones, err := d.adapters()
	if err != nil {
		return nil, err
	}
	if err := checkHere(c, zones); err != nil {
		return nil, err
	}
	out := []ZoneValidity{}
	crowds := crowded(c)
	for i, z := range zones {
		p, rate := z.Adapter.Promises(), provider.TraitsOf(d.providerOf(z.Name)).Rate
		warnings := append([]string{}, oddTTLs(c, z.Name, p)...)
		if text := crowds[i]; text != "" {
			warnings = append(warnings, text)
		}
		lease, cost := leaseCost(z.Lease)
		out = append(out, ZoneValidity{
			Lease: lease,
			Zone:  string(z.Name), Provider: d.providerOf(z.Name), Pause: string(p.Pause),
			Atomic: p.Atomic, Fenced: p.Fenced, Words: p.Words(rate) + costs(z.Adapter, rate, c.Reconcile.Every) + exposed(c, z.Name, p) + cost + handover(c.Leader, p),
			Warnings:  warnings,
			Inspected: []string{}, Configured: len(specsIn(c, z.Name)), Notes: []string{}, adapter: z.Adapter,
		})
	}
	return out, nil
}

// ValidateOnline is Validate, and asks the providers of all zones side by side
// about the credential and the zone, and what is in it. Each answer has to come
// within the adapter's deadline for a call. shared is what the etcd said that holds the
// lease; nil where none does, or it did not answer.
func ValidateOnline(ctx context.Context, c *config.Config, shared *SharedLock, registry provider.Registry, progress Progress, log *slog.Logger) ([]ZoneValidity, error) {
	zones, err := Validate(ctx, c, registry, log)
	if err != nil {
		return nil, err
	}
	var told sync.Mutex // so that progress is called by each after the other
	answered := 0
	progress("asking the providers: 0 of %d zones answered", len(zones))
	var group sync.WaitGroup
	for i := range zones {
		group.Go(func() {
			zones[i].ask(ctx, c, shared)
			told.Lock()
			defer told.Unlock()
			answered++
			progress("asking the providers: %d of %d zones answered", answered, len(zones))
		})
	}
	group.Wait()
	return zones, nil
}

// checkHere asks the adapters what can be seen without asking a provider.
func checkHere(c *config.Config, zones []reconcile.Zone) error {
	var errs []error
	for i, z := range zones {
		if checker, ok := z.Adapter.(provider.Checker); ok {
			if err := checker.Check(); err != nil {
				errs = append(errs, fmt.Errorf("%s: zone %s: %w", c.Zones[i].Position, z.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// ask asks the provider of one zone.
func (v *ZoneValidity) ask(ctx context.Context, c *config.Config, shared *SharedLock) {
	if inspector, ok := v.adapter.(provider.Inspector); ok {
		limited, cancel := context.WithTimeout(ctx, v.adapter.Promises().Call)
		lines, err := inspector.Inspect(limited)
		cancel()
		v.Inspected = append(v.Inspected, lines...)
		if err != nil {
			v.Error = err.Error()
			return
		}
	}
	snapshot, err := listWithin(ctx, v.adapter)
	if err != nil {
		v.Error = err.Error()
		return
	}
	v.Records = snapshot.Records
	for _, spec := range specsIn(c, record.Name(v.Zone)) {
		v.look(c, spec, snapshot)
	}
	for _, text := range oddTTLs(c, record.Name(v.Zone), v.adapter.Promises()) {
		if !slices.Contains(v.Warnings, text) { // known only now
			v.note("%s", text)
		}
	}
	v.lookAround(c, shared, snapshot)
}

func specsIn(c *config.Config, zone record.Name) []*steer.Spec {
	var specs []*steer.Spec
	for _, spec := range c.Records {
		if spec.Key.Zone == zone {
			specs = append(specs, spec)
		}
	}
	return specs
}

func (v *ZoneValidity) note(format string, args ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, args...))
}

// look says how a record set of the config stands in the zone.
func (v *ZoneValidity) look(c *config.Config, spec *steer.Spec, snapshot *provider.Snapshot) {
	key := spec.Key.Shown()
	set := snapshot.Set(spec.Key)
	live := set.Live()
	if len(live) > 0 {
		v.Found++
	}
	fixed := slices.IndexFunc(snapshot.Fixed, func(f provider.Fixed) bool { return f.Key == spec.Key })
	switch {
	case fixed >= 0:
		v.note("%s is %s, which has no values that could be switched, so that nothing is written to it (guard foreign); steer another name, or replace it by hand", key, snapshot.Fixed[fixed].What)
	case len(set.Answers) == 0:
		v.note("%s is not in the zone; it is created by the first plan that finds one of its answers up", key)
	case len(live) == 0:
		v.note("%s has no live value in the zone; see what a plan would do: sidestep plan", key)
	}
	for _, o := range snapshot.Owners {
		if o.Name == spec.Key.Name {
			v.note("%s is claimed by %s, so that nothing is written to it (guard owned); make that tool let go of it, or: sidestep approve %s", key, o.Owner, spec.Key.Name.Unrooted())
		}
	}
	for _, cut := range snapshot.Delegations {
		if cut != snapshot.Zone && spec.Key.Name.In(cut) {
			v.note("%s lies below the delegation of %s, so that it cannot be steered here (guard delegation); steer it in that zone", key, cut)
		}
	}
	for _, a := range set.Answers {
		switch named := spec.Names(a.Value); {
		case named && a.Held && !a.Live:
			v.note("%s %s was paused by somebody else and is not resumed; if it should be: sidestep approve %s", key, a.Value, strings.TrimSuffix(a.Value, "."))
		case named && a.Live && a.Stuck != "":
			v.note("%s %s cannot be paused, so that it stays in the answer when it is down: %s", key, a.Value, a.Stuck)
		case !named && a.Live:
			v.note("%s answers with %s, which the config does not name: it stays, and is not counted", key, a.Value)
		}
	}
}

// lookAround says what in the zone concerns sidestep beside its record sets.
func (v *ZoneValidity) lookAround(c *config.Config, shared *SharedLock, snapshot *provider.Snapshot) {
	for _, s := range snapshot.Stamps {
		if text := stampWords(c, shared, s, time.Now()); text != "" {
			v.note("%s", text)
		}
	}
	if n := len(snapshot.Skipped); n > 0 {
		v.note("not to be steered, and left alone: %d of the records, such as %s", n, snapshot.Skipped[0])
	}
	slices.Sort(v.Notes)
}

// stampWords is what a person should know of a stamp; empty for nothing.
func stampWords(c *config.Config, shared *SharedLock, s provider.Stamp, now time.Time) string {
	at, own := s.At.UTC().Format(time.RFC3339), lease.Term{}
	if shared != nil {
		own = shared.Term
	}
	two := &reconcile.TwoWritersError{Holder: s.Holder, At: s.At, By: reconcile.LedBy(own, s)}
	switch lock := c.Leader.Lock; {
	case s.Released, s.Holder == "", s.Holder == c.Node.Name, shared != nil && reconcile.SharesLock(own, s):
		return ""
	case lock == config.LockZone && s.Cluster != 0:
		return fmt.Sprintf("node %s wrote the zone at %s, led by an etcd: it does not renew its stamp, which this node takes over; give all nodes the same leader", s.Holder, at)
	case lock == config.LockZone:
		return fmt.Sprintf("node %s leads the zone by its stamp of %s", s.Holder, at)
	case lock == config.LockEtcd && shared == nil:
		return fmt.Sprintf("node %s wrote the zone at %s; whether it belongs to this node's etcd is not known, since that did not answer", s.Holder, at)
	case shared != nil && slices.Contains(shared.Nodes, s.Holder):
		return fmt.Sprintf("node %s, which is in the queue of this etcd by now, wrote the zone at %s, when it led %s: its stamp is taken over", s.Holder, at, two.By)
	case now.Sub(s.At) <= reconcile.FreshStamp:
		return two.Error()
	}
	return fmt.Sprintf("node %s wrote the zone at %s and has not released it; if it still runs, two nodes write one zone: stop one", s.Holder, at)
}
