package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
	"sidestep/pkg/lab"
	"sidestep/pkg/probe"
	"sidestep/providers"
)

// walkAnswers are the answers of every walk, with servers behind them or not.
var walkAnswers = []string{"127.0.0.11", "127.0.0.12"}

// The pace of a sidestep whose probes are none, and cannot be late; and of one
// that probes in a busy machine.
var (
	insidePace  = pace{interval: 200 * time.Millisecond, debounce: 10 * time.Millisecond}
	outsidePace = pace{interval: 250 * time.Millisecond, debounce: 20 * time.Millisecond}
)

// insider is a sidestep within this process, whose probes are none.
type insider struct {
	daemon *daemon.Daemon
	log    *lockedBuffer
	cancel context.CancelFunc
	done   chan struct{}
}

// inside lets the walk be taken by a sidestep within this process.
func (w *walk) inside() {
	var dead atomic.Bool
	w.turns[1].do = func() { dead.Store(true) }
	w.turns[2].do = func() { dead.Store(false) }
	w.begin = func() actor {
		i := &insider{log: &lockedBuffer{}, done: make(chan struct{})}
		i.daemon = w.daemon(firstIsDead(&dead), i.log, false)
		ctx, cancel := context.WithCancel(context.Background())
		i.cancel = cancel
		go func() {
			defer close(i.done)
			_ = i.daemon.Run(ctx) // it may fail to release what it was cut off from
		}()
		w.Cleanup(func() {
			i.end()
			if w.Failed() {
				w.Logf("log of sidestep:\n%s", i.log.String())
			}
		})
		return i
	}
}

// firstIsDead is a probe that finds the first answer dead, or not.
func firstIsDead(dead *atomic.Bool) probe.Func {
	return func(_ context.Context, _ *check.Spec, address string) check.Result {
		if address == walkAnswers[0] && dead.Load() {
			return check.Result{Outcome: check.Fail, Phase: check.PhaseConnect, Cause: check.CauseRefused, Detail: "connection refused"}
		}
		return check.Result{Outcome: check.Pass}
	}
}

// daemon makes a sidestep within this process, with an empty disk.
func (w *walk) daemon(probe probe.Func, log *lockedBuffer, once bool) *daemon.Daemon {
	w.Helper()
	dir := shortDir(w.T)
	text := w.cloud.configFor(dir, insidePace, "80", w.front)
	c, err := config.Parse(filepath.Join(dir, "sidestep.yaml"), []byte(text), config.Options{
		Getenv: func(name string) string { return w.cloud.env[name] },
	})
	if err != nil {
		w.Fatalf("%v\n%s", err, text)
	}
	c.Control.Socket = ""
	d, err := daemon.New(daemon.Options{
		Config: c, Registry: providers.Registry(), Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Version: "test", Write: !once, Once: once, Probe: probe,
	})
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// inSync asks a sidestep that knows nothing, when all is well, whether there is
// anything left to do.
func (w *walk) inSync() {
	w.Helper()
	d := w.daemon(firstIsDead(new(atomic.Bool)), &lockedBuffer{}, true)
	answer, err := d.Once(w.Context(), control.PlanRequest{}, func(string, ...any) {})
	if err != nil {
		w.Fatal(err)
	}
	if !answer.Zones[0].InSync {
		w.Errorf("not in sync at the end: %+v", answer.Zones[0])
	}
}

func (i *insider) end() {
	i.cancel()
	<-i.done
}

func (i *insider) kill()        { i.end() }
func (i *insider) gone() bool   { return false }
func (i *insider) told() string { return i.log.String() }

func (i *insider) status() *control.Status {
	s, err := i.daemon.Status(context.Background(), "")
	if err != nil {
		return nil
	}
	return &s
}

// outsider is the built binary, and probes for real.
type outsider struct {
	*world
	*process
}

// outside lets the walk be taken by the built binary.
func (w *walk) outside() {
	w.Helper()
	servers := &world{t: w.T}
	servers.startBackends(2)
	first := servers.backends[0]
	w.turns[1].do = func() { w.must(first.Break(lab.Refuse)) }
	w.turns[2].do = func() { w.must(first.Mend()) }
	_, port, err := net.SplitHostPort(first.Addr())
	w.must(err)
	w.begin = func() actor {
		o := outsider{world: &world{t: w.T, dir: shortDir(w.T), env: w.cloud.environ()}}
		o.config = filepath.Join(o.dir, "sidestep.yaml")
		text := w.cloud.configFor(o.dir, outsidePace, port, w.front)
		w.must(os.WriteFile(o.config, []byte(text), 0o600))
		o.process = o.run("--log-level", "debug")
		return o
	}
}

func (w *walk) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// end stops the program. A stamp that it had no time to release is left to the
// next one, on a machine that has much else to do.
func (o outsider) end() {
	if code := o.stop(o.t); code != 0 && !strings.Contains(o.told(), "release the stamp of zone") {
		o.t.Errorf("sidestep ended with %d", code)
	}
}

func (o outsider) told() string { return o.log.String() }

func (o outsider) gone() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}
