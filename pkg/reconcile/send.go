package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// looseAfter is how many refusals in a row of one record set it takes to do
// without comparing the zone's serial. The set itself is compared in any case.
const looseAfter = 3

// giveUpAfter is how many refusals in a row one record set may have in a round.
const giveUpAfter = 6

// acceptedAfter is how often one round may send a change that is accepted each
// time and not shown afterwards. A generic adapter needs two calls for a pause.
const acceptedAfter = 3

// unclearAfter is how many calls in a row may end without an answer, or at
// another writer's stamp, before the round ends and a pause comes.
const unclearAfter = 3

// send carries one call out and sorts its outcome. Errors that a new list can
// answer are not returned.
func (r *round) send(ctx context.Context, s plan.Set, next step) error {
	if r.calls++; r.calls > spareCalls+callsPerChange*len(r.report.Plan.Changes()) {
		return fmt.Errorf("reconcile zone %s: %d calls and still not in sync; the provider does not show what it accepted", r.zone.Name, r.calls-1)
	}
	changes := next.changes()
	if r.notShown(s.Key(), changes) {
		return nil
	}
	notes := r.getNotes()
	id := r.note(notes, s.Key(), next)
	err := r.deliver(ctx, s, next)
	r.keepOutcome(changes, err)
	r.openGap(s, next, err)
	if err == nil || gateClosed(err) || provider.ClassOf(err) != provider.Ambiguous {
		r.closeNote(notes, id)
	}
	if r.options.Wrote != nil && !gateClosed(err) {
		r.options.Wrote(Write{Zone: r.zone.Name, Changes: changes, Err: err, Took: r.options.Clock.Boot() - r.began})
	}
	return r.sort(s.Key(), changes, err)
}

// notShown gives a record set up when a change of it would be sent once more
// although it was accepted often enough.
func (r *round) notShown(key record.Key, changes []plan.Change) bool {
	for _, c := range changes {
		if n := r.accepted[c.Change]; n >= acceptedAfter {
			r.aside[key] = provider.Failf(provider.Retryable, "write "+key.String(), "not-shown",
				"the provider accepted %s %s %d times and does not show it; if its lists show the past, say for how long: lag on the zone", c.Action, c.Value, n)
			return true
		}
	}
	return false
}

// keepOutcome keeps what the next list may not show of a call. A call that was
// given up may have been carried out as well.
func (r *round) keepOutcome(changes []plan.Change, err error) {
	now := r.options.Clock.Boot()
	switch {
	case err == nil:
		r.doubt.wrote(now, changes)
		r.report.Applied = append(r.report.Applied, changes...)
		r.waited = false
		r.renewLate()
		for _, c := range changes {
			r.unverified[c.Key] = now
			r.accepted[c.Change]++
		}
	case !gateClosed(err) && provider.ClassOf(err) == provider.Ambiguous:
		r.doubt.wrote(now, changes)
		r.doubt.ambiguous(now, changes)
	}
}

// sort decides whether the round goes on after a call. What a provider refuses
// for one record set must not keep the others from being written, and what it may
// have refused for a TTL or a weight nothing else of the set; what speaks of the
// zone, the lease or the API as a whole ends the round.
func (r *round) sort(key record.Key, changes []plan.Change, err error) error {
	if err == nil {
		r.refused[key], r.unclear = 0, 0
		delete(r.full, key)
		return nil
	}
	if gateClosed(err) {
		return err
	}
	switch class := provider.ClassOf(err); class {
	case provider.Conflict:
		r.log.Debug("the zone changed between the list and the write; listing again", "error", err)
		if r.refused[key]++; r.refused[key] > giveUpAfter {
			r.aside[key] = err
		}
		return nil
	case provider.Permanent:
		full, ok := errors.AsType[*provider.Error](err)
		switch {
		case ok && full.Full && r.full[key] == nil:
			r.full[key] = err
		case !r.denied.add(key, changes, err):
			r.aside[key] = err
		}
		return nil
	case provider.Ambiguous, provider.FencedOut:
		r.log.Debug("only the list can tell what became of a write", "class", class.String(), "error", err)
		if r.unclear++; r.unclear > unclearAfter {
			return err
		}
		return nil
	default:
		return err
	}
}

