package bench

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Minute is what the daemon looked like at the end of one minute of a long run.
type Minute struct {
	CPU        float64 // microseconds of a probe
	Resident   float64 // MiB
	Goroutines float64
	Files      float64 // open descriptors
	Down       int     // targets that were broken meanwhile
	Writes     float64 // changes written to the zone since the start
	Beat       Beat    // of the targets that were not broken in it or in the one before
}

// broken is how many targets are broken each minute, in four equal parts of one fault
// each.
const broken = 200

// startup is how many minutes a long run leaves out of its comparison: the caches of
// the first outages grow meanwhile.
const startup = 3

// endure lets one daemon probe 10,000 targets each 10 s for as many minutes, scrapes
// its metrics after each, and breaks other targets every minute: the daemon sees
// them down, writes the zone, sees them up again, and writes it back.
func (b *bench) endure(ctx context.Context, minutes int) (list []Minute, err error) {
	w := World{Kind: HTTP, Targets: targets, Interval: 10 * time.Second, Port: b.port}
	if _, err := b.remote.Mark(); err != nil {
		return nil, err
	}
	p, err := b.startDaemon(ctx, w, nil)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if _, err := b.warm(ctx, p, w); err != nil {
		return nil, err
	}
	metrics := scraped(filepath.Join(p.dir, "control.sock"))
	var before []int
	for n := 1; n <= minutes; n++ {
		now := rand.Perm(targets)[:broken]
		m, err := b.minute(ctx, p, w, before, now)
		if err != nil {
			return list, err
		}
		values, err := metrics(ctx)
		if err != nil {
			return list, err
		}
		m.Resident = values["process_resident_memory_bytes"] / (1 << 20)
		m.Goroutines, m.Files, m.Writes = values["go_goroutines"], values["process_open_fds"], values["sidestep_writes_total"]
		list = append(list, m)
		before = now
		fmt.Fprintf(b.progress, "  minute %d: %.1f us/probe, %.1f MiB, %.0f goroutines, %.0f files, %.0f writes, %.2f %% of schedule, off by p99 %s\n",
			n, m.CPU, m.Resident, m.Goroutines, m.Files, m.Writes, 100*m.Beat.Share, ms(m.Beat.P99))
	}
	return list, nil
}

// minute heals the targets of the minute before, breaks others, and watches those
// that were never broken.
func (b *bench) minute(ctx context.Context, p *process, w World, before, now []int) (m Minute, err error) {
	if len(before) > 0 {
		if err := b.remote.Set("", before...); err != nil {
			return m, err
		}
	}
	faults := []Fault{Refuse, Hang, Err500, Reset}
	for i, fault := range faults {
		part := len(now) / len(faults)
		if err := b.remote.Set(fault, now[i*part:(i+1)*part]...); err != nil {
			return m, err
		}
	}
	s, arrivals, from, err := b.watch(ctx, p, w, time.Minute)
	if err != nil {
		return m, err
	}
	touched := map[int]bool{}
	for _, i := range append(before, now...) {
		touched[i] = true
	}
	m.CPU, m.Down = s.CPU, len(now)
	m.Beat = beatOf(arrivals, from, time.Minute, w.Interval, w.Targets, func(i int) bool { return !touched[i] })
	return m, nil
}

// scraped reads the metrics of the daemon behind a control socket. Those of one name
// are added up, whatever their labels.
func scraped(socket string) func(context.Context) (map[string]float64, error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	return func(ctx context.Context) (map[string]float64, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://sidestep/metrics", nil)
		if err != nil {
			return nil, err
		}
		answer, err := client.Do(request)
		if err != nil {
			return nil, fmt.Errorf("scrape the daemon: %w", err)
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("scrape the daemon: expected 200, got %s", answer.Status)
		}
		values := map[string]float64{}
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			name, rest, _ := strings.Cut(lines.Text(), " ")
			name, _, _ = strings.Cut(name, "{")
			fields := strings.Fields(rest)
			if len(fields) == 0 || name == "#" {
				continue
			}
			if value, err := strconv.ParseFloat(fields[len(fields)-1], 64); err == nil {
				values[name] += value
			}
		}
		return values, lines.Err()
	}
}

// enduranceGoals compares the last minutes with the first after the start: what only
// ever grows would stand out.
func enduranceGoals(list []Minute) []Goal {
	if len(list) < startup+2 {
		return nil
	}
	list = list[startup:]
	half := len(list) / 2
	grown := func(get func(Minute) float64) float64 {
		return medianOf(list[len(list)-half:], get) / max(medianOf(list[:half], get), 1)
	}
	part := medianOf(list, func(m Minute) float64 { return m.Beat.Share })
	goal := func(what string, get func(Minute) float64) Goal {
		return Goal{ID: "G10", What: what + ", last half to first", Value: grown(get), Limit: 1.1, Unit: "x"}
	}
	return []Goal{
		goal("resident memory", func(m Minute) float64 { return m.Resident }),
		goal("goroutines", func(m Minute) float64 { return m.Goroutines }),
		goal("open files", func(m Minute) float64 { return m.Files }),
		{ID: "G10", What: "probes of the healthy, minute by minute", Value: 100 * part, Limit: 99.9, AtLeast: true, Unit: "%"},
	}
}
