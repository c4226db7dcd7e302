package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler answers scrapes: of what the meter counted, of what look finds at that
// moment, and of this process and its Go runtime. look may be called from many
// goroutines and returns within some seconds. It is called once for each Meter.
func (m *Meter) Handler(look func() Snapshot) http.Handler {
	m.registry.MustRegister(
		newCollector(look), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4,
		// The answer goes over loopback, or once in a quarter of a minute: packing it
		// costs more memory than all targets do.
		DisableCompression: true,
	})
}

// collector makes metrics of a Snapshot.
type collector struct {
	look  func() Snapshot
	descs map[string]*prometheus.Desc
}

// metered are the metrics that a Meter has itself.
var metered = map[string]bool{
	"build_info": true, "probe_results_total": true, "probe_failures_total": true, "verdicts_total": true, "plans_total": true,
	"rounds_total": true, "writes_total": true, "verifications_total": true, "api_calls_total": true, "probe_seconds": true,
	"write_seconds": true, "propagation_seconds": true, "state_errors_total": true, "journal_errors_total": true,
}

func newCollector(look func() Snapshot) *collector {
	c := &collector{look: look, descs: map[string]*prometheus.Desc{}}
	for _, p := range table {
		for _, m := range p.metrics {
			if !metered[m.name] {
				c.descs[m.name] = prometheus.NewDesc(prefix+m.name, m.help, m.labels, nil)
			}
		}
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := c.look()
	e := &emitter{descs: c.descs, to: to}
	e.loop(s.Loop)
	if !s.Loop.Answers {
		return // the rest is not known
	}
	e.process(s)
	e.probes(s.Probes)
	e.checks(s)
	e.sites(s.Sites)
	for i := range s.Zones {
		e.zone(&s.Zones[i])
	}
	e.sets(s)
	e.overrides(s)
	e.receivers(s.Receivers)
	for _, name := range words["state"] {
		if s.Nodes != nil {
			e.gauge("nodes", float64(s.Nodes[name]), name)
		}
	}
}

// emitter sends metrics.
type emitter struct {
	descs map[string]*prometheus.Desc
	to    chan<- prometheus.Metric
}

func (e *emitter) gauge(name string, value float64, labels ...string) {
	e.send(name, prometheus.GaugeValue, value, labels)
}

func (e *emitter) counter(name string, value uint64, labels ...string) {
	e.send(name, prometheus.CounterValue, float64(value), labels)
}

// send sends a mistake in the table instead of the metric, where there is one: the
// scrape then says what it is.
func (e *emitter) send(name string, kind prometheus.ValueType, value float64, labels []string) {
	metric, err := prometheus.NewConstMetric(e.descs[name], kind, value, labels...)
	if err != nil {
		metric = prometheus.NewInvalidMetric(e.descs[name], err)
	}
	e.to <- metric
}

func (e *emitter) flag(name string, on bool, labels ...string) {
	value := 0.0
	if on {
		value = 1
	}
	e.gauge(name, value, labels...)
}

func (e *emitter) time(name string, at time.Time, labels ...string) {
	if !at.IsZero() {
		e.gauge(name, float64(at.UnixMilli())/1000, labels...)
	}
}

func (e *emitter) loop(l Loop) {
	e.flag("loop_up", l.Answers)
	e.time("loop_last_turn_timestamp_seconds", l.LastTurn)
}

func (e *emitter) process(s Snapshot) {
	e.time("config_loaded_timestamp_seconds", s.Config.Loaded)
	e.flag("config_refused", s.Config.Refused)
	e.flag("state_unsaved", s.State.Unsaved)
	e.flag("state_lost", s.State.Lost)
	for _, result := range words["result"] {
		if s.Canary != "" {
			e.flag("canary", s.Canary == result, result)
		}
	}
	for _, guard := range []string{"canary", "mass", "clock"} {
		held := false
		for _, g := range s.Guards {
			held = held || g == guard
		}
		e.flag("node_guard", held, guard)
	}
	for name, l := range s.Limits {
		e.counter("rate_limit_requests_total", l.Calls, name)
		e.send("rate_limit_wait_seconds_total", prometheus.CounterValue, l.Waited.Seconds(), []string{name})
		e.gauge("rate_limit_held_seconds", l.Held.Seconds(), name)
	}
}

func (e *emitter) probes(p Probes) {
	e.gauge("probes_in_flight", float64(p.InFlight))
	e.gauge("probes_in_flight_limit", float64(p.Limit))
	e.gauge("probe_lag_seconds", p.Lag.Seconds())
	e.counter("probes_late_total", p.Late)
	e.counter("probes_skipped_total", p.Skipped)
	e.counter("probes_missed_total", p.Missed)
	e.counter("probes_delayed_total", p.Delayed)
	e.counter("standstills_total", p.Standstills)
}

func (e *emitter) checks(s Snapshot) {
	for _, c := range s.Checks {
		for _, verdict := range words["verdict"] {
			e.gauge("targets", float64(c.Verdicts[verdict]), c.Name, verdict)
		}
		for _, state := range words["cooldown"] {
			e.gauge("cooldowns", float64(c.Cooldowns[state]), c.Name, state)
		}
	}
	for _, t := range s.Targets {
		e.flag("target_up", t.Up, t.Check, t.Address)
	}
	e.gauge("targets_omitted", float64(s.TargetsOmitted))
}

func (e *emitter) sites(sites []Site) {
	for _, s := range sites {
		e.flag("site_ok", s.OK, s.Name)
		e.flag("site_waiting", s.Waiting, s.Name)
	}
}

func (e *emitter) zone(z *Zone) {
	e.time("zone_listed_timestamp_seconds", z.Listed, z.Name)
	e.flag("zone_error", z.Error, z.Name)
	e.flag("leader", z.Leads, z.Name)
	if z.Leased {
		e.gauge("lease_left_seconds", z.Lease.Seconds(), z.Name)
	}
	e.gauge("leaderless_seconds", z.Leaderless.Seconds(), z.Name)
	e.flag("two_writers", z.Rival, z.Name)
	e.gauge("open_calls", float64(z.OpenCalls), z.Name)
	e.gauge("pending_changes", float64(z.Pending), z.Name)
	known := 0
	for _, guard := range words["guard"] {
		if guard != other {
			e.gauge("blocked", float64(z.Blocked[guard]), z.Name, guard)
			known += z.Blocked[guard]
		}
	}
	all := 0
	for _, n := range z.Blocked {
		all += n
	}
	e.gauge("blocked", float64(all-known), z.Name, other)
	for _, usable := range words["usable"] {
		e.gauge("record_sets", float64(z.Sets[usable]), z.Name, usable)
	}
}

func (e *emitter) sets(s Snapshot) {
	for _, set := range s.Sets {
		e.gauge("record_set_usable", float64(set.Usable), set.Zone, set.Name, set.Type, set.Variant)
		if set.Listed {
			e.gauge("record_set_live", float64(set.Live), set.Zone, set.Name, set.Type, set.Variant)
		}
	}
	e.gauge("record_sets_omitted", float64(s.SetsOmitted))
}

func (e *emitter) overrides(s Snapshot) {
	e.flag("frozen", s.Frozen)
	for _, kind := range words["kind"] {
		e.gauge("overrides", float64(s.Overrides[kind].Count), kind)
		e.gauge("override_oldest_seconds", s.Overrides[kind].Oldest.Seconds(), kind)
	}
}

func (e *emitter) receivers(receivers map[string]Receiver) {
	for name, r := range receivers {
		for i, count := range []uint64{r.Delivered, r.Failed, r.Dropped} {
			e.counter("notify_messages_total", count, name, words["delivery"][i])
		}
		e.gauge("notify_waiting", float64(r.Waiting), name)
		e.gauge("notify_oldest_seconds", r.Oldest.Seconds(), name)
	}
}
