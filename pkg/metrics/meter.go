package metrics

import (
	"slices"
	"sync"
	"sync/atomic"
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

	checks atomic.Pointer[map[string]*ofCheck]
	causes map[string]prometheus.Counter // of failures

	mu    sync.RWMutex
	zones map[string]bool
}

// ofCheck is what a check counts, found once: there may be thousands of results a
// second. What is counted here after a reload took the check away is told nowhere.
type ofCheck struct {
	results, verdicts map[string]prometheus.Counter // by word
	seconds           prometheus.Observer
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
	m.causes = byWord(m.failures, "cause")
	m.checks.Store(&map[string]*ofCheck{})
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

// byWord is the counter of each word of a vector's last label, at 0, for the values
// of those before it.
func byWord(vec *prometheus.CounterVec, label string, before ...string) map[string]prometheus.Counter {
	counters := map[string]prometheus.Counter{}
	for _, word := range words[label] {
		counters[word] = vec.WithLabelValues(append(slices.Clip(before), word)...)
	}
	return counters
}

// Configure says which checks and zones there are from now on. Series of others go,
// those of new ones begin at 0.
func (m *Meter) Configure(checks, zones []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, now := *m.checks.Load(), map[string]*ofCheck{}
	for _, name := range checks {
		now[name] = &ofCheck{
			results: byWord(m.results, "result", name), verdicts: byWord(m.verdicts, "verdict", name),
			seconds: m.probeSeconds.WithLabelValues(name),
		}
	}
	m.checks.Store(&now)
	for name := range before {
		if now[name] == nil {
			forget("check", name, m.results, m.verdicts, m.probeSeconds)
		}
	}
	m.configureZones(zones)
}

func (m *Meter) configureZones(names []string) {
	counts := map[string]*prometheus.CounterVec{
		"plans_total": m.plans, "rounds_total": m.rounds, "writes_total": m.writes,
		"verifications_total": m.verifications, "api_calls_total": m.calls,
	}
	before, now := m.zones, map[string]bool{}
	for _, name := range names {
		now[name] = true
		for metric, vec := range counts {
			fill(vec, metric, prometheus.Labels{"zone": name})
		}
		m.writeSeconds.WithLabelValues(name)
		m.propagationSeconds.WithLabelValues(name)
	}
	m.zones = now
	for name := range before {
		if !now[name] {
			forget("zone", name, m.plans, m.rounds, m.writes, m.verifications, m.calls, m.writeSeconds, m.propagationSeconds)
		}
	}
}

// forget lets the series go that have a name.
func forget(label, name string, from ...interface{ DeletePartialMatch(prometheus.Labels) int }) {
	for _, vec := range from {
		vec.DeletePartialMatch(prometheus.Labels{label: name})
	}
}

// ofZone does something if there is such a zone; Configure waits meanwhile.
func (m *Meter) ofZone(name string, do func()) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.zones[name] {
		do()
	}
}

// Result counts one probe: pass, fail or unknown, and if it did not pass its cause.
func (m *Meter) Result(check, result, cause string, took time.Duration) {
	of := (*m.checks.Load())[check]
	if of == nil {
		return
	}
	of.results[result].Inc()
	if result == "pass" {
		of.seconds.Observe(took.Seconds())
		return
	}
	m.causes[word("cause", cause)].Inc()
}

// Verdict counts that a target of a check turned.
func (m *Meter) Verdict(check, verdict string) {
	if of := (*m.checks.Load())[check]; of != nil {
		of.verdicts[verdict].Inc()
	}
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
