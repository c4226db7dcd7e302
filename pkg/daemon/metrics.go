package daemon

import (
	"net/http"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/metrics"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
)

// Metrics answers the scrapes of a Prometheus, until the daemon ends.
func (d *Daemon) Metrics() http.Handler {
	d.scraped.Do(func() { d.scrapes = d.meter.Handler(d.snapshot) })
	return d.scrapes
}

// scrapeWithin is how long a scrape waits for the loop: less than the ten seconds
// that a Prometheus waits for the answer.
const scrapeWithin = 5 * time.Second

// snapshot is what this daemon is at this moment.
func (d *Daemon) snapshot() metrics.Snapshot {
	s := metrics.Snapshot{Loop: metrics.Loop{LastTurn: time.UnixMilli(d.turned.Load())}}
	taken := make(chan metrics.Snapshot, 1)
	patience := time.NewTimer(scrapeWithin)
	defer patience.Stop()
	select {
	case d.inbox <- func(e *engine.Engine) { taken <- d.measure(e) }:
	case <-patience.C:
		return s
	case <-d.stopped:
		return s
	}
	select {
	case all := <-taken:
		s.Loop.Answers, all.Loop = true, s.Loop
		all.Loop.Answers = true
		return all
	case <-patience.C:
		return s
	}
}

// configureMeter says to the meter which names there are. It belongs to the loop, or
// to New.
func (d *Daemon) configureMeter(c *config.Config) {
	var checks, zones []string
	for name := range c.Checks {
		checks = append(checks, name)
	}
	for i := range c.Zones {
		zones = append(zones, string(c.Zones[i].Name))
	}
	d.meter.Configure(checks, zones)
}

// measure belongs to the loop.
func (d *Daemon) measure(e *engine.Engine) metrics.Snapshot {
	now := d.now()
	view := e.Overview(now)
	stats := d.schedule.Stats()
	s := metrics.Snapshot{
		Config: metrics.Config{Loaded: d.loaded, Refused: d.refused != nil},
		State:  metrics.State{Unsaved: d.unsaved != nil, Lost: view.Lost},
		Probes: metrics.Probes{
			InFlight: stats.InFlight, Limit: stats.Limit, Late: stats.Late, Skipped: stats.Skipped, Missed: stats.Missed,
			Delayed: stats.Delayed, Standstills: stats.Gaps, Lag: stats.Lag,
		},
		Guards: guardsOf(view), Frozen: frozen(view) != nil,
		Overrides: map[string]metrics.Override{}, Limits: map[string]metrics.Limit{},
	}
	if view.Canary != nil {
		s.Canary = string(view.Canary.State)
	}
	for _, site := range view.Sites {
		s.Sites = append(s.Sites, metrics.Site{Name: site.Name, OK: site.State == scenario.StateOK, Waiting: site.Waiting != ""})
	}
	for _, o := range view.Words {
		if o.Begun && o.Inert == "" {
			of := s.Overrides[string(o.Kind)]
			s.Overrides[string(o.Kind)] = metrics.Override{Count: of.Count + 1, Oldest: max(of.Oldest, now.Wall.Sub(o.From))}
		}
	}
	for name, used := range d.limits.Used() {
		s.Limits[name] = metrics.Limit{Calls: used.Calls, Waited: used.Waited, Held: used.Held}
	}
	d.measureTargets(e, &s, stats.Targets)
	d.measureZones(e, &s, view)
	d.measureNodes(&s)
	s.Receivers = d.measureReceivers()
	return s
}

// measureReceivers adds up those who are told by kind and host: more of a URL is secret.
func (d *Daemon) measureReceivers() map[string]metrics.Receiver {
	receivers := map[string]metrics.Receiver{}
	if d.people.Notifier == nil {
		return receivers
	}
	for _, s := range d.people.Stats() {
		r := receivers[s.To]
		receivers[s.To] = metrics.Receiver{
			Delivered: r.Delivered + uint64(s.Delivered), Failed: r.Failed + uint64(s.Failed), Dropped: r.Dropped + uint64(s.Dropped),
			Waiting: r.Waiting + s.Waiting, Oldest: max(r.Oldest, s.Oldest),
		}
	}
	return receivers
}

// guardsOf are those that keep this node from believing its probes.
func guardsOf(view engine.View) []string {
	var list []string
	for guard, why := range map[string]string{plan.GuardCanary: view.Blind, plan.GuardMass: view.Mass, plan.GuardClock: view.Clock} {
		if why != "" {
			list = append(list, guard)
		}
	}
	return list
}

// measureTargets adds the targets up by check, and lists them where they are few.
func (d *Daemon) measureTargets(e *engine.Engine, s *metrics.Snapshot, targets int) {
	place := map[string]int{}
	for name := range d.config.Checks {
		place[name] = len(s.Checks)
		s.Checks = append(s.Checks, metrics.Check{Name: name, Verdicts: map[string]int{}, Cooldowns: map[string]int{}})
	}
	few := targets <= metrics.SeriesMost
	for t := range e.TargetBriefs() {
		c := &s.Checks[place[t.Target.Check]]
		c.Verdicts[string(t.Verdict)]++
		c.Cooldowns[string(t.Cooldown)]++
		if few {
			s.Targets = append(s.Targets, metrics.Target{Check: t.Target.Check, Address: t.Target.Address, Up: t.Verdict == health.Up})
		} else {
			s.TargetsOmitted++
		}
	}
}

