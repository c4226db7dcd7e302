package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/lease/etcd"
	"sidestep/pkg/lease/etcd/etcdtest"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// The times of a fleet: short, so that much happens in a few virtual minutes.
const (
	fleetInterval = 5 * time.Second
	fleetFall     = 2
	fleetRise     = 2
	fleetCooldown = 20 * time.Second
	fleetCall     = 4 * time.Second
	fleetLag      = time.Second
	fleetLate     = 10 * time.Second
	fleetTTL      = 12 * time.Second
)

// fleetValues are what www may answer with, and mail is a record set that the config
// does not name.
var (
	fleetValues = []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"}
	mail        = record.Key{Zone: home, Name: "mail.example.com.", Type: record.A}
)

// fleet is some whole daemons around one zone, each with a disk and a clock of its own.
type fleet struct {
	*world
	setting fleetSetting
	zone    *memory.Zone
	model   *etcdtest.Model // nil without an etcd
	nodes   []*fleetNode
	tally   *tally
	judge   *judge

	mu    sync.Mutex
	down  map[string]bool // what does not answer anybody
	empty bool            // lists are empty, and nobody says that this is wrong
}

// fleetNode is a host: one process of the daemon after the other.
type fleetNode struct {
	fleet *fleet
	name  string
	life  int
	clock *clock.Virtual
	line  *memory.Line
	etcd  *etcdtest.Line
	disk  *world // whose config is this node's
	run   *running
	gone  bool
	blind bool // nothing answers its probes
	seen  bool // this process has listed the zone
}

// newFleet starts the nodes of a setting around a zone in which www answers with what
// the policy wants.
func newFleet(t *testing.T, s fleetSetting, tally *tally) *fleet {
	f := &fleet{world: newWorld(t, memory.Options{Class: s.class, Behind: s.behind, Lag: fleetLag, Late: fleetLate, Call: fleetCall}), setting: s, tally: tally, down: map[string]bool{}}
	f.zone = f.zones[home]
	f.judge = newJudge(f)
	spec := f.config.Records[0]
	spec.Policy, spec.Answers, spec.Failback.Hold = s.policy, nil, 20*time.Second
	var edits []memory.Edit
	for i, value := range fleetValues {
		spec.Answers = append(spec.Answers, steer.Answer{Value: value, Probe: value})
		if i == 0 || s.policy == steer.All {
			edits = append(edits, memory.Put(string(www.Name), "A", time.Minute, value))
		}
	}
	edits = append(edits, memory.Delete(string(www.Name), "A", a), memory.Put(string(mail.Name), "A", time.Minute, "198.51.100.1"))
	if err := f.zone.EditByHand(edits...); err != nil {
		t.Fatal(err)
	}
	f.judge.from = len(f.zone.History()) - 1
	if s.lock == config.LockEtcd || s.shared {
		f.model = etcdtest.NewModel(s.paces[len(s.paces)-1])
	}
	for i := range s.nodes {
		time.Sleep(137 * time.Millisecond) // no two at one moment
		n := &fleetNode{fleet: f, name: fmt.Sprintf("mon-%d", i+1), clock: clock.Bubble()}
		n.clock.Drift(s.paces[i])
		n.disk = &world{T: t, config: f.configOf(n.name), zones: f.zones}
		f.nodes = append(f.nodes, n)
		n.begin()
	}
	return f
}

