package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/etcd"
	"sidestep/pkg/lease/etcd/etcdtest"
	"sidestep/pkg/lease/file"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// The times of a crew: the lease, the deadline of a call, how late it may be, how long
// lists lag, and how long signatures live where there are any.
const (
	crewTTL    = 12 * time.Second
	crewCall   = 4 * time.Second
	crewLate   = 20 * time.Second
	crewLag    = 2 * time.Second
	crewSigned = 40 * time.Second
)

// crew is two nodes around one zone under a lock that is not in it, in virtual time:
// with the lease that a daemon has, over an etcd that is modelled, or over a lock file
// on the disk.
type crew struct {
	*world
	t      testing.TB
	model  *etcdtest.Model // nil with a lock file
	dir    string          // of the lock file
	signed time.Duration   // how long a signature lives; 0 for ever
	trip   [2]int          // to etcd and back, in tenths of longestTrip
	began  time.Time
	peers  []*peer
	chance *rand.Rand // how long requests are under way

	mu      sync.Mutex
	turns   []etcdtest.Turn // of a lock file
	sent    []*sending      // what the gate let out
	shut    int             // what it did not
	refused int             // what the provider did not take
	expired int             // of these, since the signature was too old
	outrank int             // leaders that stepped down before a later one
	failed  error           // how the last round ended
}

// sending is a call that the gate let out.
type sending struct {
	by      string // which process
	at      time.Time
	left    time.Time // it was sent; later than at by a stop between the two
	seen    *provider.Snapshot
	stopped bool
}

// peer is a node of a crew: one process after the other.
type peer struct {
	crew  *crew
	name  string
	life  int
	clock *clock.Virtual
	disk  *disk
	line  *memory.Line
	etcd  *etcdtest.Line
	way   *etcd.Way
	lease lease.Lease
	write *Reconciler
	stop  context.CancelFunc
	dies  chan struct{} // closed by kill
	done  chan struct{}
	seen  *provider.Snapshot // that the call in hand rests on

	mu   sync.Mutex
	gone bool
	trap bool // the process stops when the gate lets the next call out
	held lease.Held
}

// disk is what outlives the processes of a state directory: their notes.
type disk struct {
	mu      sync.Mutex
	open    map[string]bool
	trusted bool
}

// diskNotes are the notes as one process writes them, while it is there.
type diskNotes struct{ *peer }

func (n diskNotes) Open(id string, _ json.RawMessage) error {
	if !n.ended() {
		n.disk.mu.Lock()
		defer n.disk.mu.Unlock()
		n.disk.open[id] = true
	}
	return nil
}

func (n diskNotes) Close(id string) error {
	if !n.ended() {
		n.disk.mu.Lock()
		defer n.disk.mu.Unlock()
		delete(n.disk.open, id)
	}
	return nil
}

// setting is what a crew is made for.
type setting struct {
	class  memory.Class
	signed bool
	behind time.Duration // how much of the past lists show
	paces  [3]int        // of the clocks of both nodes and of etcd, in percent
	trip   [2]int        // how long requests to etcd and their answers travel, in tenths of the longest
	seed   uint64        // of how long requests are under way
}

func newCrew(t testing.TB, s setting) *crew {
	options := memory.Options{Class: s.class, Late: crewLate, Lag: crewLag, Call: crewCall, Behind: s.behind}
	c := &crew{t: t, chance: rand.New(rand.NewPCG(s.seed, 0)), began: time.Now()}
	if s.signed {
		c.signed, options.Late = crewSigned, crewLate/2
	}
	c.world = newWorld(t, options, values[0])
	return c
}

// underEtcd gives the crew an etcd and two nodes with a disk each.
func (c *crew) underEtcd(s setting) {
	c.model, c.trip = etcdtest.NewModel(s.paces[2]), s.trip
	for i, name := range []string{"mon-1", "mon-2"} {
		c.join(name, s.paces[i], &disk{open: map[string]bool{}})
	}
}

// underFile gives it a lock file and two processes with one disk.
func (c *crew) underFile(dir string, s setting) {
	c.dir = dir
	shared := &disk{open: map[string]bool{}}
	for i := range 2 {
		c.join("mon-1", s.paces[i], shared)
	}
}

func (c *crew) join(name string, percent int, d *disk) {
	n := &peer{crew: c, name: name, disk: d, life: 100 * len(c.peers), clock: clock.Bubble()}
	n.clock.Drift(percent)
	c.peers = append(c.peers, n)
	n.begin()
	time.Sleep(time.Second) // the first is the first
}

// process names the process of a node.
func (n *peer) process() string { return fmt.Sprintf("%s/%d", n.name, n.life) }

