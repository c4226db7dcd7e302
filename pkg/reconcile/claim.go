package reconcile

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"time"

	"sidestep/pkg/provider"
)

// FreshStamp is how young another node's stamp has to be for two nodes that do not
// know of each other to be the likely reason.
const FreshStamp = time.Hour

// claimAttempts is how often a round claims a zone before it ends.
const claimAttempts = 3

// hold makes sure that this process may write: that it leads, and where the
// adapter keeps a stamp, that the zone's one stamp is its own. If the provider
// compares it, nothing is in doubt then, since the next call makes all older
// ones refused.
func (r *round) hold(ctx context.Context) error {
	promises := r.zone.Adapter.Promises()
	if r.sight.later != nil {
		return &closedError{r.sight.later} // whatever the lock says by now
	}
	if err := r.mayWrite(r.deadline())(); err != nil {
		return err
	}
	fencer, ok := r.zone.Adapter.(provider.Fencer)
	if !ok {
		return nil
	}
	if r.lease != nil {
		return r.holdLease(ctx, fencer)
	}
	r.heedTurn()
	for attempt := 0; !r.holds(); attempt++ {
		if attempt == claimAttempts {
			return fmt.Errorf("claim zone %s: the stamp changes under every claim; another sidestep is writing", r.zone.Name)
		}
		if err := r.claim(ctx, fencer); err != nil {
			return err
		}
		if err := provider.Sleep(ctx, promises.Lag); err != nil { // a list may show the stamp before
			return fmt.Errorf("claim zone %s: stopped: %w", r.zone.Name, err)
		}
		if err := r.plan(ctx); err != nil {
			return err
		}
	}
	r.held = true
	if !promises.Fenced {
		return nil // it was found out not to compare
	}
	r.doubt.clear()
	return r.prove(ctx, fencer)
}

// holds reports whether the list shows exactly one stamp, and it is mine.
func (r *round) holds() bool {
	stamps := r.snapshot.Stamps
	return len(stamps) == 1 && r.wroteStamp(stamps[0])
}

// wroteStamp reports whether a listed stamp is of this process. Those that it
// tried before are forgotten then: with this one in the zone, the provider
// refuses every call that carried an older one.
func (w *worker) wroteStamp(s provider.Stamp) bool {
	seq, found := w.mine[s.Nonce]
	if !found {
		return false
	}
	maps.DeleteFunc(w.mine, func(_ string, tried uint64) bool { return tried < seq })
	return true
}

// claim replaces every stamp in the zone by one of this process, unless they
// say that another node is writing, or might be.
func (r *round) claim(ctx context.Context, fencer provider.Fencer) error {
	if err := r.strange(r.snapshot.Stamps); err != nil {
		return err
	}
	rival := r.rival(r.snapshot.Stamps, r.held)
	if rival != nil && !r.orders.TakeOver {
		return rival
	}
	if waited, err := r.outsit(ctx); waited || err != nil {
		return err
	}
	err := r.sendClaim(context.WithoutCancel(ctx), fencer, r.snapshot, r.stamp())
	if err == nil && rival != nil {
		r.report.TookOver = rival.Holder
	}
	return r.claimed(err)
}

// claimed is what a round goes by after a claim: nil where the next list tells
// whose the stamp is now.
func (r *round) claimed(err error) error {
	if err == nil || gateClosed(err) {
		return err
	}
	switch provider.ClassOf(err) {
	case provider.FencedOut, provider.Conflict, provider.Ambiguous:
		r.log.Debug("claim not accepted; listing again", "error", err)
		return nil
	default:
		return err
	}
}

// sendClaim sends a claim with the deadline of a call.
func (w *worker) sendClaim(ctx context.Context, fencer provider.Fencer, seen *provider.Snapshot, next provider.Stamp) error {
	call := w.deadline()
	ctx, cancel := context.WithTimeout(ctx, call)
	defer cancel()
	return w.safely(provider.Ambiguous, "claim", func() error {
		return fencer.Claim(ctx, seen, next, w.mayWrite(call))
	})
}

