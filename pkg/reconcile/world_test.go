package reconcile

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// world is one memory zone with a reconciler in front of it, inside a bubble of
// virtual time.
type world struct {
	zone  *memory.Zone
	clock *clock.Virtual
	node  *Reconciler
	spec  *steer.Spec
	gate  error
	notes *memoNotes
}

const zoneName = record.Name("example.com.")

var www = record.Key{Zone: zoneName, Name: "www.example.com.", Type: record.A}

var values = []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}

func newWorld(t testing.TB, options memory.Options, live ...string) *world {
	t.Helper()
	w := &world{clock: clock.Bubble(), notes: &memoNotes{open: map[string]bool{}}}
	options.Now = w.clock.Boot
	w.zone = memory.NewZone(zoneName, options)
	for _, value := range live {
		w.hand(t, memory.Put("www", "A", time.Minute, value))
	}
	w.spec = &steer.Spec{Key: www, Policy: steer.All, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, TTL: time.Minute}
	for _, value := range values {
		w.spec.Answers = append(w.spec.Answers, steer.Answer{Value: value, Probe: value})
	}
	w.start()
	return w
}

func (w *world) hand(t testing.TB, edit memory.Edit) {
	t.Helper()
	if err := w.zone.EditByHand(edit); err != nil {
		t.Fatal(err)
	}
}

// start begins a process anew: nothing is remembered but the zone and the notes.
func (w *world) start() {
	w.node = New(Options{
		Zones:  []Zone{{Name: zoneName, Adapter: w.zone.Adapter("node-1")}},
		Node:   "node-1",
		Clock:  w.clock,
		Leader: w,
		Retry:  provider.Backoff{Base: 100 * time.Millisecond, Max: time.Second, Attempts: 3},
	})
	open, trusted := len(w.notes.open), w.notes.trusted
	w.node.Lead(w.notes, trusted && open == 0)
}

func (w *world) Gate(time.Duration) error { return w.gate }
func (w *world) Epoch() uint64            { return 7 }

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

// round carries work out once.
func (w *world) round(work engine.Work) Report {
	return w.node.workers[zoneName].round(context.Background(), work, Orders{})
}

// settle repeats the work until a round ends without an error.
func (w *world) settle(t testing.TB, work engine.Work) Report {
	t.Helper()
	for range 50 {
		report := w.round(work)
		if report.Err == nil {
			return report
		}
		time.Sleep(time.Second)
	}
	t.Fatal("the zone did not come to rest in 50 rounds")
	return Report{}
}

// live is what resolvers would be answered with.
func (w *world) live(t testing.TB) []string {
	t.Helper()
	snapshot, err := w.zone.Adapter("witness").List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return snapshot.Set(www).Live()
}

// memoNotes keeps notes as a store would, but in memory.
type memoNotes struct {
	open    map[string]bool
	trusted bool
}

func (n *memoNotes) Open(id string, _ json.RawMessage) error { n.open[id] = true; return nil }
func (n *memoNotes) Close(id string) error                   { delete(n.open, id); return nil }
