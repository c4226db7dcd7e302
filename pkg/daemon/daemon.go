package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/probe"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
	"sidestep/pkg/schedule"
	"sidestep/pkg/store"
)

// Options is what a Daemon is made of.
type Options struct {
	Config   *config.Config
	Registry provider.Registry
	Logger   *slog.Logger
	Version  string
	ReadOnly bool                           // probe, decide and plan, and never write
	Once     bool                           // for a one-shot command: nothing is done but what it asks for
	Write    bool                           // the state directory and the zones may be written
	TakeOver bool                           // write although another node's stamp is fresh
	OnlyAdd  bool                           // never take anything away
	Probe    probe.Func                     // nil probes for real
	Clock    clock.Clock                    // nil is the system's
	Load     func() (*config.Config, error) // reads the config anew; nil refuses to reload
}

// Daemon is one controller. Make one with New, and use it for Run or for one
// of the one-shot commands, once.
type Daemon struct {
	options  Options
	log      *slog.Logger
	clock    clock.Clock
	store    *store.Store
	schedule *schedule.Schedule
	writer   *reconcile.Reconciler
	leader   *leader
	inbox    chan message
	stopped  chan struct{} // closed when the loop has ended

	// The rest belongs to the loop.
	config  *config.Config
	engine  *engine.Engine
	loaded  time.Time
	reload  string // why the last reload was refused
	waiters []waiter
	writes  []writeLine
	errors  *repeats
	saved   time.Time // wall time of the last save
}

// New builds everything and opens the state directory. It sends nothing and
// listens nowhere.
func New(options Options) (*Daemon, error) {
	d := &Daemon{
		options: options,
		log:     options.Logger,
		clock:   options.Clock,
		config:  options.Config,
		inbox:   make(chan message),
		stopped: make(chan struct{}),
		errors:  newRepeats(options.Logger),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
		d.errors = newRepeats(d.log)
	}
	if d.clock == nil {
		d.clock = clock.System()
	}
	d.loaded = d.clock.Wall()
	if err := d.build(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Daemon) build() error {
	zones, err := d.adapters()
	if err != nil {
		return err
	}
	d.engine = engine.New(d.engineConfig(d.config), d.now())
	if err := d.openStore(); err != nil {
		return err
	}
	d.leader = newLeader(d.config, d.options.ReadOnly, d.clock, d.log)
	d.writer = reconcile.New(reconcile.Options{
		Zones: zones, Node: d.config.Node.Name, Clock: d.clock, Leader: d.leader,
		Ask:    ask,
		Retry:  provider.Backoff{Base: d.config.Reconcile.RetryBase, Max: d.config.Reconcile.RetryMax, Attempts: 3},
		Report: d.report, Wrote: d.wrote, Logger: d.log,
	})
	d.schedule = schedule.New(schedule.Options{
		Clock: d.clock, Probe: d.prober(), Results: d.results, Workers: workers(), Logger: d.log,
	})
	return nil
}

func (d *Daemon) prober() func(context.Context, *check.Spec, string) check.Result {
	if d.options.Probe != nil {
		return d.options.Probe
	}
	return probe.New(d.clock.Boot, probe.Options{Logger: d.log}).Probe
}

// spareFiles is how many open files are left for everything but probes.
const spareFiles = 256

// workers is the most probes in flight that the limit on open files allows, 0
// for the schedule's own most.
func workers() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > schedule.DefaultWorkers+spareFiles {
		return 0
	}
	return max(1, int(limit.Cur)-spareFiles)
}

func (d *Daemon) now() engine.Now { return engine.Now{Boot: d.clock.Boot(), Wall: d.clock.Wall()} }

// adapters makes the adapter of every zone.
func (d *Daemon) adapters() ([]reconcile.Zone, error) {
	var zones []reconcile.Zone
	for _, z := range d.config.Zones {
		construct, found := d.options.Registry[z.Provider]
		if !found {
			return nil, fmt.Errorf("open zone %s: this sidestep has no provider %q", z.Name, z.Provider)
		}
		settings := z.Settings
		settings.Logger, settings.Client = d.log, "sidestep/"+d.options.Version
		adapter, err := construct(settings)
		if err != nil {
			return nil, &control.Error{Message: fmt.Sprintf("%s: open zone %s: %v", z.Position, z.Name, err), Exit: control.ExitUsage}
		}
		zones = append(zones, reconcile.Zone{
			Name: z.Name, Adapter: adapter, Servers: z.Verify.Servers, NoDNS: !z.Verify.DNS,
		})
	}
	return zones, nil
}

func (d *Daemon) engineConfig(c *config.Config) engine.Config {
	out := engine.Config{
		Checks: c.Checks, Sets: c.Records,
		Debounce: c.Reconcile.Debounce, Every: c.Reconcile.Every,
		MaxChanges: c.Guard.MaxChanges,
	}
	if d.options.Once {
		out.Pace = pace
	}
	out.MaxWrites.Count, out.MaxWrites.Window = c.Guard.MaxWrites.Count, c.Guard.MaxWrites.Window
	for _, z := range c.Zones {
		out.Zones = append(out.Zones, z.Name)
	}
	return out
}

// Run probes, decides and writes until ctx ends. Then it finishes the call in
// hand, releases the stamps, saves the state and lets go of the lease, in this
// order.
func (d *Daemon) Run(ctx context.Context) error {
	server, err := control.Listen(d.config.Control.Socket, d, d.log)
	if err != nil {
		return err
	}
	working, stopWork := context.WithCancel(ctx)
	defer stopWork()
	var workers sync.WaitGroup
	failed := make(chan error, 1)
	start := func(name string, run func(context.Context) error) {
		workers.Go(func() {
			if err := run(working); err != nil && working.Err() == nil {
				select {
				case failed <- fmt.Errorf("%s: %w", name, err):
				default:
				}
			}
		})
	}
	targets := len(d.engine.Targets())
	endLoop := d.startLoop()
	defer endLoop()
	for _, s := range d.servers() {
		start("name server", s.Serve)
	}
	start("control", server.Serve)
	start("lease", d.lead)
	start("writer", func(ctx context.Context) error { d.writer.Run(ctx); return nil })
	start("schedule", func(ctx context.Context) error { d.schedule.Run(ctx); return nil })
	start("watchdog", d.watchdog)
	d.tellSystemd(ready)
	d.log.Info("started", "node", d.config.Node.Name, "config", d.config.File, "targets", targets)
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	d.tellSystemd(stopping)
	stopWork()
	workers.Wait()
	return errors.Join(err, d.letGo())
}

// letGo leaves the zones and the lease to whoever comes next.
func (d *Daemon) letGo() error {
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	var errs []error
	if d.leader.leads() {
		errs = append(errs, d.writer.Release(ctx))
	}
	d.ask(func(*engine.Engine) { d.save() })
	errs = append(errs, d.leader.release(ctx))
	d.log.Info("stopped")
	return errors.Join(errs...)
}

// releaseWithin bounds the end: a service manager gives up after a while, and
// a stamp that stays is only taken over later.
const releaseWithin = 5 * time.Second

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

// zoneNames is what a request means by its zones: all when it names none.
func (d *Daemon) zoneNames(texts []string) ([]record.Name, error) {
	var names []record.Name
	for _, text := range texts {
		name, err := record.ParseName(text)
		if err != nil {
			return nil, err
		}
		if d.options.Config.Zone(name) == nil {
			return nil, fmt.Errorf("zone %s: the config has no such zone", name)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		for _, z := range d.options.Config.Zones {
			names = append(names, z.Name)
		}
	}
	return names, nil
}
