package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// maxCalls bounds the calls of one round: more than any plan needs, so that
// only a provider which never shows what it accepted can reach it.
const maxCalls = 1000

// looseAfter is how many refusals in a row, with the record set unchanged, it
// takes to do without comparing the zone's serial.
const looseAfter = 3

// round brings the zone to the wanted state: list, plan, one call, list again.
type round struct {
	*worker
	work     engine.Work
	report   Report
	snapshot *provider.Snapshot
	current  plan.Plan // against snapshot
	refused  int       // calls in a row that the list had to answer for
	waited   bool      // the reason of a wait was logged
}

func (w *worker) round(ctx context.Context, work engine.Work) Report {
	r := &round{worker: w, work: work, report: Report{Zone: w.zone.Name}}
	r.report.Err = r.run(ctx)
	r.report.Final = r.current
	return r.report
}

func (r *round) run(ctx context.Context) error {
	if err := r.plan(ctx); err != nil {
		return err
	}
	r.report.Plan = r.current
	r.work.Limits = passed(r.work.Limits, r.current)
	for calls := 0; r.current.Pending(); calls++ {
		if calls == maxCalls {
			return fmt.Errorf("reconcile zone %s: %d calls and still not in sync; the provider does not show what it accepted", r.zone.Name, calls)
		}
		if err := r.hold(ctx); err != nil {
			return err
		}
		again, err := r.call(ctx)
		if err != nil {
			return err
		}
		if !again {
			break
		}
		if err := r.plan(ctx); err != nil {
			return err
		}
	}
	r.verify(ctx)
	return nil
}

// passed keeps a plan that was approved by its checksum approved while it is
// carried out, although what is left of it has another checksum.
func passed(l plan.Limits, p plan.Plan) plan.Limits {
	if l.Plan == "" || l.Plan != p.Checksum() {
		return l
	}
	override := map[string]bool{plan.GuardMaxChanges: true}
	maps.Copy(override, l.Override)
	l.Override = override
	return l
}

// plan lists the zone and plans the work against the list.
func (r *round) plan(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("reconcile zone %s: %w", r.zone.Name, err)
	}
	snapshot, err := r.list(ctx)
	if err != nil {
		return err
	}
	seen := zoneOf(snapshot)
	r.snapshot, r.report.Seen = snapshot, &seen
	r.current = r.work.Plan(seen)
	return nil
}

// call sends the next call of the first record set that has one, and reports
// whether there may be another after it.
func (r *round) call(ctx context.Context) (bool, error) {
	now := r.options.Clock.Boot()
	promises := r.zone.Adapter.Promises()
	wait, why := time.Duration(0), ""
	for _, s := range r.current.Sets {
		next := nextStep(s, promises, r.doubt, now)
		if r.options.OnlyAdd {
			next = next.onlyAdds()
		}
		if !next.empty() {
			return true, r.send(ctx, s, next)
		}
		if next.wait > 0 && (wait == 0 || next.wait < wait) {
			wait, why = next.wait, next.why
		}
	}
	if wait == 0 {
		r.report.Detail = "a take-away is left, and this process may only add"
		return false, nil
	}
	return true, r.pause(ctx, wait-now, why)
}

// pause waits until a call may be sent. Newer work for the zone does not wait
// with it: the round ends, and the worker takes the newer work up.
func (r *round) pause(ctx context.Context, wait time.Duration, why string) error {
	if !r.waited {
		r.log.Info("waiting before the next write", "for", wait.Round(time.Millisecond).String(), "because", why)
		r.waited = true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("reconcile zone %s: stopped while waiting (%s): %w", r.zone.Name, why, ctx.Err())
	case <-r.wake:
		r.nudge()
		return &supersededError{why}
	}
}

// supersededError ends a round that waits, in favour of newer work.
type supersededError struct{ why string }

func (e *supersededError) Error() string {
	return "gave way to newer work while waiting: " + e.why
}