// configOf is the config of a node.
func (f *fleet) configOf(name string) *config.Config {
	s, cfg := f.setting, *f.config
	cfg.Node = config.Node{Name: name, Vantage: name}
	cfg.State.Dir = filepath.Join(memoryDir(f.T), "state")
	cfg.Leader = config.Leader{Lock: s.lock, Heartbeat: 5 * time.Second, Takeover: 22 * time.Second, Poll: 3 * time.Second, Lease: fleetTTL}
	if s.lock == config.LockEtcd {
		cfg.Leader = config.Leader{Lock: s.lock, Lease: fleetTTL}
	}
	cfg.Reconcile = config.Reconcile{Debounce: time.Second, Every: time.Minute, RetryBase: 200 * time.Millisecond, RetryMax: 3 * time.Second}
	web := &check.Spec{
		Name: "web", Kind: check.KindTCP, TCP: &check.TCP{Port: 443},
		Interval: fleetInterval, Timeout: 2 * time.Second, Fall: fleetFall, Rise: fleetRise,
	}
	if s.cooldown {
		web.Cooldown = &check.Cooldown{Base: fleetCooldown, Factor: 2, Max: 2 * fleetCooldown}
	}
	cfg.Checks = map[string]*check.Spec{"web": web}
	if s.mass {
		cfg.Guard.Mass = config.Mass{Percent: 50, AtLeast: 3, Within: time.Minute, Confirm: massConfirm}
	}
	if s.canary {
		cfg.Canary = canaryOf(anchors[0])
	}
	if f.model != nil || s.lock == config.LockEtcd || s.shared {
		cfg.Etcd = config.Etcd{Endpoints: []string{"http://etcd.example.net:2379"}, Prefix: "/sidestep"}
	}
	if s.vantages > 0 {
		v := &check.Vantages{Down: s.vantages}
		for i := range s.nodes {
			v.Of = append(v.Of, fmt.Sprintf("mon-%d", i+1))
		}
		cfg.Vantages.Checks = map[string]*check.Vantages{"web": v}
	}
	return &cfg
}

// process names the process of a node that runs, or ran last.
func (n *fleetNode) process() string { return fmt.Sprintf("%s/%d", n.name, n.life) }

// begin starts a process.
func (n *fleetNode) begin() {
	f := n.fleet
	n.life++
	n.gone, n.seen = false, false
	n.line = &memory.Line{Adapter: f.zone.Adapter(n.process()), Zone: f.zone}
	watched := watchedLine{n.line.Whole(), n}
	var adapter provider.Adapter = watched
	if fencer, ok := watched.Adapter.(provider.Fencer); ok {
		adapter = watchedFence{watched, fencer}
	}
	d, err := New(Options{
		Config: n.disk.config, Clock: n.clock, Probe: n.probe, Write: true,
		Registry: provider.Registry{"memory": func(provider.Settings) (provider.Adapter, error) { return adapter, nil }},
	})
	if err != nil {
		f.Fatal(err)
	}
	if f.model != nil {
		n.share(d)
	}
	n.run = n.disk.start(d)
}

// share puts the model of an etcd in the place of the real one.
func (n *fleetNode) share(d *Daemon) {
	c := n.disk.config
	n.etcd = n.fleet.model.Line(n.process())
	n.etcd.Slow(3*time.Millisecond, 4*time.Millisecond)
	d.way = etcd.NewWay(etcd.Settings{Endpoints: c.Etcd.Endpoints, Prefix: c.Etcd.Prefix, Dial: n.etcd.Options()})
	client, err := d.way.Client()
	if err != nil {
		n.fleet.Fatal(err)
	}
	client.Watcher = n.etcd.Watcher()
	if c.Leader.Lock == config.LockEtcd {
		shared := etcdLease(c, d.way, n.clock, d.log)
		d.leader.lease, d.leader.end = shared, shared.Close
	}
	d.nodes = d.joinNodes(d.way)
	d.peers = d.nodes.Nodes
}

