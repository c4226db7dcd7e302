package daemon

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/lease"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
	"sidestep/pkg/rto"
	"sidestep/pkg/steer"
	"sidestep/pkg/store"
)

// recent is how many measurements of a zone count: the last ones.
const recent = 200

// RTO works out how long a switch of each of the record sets takes: of the names,
// or of all. It asks nobody; what was measured it reads in the journal of the
// state directory. What could not be learned, and is assumed therefore, it says in
// notes.
func RTO(c *config.Config, registry provider.Registry, names []string, log *slog.Logger) (list []rto.Estimate, notes []string, err error) {
	specs, err := specsOf(c, names)
	if err != nil {
		return nil, nil, err
	}
	d := &Daemon{options: Options{Config: c, Registry: registry}, config: c, clock: clock.System(), log: log}
	d.limits = provider.NewLimits()
	zones := map[record.Name]rto.Zone{}
	promises := map[record.Name]provider.Promises{}
	for _, spec := range specs {
		name := spec.Key.Zone
		if _, done := zones[name]; done {
			continue
		}
		zone, err := d.adapter(c.Zone(name))
		if err != nil {
			notes = append(notes, fmt.Sprintf("zone %s: what the provider promises is not known, and assumed: %v", name, err))
			zones[name] = rto.Zone{}
			continue
		}
		promises[name] = zone.Adapter.Promises()
		zones[name] = rtoZone(promises[name])
	}
	if err := addMeasured(zones, c.State.Dir, d.clock.Wall()); err != nil {
		notes = append(notes, fmt.Sprintf("how long writes take is assumed: %v", err))
	}
	for _, spec := range specs {
		name := spec.Key.Zone
		list = append(list, rto.Of(d.rtoConfig(c, name, promises[name]), zones[name], spec))
	}
	return list, notes, nil
}

