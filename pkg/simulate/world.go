package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/daemon"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
)

// epoch is the wall time at which every run begins: any, but always the same.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// begins is the boot time at which every run begins: late enough for what has
// been so for longer than any hold.
const begins = 100 * 365 * 24 * time.Hour

// found is what the probes of a target find.
type found struct {
	outcome check.Outcome
	phase   check.Phase
	cause   check.Cause
}

// target is one target as the made-up world has it.
type target struct {
	id     check.Target
	spec   *check.Spec
	finds  found
	times  int           // how often in a row it was asked and found so
	from   time.Duration // boot time from which its rhythm counts
	due    time.Duration // boot time of the next probe in its rhythm
	hasten time.Duration // boot time of a probe before that; 0 for none
	held   time.Duration // boot time before which it must not be asked, and from which its rhythm counts then; 0 for none
}

// canary is the canary of the made-up world.
type canary struct {
	names []string
	fails bool
	short bool          // the last round of this process failed
	due   time.Duration // boot time of the next round in its rhythm
	asked bool          // a target waits for a round
}

// world is everything around the engine.
type world struct {
	options  Options
	decides  engine.Config
	clock    *clock.Fake
	engine   *engine.Engine // nil while no process runs
	writer   *reconcile.Reconciler
	zones    map[record.Name]*zone
	order    []*zone
	targets  map[string]*target
	probed   []*target // targets, sorted by id
	canary   canary
	leads    bool
	started  time.Duration         // boot time at which this process began
	next     time.Duration         // boot time of the next Tick that matters; 0 for none
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

// Epoch is that of a lock which counts none.
func (w *world) Epoch() uint64 { return 0 }

// note takes an event that the engine is to know of before it decides.
func (w *world) note(ev engine.Event) error { return w.follow(w.engine.Note(w.now(), ev)) }

// step lets the engine decide.
func (w *world) step(ev engine.Event) error {
	effects := w.engine.Step(w.now(), ev)
	w.next = effects.Next
	return w.follow(effects)
}

// follow does what effects ask for, as far as that is the world's.
func (w *world) follow(effects engine.Effects) error {
	if len(effects.Journal) > 0 || len(effects.Work) > 0 || len(effects.Hasten) > 0 || effects.Canary {
		w.stirred = w.clock.Boot()
	}
	for _, entry := range effects.Journal {
		w.tellEntry(entry)
	}
	w.canary.asked = w.canary.asked || effects.Canary
	for _, h := range effects.Hasten {
		if t := w.targets[h.Target.ID()]; h.At < t.due && t.held == 0 {
			t.hasten = h.At
		}
	}
	for _, h := range effects.Hold {
		w.targets[h.Target.ID()].hold(h.Until, w.clock.Boot())
	}
	for _, name := range effects.Look {
		w.zones[name].look = true
	}
	for _, work := range effects.Work {
		w.zones[work.Zone].submit(work)
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
	case entry.Kind == "override", entry.Kind == "site":
		w.tell("%s %s: %s", entry.Kind, strings.TrimSuffix(entry.Target, "."), entry.Detail)
	}
}

// say hands a person's word to the process, or keeps it for the next one.
func (w *world) say(ev engine.Event) error {
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
	return w.follow(effects)
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

// begin makes the engine of a process, and its rhythm.
func (w *world) begin(state engine.State, recent bool) {
	w.engine = engine.New(w.decides, w.now())
	w.engine.Restore(state, recent, recent)
	w.started, w.stirred, w.asleep = w.clock.Boot(), w.clock.Boot(), false
	for _, t := range w.probed {
		t.from, t.due, t.hasten, t.held, t.times = w.started, w.started, 0, 0, 0
	}
	for id, until := range w.engine.Holds() {
		w.targets[id.ID()].hold(until, w.started)
	}
	w.canary.due, w.canary.short = w.started, false
}

// hold keeps a target from being asked before a boot time. One that is let go
// before that goes on in the rhythm that it had.
func (t *target) hold(until, now time.Duration) {
	t.hasten = 0
	if until > now {
		t.held, t.due = until, until
	} else if t.held != 0 {
		t.held, t.due = 0, t.slotAfter(now)
	}
}

// slotAfter is the target's first time after a boot time.
func (t *target) slotAfter(now time.Duration) time.Duration {
	return slotAfter(t.from, t.spec.Interval, now)
}

// slotAfter is the first time of a rhythm that is after a boot time.
func slotAfter(from, interval, now time.Duration) time.Duration {
	return now + interval - (now-from)%interval
}

// probe asks every target that is due, and then the canary, which bears them out.
// Only a round that ends its failing comes before them: what they find then is
// found while it answers.
func (w *world) probe() error {
	now := w.clock.Boot()
	if w.canary.short && !w.canary.fails {
		if err := w.probeCanary(); err != nil {
			return err
		}
	}
	var results []check.Result
	for _, t := range w.probed {
		hastened := t.hasten != 0 && t.hasten <= now
		if t.due > now && !hastened {
			continue
		}
		results = append(results, t.result(now))
		t.hasten, t.times = 0, t.times+1
		if t.held != 0 {
			t.from, t.held = t.held, 0
		}
		if t.due <= now {
			t.due = t.slotAfter(now)
		}
	}
	if len(results) > 0 {
		if err := w.note(engine.Results{Results: results}); err != nil {
			return err
		}
	}
	return w.probeCanary()
}

func (t *target) result(now time.Duration) check.Result {
	r := check.Result{Target: t.id, Outcome: t.finds.outcome, Phase: t.finds.phase, Cause: t.finds.cause, Start: now, End: now}
	if r.Outcome != check.Pass {
		r.Detail = "as the timeline says"
	}
	return r
}

// probeCanary makes a round of the canary when it is due, or a target waits for
// one since this very moment. One that failed is not repeated before its time.
func (w *world) probeCanary() error {
	now := w.clock.Boot()
	if len(w.canary.names) == 0 || w.canary.due > now && !w.canary.asked {
		return nil
	}
	w.canary.asked = false
	if w.canary.due <= now {
		w.canary.due = slotAfter(w.started, daemon.CanaryEvery, now)
	}
	finds := found{outcome: check.Pass}
	if w.canary.fails {
		finds = noAnswer
	}
	w.canary.short = w.canary.fails
	round := engine.Canary{Start: now}
	for _, name := range w.canary.names {
		t := target{id: check.Target{Check: name}, finds: finds}
		round.Results = append(round.Results, t.result(now))
	}
	err := w.note(round)
	w.canary.asked = false
	return err
}

// settle lets the engine decide, and lists and writes until it comes to rest.
func (w *world) settle(ctx context.Context) error {
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
			return nil
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
		options: options, decides: daemon.EngineConfig(c), clock: clock.NewFake(begins, epoch), leads: true,
		zones: map[record.Name]*zone{}, targets: map[string]*target{}, manual: hasManual(c.Records), waiting: map[record.Key]string{},
	}
	w.decides.Sets = adopted(c.Records)
	w.canary.names = w.decides.Canary.Targets
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
	for _, id := range engine.New(w.decides, w.now()).Targets() {
		t := &target{id: id, spec: c.Checks[id.Check], finds: found{outcome: check.Pass}}
		w.targets[id.ID()] = t
		w.probed = append(w.probed, t)
	}
	return w
}
