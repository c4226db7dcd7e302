package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/daemon"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
)

// epoch is the wall time at which every run begins: any, but always the same.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// begins is the boot time at which every run begins: late enough for what has
// been so for longer than any hold.
const begins = 100 * 365 * 24 * time.Hour

// world is everything around the engine.
type world struct {
	*node    // whose decisions are told
	options  Options
	peers    map[string]*node // the others, by vantage
	others   []*node          // the same, sorted by that
	clock    *clock.Fake
	writer   *reconcile.Reconciler
	zones    map[record.Name]*zone
	order    []*zone
	leads    bool
	stirred  time.Duration         // boot time at which anything happened last
	asleep   bool                  // probes are left out, see skip.go
	stopped  *engine.State         // what the process that ended saved
	ended    time.Duration         // boot time at which it did
	returns  time.Duration         // boot time at which the next process begins
	meantime []engine.Event        // what persons said while no process ran
	lines    []Decision            // of this moment
	manual   bool                  // a failback may wait for a person
	waiting  map[record.Key]string // what each record set was told to wait for
}

// nowAt is the moment that is so long after the start of a run.
func nowAt(at time.Duration) engine.Now { return engine.Now{Boot: begins + at, Wall: epoch.Add(at)} }

func (w *world) now() engine.Now { return nowAt(w.at()) }

// at is the time since the start of the run.
func (w *world) at() time.Duration { return w.clock.Boot() - begins }

// Gate lets every call through: a node that may not write is not asked to.
func (w *world) Gate(time.Duration) error { return nil }

// Term is that of a lock which counts none.
func (w *world) Term() lease.Term { return lease.Term{} }

// noteAt takes an event that a node is to know of before it decides.
func (w *world) noteAt(n *node, ev engine.Event) error {
	return w.follow(n, n.engine.Note(w.now(), ev))
}

// stepAt lets a node decide.
func (w *world) stepAt(n *node, ev engine.Event) error {
	effects := n.engine.Step(w.now(), ev)
	n.next = effects.Next
	return w.follow(n, effects)
}

func (w *world) step(ev engine.Event) error { return w.stepAt(w.node, ev) }

// follow does what the effects of a node ask for, as far as that is the world's.
// Of the others only what they find and say matters.
func (w *world) follow(n *node, effects engine.Effects) error {
	if len(effects.Journal) > 0 || len(effects.Work) > 0 || len(effects.Hasten) > 0 || effects.Canary {
		w.stirred = w.clock.Boot()
	}
	n.canary.asked = n.canary.asked || effects.Canary
	for _, h := range effects.Hasten {
		if t := n.targets[h.Target.ID()]; h.At < t.due && t.held == 0 {
			t.hasten = h.At
		}
	}
	for _, h := range effects.Hold {
		n.targets[h.Target.ID()].hold(h.Until, w.clock.Boot())
	}
	if effects.Say != nil {
		w.spread(n, *effects.Say)
	}
	w.tellSaid(effects.Journal)
	if n != w.node {
		return nil
	}
	for _, entry := range effects.Journal {
		w.tellEntry(entry)
	}
	for _, name := range effects.Look {
		w.zones[name].look = true
	}
	for _, work := range effects.Work {
		w.zones[work.Zone].submit(work, w.clock.Boot())
	}
	return effects.Err
}

// tell says on the side what is no decision.
func (w *world) tell(format string, args ...any) {
	if w.options.Note != nil {
		w.options.Note(fmt.Sprintf("%s %s", w.at(), fmt.Sprintf(format, args...)))
	}
}

// tellEntry tells what the journal says that explains decisions, and their absence.
func (w *world) tellEntry(entry engine.Entry) {
	switch {
	case entry.By != "": // the timeline says it itself
	case entry.Kind == "guard" && strings.HasPrefix(entry.Detail, "blocked by guard "):
		w.tell("%s", entry.Detail)
	case entry.Kind == "guard":
		w.tell("guard %s: %s", entry.Guard, entry.Detail)
	case entry.Kind == "vantage" && entry.Address == "", entry.Kind == "override", entry.Kind == "site":
		w.tell("%s %s: %s", entry.Kind, strings.TrimSuffix(entry.Target, "."), entry.Detail)
	}
}

