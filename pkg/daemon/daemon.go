package daemon

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/clock"
	"sidestep/pkg/cluster"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/etcd"
	"sidestep/pkg/metrics"
	"sidestep/pkg/notify"
	"sidestep/pkg/probe"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
	"sidestep/pkg/resolve"
	"sidestep/pkg/schedule"
)

// Options is what a Daemon is made of.
type Options struct {
	Config   *config.Config // with an empty Control.Socket nobody can talk to it
	Registry provider.Registry
	Logger   *slog.Logger // nil logs nothing
	Version  string
	Built    time.Time                            // when; a clock that shows less is wrong; zero is not known
	ReadOnly bool                                 // probe, decide and plan, and never write
	Once     bool                                 // for a one-shot command: nothing is done but what it asks for
	Alone    bool                                 // the process is this daemon's alone: its Go runtime is tuned to it
	Write    bool                                 // the state directory and the zones may be written
	Probe    probe.Func                           // nil probes for real
	Resolver resolve.Options                      // who is asked for targets that are names; the zero value asks those of this machine
	Clock    clock.Clock                          // nil is the system's
	Sender   func(*notify.Receiver) notify.Sender // what sends to a receiver; nil is the receiver
	Load     func() (*config.Config, error)       // reads the config anew; nil refuses to reload
	Mounts   map[string]control.Mount             // what else is served over TCP, by pattern of http.ServeMux, such as a page at /
}

// Daemon is one controller. Make one with New, and use it for Run or for one
// of the one-shot commands, once.
type Daemon struct {
	options  Options
	log      *slog.Logger
	clock    clock.Clock
	disk     disk
	schedule *schedule.Schedule
	canary   *canaryWatch
	writer   *reconcile.Reconciler
	leader   *leader
	way      *etcd.Way             // nil without an etcd
	nodes    *cluster.Cluster      // those that share it; nil without one
	peers    func() []cluster.Node // what is known of them, this one too; nil without one
	begun    bool                  // the journal has that it began; of the goroutine that holds the lease
	told     chan struct{}         // closed once it is known what persons said at other nodes
	failed   chan struct{}         // of a command: holds one token when it could not join the nodes
	errors   *repeats              // of this node itself
	troubles *repeats              // of the zones; a one-shot command has them in its answer
	steered  steered
	progress Progress // nil but in a one-shot command
	meter    *metrics.Meter
	scraped  sync.Once // for scrapes
	scrapes  http.Handler
	turned   atomic.Int64 // when the loop did something last, in milliseconds of Unix time
	audience audience
	access   *control.Access       // who may do what over TCP
	unheld   atomic.Pointer[error] // why nothing listens there; nil while something does
	inbox    chan message
	stopped  chan struct{} // closed when the loop has ended
	reloads  sync.Mutex    // one at a time, so that what was read last is in force

	// The rest belongs to the loop.
	config     *config.Config
	limits     *provider.Limits // of the credentials in use
	engine     *engine.Engine
	next       time.Duration // boot time at which time alone matters, 0 for never
	loaded     time.Time
	refused    error // why the last reload was refused; nil when it was not
	refusedAt  time.Time
	waiters    []*waiter
	flood      flood
	writes     []writeLine
	rivals     map[record.Name]rivalry
	ages       map[record.Name]zoneAge
	alone      map[record.Name]alone // by zone: as it was listed last
	negatives  negatives
	checked    map[record.Name]control.Verification // by zone: the last one
	vacant     map[record.Name]*vacancy             // by zone with a lease of its own, and "" for all
	lookedFor  time.Duration                        // boot time at which it was looked last whether anybody leads; 0 before the first
	shown      map[record.Name]string               // by zone: the plan that a shadow logged last
	takenUp    time.Time                            // when the snapshot was saved that is taken up, and no other
	watched    time.Time                            // of a command: when the targets were watched last that it found judged
	found      engine.State                         // all that a command found saved
	fresh      bool                                 // found is young enough to go by
	began      time.Duration                        // boot time at which this process was
	saved      time.Time                            // wall time of the last try to save
	saving     time.Duration                        // how long the last save took
	unsaved    error                                // why it failed
	ends       []cluster.End                        // of words that persons took back, here or at other nodes: see cluster.Remember
	shared     time.Time                            // of what persons had said here until then etcd had everything, at some time
	lists      lists
	blind      time.Duration        // boot time since which the canary fails; 0 while it does not
	apart      error                // why this node is not among the others; nil when it is
	tuned      int                  // the most targets that the Go runtime was fitted to
	unreported map[record.Name]bool // zones of which no report came since the start; nil when all have one
	news       bool                 // something changed that was not saved yet
	people     announcer            // who tell people what happens
	kept       json.RawMessage      // of a command: what a daemon is to say, as it found it
}

