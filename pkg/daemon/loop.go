package daemon

import (
	"context"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/record"
	"sidestep/pkg/schedule"
)

// message is what the inbox carries: an event for the engine, or a look at it.
type message struct {
	event engine.Event
	look  func(*engine.Engine)
	done  chan<- engine.Effects // gets the effects of event, after they were acted on
}

// waiter is somebody who waits until the engine has come to a state.
type waiter struct {
	until func(*engine.Engine) bool
	done  chan<- struct{}
}

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
	next := d.act(d.engine.Step(d.now(), engine.Tick{}))
	for {
		timer.Reset(d.until(next))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			next = d.act(d.engine.Step(d.now(), engine.Tick{}))
		case m := <-d.inbox:
			next = d.take(m, next)
		}
		d.wake()
	}
}

// take handles one message and returns when time alone matters next.
func (d *Daemon) take(m message, next time.Duration) time.Duration {
	if m.look != nil {
		m.look(d.engine)
		return next
	}
	effects := d.engine.Step(d.now(), m.event)
	next = d.act(effects)
	if m.done != nil {
		m.done <- effects
	}
	return next
}

// saveEvery is how often the state is saved although nothing happened, so that
// its age tells how long nobody was watching.
const saveEvery = time.Minute

// until is how long the loop may sleep. The wait is cut into pieces, since the
// timer stands still while the machine is suspended and the boot clock does
// not.
func (d *Daemon) until(next time.Duration) time.Duration {
	wait := saveEvery
	if next > 0 {
		wait = min(wait, next-d.clock.Boot())
	}
	return max(wait, 0)
}

// act does the duties that effects ask for, in their order.
func (d *Daemon) act(effects engine.Effects) time.Duration {
	for _, entry := range effects.Journal {
		d.journal(entry.Kind, entry)
		d.logEntry(entry)
	}
	if effects.Save || d.clock.Wall().Sub(d.saved) >= saveEvery || d.clock.Wall().Before(d.saved) {
		d.save()
	}
	if d.options.Once {
		return effects.Next // a command asks for what it wants, and for nothing else
	}
	for _, zone := range effects.Look {
		d.writer.Look(zone)
	}
	for _, work := range effects.Work {
		d.writer.Submit(work)
	}
	return effects.Next
}

// wake tells those who wait for a state that it has come.
func (d *Daemon) wake() {
	left := d.waiters[:0]
	for _, w := range d.waiters {
		if w.until(d.engine) {
			close(w.done)
			continue
		}
		left = append(left, w)
	}
	d.waiters = left
}

// send puts a message into the inbox; false when the loop has ended.
func (d *Daemon) send(m message) bool {
	select {
	case d.inbox <- m:
		return true
	case <-d.stopped:
		return false
	}
}

// ask lets the loop run a function that looks at the engine, and waits for it.
func (d *Daemon) ask(look func(*engine.Engine)) bool {
	done := make(chan struct{})
	sent := d.send(message{look: func(e *engine.Engine) { look(e); close(done) }})
	if sent {
		<-done
	}
	return sent
}

// step sends an event and waits for its effects.
func (d *Daemon) step(event engine.Event) engine.Effects {
	done := make(chan engine.Effects, 1)
	if !d.send(message{event: event, done: done}) {
		return engine.Effects{}
	}
	return <-done
}

// await waits until the engine has come to a state, or ctx ends.
func (d *Daemon) await(ctx context.Context, until func(*engine.Engine) bool) error {
	done := make(chan struct{})
	d.ask(func(*engine.Engine) { d.waiters = append(d.waiters, waiter{until, done}) })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// results is the schedule's sink.
func (d *Daemon) results(results []check.Result) {
	d.send(message{event: engine.Results{Results: results}})
}

// jobs lists what has to be probed.
func (d *Daemon) jobs() []schedule.Job {
	var jobs []schedule.Job
	for _, t := range d.engine.Targets() {
		jobs = append(jobs, schedule.Job{Spec: d.config.Checks[t.Check], Target: t})
	}
	return jobs
}

// ready waits until the record sets of the zones may be planned and the zones
// themselves were tried to be listed.
func (d *Daemon) readyFor(ctx context.Context, zones []record.Name) error {
	return d.await(ctx, func(e *engine.Engine) bool { return e.Ready(zones) })
}
