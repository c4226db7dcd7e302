package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

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

// errNewer ends a verification that newer work for the zone waits for.
var errNewer = errors.New("gave way to newer work")

// verify compares the name servers with the list, for the record sets that
// were written. It gives way to newer work: a server that lags or is out of
// reach must never hold up the next failover.
func (r *round) verify(ctx context.Context) {
	r.report.Verified = !r.current.Pending()
	if !r.report.Verified && r.report.Detail == "" {
		r.report.Detail = "the zone is not as wanted yet"
	}
	servers := r.servers()
	switch {
	case len(r.report.Applied) == 0 || !r.report.Verified:
		return
	case len(servers) == 0:
		r.report.Detail = "by listing the zone only: there is no name server to ask"
		return
	}
	ctx, cancel := context.WithTimeout(ctx, verifyFor)
	defer cancel()
	asking, giveWay := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.awaitNewer(asking, giveWay) })
	err := r.askAll(asking, servers)
	giveWay(nil)
	watch.Wait()
	if err != nil {
		r.report.Verified, r.report.Detail = false, err.Error()
	}
}

// awaitNewer ends the asking as soon as newer work waits in the slot.
func (r *round) awaitNewer(asking context.Context, giveWay context.CancelCauseFunc) {
	select {
	case <-asking.Done():
	case <-r.wake:
		r.nudge()
		giveWay(errNewer)
	}
}

// askAll asks every server side by side for each record set that was written.
func (r *round) askAll(ctx context.Context, servers []string) error {
	written := map[record.Key]bool{}
	for _, c := range r.report.Applied {
		written[c.Key] = true
	}
	errs := make([]error, len(servers))
	var group sync.WaitGroup
	for i, server := range servers {
		group.Go(func() {
			for key := range written {
				if errs[i] = r.askUntil(ctx, server, key); errs[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return oneLine(errs)
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
		if sleep(ctx, wait) == nil {
			continue
		}
		switch {
		case errors.Is(context.Cause(ctx), errNewer):
			return fmt.Errorf("ask %s for %s: %w", server, key, errNewer)
		case err != nil:
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
