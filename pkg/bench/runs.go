package bench

import (
	"context"
	"time"
)

// The names of the runs.
const (
	runBig     = "http-10k/10s"
	runSmall   = "http-1k/2s"
	runTCP     = "tcp-1k/2s"
	runICMP    = "icmp-1k/2s"
	runFast    = "http-10k/2s"
	runHealthy = "hang-healthy"
	runHung    = "hang-hung"
)

// pacedRun compares the floor with the daemon on one world.
type pacedRun struct {
	goals  []string // that it is for
	name   string
	world  World
	window time.Duration // a multiple of the interval
}

// pace is one round of a run: floor, daemon and peers, one after the other, so that
// all see the machine in about the same state.
func (b *bench) pace(ctx context.Context, r pacedRun, round int) error {
	err := b.paceOne(ctx, r, round, func() (*process, error) { return b.startFloor(ctx, r.world) })
	if err != nil {
		return err
	}
	err = b.paceOne(ctx, r, round, func() (*process, error) { return b.startDaemon(ctx, r.world, nil) })
	if err != nil {
		return err
	}
	return b.pacePeers(ctx, r, round)
}

func (b *bench) paceOne(ctx context.Context, r pacedRun, round int, begin func() (*process, error)) error {
	if _, err := b.remote.Mark(); err != nil {
		return err
	}
	p, err := begin()
	if err != nil {
		return err
	}
	defer p.stop()
	first, err := b.warm(ctx, p, r.world)
	if err != nil {
		return err
	}
	s, _, _, err := b.watch(ctx, p, r.world, r.window)
	if err != nil {
		return err
	}
	s.First = first
	b.keep(r.name, round, s)
	return nil
}

// warm waits until every target was probed, and what a start brings with it is
// over. It gives the time from the first probe of all to the first probe of the
// last target.
func (b *bench) warm(ctx context.Context, p *process, w World) (time.Duration, error) {
	const patience = 3 // intervals
	deadline := time.Now().Add(10*time.Second + patience*w.Interval)
	for {
		if err := p.wait(ctx, 500*time.Millisecond); err != nil {
			return 0, err
		}
		arrivals, err := b.remote.Dump()
		if err != nil {
			return 0, err
		}
		took, seen := firsts(arrivals, w.Targets)
		if seen == w.Targets || time.Now().After(deadline) {
			return took, p.wait(ctx, 2*time.Second)
		}
	}
}

// isolate is one round of two runs with one daemon: 10,000 targets each 2 s,
// first all well, then, if faults are wanted, with a fifth of them hanging.
// The daemon plans and does not write: what is measured is the probing, and to
// take 2,000 answers out of a file, record set by record set, outlasts it.
func (b *bench) isolate(ctx context.Context, round int, faults bool) error {
	w := World{Kind: HTTP, Targets: targets, Interval: 2 * time.Second, Port: b.port}
	const window = 10 * time.Second
	if _, err := b.remote.Mark(); err != nil {
		return err
	}
	p, err := b.startDaemon(ctx, w, nil, "--read-only")
	if err != nil {
		return err
	}
	defer p.stop()
	first, err := b.warm(ctx, p, w)
	if err != nil {
		return err
	}
	well, _, _, err := b.watch(ctx, p, w, window)
	if err != nil {
		return err
	}
	well.First = first
	b.keep(runFast, round, well)
	if !faults {
		return nil
	}
	var hung []int
	for i := 0; i < targets; i += 5 {
		hung = append(hung, i)
	}
	if err := b.remote.Set(Hang, hung...); err != nil {
		return err
	}
	defer func() { _ = b.remote.Set("", hung...) }()
	if err := p.wait(ctx, 5*w.Interval); err != nil { // all of them are down then, and out of the zone
		return err
	}
	s, arrivals, from, err := b.watch(ctx, p, w, window)
	if err != nil {
		return err
	}
	healthy := s
	healthy.Beat = beatOf(arrivals, from, window, w.Interval, targets, func(i int) bool { return i%5 != 0 })
	s.Beat = beatOf(arrivals, from, window, w.Interval, targets, func(i int) bool { return i%5 == 0 })
	b.keep(runHealthy, round, healthy)
	b.keep(runHung, round, s)
	return nil
}