// deliver builds the call and sends it, with a deadline of its own: a signal
// to stop lets a call in hand end.
func (r *round) deliver(ctx context.Context, s plan.Set, next step) error {
	deadline := r.deadline()
	call := provider.Call{
		Key: s.Key(), Seen: r.snapshot, Add: changesOf(next.add), Away: changesOf(next.away),
		Survivors: next.survivors, Empty: s.Wanted.Empty,
		Loose: r.loose(s.Key()), Gate: r.gate(deadline),
	}
	if _, stamped := r.zone.Adapter.(provider.Fencer); stamped {
		call.Next = r.stamp()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deadline)
	defer cancel()
	err := r.safely(provider.Ambiguous, "write to", func() error {
		if len(next.away) > 0 {
			return r.zone.Adapter.TakeAway(ctx, call)
		}
		return r.zone.Adapter.Add(ctx, call)
	})
	if r.lease != nil {
		r.lease.outcome(call.Next.Nonce, r.options.Clock.Boot(), err)
	}
	if err == nil {
		r.follow(call)
	}
	return err
}

// follow asks the adapter what the zone is like after an accepted write, so that
// the next call needs no list before it. Only where the provider compares is
// that as good as a list: had anybody of ours written in between, the write would
// have been refused, and so will the next be.
func (r *round) follow(call provider.Call) {
	follower, ok := r.zone.Adapter.(provider.Follower)
	if !ok || !r.zone.Adapter.Promises().Fenced {
		return
	}
	var after *provider.Snapshot
	_ = r.safely(provider.Retryable, "follow a write to", func() error { // without it the zone is listed
		after = follower.After(call)
		return nil
	})
	if after != nil && after.Zone == r.zone.Name && len(after.Stamps) == 1 && after.Stamps[0].Nonce == call.Next.Nonce {
		r.ahead = after
	}
}

// loose reports whether a call does without comparing the zone's serial, and
// says so: what is at stake is a TTL that somebody changes by hand meanwhile.
func (r *round) loose(key record.Key) bool {
	if r.refused[key] < looseAfter {
		return false
	}
	r.log.Warn("the zone's serial changes under every write: writing without comparing it", "set", key.String())
	return true
}

// closedError is a gate that was shut.
type closedError struct{ err error }

func (e *closedError) Error() string { return e.err.Error() }
func (e *closedError) Unwrap() []error {
	return []error{ErrNotLeader, e.err}
}

// gate asks whether this node may write for as long as a call can take, and to
// this zone.
func (w *worker) gate(call time.Duration) provider.Gate {
	process := w.mayWrite(call)
	if w.lease == nil {
		return process
	}
	return func() error {
		if err := process(); err != nil {
			return err
		}
		if err := w.lease.gate(w.options.Clock.Boot(), w.options.Clock.Wall()); err != nil {
			return &closedError{err}
		}
		return nil
	}
}

// mayWrite asks whether this process may write at all, whoever a zone's stamp is
// of.
func (w *worker) mayWrite(call time.Duration) provider.Gate {
	return func() error {
		if err := w.options.Leader.Gate(call); err != nil {
			return &closedError{err}
		}
		return nil
	}
}

// note is written before every call where only time can tell what became of it:
// a take-away that is late may empty a set, and an add that is late may write
// over what the next process did, or double it. When the note cannot be written
// the call goes on: a full disk must not stop a failover, and without the note
// the next process is only slower.
func (r *round) note(notes Notes, key record.Key, next step) (id string) {
	if notes == nil || r.zone.Adapter.Promises().Fenced {
		return ""
	}
	id = nonce()
	data, err := json.Marshal(struct {
		Key  record.Key      `json:"key"`
		Add  []record.Change `json:"add,omitempty"`
		Away []record.Change `json:"away,omitempty"`
	}{key, changesOf(next.add), changesOf(next.away)})
	if err == nil {
		err = notes.Open(id, data)
	}
	failed := err != nil
	if failed && !r.noteless { // once, until one is stored again
		r.log.Error("note not stored; a restart will wait before it creates anything or takes anything away", "error", err)
	}
	r.noteless = failed
	return id
}

func (r *round) closeNote(notes Notes, id string) {
	if id == "" {
		return
	}
	if err := notes.Close(id); err != nil {
		r.log.Warn("note not cleared; after a restart its values are in doubt for a while", "error", err)
	}
}
