package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// world is one memory zone with reconcilers in front of it, inside a bubble of
// virtual time.
type world struct {
	zone  *memory.Zone
	clock *clock.Virtual
	nodes []*node
	spec  *steer.Spec
	retry provider.Backoff // how rounds that failed are tried again; its zero value is a short one
	lists bool             // no adapter follows its own writes: each is followed by a list
	full  bool             // a round may end because the provider takes no more live values
	hurt  error            // what a hook found wrong
}

// node is one sidestep: its process, and what outlives it.
type node struct {
	name  string
	write *Reconciler
	notes *memoNotes
	led   time.Duration // boot time since when it leads
	told  []Report
	wrote []Write
	waits []Wait

	mu   sync.Mutex
	gate error // why it may not write
	term lease.Term
}

const zoneName = record.Name("example.com.")

var www = record.Key{Zone: zoneName, Name: "www.example.com.", Type: record.A}

var values = []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}

// newWorld makes a zone in which www answers with the live values, and one
// node.
func newWorld(t testing.TB, options memory.Options, live ...string) *world {
	t.Helper()
	return newWorldOf(t, options, &steer.Spec{Key: www, Policy: steer.All, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, TTL: time.Minute}, values, live)
}

func newWorldOf(t testing.TB, options memory.Options, spec *steer.Spec, answers, live []string) *world {
	t.Helper()
	w := &world{clock: clock.Bubble(), spec: spec}
	options.Now = w.clock.Boot
	w.zone = memory.NewZone(zoneName, options)
	for _, value := range live {
		w.hand(t, memory.Put(string(spec.Key.Name), string(spec.Key.Type), time.Minute, value))
	}
	for _, value := range answers {
		spec.Answers = append(spec.Answers, steer.Answer{Value: value, Probe: value})
	}
	time.Sleep(options.Behind) // until lists show it
	w.join("node-1")
	return w
}

func (w *world) hand(t testing.TB, edits ...memory.Edit) {
	t.Helper()
	if err := w.zone.EditByHand(edits...); err != nil {
		t.Fatal(err)
	}
}

// join adds a node with an empty disk.
func (w *world) join(name string) *node {
	n := &node{name: name, notes: newMemoNotes(), term: lease.Term{Epoch: 7}}
	w.nodes = append(w.nodes, n)
	w.start(n)
	return n
}

// start begins a node's process anew: nothing is remembered but the zone and
// the notes.
func (w *world) start(n *node) {
	adapter := w.zone.Adapter(n.name)
	if fencer, ok := adapter.(provider.Fencer); ok && w.lists {
		adapter = fencedShim{&shim{Adapter: adapter}, fencer}
	}
	w.startWith(n, Zone{Name: zoneName, Adapter: adapter})
}

func (w *world) startWith(n *node, zones ...Zone) {
	n.write = New(Options{
		Zones: zones, Node: n.name, Clock: w.clock, Leader: n,
		Retry:  cmp.Or(w.retry, provider.Backoff{Base: 100 * time.Millisecond, Max: time.Second, Attempts: 3}),
		Report: func(r Report) { n.note(func() { n.told = append(n.told, r) }) },
		Wrote:  func(write Write) { n.note(func() { n.wrote = append(n.wrote, write) }) },
		Waits:  func(wait Wait) { n.note(func() { n.waits = append(n.waits, wait) }) },
	})
	n.led = w.clock.Boot()
	n.write.Lead(n.notes, n.notes.trusted && len(n.notes.open) == 0)
}

// note keeps what a worker tells, of which a node has one for each zone.
func (n *node) note(keep func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	keep()
}

func (n *node) Gate(time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gate
}

// shut closes the gate with an error, and opens it with nil.
func (n *node) shut(why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gate = why
}

func (n *node) Term() lease.Term {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.term
}

// only is the world's one node.
func (w *world) only() *node { return w.nodes[0] }

