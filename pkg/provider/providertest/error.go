package providertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

func errorCases() []Case {
	return []Case{
		{"fault/throttled-list", "a list that the provider throttles is Retryable", nil, func(e *env) { listFails(e, ThrottledRead) }},
		{"fault/cut-list", "a list that ends early is an error, never a snapshot", nil, func(e *env) { listFails(e, CutList) }},
		{"fault/empty-list", "an empty list of a zone that has records is an error, never a snapshot", nil, func(e *env) { listFails(e, EmptyList) }},
		{"fault/hanging-list", "a list honours its deadline and is Retryable", nil, hangingList},
		{"fault/throttled-write", "a write that the provider throttles is Retryable and has not happened", nil, throttledWrite},
		{"fault/refused-list", "a list that the provider refuses is Permanent", nil, refusedList},
		{"fault/refused-write", "a write that the provider refuses is Permanent and has not happened", nil, refusedWrite},
		{"fault/hanging-write", "a write honours its deadline and is Ambiguous", nil, hangingWrite},
		{"fault/lost-reply", "a write whose reply is lost is Ambiguous, and the next list shows it", nil, lostReply},
		{"fault/lost-request", "a write that is lost is Ambiguous, and can be decided anew from a list", nil, lostRequest},
		{"fault/at-any-call", "whatever call of a switch there and back goes wrong, lists bring it to its end, never empty, nothing lost", nil, faultAtAnyCall},
	}
}

func deadContext(e *env) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	return ctx, cancel
}

func listFails(e *env, fault Fault) {
	e.put(e.key("www", record.A), one, two)
	e.put(e.key("zzz", record.A), one, two)
	e.inject(fault)
	ctx, cancel := context.WithTimeout(e.Context(), e.world.patience())
	defer cancel()
	s, err := e.adapter.List(ctx)
	e.class("list", err, provider.Retryable)
	if s != nil {
		e.Errorf("list: got a snapshot beside the error: %+v", s)
	}
	if sets := e.list().Sets; len(sets) != 2 {
		e.Errorf("list again: expected 2 sets, got %v", sets)
	}
}

// soon is a deadline that a machine of any speed sees pass.
const soon = 100 * time.Millisecond

// prompt runs something whose own deadline is short, and sees that it is over
// long before the world's patience is.
func (e *env) prompt(what string, deadline time.Duration, run func(ctx context.Context) error) error {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), deadline)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- run(ctx) }()
	select {
	case err := <-result:
		return err
	case <-time.After(e.world.patience()):
		e.Fatalf("%s: still not back %v after its deadline", what, e.world.patience())
		return nil
	}
}

// hung sends a write that hangs, and has to end by its deadline when it was sent.
// On a busy machine a short deadline passes before that: then the adapter can
// say that nothing left, and gets more time.
func (e *env) hung(what string, write func(ctx context.Context) error) {
	e.Helper()
	e.inject(HangWrite)
	for deadline := soon; ; deadline *= 2 {
		err := e.prompt(what, deadline, write)
		if provider.ClassOf(err) != provider.Retryable || deadline > e.world.patience() {
			e.class(what, err, provider.Ambiguous)
			return
		}
	}
}

func hangingList(e *env) {
	e.put(e.key("www", record.A), one, two)
	e.inject(HangRead)
	err := e.prompt("list", soon, func(ctx context.Context) error {
		_, err := e.adapter.List(ctx)
		return err
	})
	e.class("list", err, provider.Retryable)
}

func hangingWrite(e *env) {
	_, calls := e.writes()
	e.hung("add", func(ctx context.Context) error { return e.adapter.Add(ctx, calls[0]) })
	e.hung("take away", func(ctx context.Context) error { return e.adapter.TakeAway(ctx, calls[1]) })
}

func throttledWrite(e *env) {
	_, calls := e.writes()
	for _, call := range calls {
		e.inject(ThrottledWrite)
		e.unchanged("a throttled write", func() {
			e.class("write", e.send(e.adapter, call), provider.Retryable)
		})
	}
}

