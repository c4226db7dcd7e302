package bench

import (
	"math"
	"time"
)

// noise is what a ratio may lie above its goal before that is a miss: rounds on
// one machine differ by as much.
const noise = 1.15

// Goal is one goal and what was measured.
type Goal struct {
	ID      string  `json:"goal"`
	What    string  `json:"what"`
	Value   float64 `json:"value"`
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"at_least,omitempty"` // Limit is the least, else the most
	Ratio   bool    `json:"ratio,omitempty"`    // the noise of the machine is allowed for
	Unit    string  `json:"unit"`
}

// Met reports whether the goal was reached; barely, that it was only with the
// noise that is allowed for.
func (g Goal) Met() (met, barely bool) {
	if g.AtLeast {
		return g.Value >= g.Limit, false
	}
	met = g.Value <= g.Limit
	if !met && g.Ratio {
		met = g.Value <= g.Limit*noise
		return met, met
	}
	return met, false
}

// goals judges everything that was measured.
func goals(samples []Sample, detections []Detection, plans []Planning) []Goal {
	list := cpuGoals(samples)
	list = append(list, memoryGoals(samples)...)
	list = append(list, scheduleGoals(samples)...)
	list = append(list, isolationGoals(samples)...)
	for _, d := range detections {
		list = append(list, detectionGoals(d)...)
	}
	return append(list, planGoals(plans)...)
}

// of picks the samples of one prober in one run, in the order of the rounds.
func of(samples []Sample, run, who string) []Sample {
	var list []Sample
	for _, s := range samples {
		if s.Run == run && s.Who == who {
			list = append(list, s)
		}
	}
	return list
}

// cpuGoals compares with the floor of the same round, and takes the median of
// the ratios. 1.75 of the floor is, by figures taken once side by side, 0.55 of
// gatus and 0.2 of the blackbox exporter; 1.5 for ICMP is 0.25 and 0.15.
func cpuGoals(samples []Sample) (list []Goal) {
	for _, g := range []struct {
		id, run string
		limit   float64
	}{{"G1", runBig, 1.75}, {"G1", runSmall, 1.75}, {"G2", runTCP, 1.75}, {"G3", runICMP, 1.5}} {
		if value, found := cpuRatio(samples, g.run, "floor"); found {
			list = append(list, Goal{ID: g.id, What: "CPU of a probe, " + g.run, Value: value, Limit: g.limit, Ratio: true, Unit: "x floor"})
		}
		for _, p := range peers {
			if value, found := cpuRatio(samples, g.run, p.name); found && p.most > 0 {
				list = append(list, Goal{ID: g.id, What: "CPU of a probe, " + g.run, Value: value, Limit: p.most, Ratio: true, Unit: "x " + p.name})
			}
		}
	}
	if tcp := of(samples, runTCP, "sidestep"); len(tcp) > 0 {
		waits := medianOf(tcp, func(s Sample) int { return s.Waits })
		list = append(list, Goal{ID: "G2", What: "connections left in TIME_WAIT", Value: float64(waits), Unit: ""})
	}
	return list
}

// cpuRatio is what the daemon's probe costs to that of another prober: the median of
// the ratios of each round.
func cpuRatio(samples []Sample, run, other string) (value float64, found bool) {
	beside, daemon := of(samples, run, other), of(samples, run, "sidestep")
	var ratios []float64
	for i := range min(len(beside), len(daemon)) {
		ratios = append(ratios, daemon[i].CPU/beside[i].CPU)
	}
	if len(ratios) == 0 {
		return 0, false
	}
	return median(ratios), true
}

func memoryGoals(samples []Sample) []Goal {
	big, small := of(samples, runBig, "sidestep"), of(samples, runSmall, "sidestep")
	if len(big) == 0 {
		return nil
	}
	peak := func(s Sample) int { return s.Peak }
	at := medianOf(big, peak)
	list := []Goal{{ID: "G4", What: "peak memory at 10,000 targets", Value: float64(at) / 1024, Limit: 40, Unit: "MiB"}}
	if len(small) > 0 {
		slope := float64(at-medianOf(small, peak)) / 9000
		list = append(list, Goal{ID: "G4", What: "memory of a target, 1,000 to 10,000", Value: slope, Limit: 2.5, Unit: "KiB"})
	}
	return list
}

func scheduleGoals(samples []Sample) []Goal {
	fast := of(samples, runFast, "sidestep")
	if len(fast) == 0 {
		return nil
	}
	const interval = 2 * time.Second
	drift := medianOf(fast, func(s Sample) time.Duration { return (s.Beat.Median - interval).Abs() })
	first := medianOf(fast, func(s Sample) time.Duration { return s.First })
	return []Goal{
		share("G5", "probes made, "+runFast, fast),
		{ID: "G5", What: "drift of the median gap", Value: millis(drift), Limit: 0.5, Unit: "ms"},
		{ID: "G5", What: "gap off by, p99", Value: millis(p99(fast)), Limit: 5, Unit: "ms"},
		{ID: "G5", What: "gap off by, most", Value: millis(medianOf(fast, func(s Sample) time.Duration { return s.Beat.Max })), Limit: 25, Unit: "ms"},
		{ID: "G5", What: "until every target was probed", Value: first.Seconds(), Limit: (interval + 2*grid).Seconds(), Unit: "s"},
	}
}

func isolationGoals(samples []Sample) []Goal {
	healthy, hung := of(samples, runHealthy, "sidestep"), of(samples, runHung, "sidestep")
	if len(healthy) == 0 {
		return nil
	}
	well := of(samples, runFast, "sidestep")
	return []Goal{
		share("G6", "probes of the healthy, a fifth hanging", healthy),
		{ID: "G6", What: "gap of the healthy off by, p99", Value: millis(p99(healthy)), Limit: 10, Unit: "ms"},
		{ID: "G6", What: "the same to that without faults", Value: float64(p99(healthy)) / math.Max(float64(p99(well)), 1), Limit: 2, Ratio: true, Unit: "x"},
		share("G6", "probes of those that hang", hung),
	}
}

func share(id, what string, samples []Sample) Goal {
	part := medianOf(samples, func(s Sample) float64 { return s.Beat.Share })
	return Goal{ID: id, What: what, Value: 100 * part, Limit: 99.9, AtLeast: true, Unit: "%"}
}

func p99(samples []Sample) time.Duration {
	return medianOf(samples, func(s Sample) time.Duration { return s.Beat.P99 })
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// detectionGoals holds a detection against what interval, threshold and timeout
// allow: 2 s, 3 and 1 s. With a fast re-check the median of the first failure
// alone remains, and two short waits.
func detectionGoals(d Detection) []Goal {
	name := "until " + string(d.Fault) + " is told"
	half, most := 5.1, 7.05
	switch {
	case d.FastInter > 0:
		name += ", re-check " + d.FastInter.String()
		half, most = 1.7, 3.05
	case d.Fault == Hang:
		half = 6.1
	}
	return []Goal{
		{ID: "G7", What: name + ", faults seen", Value: 100 * float64(d.Seen) / float64(max(d.Faults, 1)), Limit: 100, AtLeast: true, Unit: "%"},
		{ID: "G7", What: name + ", median", Value: middle(d.Took).Seconds(), Limit: half, Unit: "s"},
		{ID: "G7", What: name + ", most", Value: quantile(d.Took, 1).Seconds(), Limit: most, Unit: "s"},
		{ID: "G7", What: name + ", most beyond the ideal", Value: millis(quantile(d.Excess, 1)), Limit: 50, Unit: "ms"},
	}
}

// planGoals: 3 of the floor is, by figures taken once side by side, 0.17 of
// external-dns and less than 1/250 of DNSControl.
func planGoals(plans []Planning) (list []Goal) {
	for i, p := range plans {
		if p.Records != 100_000 {
			continue
		}
		list = append(list,
			Goal{ID: "G8", What: "plan of 100,000 record sets", Value: ratio(p.Plan, p.Floor), Limit: 3, Ratio: true, Unit: "x floor"},
			Goal{ID: "G8", What: "allocated for each record set", Value: p.Bytes, Limit: 150, Unit: "B"})
		if i > 0 {
			list = append(list, Goal{ID: "G8", What: "ten times the record sets", Value: ratio(p.Plan, plans[i-1].Plan), Limit: 18, Ratio: true, Unit: "x time"})
		}
	}
	return list
}

func ratio(a, b time.Duration) float64 { return float64(a) / math.Max(float64(b), 1) }