// want is work for the record set with exactly these answers usable.
func (w *world) want(usable ...string) engine.Work {
	in := steer.Input{Spec: w.spec, Now: w.clock.Boot()}
	for _, a := range w.spec.Answers {
		j := steer.Judged{Usable: steer.No, Since: w.clock.Boot()}
		if slices.Contains(usable, a.Value) {
			j.Usable = steer.Yes
		}
		in.Judged = append(in.Judged, j)
	}
	return engine.Work{Zone: zoneName, Inputs: []steer.Input{in}}
}

// round carries work out once, by the first node.
func (w *world) round(work engine.Work) Report { return w.only().round(work, Orders{}) }

func (n *node) round(work engine.Work, orders Orders) Report {
	return n.worker().round(context.Background(), work, orders)
}

func (n *node) worker() *worker { return n.write.workers[zoneName] }

// comeToRest repeats the work until a round of the first node ends without an
// error.
func (w *world) comeToRest(usable []string) error {
	var last error
	for range 50 {
		report := w.only().round(w.want(usable...), Orders{TakeOver: true})
		if report.Err == nil || w.full && isFull(report.Err) {
			return nil
		}
		last = report.Err
		time.Sleep(time.Second)
	}
	return fmt.Errorf("the zone did not come to rest in 50 rounds: %w", last)
}

func isFull(err error) bool {
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Full
}

// calls counts the requests of a kind that the zone gets from here on.
func (w *world) calls(op memory.Op) *atomic.Int64 {
	n := new(atomic.Int64)
	w.zone.Faults(func(seen memory.Op, _ int) memory.Fault {
		if seen == op {
			n.Add(1)
		}
		return memory.Fault{}
	})
	return n
}

// fault makes the next requests of a kind end badly, each in its way.
func (w *world) fault(op memory.Op, kinds ...memory.Kind) {
	w.zone.Faults(func(seen memory.Op, _ int) memory.Fault {
		if seen != op || len(kinds) == 0 {
			return memory.Fault{}
		}
		kind := kinds[0]
		kinds = kinds[1:]
		return memory.Fault{Kind: kind}
	})
}

// before runs a hook before the nth request of the adapters, and never again:
// with 2, between the first list of a round and what comes after it.
func (w *world) before(n int, hook func()) {
	w.zone.Between(func() {
		if n--; n == 0 {
			hook()
		}
	})
}

// effects lists what adapters did to the zone so far, oldest first.
func (w *world) effects() []string {
	var list []string
	for _, v := range w.zone.History() {
		if v.Cause.Op != "" {
			list = append(list, fmt.Sprintf("%s %s", v.Cause.Node, v.Cause.Op))
		}
	}
	return list
}

// check holds the zone's history to the rules.
func (w *world) check(t testing.TB, tolerate ...memory.Tolerance) {
	t.Helper()
	if err := memory.Check(w.zone.History(), tolerate...); err != nil {
		t.Error(err)
	}
}

func (w *world) mustLive(t testing.TB, want ...string) {
	t.Helper()
	if live := w.zone.Live(w.spec.Key); !slices.Equal(live, want) {
		t.Errorf("the zone answers with %v, want %v", live, want)
	}
}

// forClasses runs a test once for every class given, in a bubble of virtual time.
func forClasses(t *testing.T, run func(t *testing.T, class memory.Class), classes ...memory.Class) {
	t.Helper()
	for _, class := range classes {
		t.Run(string(class), func(t *testing.T) {
			bubble(t, func(t *testing.T) { run(t, class) })
		})
	}
}

// memoNotes keeps notes as a store would, but in memory.
type memoNotes struct {
	open    map[string]bool
	trusted bool
	full    bool // nothing can be stored
	opened  int
}

func newMemoNotes() *memoNotes { return &memoNotes{open: map[string]bool{}} }

func (n *memoNotes) Open(id string, data json.RawMessage) error {
	if !json.Valid(data) {
		return fmt.Errorf("not JSON: %s", data)
	}
	n.opened++
	n.open[id] = true
	if n.full {
		return errors.New("no space left")
	}
	return nil
}

func (n *memoNotes) Close(id string) error {
	delete(n.open, id)
	if n.full {
		return errors.New("no space left")
	}
	return nil
}
