package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Buckets of the histograms, in seconds: few, since each is a series of every check
// or zone.
var (
	probeBuckets  = []float64{0.01, 0.05, 0.25, 1, 5}
	writeBuckets  = []float64{0.25, 1, 2.5, 10, 60}
	spreadBuckets = []float64{0.5, 2, 10, 60, 300}
)

// Meter counts what has happened since the start. Its methods may be called from
// many goroutines, and by names that the config does not have any more: those are
// not counted.
type Meter struct {
	registry *prometheus.Registry

	results, failures, verdicts                    *prometheus.CounterVec
	plans, rounds, writes, verifications, calls    *prometheus.CounterVec
	probeSeconds, writeSeconds, propagationSeconds *prometheus.HistogramVec
	stateErrors, journalErrors                     prometheus.Counter

	mu     sync.RWMutex
	checks map[string]bool
	zones  map[string]bool
}

// NewMeter has counted nothing, and knows no name of a config.
func NewMeter(version, goVersion string) *Meter {
	r := prometheus.NewRegistry()
	m := &Meter{
		registry: r,
		results:  counters(r, "probe_results_total"), failures: counters(r, "probe_failures_total"), verdicts: counters(r, "verdicts_total"),
		plans: counters(r, "plans_total"), rounds: counters(r, "rounds_total"), writes: counters(r, "writes_total"),
		verifications: counters(r, "verifications_total"), calls: counters(r, "api_calls_total"),
		probeSeconds: histograms(r, "probe_seconds", probeBuckets), writeSeconds: histograms(r, "write_seconds", writeBuckets),
		propagationSeconds: histograms(r, "propagation_seconds", spreadBuckets),
		stateErrors:        counters(r, "state_errors_total").WithLabelValues(), journalErrors: counters(r, "journal_errors_total").WithLabelValues(),
	}
	build := find("build_info")
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + build.name, Help: build.help}, build.labels)
	r.MustRegister(info)
	info.WithLabelValues(version, goVersion).Set(1)
	fill(m.failures, "probe_failures_total", nil)
	return m
}

func counters(r *prometheus.Registry, name string) *prometheus.CounterVec {
	of := find(name)
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: of.help}, of.labels)
	r.MustRegister(vec)
	return vec
}

func histograms(r *prometheus.Registry, name string, buckets []float64) *prometheus.HistogramVec {
	of := find(name)
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: of.help, Buckets: buckets}, of.labels)
	r.MustRegister(vec)
	return vec
}

// fill makes every series of a vector at 0, for words from their lists and names as
// given: what appears with its first event would hide that from increase().
func fill(vec *prometheus.CounterVec, name string, names prometheus.Labels) {
	combine(find(name).labels, names, nil, func(values []string) { vec.WithLabelValues(values...) })
}

func combine(labels []string, names prometheus.Labels, values []string, do func([]string)) {
	if len(values) == len(labels) {
		do(values)
		return
	}
	label := labels[len(values)]
	list := words[label]
	if name, given := names[label]; given {
		list = []string{name}
	}
	for _, value := range list {
		combine(labels, names, append(slices.Clip(values), value), do)
	}
}

// byCheck and byZone are the vectors that a reload may take series from.
func (m *Meter) byCheck() map[string]*prometheus.CounterVec {
	return map[string]*prometheus.CounterVec{"probe_results_total": m.results, "verdicts_total": m.verdicts}
}

func (m *Meter) byZone() map[string]*prometheus.CounterVec {
	return map[string]*prometheus.CounterVec{
		"plans_total": m.plans, "rounds_total": m.rounds, "writes_total": m.writes,
		"verifications_total": m.verifications, "api_calls_total": m.calls,
	}
}

// Configure says which checks and zones there are from now on. Series of others go,
// those of new ones begin at 0.
func (m *Meter) Configure(checks, zones []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.checks = turn("check", m.checks, checks, m.byCheck(), m.probeSeconds)
	m.zones = turn("zone", m.zones, zones, m.byZone(), m.writeSeconds, m.propagationSeconds)
}

// turn lets the series of the names before go, and makes those of the names after.
func turn(label string, before map[string]bool, after []string, counts map[string]*prometheus.CounterVec, times ...*prometheus.HistogramVec) map[string]bool {
	now := map[string]bool{}
	for _, name := range after {
		now[name] = true
		for metric, vec := range counts {
			fill(vec, metric, prometheus.Labels{label: name})
		}
		for _, vec := range times {
			vec.WithLabelValues(name)
		}
	}
	for name := range before {
		if now[name] {
			continue
		}
		gone := prometheus.Labels{label: name}
		for _, vec := range counts {
			vec.DeletePartialMatch(gone)
		}
		for _, vec := range times {
			vec.DeletePartialMatch(gone)
		}
	}
	return now
}

// ofCheck does something if there is such a check, and ofZone if there is such a
// zone; Configure waits meanwhile.
func (m *Meter) ofCheck(name string, do func()) { m.of(func() bool { return m.checks[name] }, do) }
func (m *Meter) ofZone(name string, do func())  { m.of(func() bool { return m.zones[name] }, do) }

func (m *Meter) of(known func() bool, do func()) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if known() {
		do()
	}
}

// Result counts one probe: pass, fail or unknown, and if it did not pass its cause.
func (m *Meter) Result(check, result, cause string, took time.Duration) {
	m.ofCheck(check, func() {
		m.results.WithLabelValues(check, result).Inc()
		if result == "pass" {
			m.probeSeconds.WithLabelValues(check).Observe(took.Seconds())
			return
		}
		m.failures.WithLabelValues(word("cause", cause)).Inc()
	})
}

// Verdict counts that a target of a check turned.
func (m *Meter) Verdict(check, verdict string) {
	m.ofCheck(check, func() { m.verdicts.WithLabelValues(check, verdict).Inc() })
}

// Plan counts that a zone was given to the writer.
func (m *Meter) Plan(zone string) {
	m.ofZone(zone, func() { m.plans.WithLabelValues(zone).Inc() })
}

// Round counts how a round of the writer ended.
func (m *Meter) Round(zone, end string) {
	m.ofZone(zone, func() { m.rounds.WithLabelValues(zone, end).Inc() })
}

// Write counts one change of a call to the provider; outcome is ok or the class of
// the error.
func (m *Meter) Write(zone, action, outcome string) {
	m.ofZone(zone, func() { m.writes.WithLabelValues(zone, word("action", action), outcome).Inc() })
}

// WriteTook takes how long a call took that was accepted.
func (m *Meter) WriteTook(zone string, took time.Duration) {
	m.ofZone(zone, func() { m.writeSeconds.WithLabelValues(zone).Observe(took.Seconds()) })
}

// Verified counts what the name servers said after a write.
func (m *Meter) Verified(zone string, verified bool) {
	answer := "no"
	if verified {
		answer = "yes"
	}
	m.ofZone(zone, func() { m.verifications.WithLabelValues(zone, answer).Inc() })
}

// Propagated takes how long after the provider's answer the last name server
// answered so.
func (m *Meter) Propagated(zone string, took time.Duration) {
	m.ofZone(zone, func() { m.propagationSeconds.WithLabelValues(zone).Observe(took.Seconds()) })
}

// Call counts one call to an adapter; outcome is as of Write.
func (m *Meter) Call(zone, call, outcome string) {
	m.ofZone(zone, func() { m.calls.WithLabelValues(zone, word("call", call), outcome).Inc() })
}

// StateError counts a save that failed.
func (m *Meter) StateError() { m.stateErrors.Inc() }

// JournalError counts that the journal could not be written.
func (m *Meter) JournalError() { m.journalErrors.Inc() }