// specsOf are the record sets of some names, in the order of the config; of no
// names all.
func specsOf(c *config.Config, names []string) ([]*steer.Spec, error) {
	if len(names) == 0 {
		return c.Records, nil
	}
	wanted := map[*steer.Spec]bool{}
	for _, name := range names {
		specs, err := RecordSets(c, name, "")
		if err != nil {
			return nil, &control.Error{Message: fmt.Sprintf("rto %q: %v", name, err), Hint: "all of them: sidestep rto", Exit: control.ExitUsage}
		}
		for _, spec := range specs {
			wanted[spec] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(c.Records), func(spec *steer.Spec) bool { return !wanted[spec] }), nil
}

func (d *Daemon) rtoConfig(c *config.Config, zone record.Name, p provider.Promises) rto.Config {
	out := rto.Config{
		Checks: c.Checks, Sites: c.Sites, Scenarios: c.Scenarios, Judged: c.Judged(), Sets: c.Records,
		Debounce: c.Reconcile.Debounce,
		Mass:     rto.Mass{AtLeast: c.Guard.Mass.AtLeast, Confirm: c.Guard.Mass.Confirm},
		Writes:   rto.Writes(c.Guard.MaxWrites),
	}
	if len(c.Canary.Targets) > 0 {
		out.Canary = longestWait(c.Canary)
	}
	switch c.Leader.Lock {
	case config.LockZone:
		out.Takeover = leaseOf(c.Leader, c.Zone(zone).Provider, p).Worst()
	case config.LockEtcd:
		out.Takeover = c.Leader.Lease + lease.Interval(c.Leader.Lease)
	case config.LockFile, config.LockNone:
	}
	return out
}

// longestWait is how long a target may wait for the canary: for the round in
// flight, the pause after it, and a round of its own, each as slow as they get.
func longestWait(c config.Canary) time.Duration {
	longest := time.Duration(0)
	for _, t := range c.Targets {
		longest = max(longest, t.Spec.Timeout)
	}
	return 2*longest + canaryGap
}

func rtoZone(p provider.Promises) rto.Zone {
	z := rto.Zone{Known: true, Call: p.Call, Lag: p.Lag, Publish: p.Publish, MinTTL: p.MinTTL, MaxTTL: p.MaxTTL}
	if !p.Fenced {
		z.Quiet = p.Quiet()
	}
	return z
}

// measuredLine is what is measured in a line of the journal.
type measuredLine struct {
	At     time.Time   `json:"at"`
	Zone   record.Name `json:"zone"`
	Action string      `json:"action"`
	TookMS *float64    `json:"took_ms"`
	Error  string      `json:"error"`

	Verified bool        `json:"verified"`
	Servers  []heardLine `json:"servers"`
	Negative float64     `json:"negative_ttl_ms"`
}

// spread is how long a verified write took to the last of the name servers; false
// where none was asked, or one was not seen to move.
func (l measuredLine) spread() (time.Duration, bool) {
	slowest, heard := 0.0, false
	for _, s := range l.Servers {
		slowest, heard = max(slowest, s.TookMS), heard || s.Verified
		if s.Unmoved {
			return 0, false
		}
	}
	return milliseconds(slowest), heard && l.Verified
}

// superseded is for how long an earlier write was not at all name servers when this
// one took its place; 0 where there was none.
func (l measuredLine) superseded() time.Duration {
	longest := 0.0
	for _, s := range l.Servers {
		longest = max(longest, s.Superseded)
	}
	return milliseconds(longest)
}

// outstanding is for how long this write was not at all name servers: up to now,
// while it is asked on.
func (l measuredLine) outstanding(now time.Time) time.Duration {
	longest := 0.0
	for _, s := range l.Servers {
		longest = max(longest, s.AtLeast)
	}
	since := now.Sub(l.At)
	if l.Verified || longest == 0 || since < 0 || since > reconcile.AskedFor {
		since = 0
	}
	if l.Verified {
		longest = 0
	}
	return milliseconds(longest) + since
}

// addMeasured puts what the journal of a state directory knows beside what is
// known of the zones.
func addMeasured(zones map[record.Name]rto.Zone, dir string, now time.Time) error {
	before, bounds, open := map[record.Name]time.Duration{}, map[record.Name]int{}, map[record.Name]time.Duration{}
	writes, spreads, negative := map[record.Name][]time.Duration{}, map[record.Name][]time.Duration{}, map[record.Name]time.Duration{}
	_, err := store.ReadJournal(dir, store.Filter{Kinds: []string{"write", "verify"}, Newest: evidenceBytes}, func(l store.Line) bool {
		var line measuredLine
		if json.Unmarshal(l.Raw, &line) != nil {
			return true // not of this version: it is left out
		}
		if l.Kind == "write" && line.TookMS != nil && line.Error == "" {
			writes[line.Zone] = append(writes[line.Zone], milliseconds(*line.TookMS))
		}
		if line.Negative > 0 {
			negative[line.Zone] = milliseconds(line.Negative)
		}
		if l.Kind != "verify" {
			return true
		}
		if lag := line.superseded(); lag != before[line.Zone] { // it may be told of twice
			if before[line.Zone] = lag; lag > 0 {
				spreads[line.Zone] = append(spreads[line.Zone], lag)
				bounds[line.Zone]++
			}
		}
		open[line.Zone] = line.outstanding(now)
		if took, measured := line.spread(); measured {
			spreads[line.Zone] = append(spreads[line.Zone], took)
		}
		return true
	})
	for name, z := range zones {
		z.Negative = negative[name]
		z.Write, z.Spread = rto.Measure(last(writes[name])), rto.Measure(last(spreads[name]))
		z.Spread.AtLeast, z.Outstanding = min(bounds[name], z.Spread.Times), open[name]
		zones[name] = z
	}
	return err
}

func last(took []time.Duration) []time.Duration { return took[max(0, len(took)-recent):] }

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// inMilliseconds is a time as the journal has it, no finer than a microsecond.
func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