// prove sends, once in the life of a process, the call that a provider which
// compares must refuse. One that accepts it is treated as what it is.
func (r *round) prove(ctx context.Context, fencer provider.Fencer) error {
	err := r.putToProof(ctx, fencer, r.snapshot)
	if errors.Is(err, provider.ErrNotFenced) && r.lease == nil {
		r.log.Warn("this provider does not compare and swap although it should: writing by the rules for one that cannot", "error", err)
		r.proved = true
		r.doubt.doubtAll(r.options.Clock.Boot())
		return r.plan(ctx)
	}
	return err
}

// putToProof is prove, without what becomes of a provider that does not compare where
// the stamp is no lease. Where it is, nobody leads such a zone.
func (w *worker) putToProof(ctx context.Context, fencer provider.Fencer, seen *provider.Snapshot) error {
	if w.proved {
		return nil
	}
	call := w.deadline()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), call)
	defer cancel()
	err := w.safely(provider.Ambiguous, "prove the fence of", func() error {
		return fencer.Prove(limited, seen, w.stamp(), w.gate(call))
	})
	if errors.Is(err, provider.ErrNotFenced) && w.lease != nil {
		err = fmt.Errorf("nothing is written to zone %s: its stamp is to be the lease, and that needs a provider that compares: %w", w.zone.Name, err)
		w.lease.fail(err)
	}
	w.proved = err == nil
	return err
}

// stamp makes a stamp that was never used before, and remembers it as tried.
func (w *worker) stamp() provider.Stamp {
	w.seq++
	term := w.options.Leader.Term()
	s := provider.Stamp{
		Holder:  w.options.Node,
		At:      w.options.Clock.Wall(),
		Epoch:   term.Epoch,
		Cluster: term.Cluster,
		Group:   term.Group,
		Seq:     w.seq,
		Nonce:   nonce(),
	}
	w.mine[s.Nonce] = w.seq
	w.remember(s.Nonce)
	if w.lease != nil {
		w.lease.tried(s.Nonce, w.options.Clock.Boot())
	}
	return s
}

// maxPast bounds how many nonces of its own a process remembers.
const maxPast = 4096

// remember keeps a nonce, to know its own stamp again when a restored backup brings
// an old one back. What may be in force now is never forgotten.
func (w *worker) remember(nonce string) {
	if len(w.past) >= maxPast {
		maps.DeleteFunc(w.past, func(old string, _ bool) bool { _, inForce := w.mine[old]; return !inForce })
	}
	w.past[nonce] = true
}

func nonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// letGo asks a worker to release its stamp.
type letGo struct {
	ctx  context.Context //nolint:containedctx // of who waits, for one call
	done chan<- error
}

func (w *worker) letGoBetweenRounds(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case w.letGo <- letGo{ctx, done}:
		return <-done
	case <-ctx.Done():
		return fmt.Errorf("release the stamp of zone %s: %w", w.zone.Name, ctx.Err())
	}
}

// release replaces a stamp of this process by one that is nobody's.
func (w *worker) release(ctx context.Context) error {
	w.heed()
	fencer, ok := w.zone.Adapter.(provider.Fencer)
	if !ok || len(w.mine) == 0 {
		return nil
	}
	read := w.list
	if w.lease != nil {
		read = w.readLatest
	}
	snapshot, err := read(ctx)
	if err != nil {
		return fmt.Errorf("release the stamp of zone %s: %w", w.zone.Name, err)
	}
	if len(snapshot.Stamps) != 1 || !w.wroteStamp(snapshot.Stamps[0]) {
		return nil // somebody else's by now
	}
	if w.lease != nil {
		w.lease.drop()
	}
	stamp := w.stamp()
	stamp.Released = true
	if err := w.sendClaim(ctx, fencer, snapshot, stamp); err != nil {
		return fmt.Errorf("release the stamp of zone %s: %w", w.zone.Name, err)
	}
	return nil
}