// kill ends the process as SIGKILL does: with the disk as it is now, and without another
// call. Without the disk it is a new host of the same name that begins after it.
func (n *fleetNode) kill(lost bool) {
	if n.gone {
		return
	}
	n.gone = true
	kept := filepath.Join(memoryDir(n.fleet.T), "state")
	if err := os.CopyFS(kept, os.DirFS(n.disk.config.State.Dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		n.fleet.Fatal(err)
	}
	n.line.Set(func(l *memory.Line) { l.Dead = true })
	if n.etcd != nil {
		n.etcd.Cut(true)
	}
	n.thaw()
	n.run.end()
	copied := *n.disk.config
	if copied.State.Dir = kept; lost {
		copied.State.Dir = filepath.Join(memoryDir(n.fleet.T), "state")
	}
	n.disk.config = &copied
	n.fleet.judge.ended(n, lost)
}

// end ends it in order.
func (n *fleetNode) end() {
	if !n.gone {
		n.thaw()
		n.run.end()
		n.gone = true
	}
}

// freeze lets the process stand still, as SIGSTOP does, and thaw lets it go on.
func (n *fleetNode) freeze() {
	n.line.Freeze()
	if n.etcd != nil {
		n.etcd.Hold(true)
	}
}

func (n *fleetNode) thaw() {
	n.line.Thaw()
	if n.etcd != nil {
		n.etcd.Hold(false)
	}
}

func (n *fleetNode) cut(cut bool) { n.line.Set(func(l *memory.Line) { l.Cut = cut }) }

// leads reports whether the process says that it leads.
func (n *fleetNode) leads() bool {
	if n.gone {
		return false
	}
	status, err := n.run.Status(context.Background(), "")
	return err == nil && status.Leader.State == "leader"
}

// end ends all processes.
func (f *fleet) end() {
	for _, n := range f.nodes {
		n.kill(false)
	}
	time.Sleep(time.Second) // of what nobody waits for any more
	synctest.Wait()
}

// leader is the node that says that it leads, else the first.
func (f *fleet) leader() *fleetNode {
	for _, n := range f.nodes {
		if n.leads() {
			return n
		}
	}
	return f.nodes[0]
}

func (f *fleet) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// probe is what a node finds.
func (n *fleetNode) probe(_ context.Context, _ *check.Spec, address string) check.Result {
	n.line.Runs()
	f := n.fleet
	f.mu.Lock()
	fails := n.blind || f.down[address]
	f.mu.Unlock()
	if slices.Contains(fleetValues, address) {
		f.judge.probed(n, address, !fails)
	}
	if fails {
		return check.Result{Outcome: check.Fail, Phase: check.PhaseConnect, Cause: check.CauseTimeout, Detail: "no answer"}
	}
	return check.Result{Outcome: check.Pass}
}

// watchedLine shows each write to the judge as the gate lets it out, and makes lists
// empty.
type watchedLine struct {
	provider.Adapter

	node *fleetNode
}

func (l watchedLine) List(ctx context.Context) (*provider.Snapshot, error) {
	s, err := l.Adapter.List(ctx)
	f := l.node.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && f.empty && l.node.seen { // who has seen nothing else cannot know
		f.tally.add("fault: empty list that nobody calls wrong", 1)
		return &provider.Snapshot{Zone: home}, nil
	}
	l.node.seen = l.node.seen || err == nil
	return s, err
}

func (l watchedLine) gate(call provider.Call) provider.Gate {
	return func() error {
		if err := call.Gate(); err != nil {
			return err
		}
		l.node.fleet.judge.sent(l.node, call)
		return nil
	}
}

func (l watchedLine) Add(ctx context.Context, call provider.Call) error {
	asked := call
	call.Gate = l.gate(asked)
	return l.Adapter.Add(ctx, call)
}

func (l watchedLine) TakeAway(ctx context.Context, call provider.Call) error {
	asked := call
	call.Gate = l.gate(asked)
	return l.Adapter.TakeAway(ctx, call)
}

// watchedFence is one to a zone that compares and swaps.
type watchedFence struct {
	watchedLine

	fencer provider.Fencer
}

func (l watchedFence) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	return l.fencer.Claim(ctx, seen, next, gate)
}

func (l watchedFence) Prove(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	return l.fencer.Prove(ctx, seen, next, gate)
}

func (l watchedFence) Stamps(ctx context.Context) (*provider.Snapshot, error) {
	return l.fencer.(provider.StampReader).Stamps(ctx)
}

func (l watchedFence) After(call provider.Call) *provider.Snapshot {
	return l.fencer.(provider.Follower).After(call)
}

// say is an operator's word at a node.
func (n *fleetNode) say(kind, target string, values ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	taken := n.fleet.judge.says(n, kind, target)
	answer, err := n.run.Override(ctx, control.OverrideRequest{Kind: kind, Target: target, Values: values, For: "1h", Reason: "simulated"}, "ops")
	if err == nil {
		taken(n.fleet.model != nil && answer.Here == "")
	}
}
