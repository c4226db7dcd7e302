package providertest

import (
	"context"
	"errors"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

func releaseCases() []Case {
	return []Case{
		{"release/clean", "after a release the zone has what an operator put there, and nothing else", nil, releasesClean},
		{"release/nothing-left", "a zone that sidestep never wrote has nothing to release", nil, releasesNothing},
		{"release/last-copy", "a value that is paused stays so: what is all there is of it is not removed", nil, releaseKeepsPaused},
		{"release/unreadable-copy", "a parked copy that cannot be read stays", parks, releaseKeepsUnreadable},
		{"release/gate", "the gate's error stops a release, comes back as it is, and nothing is sent", nil, releaseGate},
		{"release/killed", "a release that is killed before any of its messages is ended by another process", nil, releaseKilled},
		{"release/lost-reply", "and one that loses the reply to any of its messages", nil, func(e *env) { releaseFaulty(e, LostReply) }},
		{"release/lost-request", "or the message itself", nil, func(e *env) { releaseFaulty(e, LostRequest) }},
		{"release/fenced", "a release that rests on a stamp which another node has replaced is FencedOut and changes nothing", fenced, releaseFenced},
		{"release/fenced-in-the-gap", "also when that happens between its last read and its sending", fenced, releaseFencedInTheGap},
		{"release/other-list", "a release that rests on no list of this zone is Permanent", nil, releaseOtherList},
	}
}

// releaser is an adapter as one, or the end of the case.
func (e *env) releaser(a provider.Adapter) provider.Releaser {
	e.Helper()
	r, ok := a.(provider.Releaser)
	if !ok {
		e.Skipf("does not apply: this adapter cannot take itself out of a zone")
	}
	return r
}

// mess leaves the zone as a long life of sidestep does, every value live:
// values that were paused and came back, copies beside live values where copies
// are made, and a stamp where there are any.
func (e *env) mess() {
	e.Helper()
	for _, label := range []string{"www", "*.wild", "@"} {
		key := e.key(label, record.A)
		e.away(key, []string{two}, pause(key, one))
		e.add(key, resume(key, one))
		if copies(e.promises()) {
			e.copyByHand(key, two)
		}
	}
	if e.promises().Fenced {
		e.hold(e.adapter, e.holder())
	}
}

// operators puts records in as an operator does, and dumps what the zone has
// then.
func (e *env) operators() []string {
	e.Helper()
	e.putForeign()
	for _, label := range []string{"www", "*.wild", "@"} {
		e.put(e.key(label, record.A), one, two)
	}
	return e.everything()
}

// maxReleases is more calls than any adapter needs for what mess leaves.
const maxReleases = 50

// release asks an adapter until nothing remains, or for its first error.
func (e *env) release(a provider.Adapter, gate provider.Gate) error {
	e.Helper()
	r := e.releaser(a)
	for range maxReleases {
		seen := e.listBy(a)
		if len(r.Remains(seen)) == 0 {
			return nil
		}
		done, err := e.releaseOnce(r, seen, gate)
		if err != nil {
			return err
		}
		if left := r.Remains(e.listBy(a)); done && len(left) > 0 {
			e.Errorf("release: it says that it is done, and what remains is %q", left)
		}
	}
	e.Errorf("release: after %d calls there remains %q", maxReleases, r.Remains(e.listBy(a)))
	return nil
}

func (e *env) releaseOnce(r provider.Releaser, seen *provider.Snapshot, gate provider.Gate) (bool, error) {
	ctx, cancel := context.WithTimeout(e.Context(), e.world.patience())
	defer cancel()
	done, err := r.Release(ctx, seen, gate)
	e.settle()
	return done, err
}

func (e *env) wantReleased(before []string) {
	e.Helper()
	e.compare("a release", before, e.everything())
	snapshot := e.list()
	if len(snapshot.Stamps) > 0 {
		e.Errorf("release: a stamp is left: %v", snapshot.Stamps)
	}
	for _, set := range snapshot.Sets {
		for _, a := range set.Answers {
			if a.Paused || a.Held {
				e.Errorf("release: %s %s is listed as %+v", set.Key, a.Value, a)
			}
		}
	}
}

func releasesClean(e *env) {
	e.releaser(e.adapter)
	before := e.operators()
	e.mess()
	if err := e.release(e.adapter, nil); err != nil {
		e.Errorf("release: expected success, got %v", err)
	}
	e.wantReleased(before)
}

func releasesNothing(e *env) {
	r := e.releaser(e.adapter)
	e.operators()
	if left := r.Remains(e.list()); len(left) > 0 {
		e.Errorf("remains: expected nothing, got %q", left)
	}
	e.unchanged("a release of nothing", func() {
		if done, err := e.releaseOnce(r, e.list(), nil); err != nil || !done {
			e.Errorf("release: expected to be done, got %v, %v", done, err)
		}
	})
}

func releaseKeepsPaused(e *env) {
	e.releaser(e.adapter)
	key := e.key("www", record.A)
	e.put(key, one, two, three)
	e.away(key, []string{two, three}, pause(key, one))
	if copies(e.promises()) {
		e.copyByHand(key, two)
	}
	if err := e.release(e.adapter, nil); err != nil {
		e.Errorf("release: expected success, got %v", err)
	}
	e.wantLive(key, two, three)
	e.wantAnswer(key, paused(one))
	e.wantAnswer(key, live(two))
	e.add(key, resume(key, one))
	e.wantLive(key, one, two, three)
	e.wantResumed(key, one)
}

func releaseKeepsUnreadable(e *env) {
	e.releaser(e.adapter)
	key := e.key("www", record.A)
	e.put(key, one, two)
	odd := RR{Name: string(provider.ParkedName(key.Name)), Type: "TXT", TTL: ttl, Data: `"v=sidestep1 type=A value=not-an-address ttl=60"`}
	e.hand.Put(odd)
	e.settle()
	before := e.everything()
	e.copyByHand(key, one)
	if e.promises().Fenced {
		e.hold(e.adapter, e.holder())
	}
	if err := e.release(e.adapter, nil); err != nil {
		e.Errorf("release: expected success, got %v", err)
	}
	e.compare("a release", before, e.everything())
}

func releaseGate(e *env) {
	r := e.releaser(e.adapter)
	e.operators()
	e.mess()
	shut := errors.New("the lease ends")
	seen := e.list()
	if len(r.Remains(seen)) == 0 {
		e.Skipf("does not apply: nothing remains of a pause at this provider")
	}
	e.unchanged("a release that the gate stopped", func() {
		if _, err := e.releaseOnce(r, seen, func() error { return shut }); !errors.Is(err, shut) || errors.As(err, new(*provider.Error)) {
			e.Errorf("release: expected the gate's error as it is, got %v", err)
		}
	})
}

// releaseKilled ends a process before its first message, in another life before
// its second, and so on, until one lives to the end.
func releaseKilled(e *env) {
	e.releaser(e.adapter)
	before := e.operators()
	killed := errors.New("killed")
	for life := 1; life <= maxReleases; life++ {
		e.mess()
		sent := 0
		err := e.release(e.adapter, func() error {
			if sent++; sent == life {
				return killed
			}
			return nil
		})
		if err == nil {
			e.wantReleased(before)
			return
		}
		if !errors.Is(err, killed) {
			e.Fatalf("release, message %d: %v", life, err)
		}
		e.adapter = e.hand.Another()
		if err := e.release(e.adapter, nil); err != nil {
			e.Fatalf("release by another process after message %d: %v", life, err)
		}
		e.wantReleased(before)
	}
	e.Errorf("release: more than %d messages", maxReleases)
}

// releaseFaulty makes one message after the other go wrong, and asks again.
func releaseFaulty(e *env, fault Fault) {
	e.releaser(e.adapter)
	before := e.operators()
	for life := 1; life <= maxReleases; life++ {
		e.mess()
		sent := 0
		err := e.release(e.adapter, func() error {
			if sent++; sent == life {
				e.inject(fault)
			}
			return nil
		})
		if err == nil {
			e.wantReleased(before)
			return
		}
		e.class("a release without an answer", err, provider.Ambiguous)
		if err := e.release(e.adapter, nil); err != nil {
			e.Fatalf("release after message %d went wrong: %v", life, err)
		}
		e.wantReleased(before)
	}
	e.Errorf("release: more than %d messages", maxReleases)
}

func releaseFenced(e *env) {
	r := e.releaser(e.adapter)
	e.operators()
	e.mess()
	seen := e.list()
	e.hold(e.hand.Another(), "node-2")
	e.unchanged("a release that was fenced out", func() {
		_, err := e.releaseOnce(r, seen, nil)
		e.class("release after a take-over", err, provider.FencedOut)
	})
}

func releaseFencedInTheGap(e *env) {
	r := e.releaser(e.adapter)
	e.operators()
	e.mess()
	var after []string
	_, err := e.releaseOnce(r, e.list(), e.meanwhile(func() {
		e.hold(e.hand.Another(), "node-2")
		after = e.everything()
	}))
	e.class("release after a take-over in the gap", err, provider.FencedOut)
	e.compare("a release that was fenced out", after, e.everything())
}

func releaseOtherList(e *env) {
	r := e.releaser(e.adapter)
	e.operators()
	e.mess()
	e.unchanged("a release that was refused", func() {
		for _, seen := range []*provider.Snapshot{nil, {Zone: "example.net."}} {
			_, err := e.releaseOnce(r, seen, nil)
			e.class("release from no list of this zone", err, provider.Permanent)
		}
	})
}