// say hands a person's word to every node, and keeps it for the next process where
// none runs.
func (w *world) say(ev engine.Event) error {
	for _, n := range w.others {
		_ = w.noteAt(n, ev) // what there is to say of it this node says
	}
	if w.engine == nil {
		w.meantime = append(w.meantime, ev)
		return nil
	}
	if word, is := ev.(engine.Override); is {
		w.foresee(word)
	}
	effects := w.engine.Note(w.now(), ev)
	if effects.Idle != "" {
		w.tell("%s", effects.Idle)
	}
	return w.follow(w.node, effects)
}

// foresee tells which answers an override does not take out, as the command does.
func (w *world) foresee(ev engine.Override) {
	foreseen, err := w.engine.Foresee(w.now(), ev)
	if err != nil {
		return // Note says it
	}
	for _, s := range foreseen.Sets {
		for _, value := range s.Stays {
			w.tell("%s stays in %s: %s", value, s.Key.Shown(), s.After.Wanted.Why(value))
		}
	}
}

// stop ends the process. What it saved is what the next one has.
func (w *world) stop(downtime time.Duration) error {
	w.returns = w.clock.Boot() + downtime
	if w.engine != nil {
		saved, err := resaved(w.engine.State())
		if err != nil {
			return err
		}
		w.stopped, w.engine, w.next, w.ended = saved, nil, 0, w.clock.Boot()
	}
	for _, z := range w.order {
		z.forget()
	}
	w.canary.asked = false
	if downtime == 0 {
		return w.start()
	}
	return nil
}

// resaved is a state as it comes back from the disk.
func resaved(s engine.State) (*engine.State, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("save the state: %w", err)
	}
	var out engine.State
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("read the saved state: %w", err)
	}
	return &out, nil
}

// start begins a process with what the one before saved, of which verdicts and
// holds count only when it was not away for too long.
func (w *world) start() error {
	maxAge := w.options.Config.State.MaxAge
	recent := maxAge == 0 || w.clock.Boot()-w.ended <= maxAge
	w.begin(*w.stopped, recent)
	said := w.meantime
	w.meantime = nil
	for _, ev := range said {
		if err := w.say(ev); err != nil {
			return err
		}
	}
	return nil
}

// begin lets a process begin.
func (w *world) begin(state engine.State, recent bool) {
	w.stirred, w.asleep = w.clock.Boot(), false
	w.node.begin(w.now(), state, recent)
	w.meet()
}

// settle lets the engine decide, and lists and writes until it comes to rest.
func (w *world) settle(ctx context.Context) error {
	if err := w.confer(); err != nil || w.engine == nil {
		return err
	}
	if err := w.step(engine.Tick{}); err != nil {
		return err
	}
	const most = 1000
	for range most {
		busy := false
		for _, z := range w.order {
			did, err := w.serve(ctx, z)
			if err != nil {
				return err
			}
			busy = busy || did
		}
		if busy {
			continue
		}
		if w.next == 0 || w.next > w.clock.Boot() {
			return w.confer()
		}
		if err := w.step(engine.Tick{}); err != nil {
			return err
		}
	}
	return fmt.Errorf("simulate: at %s the engine does not come to rest, which is a bug", w.at())
}

// newWorld makes the world of a config, empty of processes.
func newWorld(options Options) *world {
	c := options.Config
	w := &world{
		options: options, clock: clock.NewFake(begins, epoch), leads: true,
		zones: map[record.Name]*zone{}, manual: hasManual(c.Records), waiting: map[record.Key]string{},
	}
	decides := daemon.EngineConfig(c)
	decides.Sets = adopted(c.Records)
	w.node = newNode(decides)
	w.addPeers()
	var written []reconcile.Zone
	for _, z := range c.Zones {
		made := newZone(z.Name, c.Reconcile, w.clock)
		w.zones[z.Name] = made
		w.order = append(w.order, made)
		written = append(written, reconcile.Zone{Name: z.Name, Adapter: made.memory.Adapter(c.Node.Name), NoDNS: true})
	}
	slices.SortFunc(w.order, func(a, b *zone) int { return strings.Compare(string(a.name), string(b.name)) })
	w.writer = reconcile.New(reconcile.Options{
		Zones: written, Node: c.Node.Name, Clock: w.clock, Leader: w, Retry: provider.Backoff{Attempts: 1},
	})
	w.writer.Lead(nil, true)
	return w
}
