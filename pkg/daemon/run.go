package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// parts are what runs side by side as long as the daemon does. The first that
// fails ends them all.
type parts struct {
	ctx    context.Context
	stop   context.CancelFunc
	group  sync.WaitGroup
	failed chan error
}

func newParts(ctx context.Context) *parts {
	p := &parts{failed: make(chan error, 1)}
	p.ctx, p.stop = context.WithCancel(ctx)
	return p
}

// start runs one part. One that ends before it was told to has failed.
func (p *parts) start(name string, run func(context.Context) error) {
	p.group.Go(func() {
		err := run(p.ctx)
		if p.ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("ended by itself")
		}
		select {
		case p.failed <- fmt.Errorf("%s: %w", name, err):
		default: // the first failure is the cause
		}
	})
}

// wait lasts until ctx ends, whose end is no error, or a part fails.
func (p *parts) wait() error {
	select {
	case <-p.ctx.Done():
		return nil
	case err := <-p.failed:
		return err
	}
}

// end stops every part and waits for it.
func (p *parts) end() {
	p.stop()
	p.group.Wait()
}

// Run probes, decides and writes until ctx ends or a part of it fails, which is
// its error. Then it finishes the call in hand, releases the stamps, saves the
// state and lets go of the lease, in this order.
func (d *Daemon) Run(ctx context.Context) error {
	running := newParts(ctx)
	defer running.stop()
	context.AfterFunc(running.ctx, d.audience.end) // a stream of events would go on for ever
	socket, err := d.listen()
	if err != nil {
		return err
	}
	targets := len(d.engine.Targets())
	if d.options.Alone {
		forgetStart()
		useProcessors(d.jobs())
		d.unreported = map[record.Name]bool{}
		for _, z := range d.config.Zones {
			d.unreported[z.Name] = true
		}
	}
	endLoop := d.startLoop() // which outlives everybody who talks to it
	defer endLoop()
	for _, s := range d.servers() {
		running.start("name server", s.Serve)
	}
	running.start("control", socket)
	if d.options.Config.Control.Listen != "" {
		running.start("control over TCP", d.serveTCP)
	}
	running.start("lease", d.lead)
	running.start("vacancy", d.watchVacancies)
	running.start("writer", func(ctx context.Context) error { d.writer.Run(ctx); return nil })
	running.start("schedule", func(ctx context.Context) error { d.schedule.Run(ctx); return nil })
	running.start("canary", d.watchCanary)
	running.start("lists", d.keepFresh)
	running.start("notify", d.people.Run)
	running.start("reminders", d.remind)
	running.start("ping", d.pingWhileLooping)
	if d.nodes != nil {
		running.start("nodes", d.nodes.Run)
	}
	d.tellSystemd(ready)
	running.start("watchdog", d.watchdog) // vouches for nothing that is not ready
	running.start("service status", d.tellStatus)
	d.warnUnpermitted(d.options.Config)
	d.log.Info("started", "node", d.options.Config.Node.Name, "config", d.options.Config.File, "targets", targets)
	err = running.wait()
	d.tellSystemd(stopping)
	running.end()
	return errors.Join(err, d.letGo())
}

// listen opens the control socket, and returns what serves it. Without one it
// does nothing.
func (d *Daemon) listen() (serve func(context.Context) error, err error) {
	if d.options.Config.Control.Socket == "" {
		return func(ctx context.Context) error { <-ctx.Done(); return nil }, nil
	}
	server, err := control.Listen(d.options.Config.Control.Socket, d, d.log)
	if err != nil {
		return nil, err
	}
	return server.Serve, nil
}

// servers lists the adapters that have a name server of their own.
func (d *Daemon) servers() []provider.Server {
	var list []provider.Server
	for _, a := range d.writer.Adapters() {
		if s, ok := a.(provider.Server); ok {
			list = append(list, s)
		}
	}
	return list
}

// releaseWithin bounds the end: a service manager gives up after a while, and
// a stamp that stays is only taken over later.
const releaseWithin = 5 * time.Second

// letGo leaves the zones and the lease to whoever comes next.
func (d *Daemon) letGo() error {
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	var errs []error
	if d.leader.leads() {
		errs = append(errs, d.writer.Release(ctx))
	}
	d.ask(func(*engine.Engine) { errs = append(errs, d.save()) })
	d.disk.close()
	errs = append(errs, d.leader.release(ctx))
	if d.way != nil {
		errs = append(errs, d.way.Close())
	}
	d.log.Info("stopped")
	return errors.Join(errs...)
}