func refusedList(e *env) {
	e.put(e.key("www", record.A), one, two)
	e.inject(RefusedRead)
	ctx, cancel := context.WithTimeout(e.Context(), e.world.patience())
	defer cancel()
	s, err := e.adapter.List(ctx)
	e.class("list", err, provider.Permanent)
	if s != nil {
		e.Errorf("list: got a snapshot beside the error: %+v", s)
	}
}

func refusedWrite(e *env) {
	_, calls := e.writes()
	for _, call := range calls {
		e.inject(RefusedWrite)
		e.unchanged("a refused write", func() {
			e.class("write", e.send(e.adapter, call), provider.Permanent)
		})
	}
}

func lostReply(e *env) {
	key, calls := e.writes()
	e.inject(LostReply)
	e.class("add", e.send(e.adapter, calls[0]), provider.Ambiguous)
	e.wantLive(key, one, two, three)
	e.wantAnswer(key, live(three))
	e.add(key, resume(key, three))
	e.onlyOnce(key, three)
	e.away(key, []string{two}, pause(key, one))
	e.wantLive(key, two, three)
}

func lostRequest(e *env) {
	key, calls := e.writes()
	for _, call := range calls {
		e.inject(LostRequest)
		e.unchanged("a write that was lost", func() {
			e.class("write", e.send(e.adapter, call), provider.Ambiguous)
		})
	}
	e.add(key, create(key, three))
	e.away(key, []string{two}, pause(key, one))
	e.wantLive(key, two, three)
}

func faultAtAnyCall(e *env) {
	for _, fault := range []Fault{LostReply, LostRequest, ThrottledWrite} {
		for at := range 6 {
			label := "w" + string(rune('a'+at)) + string(fault)
			e.story(e.key(label, record.A), fault, at)
		}
	}
}

// story takes a set from one to two and back, one call at a time from what the
// list says, with a fault at one of the writes.
func (e *env) story(key record.Key, fault Fault, at int) {
	e.Helper()
	e.put(key, one)
	e.call(key) // becomes the holder before anything goes wrong
	writes := 0
	for _, wanted := range []string{two, one} {
		const limit = 12
		for step := 0; !e.reached(key, wanted); step++ {
			if step == limit {
				e.Fatalf("%s with %s at write %d: %v is not the only answer after %d calls: %+v", key, fault, at, wanted, limit, e.list().Set(key))
			}
			if writes == at {
				e.inject(fault)
			}
			writes++
			e.step(key, wanted)
		}
	}
	e.wantResumed(key, one)
	e.wantLive(key, one)
	if a, found := e.list().Set(key).Find(two); !found || !a.Paused {
		e.Errorf("%s with %s at write %d: %s is lost", key, fault, at, two)
	}
}

func (e *env) reached(key record.Key, wanted string) bool {
	e.Helper()
	return slices.Equal(e.list().Set(key).Live(), []string{wanted})
}

// step makes the one next call: the wanted value in, then the other out.
func (e *env) step(key record.Key, wanted string) {
	e.Helper()
	other := map[string]string{one: two, two: one}[wanted]
	call := e.call(key)
	a, found := call.Seen.Set(key).Find(wanted)
	switch {
	case !found:
		call.Add = []record.Change{create(key, wanted)}
	case !a.Live:
		call.Add = []record.Change{resume(key, wanted)}
	default:
		call.Away, call.Survivors = []record.Change{pause(key, other)}, []string{wanted}
	}
	err := e.send(e.adapter, call)
	var typed *provider.Error
	if err != nil && !errors.As(err, &typed) {
		e.Errorf("write: expected a *provider.Error, got %v", err)
	}
	if len(e.hand.Live(key)) == 0 {
		e.Errorf("%s answers with nothing after %+v", key, call)
	}
}
