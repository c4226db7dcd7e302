package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Sample is what one prober did in one window.
type Sample struct {
	Run   string  // which of the runs
	Who   string  // floor, sidestep, or a peer
	Round int     // from 1 on
	CPU   float64 // microseconds of a probe
	Peak  int     // KiB, the highest resident set since it started
	Beat  Beat
	First time.Duration // from the first probe of all to the first of the last target; 0 where not measured
	Waits int           // by how many more connections stand in TIME_WAIT afterwards
}

// bench is a whole run: the target in a process of its own, and what was
// measured so far.
type bench struct {
	self     string // this program
	sidestep string // the program that is measured
	dir      string // for worlds and sockets, removed at the end
	port     int
	progress io.Writer
	peers    map[string]string // programs by name; none where they are not asked for

	target  *process
	remote  *Remote
	samples []Sample
}

// targets is how many addresses the target listens on.
const targets = 10_000

func (b *bench) startTarget(ctx context.Context) error {
	socket := filepath.Join(b.dir, "target.sock")
	p, err := start(ctx, "target", nil, b.self, "target", "-targets", strconv.Itoa(targets),
		"-port", strconv.Itoa(b.port), "-control", socket)
	if err != nil {
		return err
	}
	b.target = p
	for {
		if b.remote, err = Dial(ctx, socket); err == nil {
			return nil
		}
		if err := p.wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func (b *bench) stopTarget() {
	if b.remote != nil {
		_ = b.remote.Close()
	}
	if b.target != nil {
		b.target.stop()
	}
}

// startFloor starts the floor on a world.
func (b *bench) startFloor(ctx context.Context, w World) (*process, error) {
	return start(ctx, "floor", nil, b.self, "floor", "-kind", string(w.Kind), "-targets", strconv.Itoa(w.Targets),
		"-interval", w.Interval.String(), "-port", strconv.Itoa(w.Port))
}

// startDaemon starts the whole daemon on a world in a new directory.
func (b *bench) startDaemon(ctx context.Context, w World, log io.Writer, more ...string) (*process, error) {
	dir, err := os.MkdirTemp(b.dir, "world-")
	if err != nil {
		return nil, err
	}
	config, err := w.write(dir)
	if err != nil {
		return nil, err
	}
	level := "error" // the log's volume is no part of what is measured
	if log != nil {
		level = "info"
	}
	command := []string{b.sidestep, "run", "--config", config, "--log-level", level, "--log-format", "json"}
	p, err := start(ctx, "sidestep", log, append(command, more...)...)
	if err == nil {
		p.dir = dir
	}
	return p, err
}

// watch measures a prober, which has warmed up, over a window. It also gives
// what arrived since from.
func (b *bench) watch(ctx context.Context, p *process, w World, window time.Duration) (s Sample, arrivals []Arrival, from time.Duration, err error) {
	if from, err = b.remote.Mark(); err != nil {
		return s, nil, 0, err
	}
	waits, err := timeWait(w.Port)
	if err != nil {
		return s, nil, 0, err
	}
	before, err := cpuOf(p.pid())
	if err != nil {
		return s, nil, 0, err
	}
	if err := p.wait(ctx, window); err != nil {
		return s, nil, 0, err
	}
	after, err := cpuOf(p.pid())
	if err != nil {
		return s, nil, 0, err
	}
	if arrivals, err = b.remote.Dump(); err != nil {
		return s, nil, 0, err
	}
	s.Who, s.Beat = p.name, beatOf(arrivals, from, window, w.Interval, w.Targets, all)
	if s.Beat.Arrivals == 0 {
		return s, nil, 0, fmt.Errorf("%s: no probe came to the target within %s: %s", p.name, window, p.errors)
	}
	s.CPU = float64((after - before).Nanoseconds()) / 1000 / float64(s.Beat.Arrivals)
	if s.Peak, err = peakOf(p.pid()); err != nil {
		return s, nil, 0, err
	}
	now, err := timeWait(w.Port)
	s.Waits = max(0, now-waits)
	return s, arrivals, from, err
}

// keep notes a sample and tells of it.
func (b *bench) keep(run string, round int, s Sample) {
	s.Run, s.Round = run, round
	b.samples = append(b.samples, s)
	fmt.Fprintf(b.progress, "  %-12s %-9s round %d: %6.1f us/probe, %5.1f MiB, %6.2f %% of schedule, off by p50 %s p99 %s max %s\n",
		run, s.Who, round, s.CPU, float64(s.Peak)/1024, 100*s.Beat.Share, ms(s.Beat.P50), ms(s.Beat.P99), ms(s.Beat.Max))
}

func ms(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}