// begin starts a process, which knows what is on its disk, once all of the one before
// is gone.
func (n *peer) begin() {
	c := n.crew
	if n.done != nil {
		<-n.done
	}
	n.life++
	n.mu.Lock()
	n.gone, n.trap, n.held = false, false, nil
	n.mu.Unlock()
	n.line = &memory.Line{Adapter: c.adapter(n), Zone: c.zone, Opened: n.opened, Leaves: n.leaves}
	var adapter provider.Adapter = restingOn{n.line, n}
	if _, fenced := n.line.Adapter.(provider.Fencer); fenced {
		adapter = n.line.Whole()
	}
	promises := adapter.Promises()
	zone := Zone{Name: zoneName, Adapter: adapter}
	options := Options{
		Node: n.name, Clock: n.clock, Leader: n,
		Retry: provider.Backoff{Base: 200 * time.Millisecond, Max: 2 * time.Second, Attempts: 3},
		Wrote: c.count, Report: c.keep,
	}
	if c.model != nil {
		n.etcd = c.model.Line(n.process())
		n.travel(c.trip)
		n.way = etcd.NewWay(etcd.Settings{Endpoints: []string{"http://etcd.example.net:2379"}, Dial: n.etcd.Options()})
		client, err := n.way.Client()
		if err != nil {
			c.t.Fatal(err)
		}
		client.Watcher = n.etcd.Watcher()
		n.lease = etcd.New(etcd.Options{Way: n.way, Prefix: "/sidestep", Node: n.name, TTL: crewTTL, Clock: n.clock})
		options.Call, options.Handover, options.Belief, options.StepDown = lease.LongestCall(crewTTL), true, lease.Belief(crewTTL), n.stepDown
		wait := lease.Wait{TTL: crewTTL, Call: min(promises.Call, options.Call), Late: promises.Late, Signed: promises.Signed}
		if zone.Safety = 15 * time.Second; !promises.Fenced {
			zone.Safety = lease.Seconds(wait.Least())
		}
	} else {
		n.lease = file.New(file.Options{Dir: c.dir, Node: n.name, Clock: n.clock})
	}
	options.Zones = []Zone{zone}
	n.write = New(options)
	ctx, stop := context.WithCancel(context.Background())
	n.stop, n.dies, n.done = stop, make(chan struct{}), make(chan struct{})
	go n.run(ctx, n.line, n.write, n.lease, n.way, n.done)
}

// longestTrip is how long a request to etcd or its answer travels at most.
const longestTrip = 450 * time.Millisecond

// travel sets how long requests to etcd and their answers travel, in tenths of that.
func (n *peer) travel(trip [2]int) {
	n.etcd.Slow(longestTrip*time.Duration(trip[0])/10, longestTrip*time.Duration(trip[1])/10)
}

// adapter is the way of a node to the zone, with signatures where there are any.
func (c *crew) adapter(n *peer) provider.Adapter {
	a := c.zone.Adapter(n.process())
	if c.signed > 0 {
		return signing{a, c.signed}
	}
	return a
}

// signing is an adapter whose provider takes no call that was signed long ago.
type signing struct {
	provider.Adapter

	life time.Duration
}

func (s signing) Promises() provider.Promises {
	p := s.Adapter.Promises()
	p.Signed = s.life
	return p
}

// restingOn keeps which list a call rests on.
type restingOn struct {
	*memory.Line
	peer *peer
}

func (r restingOn) Add(ctx context.Context, call provider.Call) error {
	r.peer.seen = call.Seen
	return r.Line.Add(ctx, call)
}

func (r restingOn) TakeAway(ctx context.Context, call provider.Call) error {
	r.peer.seen = call.Seen
	return r.Line.TakeAway(ctx, call)
}

// end ends all processes.
func (c *crew) end() {
	for _, n := range c.peers {
		n.kill()
		<-n.done
	}
	time.Sleep(2 * longestTrip) // of what nobody waits for any more: in a bubble that ended no time goes by
	synctest.Wait()
}

// leader is a node that may write; nil when none may.
func (c *crew) leader() *peer {
	for _, n := range c.peers {
		if n.leads() {
			return n
		}
	}
	return nil
}

// turn writes down who has the lock file.
func (c *crew) turn(n *peer, epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns = append(c.turns, etcdtest.Turn{Line: n.process(), Epoch: epoch, Since: time.Now()})
}

// held lists who had the lock so far.
func (c *crew) had() []etcdtest.Turn {
	if c.model != nil {
		return c.model.Turns()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.turns)
}

func (c *crew) count(w Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.Err != nil && !gateClosed(w.Err) && provider.ClassOf(w.Err) != provider.Ambiguous {
		c.refused++
	}
}

func (c *crew) stepped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outrank++
}

func (c *crew) keep(report Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = report.Err
}

// replaceFile puts an empty lock file in the place of the one that is held.
func (c *crew) replaceFile() {
	if err := os.Remove(filepath.Join(c.dir, file.Name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
}

// submit gives every process the same work.
func (c *crew) submit(work engine.Work) {
	for _, n := range c.peers {
		if !n.ended() {
			n.write.Submit(work)
		}
	}
}
