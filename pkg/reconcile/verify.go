package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// How the name servers are asked after a write: again and again, since they may
// be told of the change late, until they answer as the list says or time is up.
const (
	verifyFor  = 10 * time.Second
	verifyWait = 20 * time.Millisecond
	verifyMax  = time.Second
)

// verify compares the name servers with the list, for the record sets that were
// written by this round or by one that gave way to it. What a guard stopped is
// no part of that, and where it stopped everything nothing is verified. It gives
// way itself: a server that lags or is out of reach must never hold up the next
// failover.
func (r *round) verify(ctx context.Context) {
	r.report.Asked = len(r.unverified) > 0
	r.report.Verified = r.current.InSync() || r.report.Asked && !r.current.Pending()
	if !r.report.Verified && r.report.Detail == "" {
		r.report.Detail = unwritten(r.current)
	}
	if !r.report.Asked {
		return
	}
	keys := r.askable()
	err := r.askAll(ctx, r.servers(), keys)
	if ctx.Err() != nil { // our own end says nothing about the name servers
		r.report.Asked, r.report.Verified = false, false
		r.report.Detail = "stopped before the name servers had answered"
		return
	}
	switch {
	case err != nil && r.report.Verified:
		r.report.Verified, r.report.Detail = false, err.Error()
	case len(r.servers()) == 0 && r.report.Verified:
		r.report.Detail = "by listing the zone only: there is no name server to ask"
	case len(keys) == 0 && r.report.Verified:
		r.report.Detail = "by listing the zone only: what a name server answers depends on weights, or on who asks"
	}
	if !errors.Is(err, ErrGaveWay) {
		clear(r.unverified)
	}
}

// unwritten is why a zone is not as wanted after a round without an error.
func unwritten(p plan.Plan) string {
	if p.Pending() {
		return "the zone is not as wanted yet"
	}
	return "guards stop all that is left to write"
}

// askable are the record sets that were written, but for those of which a name
// server need not answer with everything.
func (r *round) askable() []record.Key {
	var keys []record.Key
	for _, key := range slices.SortedFunc(maps.Keys(r.unverified), record.Key.Compare) {
		if s, found := r.current.Find(key); !found || s.Plain() {
			keys = append(keys, key)
		}
	}
	return keys
}

// askAll asks every server side by side for each record set that was written,
// until all agree, time is up, or newer work for the zone comes.
func (r *round) askAll(ctx context.Context, servers []string, keys []record.Key) error {
	ctx, cancel := context.WithTimeout(ctx, verifyFor)
	defer cancel()
	asking, end := context.WithCancelCause(ctx)
	var watch, group sync.WaitGroup
	watch.Go(func() { r.awaitNewer(asking, end) })
	errs := make([]error, len(servers))
	for i, server := range servers {
		group.Go(func() { errs[i] = r.askServer(asking, server, keys) })
	}
	group.Wait()
	gaveWay := errors.Is(context.Cause(asking), ErrGaveWay)
	end(nil)
	watch.Wait()
	if gaveWay {
		return ErrGaveWay
	}
	return oneLine(errs)
}

// awaitNewer ends the asking as soon as newer work waits in the slot.
func (r *round) awaitNewer(asking context.Context, end context.CancelCauseFunc) {
	for {
		select {
		case <-asking.Done():
			return
		case <-r.wake:
			if r.newer() {
				r.nudge()
				end(ErrGaveWay)
				return
			}
		}
	}
}

// askServer asks one server for the record sets, one after the other.
func (r *round) askServer(ctx context.Context, server string, keys []record.Key) error {
	if server == r.zone.Dead {
		return fmt.Errorf("not asked: %s is served by the daemon of this config, which does not run", server)
	}
	for _, key := range keys {
		if err := r.askUntil(ctx, server, key); err != nil {
			return err
		}
	}
	return nil
}

func oneLine(errs []error) error {
	var lines []string
	for _, err := range errs {
		if err != nil {
			lines = append(lines, err.Error())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "; "))
}

// askUntil asks one server until it answers with the live values of the list.
func (r *round) askUntil(ctx context.Context, server string, key record.Key) error {
	wanted := r.snapshot.Set(key).Live()
	for wait := verifyWait; ; wait = min(2*wait, verifyMax) {
		got, err := r.options.Ask(ctx, server, key)
		if err == nil && slices.Equal(got, wanted) {
			return nil
		}
		if provider.Sleep(ctx, wait) == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("ask %s for %s: %w", server, key, err)
		}
		return fmt.Errorf("ask %s for %s: expected %s, got %s", server, key, words(wanted), words(got))
	}
}

// servers lists who is asked after a write; nobody when only listing is wanted.
func (w *worker) servers() []string {
	if w.zone.NoDNS || w.options.Ask == nil {
		return nil
	}
	if len(w.zone.Servers) > 0 {
		return w.zone.Servers
	}
	if a, ok := w.zone.Adapter.(provider.Authoritative); ok {
		return a.Servers()
	}
	return nil
}

func words(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	return strings.Join(values, ", ")
}