// New builds everything, and looks into the state directory. It sends nothing,
// writes nothing and listens nowhere.
func New(options Options) (*Daemon, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Clock == nil {
		options.Clock = clock.System()
	}
	d := &Daemon{
		options:   options,
		log:       options.Logger,
		clock:     options.Clock,
		config:    options.Config,
		errors:    newRepeats(options.Logger),
		troubles:  newRepeats(options.Logger),
		inbox:     make(chan message),
		stopped:   make(chan struct{}),
		canary:    newCanaryWatch(options.Config.Canary),
		loaded:    options.Clock.Wall(),
		began:     options.Clock.Boot(),
		rivals:    map[record.Name]rivalry{},
		ages:      map[record.Name]zoneAge{},
		alone:     map[record.Name]alone{},
		negatives: negatives{of: map[record.Name]time.Duration{}},
		checked:   map[record.Name]control.Verification{},
		vacant:    map[record.Name]*vacancy{},
		shown:     map[record.Name]string{},
		lists:     newLists(),
		meter:     metrics.NewMeter(options.Version, runtime.Version()),
	}
	d.configureMeter(options.Config)
	if options.Once {
		d.troubles = newRepeats(slog.New(slog.DiscardHandler))
	}
	if err := d.build(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Daemon) build() error {
	d.steered.set(d.config)
	d.people = d.newAnnouncer()
	d.setReceivers(d.config)
	d.letIn(d.config.Control)
	zones, err := d.adapters()
	if err != nil {
		return err
	}
	d.engine = engine.New(d.engineConfig(d.config), d.now())
	if err := d.lookAtState(); err != nil {
		return err
	}
	if d.way, err = etcdWay(d.config.Etcd, d.log); err != nil {
		return err
	}
	d.leader = newLeader(d.config, d.way, d.options.ReadOnly, d.clock, d.log)
	if d.way != nil {
		d.nodes, d.told, d.failed = d.joinNodes(d.way), make(chan struct{}), make(chan struct{}, 1)
		d.peers = d.nodes.Nodes
	}
	if d.config.Leader.Lock == config.LockEtcd {
		d.leader.told, d.leader.deaf = d.told, d.deaf
	} else if d.nodes != nil {
		d.leader.deaf = d.untold
	}
	d.writer = reconcile.New(reconcile.Options{
		Zones: zones, Node: d.config.Node.Name, Clock: d.clock, Leader: d.leader,
		Call: longestCall(d.config.Leader), Handover: d.leader.lease != nil, Belief: lease.Belief(d.config.Leader.Lease), StepDown: d.stepDown, Known: d.knownNode,
		Ask: d.askServer, Find: d.findServers, Verified: d.verifiedAfter,
		Retry:  provider.Backoff{Base: d.config.Reconcile.RetryBase, Max: d.config.Reconcile.RetryMax, Attempts: 3},
		Report: d.report, Called: d.called, Wrote: d.wrote, Waits: d.waits, Led: d.led, Brief: d.options.Once, Logger: d.log,
	})
	d.schedule = schedule.New(schedule.Options{
		Clock: d.clock, Probe: d.prober(), Results: d.results, Workers: workers(), Logger: d.log,
	})
	return nil
}

func (d *Daemon) prober() probe.Func {
	if d.options.Probe != nil {
		return d.options.Probe
	}
	return probe.New(d.clock.Boot, probe.Options{Logger: d.log, Resolver: d.options.Resolver, Steered: d.steered.find, Loopback: d.steered.inLab}).Probe
}

// spareFiles is how many open files are left for everything but probes, half of
// them where the limit is small: what else is open are some dozens.
const spareFiles = 256

// workers is the most probes in flight that the limit on open files allows, 0
// for the schedule's own most.
func workers() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return workersOf(limit.Cur)
}

func workersOf(files uint64) int {
	if files > schedule.DefaultWorkers+spareFiles {
		return 0
	}
	return max(1, int(files-min(spareFiles, files/2)))
}

func (d *Daemon) now() engine.Now { return engine.Now{Boot: d.clock.Boot(), Wall: d.clock.Wall()} }

func (d *Daemon) engineConfig(c *config.Config) engine.Config {
	out := EngineConfig(c)
	out.Built = d.options.Built
	if d.options.Once {
		out.Pace, out.NoCooldown = pace, true
	}
	return out
}

// EngineConfig is what the engine decides by, as a config file says it: the
// daemon's, the one-shot commands' and the simulation's.
func EngineConfig(c *config.Config) engine.Config {
	out := engine.Config{
		Checks: c.Checks, Sets: c.Records, Sites: c.Sites, Scenarios: c.Scenarios,
		Debounce: c.Reconcile.Debounce, Every: c.Reconcile.Every,
		MaxChanges: c.Guard.MaxChanges,
		Canary:     canarySpec(c.Canary),
	}
	out.Vantage, out.Vantages = c.Node.Vantage, c.Judged()
	out.Mass = engine.Mass(c.Guard.Mass)
	out.MaxWrites.Count, out.MaxWrites.Window = c.Guard.MaxWrites.Count, c.Guard.MaxWrites.Window
	for _, z := range c.Zones {
		out.Zones = append(out.Zones, z.Name)
	}
	return out
}

// zoneNames is what a request means by its zones: all when it names none. Zones
// are those of the start, since a reload can only change how they are reached.
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
		return zonesOf(d.options.Config), nil
	}
	return names, nil
}
