package daemon

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/record"
	"sidestep/pkg/schedule"
	"sidestep/pkg/store"
)

// message is what the inbox carries: something to be done by the loop, which
// alone touches the engine.
type message func(e *engine.Engine)

// waiter is somebody who waits until the engine has come to a state.
type waiter struct {
	until func(*engine.Engine) bool
	done  chan struct{}
}

// errStopped is the answer to those who ask when the loop has ended.
var errStopped = errors.New("sidestep is stopping")

// startLoop starts the loop and returns what stops it and waits for its end.
// It has to outlive everybody who sends to the inbox.
func (d *Daemon) startLoop() (stop func()) {
	d.schedule.Set(d.jobs())
	ctx, cancel := context.WithCancel(context.Background())
	go d.loop(ctx)
	return func() {
		cancel()
		<-d.stopped
	}
}

func (d *Daemon) loop(ctx context.Context) {
	defer close(d.stopped)
	timer := time.NewTimer(0)
	defer timer.Stop()
	d.step(engine.Tick{})
	for {
		d.turned.Store(d.clock.Wall().UnixMilli())
		timer.Reset(d.sleep())
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			d.step(engine.Tick{})
		case m := <-d.inbox:
			m(d.engine)
		}
		d.wake()
	}
}

// How often the state is saved although nothing happened, so that its age tells
// how long nobody was watching; how often a save that failed is tried again; and
// how often verdicts alone lead to one. A save costs more the more targets there
// are, and when many of them turn at once it is not repeated for each: it may
// take one part in saveShare of the loop's time.
const (
	saveEvery    = time.Minute
	saveAgain    = 5 * time.Second
	saveVerdicts = time.Second
	saveShare    = 50
)

// savePause is how long the state may go unsaved now.
func (d *Daemon) savePause() time.Duration {
	switch {
	case d.unsaved != nil:
		return saveAgain
	case d.news:
		return min(max(saveVerdicts, saveShare*d.saving), saveEvery)
	}
	return saveEvery
}

// mustSave reports whether the state has to be saved before the effects of an
// event are acted on: what a person said, what a list showed, and everything
// before a write that rests on it.
func (d *Daemon) mustSave(event engine.Event, effects engine.Effects) bool {
	d.news = d.news || effects.Save
	verdictsOnly := false
	switch event.(type) {
	case engine.Results, engine.Canary, engine.Observed, engine.Gone:
		verdictsOnly = true
	}
	age := d.clock.Wall().Sub(d.saved)
	return effects.Save && !verdictsOnly || d.news && len(effects.Work) > 0 || age >= d.savePause() || age < 0
}

// sleep is how long the loop may sleep. The wait is cut into pieces, since the
// timer stands still while the machine is suspended and the boot clock does
// not.
func (d *Daemon) sleep() time.Duration {
	wait := d.savePause()
	if d.next > 0 {
		wait = min(wait, d.next-d.clock.Boot())
	}
	return max(wait, 0)
}

// step gives the engine one event and does the duties that its effects ask for,
// in their order. It belongs to the loop.
func (d *Daemon) step(event engine.Event) engine.Effects {
	now := d.now()
	now.Chance = rand.Uint64()
	effects := d.engine.Step(now, event)
	d.next = effects.Next
	d.noteSight(now)
	d.meterEffects(effects)
	d.append(lines(effects.Journal)...)
	for _, entry := range effects.Journal {
		d.logEntry(entry)
		d.announceEntry(entry)
	}
	for _, entry := range effects.Journal {
		if entry.Kind == "site" || entry.Kind == "guard" && entry.By != "" {
			d.announceWaits(d.engine, yes{entry.Target, entry.By})
		}
	}
	if effects.Canary {
		d.canary.ask()
	}
	if d.mustSave(event, effects) {
		_ = d.save() // said by it, and it stops nothing
	}
	if effects.Say != nil && d.nodes != nil {
		d.nodes.Say(reported(*effects.Say))
	}
	if d.options.Once {
		return effects // a command asks for what it wants, and for nothing else
	}
	for _, h := range effects.Hold {
		d.schedule.Hold(h.Target, h.Until)
	}
	for _, h := range effects.Hasten {
		d.schedule.Hasten(h.Target, h.At)
	}
	for _, zone := range effects.Look {
		d.writer.Look(zone)
	}
	for _, work := range effects.Work {
		d.writer.Submit(work)
	}
	return effects
}

// lines are entries as the journal takes them.
func lines(entries []engine.Entry) []store.Entry {
	list := make([]store.Entry, len(entries))
	for i, e := range entries {
		list[i] = store.Entry{Kind: e.Kind, Fields: e}
	}
	return list
}

// wake tells those who wait for a state that it has come.
func (d *Daemon) wake() {
	d.waiters = slices.DeleteFunc(d.waiters, func(w *waiter) bool {
		come := w.until(d.engine)
		if come {
			close(w.done)
		}
		return come
	})
}

// send hands something to the loop; false when that has ended.
func (d *Daemon) send(m message) bool {
	select {
	case d.inbox <- m:
		return true
	case <-d.stopped:
		return false
	}
}

// ask lets the loop do something, and waits for it; false when the loop has
// ended. The loop itself must not ask.
func (d *Daemon) ask(m message) bool {
	done := make(chan struct{})
	sent := d.send(func(e *engine.Engine) { m(e); close(done) })
	if sent {
		<-done
	}
	return sent
}

// tell gives the engine an event, and waits until its effects were acted on.
func (d *Daemon) tell(event engine.Event) {
	d.ask(func(*engine.Engine) { d.step(event) })
}

// await waits until the engine has come to a state, or ctx or the loop ends.
func (d *Daemon) await(ctx context.Context, until func(*engine.Engine) bool) error {
	w := &waiter{until, make(chan struct{})}
	d.ask(func(*engine.Engine) { d.waiters = append(d.waiters, w) })
	select {
	case <-w.done:
		return nil
	case <-d.stopped:
		return errStopped
	case <-ctx.Done():
		d.ask(func(*engine.Engine) {
			d.waiters = slices.DeleteFunc(d.waiters, func(other *waiter) bool { return other == w })
		})
		return ctx.Err()
	}
}

// readyFor waits until the record sets of the zones may be planned.
func (d *Daemon) readyFor(ctx context.Context, zones []record.Name) error {
	return d.await(ctx, func(e *engine.Engine) bool { return e.Ready(zones) })
}

// results is the schedule's sink.
func (d *Daemon) results(results []check.Result) {
	d.meterResults(results)
	d.send(func(*engine.Engine) { d.step(engine.Results{Results: results}) })
}

// jobs lists what has to be probed.
func (d *Daemon) jobs() []schedule.Job {
	targets, holds := d.engine.Targets(), d.engine.Holds()
	jobs := make([]schedule.Job, 0, len(targets))
	for _, t := range targets {
		jobs = append(jobs, schedule.Job{Spec: d.config.Checks[t.Check], Target: t, NotBefore: holds[t]})
	}
	return jobs
}