// measureZones tells of each zone, and of its record sets.
func (d *Daemon) measureZones(e *engine.Engine, s *metrics.Snapshot, view engine.View) {
	place := map[record.Name]int{}
	for _, z := range view.Zones {
		place[z.Name] = len(s.Zones)
		s.Zones = append(s.Zones, d.measureZone(z))
	}
	few := len(d.config.Records) <= metrics.SeriesMost
	for b := range e.SetBriefs() {
		usable := "some"
		switch b.Usable {
		case b.Answers:
			usable = "all"
		case 0:
			usable = "none"
		}
		s.Zones[place[b.Key.Zone]].Sets[usable]++
		if !few {
			s.SetsOmitted++
			continue
		}
		s.Sets = append(s.Sets, metrics.Set{
			Zone: string(b.Key.Zone), Name: string(b.Key.Name), Type: string(b.Key.Type), Variant: b.Key.Variant,
			Usable: b.Usable, Live: b.Live, Listed: b.Listed,
		})
	}
}

func (d *Daemon) measureZone(z engine.ZoneView) metrics.Zone {
	_, vacant := d.vacant[z.Name]
	out := metrics.Zone{
		Name: string(z.Name), Listed: d.ages[z.Name].listed, Error: z.Err != "", Leaderless: d.vacantFor(""),
		Rival: d.rivals[z.Name].seen != nil, OpenCalls: d.writer.OpenCalls(z.Name), Blocked: map[string]int{}, Sets: map[string]int{},
	}
	if vacant {
		out.Leaderless = max(out.Leaderless, d.vacantFor(z.Name))
	}
	out.Leads, out.Lease, out.Leased = d.leads(z.Name)
	for _, set := range z.Plan.Sets {
		for _, c := range set.Changes {
			if c.Guard == "" {
				out.Pending++
			}
		}
	}
	for _, b := range z.Plan.Blocked {
		out.Blocked[b.Guard]++
	}
	return out
}

// leads reports whether this node may write a zone, and what is left of its lease if
// that has an end.
func (d *Daemon) leads(zone record.Name) (leads bool, left time.Duration, ends bool) {
	held, _ := d.leader.get()
	if held == nil {
		return false, 0, false
	}
	until, ends := held.Until()
	if lead, leased := d.writer.Leadership(zone); leased {
		if !lead.Leads {
			return false, 0, false
		}
		until, ends = lead.Until, true
	}
	return true, max(0, until-d.clock.Boot()), ends
}

// measureNodes counts those that share an etcd.
func (d *Daemon) measureNodes(s *metrics.Snapshot) {
	if d.peers == nil {
		return
	}
	s.Nodes = map[string]int{}
	for _, n := range d.describeNodes() {
		switch {
		case n.Silent:
			s.Nodes["silent"]++
		case n.Blind:
			s.Nodes["blind"]++
		default:
			s.Nodes["heard"]++
		}
	}
}

// What follows is counted where it passes.

func (d *Daemon) meterResults(results []check.Result) {
	for _, r := range results {
		d.meter.Result(r.Target.Check, string(r.Outcome), string(r.Cause), r.Latency())
	}
}

// meterEffects belongs to the loop.
func (d *Daemon) meterEffects(effects engine.Effects) {
	for _, entry := range effects.Journal {
		if entry.Kind == "verdict" {
			name, _, _ := strings.Cut(entry.Target, "@")
			d.meter.Verdict(name, string(entry.To))
		}
	}
	for _, work := range effects.Work {
		d.meter.Plan(string(work.Zone))
	}
}

func (d *Daemon) meterWrite(w reconcile.Write) {
	zone, outcome := string(w.Zone), outcomeOf(w.Err)
	for _, c := range w.Changes {
		d.meter.Write(zone, string(c.Action), outcome)
	}
	for range w.Removed {
		d.meter.Write(zone, "remove", outcome)
	}
	if w.Err == nil && len(w.Changes) > 0 {
		d.meter.WriteTook(zone, w.Took)
	}
}

// called takes one call to an adapter from a zone's worker.
func (d *Daemon) called(c reconcile.Call) {
	if c.What != "follow" { // it sends nothing
		d.meter.Call(string(c.Zone), c.What, outcomeOf(c.Err))
	}
}

// outcomeOf is the class of an error of an adapter, ok without one.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return provider.ClassOf(err).String()
}

// endOf is how a round without an error ended.
func endOf(r reconcile.Report) string {
	switch {
	case r.Final.InSync():
		return "in-sync"
	case r.Final.Pending():
		return "unfinished"
	}
	return "blocked"
}

func (d *Daemon) meterVerified(line verifyLine) {
	d.meter.Verified(line.Zone, line.Verified)
	measured := measuredLine{Verified: line.Verified, Servers: line.Servers}
	if took, heard := measured.spread(); heard {
		d.meter.Propagated(line.Zone, took)
	}
}
