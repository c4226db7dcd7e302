package bench

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is everything that a run found.
type Report struct {
	Started    time.Time     `json:"started"`
	Took       time.Duration `json:"took_ns"`
	Go         string        `json:"go"`
	Processors int           `json:"processors"`
	Kernel     string        `json:"kernel"`
	LoadBefore string        `json:"load_before"`
	LoadAfter  string        `json:"load_after"`
	Samples    []Sample      `json:"samples"`
	Detections []Detection   `json:"detections"`
	Plans      []Planning    `json:"plans"`
	Minutes    []Minute      `json:"minutes,omitempty"`
	Goals      []Goal        `json:"goals"`
}

// Missed counts the goals that were not reached.
func (r *Report) Missed() (n int) {
	for _, g := range r.Goals {
		if met, _ := g.Met(); !met {
			n++
		}
	}
	return n
}

// write prints the report as Markdown that can also be read as it is.
func (r *Report) write(to io.Writer) {
	fmt.Fprintf(to, "%s, %s, %d processors, Linux %s; load %s before, %s after; took %s\n\n",
		r.Started.UTC().Format("2006-01-02 15:04 UTC"), r.Go, r.Processors, r.Kernel, r.LoadBefore, r.LoadAfter, r.Took.Round(time.Second))
	if len(r.Minutes) > 0 {
		table(to, "minute | us/probe | resident MiB | goroutines | files | broken | writes so far | schedule % | gap off by p99 ms", r.minutes())
	}
	if len(r.Samples) > 0 {
		r.writeRuns(to)
	}
	if len(r.Detections) > 0 {
		table(to, "fault | re-check | seen | told after min / p50 / max s | ideal min / p50 / max s | most beyond the ideal ms", r.faults())
	}
	if len(r.Plans) > 0 {
		table(to, "record sets | floor ms | plan ms | decide ms | B/record set", r.plans())
	}
	table(to, "goal | what | measured | goal | verdict", r.verdicts())
}

func (r *Report) minutes() (rows []string) {
	for i, m := range r.Minutes {
		rows = append(rows, fmt.Sprintf("%d | %.1f | %.1f | %.0f | %.0f | %d | %.0f | %.2f | %.1f",
			i+1, m.CPU, m.Resident, m.Goroutines, m.Files, m.Down, m.Writes, 100*m.Beat.Share, millis(m.Beat.P99)))
	}
	return rows
}

// writeRuns prints what each prober did in each run, and how the daemon compares.
func (r *Report) writeRuns(to io.Writer) {
	table(to, "run | prober | us/probe | peak MiB | schedule % | gap off by p50 / p99 / max ms | rounds", r.rows())
	if beside := r.beside(); len(beside) > 0 {
		table(to, "run | beside | sidestep's CPU | sidestep's peak memory", beside)
	}
}

// rows are the medians of the rounds of each run and prober, in their order.
func (r *Report) rows() (rows []string) {
	known := map[string]bool{}
	for _, s := range r.Samples {
		if known[s.Run+s.Who] {
			continue
		}
		known[s.Run+s.Who] = true
		list := of(r.Samples, s.Run, s.Who)
		var cpu []string
		for _, one := range list {
			cpu = append(cpu, fmt.Sprintf("%.0f", one.CPU))
		}
		at := func(get func(Beat) time.Duration) float64 {
			return millis(medianOf(list, func(s Sample) time.Duration { return get(s.Beat) }))
		}
		rows = append(rows, fmt.Sprintf("%s | %s | %.1f | %.1f | %.2f | %.1f / %.1f / %.1f | %s", s.Run, s.Who,
			medianOf(list, func(s Sample) float64 { return s.CPU }),
			float64(medianOf(list, func(s Sample) int { return s.Peak }))/1024,
			100*medianOf(list, func(s Sample) float64 { return s.Beat.Share }),
			at(func(b Beat) time.Duration { return b.P50 }), at(func(b Beat) time.Duration { return b.P99 }), at(func(b Beat) time.Duration { return b.Max }),
			strings.Join(cpu, ", ")))
	}
	return rows
}

// beside are the ratios to each peer that was measured.
func (r *Report) beside() (rows []string) {
	for _, run := range []string{runBig, runSmall} {
		for _, p := range peers {
			cpu, found := cpuRatio(r.Samples, run, p.name)
			if !found {
				continue
			}
			peak := func(who string) float64 {
				return float64(medianOf(of(r.Samples, run, who), func(s Sample) int { return s.Peak }))
			}
			rows = append(rows, fmt.Sprintf("%s | %s | %.2f x | %.2f x", run, p.name, cpu, peak("sidestep")/peak(p.name)))
		}
	}
	return rows
}

func (r *Report) faults() (rows []string) {
	three := func(list []time.Duration) string {
		return fmt.Sprintf("%.2f / %.2f / %.2f", quantile(list, 0).Seconds(), quantile(list, 0.5).Seconds(), quantile(list, 1).Seconds())
	}
	for _, d := range r.Detections {
		rows = append(rows, fmt.Sprintf("%s | %s | %d of %d | %s | %s | %.1f",
			d.Fault, d.FastInter, d.Seen, d.Faults, three(d.Took), three(d.Ideal), millis(quantile(d.Excess, 1))))
	}
	return rows
}

func (r *Report) plans() (rows []string) {
	for _, p := range r.Plans {
		rows = append(rows, fmt.Sprintf("%d | %.2f | %.2f | %.2f | %.0f", p.Records, millis(p.Floor), millis(p.Plan), millis(p.Decide), p.Bytes))
	}
	return rows
}

func (r *Report) verdicts() (rows []string) {
	for _, g := range r.Goals {
		sign, verdict := "<=", "MISS"
		if g.AtLeast {
			sign = ">="
		}
		switch met, barely := g.Met(); {
		case barely:
			verdict = "pass, within noise"
		case met:
			verdict = "pass"
		}
		rows = append(rows, fmt.Sprintf("%s | %s | %.4g %s | %s %.4g | %s", g.ID, g.What, g.Value, g.Unit, sign, g.Limit, verdict))
	}
	return rows
}

// table prints rows in columns that are as wide as they have to be.
func table(to io.Writer, head string, rows []string) {
	columns := strings.Count(head, " | ") + 1
	out := tabwriter.NewWriter(to, 0, 0, 1, ' ', 0)
	for i, row := range append([]string{head}, rows...) {
		fmt.Fprintf(out, "| %s |\n", strings.ReplaceAll(row, " | ", "\t| "))
		if i == 0 {
			fmt.Fprintln(out, strings.Repeat("|---\t", columns)+"|")
		}
	}
	_ = out.Flush() // to's own error, which nobody could be told of
	fmt.Fprintln(to)
}

func newReport() *Report {
	return &Report{Started: time.Now(), Go: runtime.Version(), Processors: runtime.NumCPU(), Kernel: kernel(), LoadBefore: loadAverage()}
}
