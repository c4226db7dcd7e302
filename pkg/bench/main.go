package bench

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

const usage = `Usage: yardstick [flags]

Measures the whole daemon against a floor, on loopback, and exits 1 when a goal
is missed. It takes about eleven minutes, twenty with -peers; progress goes to
stderr.

`

// Main runs the command and gives its exit code: 0 all goals reached, 1 one
// missed, 2 used wrongly or not able to measure. It has to be called from the
// main goroutine, while that is locked to its thread.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var err error
	missed := 0
	switch {
	case len(args) > 0 && args[0] == "target":
		err = targetCommand(ctx, args[1:])
	case len(args) > 0 && args[0] == "floor":
		err = floorCommand(ctx, args[1:], stderr)
	case len(args) > 0 && args[0] == "scraper":
		err = scraperCommand(ctx, args[1:])
	default:
		missed, err = runCommand(ctx, args, stdout, stderr)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "yardstick:", err)
		return 2
	case missed > 0:
		fmt.Fprintf(stderr, "yardstick: %d goals missed\n", missed)
		return 1
	}
	return 0
}

// targetCommand is the target in a process of its own.
func targetCommand(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("target", flag.ContinueOnError)
	n := flags.Int("targets", 10, "listen on so many addresses from 127.1.0.1 on")
	port := flags.Int("port", 18080, "port")
	socket := flags.String("control", "", "path of the unix `socket` that takes commands")
	if err := flags.Parse(args); err != nil {
		return err
	}
	t, err := NewTarget(*n, *port, os.Geteuid() == 0)
	if err != nil {
		return err
	}
	defer t.Close()
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_ = t.Control(ctx, listener) // whoever commands sees the end of the connection
		stop()
	}()
	return t.Serve(ctx)
}

// floorCommand is the floor in a process of its own.
func floorCommand(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("floor", flag.ContinueOnError)
	w := worldFlags(flags)
	kind := flags.String("kind", "http", "http, tcp or icmp")
	if err := flags.Parse(args); err != nil {
		return err
	}
	w.Kind = Kind(*kind)
	runtime.GOMAXPROCS(1)
	done, err := Floor(ctx, *w)
	if err == nil {
		fmt.Fprintln(stderr, done)
	}
	return err
}

// scraperCommand is who asks a blackbox exporter, in a process of its own.
func scraperCommand(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("scraper", flag.ContinueOnError)
	w := worldFlags(flags)
	exporter := flags.String("exporter", "", "`address` of the exporter")
	if err := flags.Parse(args); err != nil {
		return err
	}
	scrape(ctx, *exporter, *w)
	return nil
}

func worldFlags(flags *flag.FlagSet) *World {
	w := &World{}
	flags.IntVar(&w.Targets, "targets", 10, "probe so many addresses from 127.1.0.1 on")
	flags.DurationVar(&w.Interval, "interval", 2*time.Second, "interval of each")
	flags.IntVar(&w.Port, "port", 18080, "port")
	return w
}

// plan of a whole run, as the flags have it.
type flagSet struct {
	sidestep, only, results string
	port, rounds, endure    int
	short, json, peers      bool
}

func runCommand(ctx context.Context, args []string, stdout, stderr io.Writer) (missed int, err error) {
	var f flagSet
	flags := flag.NewFlagSet("yardstick", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&f.sidestep, "sidestep", "bin/sidestep", "the `program` to measure")
	flags.StringVar(&f.only, "only", "", "only these `goals`, such as G1,G4")
	flags.IntVar(&f.rounds, "rounds", 3, "how many rounds; below 3, noise decides")
	flags.BoolVar(&f.short, "short", false, "one round of each, with few faults: for a first look")
	flags.BoolVar(&f.peers, "peers", false, "measure gdnsd, haproxy and prometheus-blackbox-exporter beside it, those that are installed")
	flags.IntVar(&f.port, "port", 18080, "port of the targets, on 127.1.0.0/16")
	flags.IntVar(&f.endure, "endure", 0, "let one daemon run for so many `minutes`, with faults (goal G10)")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.StringVar(&f.results, "results", "", "write the tables to this `file`, too")
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return 0, err
	}
	if flags.NArg() > 0 {
		return 0, fmt.Errorf("expected flags only, got %q; see -help", flags.Arg(0))
	}
	report, err := run(ctx, f, stderr)
	if err != nil {
		return 0, err
	}
	if f.json {
		out := json.NewEncoder(stdout)
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		report.write(stdout)
	}
	if f.results != "" {
		var text strings.Builder
		text.WriteString("# What `make bench` found last\n\n")
		report.write(&text)
		err = errors.Join(err, os.WriteFile(f.results, []byte(text.String()), 0o644)) //nolint:gosec // for everybody
	}
	return report.Missed(), err
}

// chosen reports whether any of the goals is to be measured.
func (f flagSet) chosen(goals ...string) bool {
	if f.only == "" {
		return true
	}
	for goal := range strings.SplitSeq(f.only, ",") {
		if slices.Contains(goals, strings.ToUpper(strings.TrimSpace(goal))) {
			return true
		}
	}
	return false
}
