package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"sidestep/pkg/control"
)

// How often the status is asked for while it is watched.
const (
	watchGap    = 100 * time.Millisecond // the least between two looks, however many events come
	watchShare  = 4                      // and the least in times of what the last look took: a large status is work for the daemon
	watchSeldom = 5 * time.Second        // between looks without an event, for ages and counters, which are none
	watchTick   = time.Second            // between redraws, between looks without a daemon, and before the stream is tried again
)

// watched is what is shown of a status.
type watched struct {
	status control.Status
	at     time.Time // when the daemon said so
	gone   error     // why it says no more; nil while it does
	since  time.Time // of gone
}

func (w watched) away() bool { return w.gone != nil }

// watchPage is where a status that is watched is shown.
type watchPage interface {
	show(watched) error
	// tick is called every watchTick in between.
	tick(watched) error
	// signals is what the page has to be told of; nil for none.
	signals() <-chan os.Signal
	signal(os.Signal)
	leave()
}

// watch shows a status and goes on until ctx ends. That is how it is meant to end, and
// no error as long as the daemon answers.
func (a *app) watch(ctx context.Context, client *control.Client, name string, first control.Status) error {
	page := a.watchPage()
	defer page.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wake := make(chan struct{}, 1)
	var group sync.WaitGroup
	group.Go(func() { followEvents(ctx, client, wake) })
	defer group.Wait()
	defer cancel()
	w := watched{status: first, at: time.Now()}
	ask := func() (control.Status, error) { return client.Status(ctx, name) }
	if err := w.loop(ctx, page, ask, wake); err != nil {
		return err
	}
	if w.away() {
		return fmt.Errorf("the daemon is away since %s: %w", dayTime(w.since, time.Now()), w.gone)
	}
	return nil
}

// followEvents wakes the loop at every event, when the stream begins, and when it ends.
func followEvents(ctx context.Context, client *control.Client, wake chan<- struct{}) {
	rouse := func() {
		select {
		case wake <- struct{}{}:
		default: // it will look anyway
		}
	}
	for ctx.Err() == nil {
		// Why it ended is seen by the look that follows.
		_ = client.Follow(ctx, rouse, func(control.StreamEvent) { rouse() })
		rouse()
		pause(ctx, watchTick)
	}
}

// pause waits for so long, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (w *watched) loop(ctx context.Context, page watchPage, ask func() (control.Status, error), wake <-chan struct{}) error {
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	looked, rest := time.Now(), watchGap
	for err := page.show(*w); ctx.Err() == nil; {
		if err != nil {
			return err
		}
		look := false
		select {
		case <-ctx.Done():
			continue
		case <-wake:
			look = true
		case s := <-page.signals():
			page.signal(s)
		case <-tick.C:
			look = w.away() || time.Since(looked) >= watchSeldom
		}
		if !look {
			err = page.tick(*w)
			continue
		}
		pause(ctx, rest-time.Since(looked))
		looked = time.Now()
		w.look(ctx, ask)
		rest = max(watchGap, watchShare*time.Since(looked))
		err = page.show(*w)
	}
	return nil
}

// look asks once. An answer that the end of ctx cut off is none.
func (w *watched) look(ctx context.Context, ask func() (control.Status, error)) {
	status, err := ask()
	if errors.Is(err, control.ErrNoDaemon) {
		err = control.ErrNoDaemon // without a path that is wider than many a terminal
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		*w = watched{status: status, at: time.Now()}
	case w.gone == nil:
		w.gone, w.since = err, time.Now()
	default:
		w.gone = err
	}
}
