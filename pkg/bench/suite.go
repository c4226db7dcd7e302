package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// pacedRuns are the runs that compare with the floor.
func pacedRuns(port int) []pacedRun {
	const two, ten = 2 * time.Second, 10 * time.Second
	return []pacedRun{
		{[]string{"G1", "G4"}, runBig, World{Kind: HTTP, Targets: targets, Interval: ten, Port: port}, 2 * ten},
		{[]string{"G1", "G4"}, runSmall, World{Kind: HTTP, Targets: targets / 10, Interval: two, Port: port}, 6 * two},
		{[]string{"G3"}, runICMP, World{Kind: ICMP, Targets: targets / 10, Interval: two, Port: port}, 6 * two},
		{[]string{"G2"}, runTCP, World{Kind: TCP, Targets: targets / 10, Interval: two, Port: port}, 6 * two},
	}
}

// run measures what the flags ask for.
func run(ctx context.Context, f flagSet, progress io.Writer) (report *Report, err error) {
	if err := checkFiles(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(f.sidestep); err != nil {
		return nil, fmt.Errorf("%w; build it first (make build), or name it with -sidestep", err)
	}
	b := &bench{self: self, sidestep: f.sidestep, port: f.port, progress: progress}
	if b.dir, err = os.MkdirTemp("", "sidestep-bench-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if f.peers {
		b.findPeers()
	}
	report = newReport()
	if f.chosen("G8") {
		fmt.Fprintln(progress, "plan: 10,000 and 100,000 record sets")
		if report.Plans, err = planAll(); err != nil {
			return nil, err
		}
	}
	if err := b.probing(ctx, f, report); err != nil {
		return nil, err
	}
	report.Samples = b.samples
	report.Goals = append(goals(b.samples, report.Detections, report.Plans), enduranceGoals(report.Minutes)...)
	report.Took, report.LoadAfter = time.Since(report.Started), loadAverage()
	return report, nil
}

func planAll() (plans []Planning, err error) {
	for _, n := range []int{10_000, 100_000} {
		p, err := measurePlanning(n)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// probing is everything that needs the target.
func (b *bench) probing(ctx context.Context, f flagSet, report *Report) error {
	long := f.endure > 0 && f.chosen("G10")
	if !long && !f.chosen("G1", "G2", "G3", "G4", "G5", "G6", "G7") {
		return nil
	}
	if err := b.startTarget(ctx); err != nil {
		return err
	}
	defer b.stopTarget()
	if long {
		fmt.Fprintf(b.progress, "endure: %d targets each 10s, %d others broken every minute\n", targets, broken)
		minutes, err := b.endure(ctx, f.endure)
		report.Minutes = minutes
		if err != nil {
			return err
		}
	}
	rounds, faults := f.rounds, 24
	if f.short {
		rounds, faults = 1, 8
	}
	for round := 1; round <= rounds; round++ {
		if err := b.round(ctx, f, round); err != nil {
			return err
		}
	}
	if !f.chosen("G7") {
		return nil
	}
	for _, d := range []struct {
		fault Fault
		fast  time.Duration
	}{{Refuse, 0}, {Hang, 0}, {Refuse, 250 * time.Millisecond}} {
		fmt.Fprintf(b.progress, "detect: %d times %s, re-check %s\n", faults, d.fault, d.fast)
		found, err := b.detect(ctx, d.fault, d.fast, faults)
		if err != nil {
			return err
		}
		report.Detections = append(report.Detections, found)
	}
	return nil
}

func (b *bench) round(ctx context.Context, f flagSet, round int) error {
	for _, r := range pacedRuns(b.port) {
		if !f.chosen(r.goals...) {
			continue
		}
		fmt.Fprintf(b.progress, "round %d: %s\n", round, r.world)
		if err := b.pace(ctx, r, round); err != nil {
			return err
		}
	}
	if !f.chosen("G5", "G6") {
		return nil
	}
	fmt.Fprintf(b.progress, "round %d: %d targets each 2s, then a fifth of them hanging\n", round, targets)
	return b.isolate(ctx, round, f.chosen("G6"))
}