// send carries one call out and sorts its outcome. Errors that a new list can
// answer are not returned.
func (r *round) send(ctx context.Context, s plan.Set, next step) error {
	changes := append(append([]plan.Change{}, next.add...), next.away...)
	notes := r.getNotes()
	note := r.note(notes, s.Key(), next)
	err := r.deliver(ctx, s, next)
	now := r.options.Clock.Boot()
	if err != nil && !gateClosed(err) && provider.ClassOf(err) == provider.Ambiguous {
		r.inDoubt(now, s.Key(), changes)
	} else if noteErr := closeNote(notes, note); noteErr != nil {
		r.log.Warn("note not cleared; after a restart its values are in doubt for a while", "error", noteErr)
	}
	if err == nil {
		r.doubt.wrote(now)
		r.refused = 0
		r.report.Applied = append(r.report.Applied, changes...)
	}
	if r.options.Wrote != nil && !gateClosed(err) {
		r.options.Wrote(Write{Zone: r.zone.Name, Changes: changes, Err: err})
	}
	return r.sort(ctx, err)
}

// inDoubt notes that a call is open. Where the provider compares and swaps, the
// next call makes it refuse the open one, so nothing is in doubt there.
func (r *round) inDoubt(now time.Duration, key record.Key, changes []plan.Change) {
	if !r.zone.Adapter.Promises().Fenced {
		r.doubt.ambiguous(now, key, changesOf(changes))
	}
}

// sort decides whether the round goes on after a call.
func (r *round) sort(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return r.afterLag(ctx)
	case gateClosed(err):
		return err
	}
	switch provider.ClassOf(err) {
	case provider.Conflict:
		if r.refused++; r.refused > 2*looseAfter {
			return err
		}
		r.log.Info("the zone changed between the list and the write; listing again", "error", err)
		return nil
	case provider.Ambiguous:
		if r.refused++; r.refused > looseAfter {
			return err
		}
		r.log.Warn("the outcome of a write is not known; listing", "error", err)
		return r.afterLag(ctx)
	case provider.FencedOut:
		if r.refused++; r.refused > looseAfter {
			return err
		}
		r.log.Warn("another writer's stamp is in the zone; listing again", "error", err)
		return nil
	default:
		return err
	}
}

// afterLag waits until a list can show what was just written.
func (r *round) afterLag(ctx context.Context) error {
	lag := r.zone.Adapter.Promises().Lag
	if lag == 0 {
		return nil
	}
	return sleep(ctx, lag)
}

// deliver builds the call and sends it, with a deadline of its own: a signal
// to stop lets a call in hand end.
func (r *round) deliver(ctx context.Context, s plan.Set, next step) error {
	promises := r.zone.Adapter.Promises()
	call := provider.Call{
		Key: s.Key(), Seen: r.snapshot, Add: changesOf(next.add), Away: changesOf(next.away),
		Survivors: next.survivors, Empty: s.Wanted.Empty,
		Loose: r.refused >= looseAfter, Gate: r.gate(promises.Call),
	}
	if promises.Fenced {
		call.Next = r.stamp()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), promises.Call)
	defer cancel()
	if len(next.away) > 0 {
		return r.zone.Adapter.TakeAway(ctx, call)
	}
	return r.zone.Adapter.Add(ctx, call)
}

// closedError is a gate that was shut.
type closedError struct{ err error }

func (e *closedError) Error() string { return e.err.Error() }
func (e *closedError) Unwrap() []error {
	return []error{ErrNotLeader, e.err}
}

func gateClosed(err error) bool { return errors.Is(err, ErrNotLeader) }

// gate asks whether this node may write for as long as a call can take.
func (w *worker) gate(call time.Duration) provider.Gate {
	return func() error {
		if err := w.options.Leader.Gate(call); err != nil {
			return &closedError{err}
		}
		return nil
	}
}

// note is written before a take-away where only time can tell what became of a
// call. When it cannot be written the take-away goes on: a full disk must not
// stop a failover, and without the note the next process is only slower.
func (r *round) note(notes Notes, key record.Key, next step) string {
	if notes == nil || r.zone.Adapter.Promises().Fenced || len(next.away) == 0 {
		return ""
	}
	id := nonce()
	data, err := json.Marshal(struct {
		Key  record.Key      `json:"key"`
		Away []record.Change `json:"away"`
	}{key, changesOf(next.away)})
	if err == nil {
		err = notes.Open(id, data)
	}
	if err != nil {
		r.log.Error("note not stored; a restart will wait before it takes anything away", "error", err)
		return ""
	}
	return id
}

func closeNote(notes Notes, id string) error {
	if id == "" {
		return nil
	}
	return notes.Close(id)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
