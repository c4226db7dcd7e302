package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/observe"
)

// play plays the rows until one does not hold.
func (w *localWorld) play(ctx context.Context, t *Timeline, progress func(Event)) error {
	options, err := w.watch()
	if err != nil {
		return err
	}
	names := options
	names.Request = nil
	return observe.Watch(options, func(all *observe.Watcher) error {
		return observe.Watch(names, func(names *observe.Watcher) error {
			p := &localPlay{localWorld: w, all: all, names: names}
			if err := p.begin(ctx); err != nil {
				return err
			}
			return p.playRows(ctx, t, progress)
		})
	})
}

func (p *localPlay) playRows(ctx context.Context, t *Timeline, progress func(Event)) error {
	start := time.Now()
	if err := p.answer(hostB); err != nil {
		return err
	}
	lost := false
	for _, step := range p.steps() {
		row := Row{Event: step.event, What: step.what}
		if !lost {
			if progress != nil {
				progress(step.event)
			}
			seen, err := step.see(p, ctx)
			row.At, row.Reached, row.Held, row.Seen = time.Since(start), true, err == nil, seen
			if other, is := errors.AsType[*notSeenError](err); is {
				lost, row.Seen = true, other.seen
			} else if err != nil {
				return fmt.Errorf("%s: %w", step.what, err)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return nil
}

// look looks once: at the names alone, which takes least time, or with requests.
func (p *localPlay) look(ctx context.Context, w *observe.Watcher) (observe.Sample, error) {
	s := w.Sample(ctx)
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	for _, v := range append(slices.Clone(s.Servers), s.Resolver) {
		if !v.Outcome.Told() {
			return s, fmt.Errorf("ask %s: %s: %s", v.Server, v.Outcome, v.Detail)
		}
	}
	return s, nil
}

// overdue reports whether what the cache was told last may be over: then that it is
// gone says nothing.
func (p *localPlay) overdue() bool { return time.Since(p.primed) >= time.Duration(p.ttl)*time.Second }

// begin opens the connection that is kept, and then lets the cache be told anew: what
// it keeps is over a TTL later.
func (p *localPlay) begin(ctx context.Context) error {
	s, err := p.look(ctx, p.all)
	if err != nil {
		return err
	}
	if k := s.Kept; k.Says() != "A at "+hostA || k.Protocol != p.protocol() {
		return fmt.Errorf("the first request met %s over %q (%s), expected A at %s over %s", k.Says(), k.Protocol, k.Detail, hostA, p.protocol())
	}
	p.opened = s.Kept.Opened
	p.cache.Forget()
	p.primed = time.Now()
	_, err = p.look(ctx, p.names)
	return err
}

func (p *localPlay) authorityNew(ctx context.Context) (string, error) {
	s, err := p.look(ctx, p.names)
	seen := "authority " + s.Servers[0].Said()
	if err == nil && s.Servers[0].Said() != hostB {
		err = insteadf("%s", seen)
	}
	return seen, err
}

// cacheSays is what the authority and the cache say at one moment, which has to be
// before the cache may have let go of what it was told.
func (p *localPlay) cacheSays(ctx context.Context, cache string) (string, error) {
	s, err := p.look(ctx, p.names)
	seen := "authority " + s.Servers[0].Said() + ", cache " + left(s.Resolver)
	switch {
	case err != nil:
		return "", err
	case s.Resolver.Said() != cache && p.overdue():
		return "", errStoodStill
	case s.Resolver.Said() != cache || s.Servers[0].Said() != hostB:
		return "", insteadf("%s", seen)
	}
	return seen, nil
}

func left(v observe.View) string { return fmt.Sprintf("%s, %s left", v.Said(), v.TTL) }

func (p *localPlay) cacheOld(ctx context.Context) (string, error) { return p.cacheSays(ctx, hostA) }

func (p *localPlay) cacheNew(ctx context.Context) (string, error) {
	s, err := p.await(ctx, hostB)
	return "cache " + left(s.Resolver), err
}

// await asks until the cache says what it has to.
func (p *localPlay) await(ctx context.Context, cache string) (observe.Sample, error) {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for end := time.Now().Add(rowWithin); ; {
		p.primed = time.Now()
		s, err := p.look(ctx, p.names)
		switch {
		case err != nil || s.Resolver.Said() == cache:
			return s, err
		case time.Now().After(end):
			return s, insteadf("cache %s, %s later", left(s.Resolver), rowWithin)
		}
		select {
		case <-ctx.Done():
			return s, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

func (p *localPlay) keptOld(ctx context.Context) (string, error) {
	s, err := p.look(ctx, p.all)
	switch k := s.Kept; {
	case err != nil:
		return "", err
	case k.Ended != nil:
		return "", insteadf("the connection %s", k.Ended)
	case k.Says() != "A at "+hostA || k.Opened != p.opened:
		return "", insteadf("answered by %s", k.Says())
	}
	return "cache " + s.Resolver.Said() + ", answered by " + s.Kept.Says() + " on the same connection", nil
}

// refused lets a new connection meet a wrong certificate, and mends that.
func (p *localPlay) refused(ctx context.Context) (string, error) {
	s, err := p.look(ctx, p.all)
	if err != nil {
		return "", err
	}
	if n := s.New[0]; n.Phase != check.PhaseTLS || n.Cause != check.CauseCertificate {
		return "", insteadf("%s %s", n.Says(), n.Detail)
	}
	p.b.Show(p.right)
	return s.New[0].Says() + ": " + s.New[0].Detail, nil
}

func (p *localPlay) newAtB(ctx context.Context) (string, error) {
	p.all.Retire("idle")
	s, err := p.look(ctx, p.all)
	switch {
	case err != nil:
		return "", err
	case s.Kept.Says() != "B at "+hostB || s.Kept.Requests != 1:
		return "", insteadf("%s %s", s.Kept.Says(), s.Kept.Detail)
	}
	return "answered by " + s.Kept.Says() + " on a new connection", nil
}

func (p *localPlay) negativeCached(ctx context.Context) (string, error) {
	if err := p.answer(""); err != nil {
		return "", err
	}
	s, err := p.await(ctx, "NXDOMAIN")
	return "cache " + left(s.Resolver), err
}

func (p *localPlay) negativeOld(ctx context.Context) (string, error) {
	if err := p.answer(hostB); err != nil {
		return "", err
	}
	return p.cacheSays(ctx, "NXDOMAIN")
}

func (p *localPlay) recovered(ctx context.Context) (string, error) {
	s, err := p.await(ctx, hostB)
	if err != nil {
		return "", err
	}
	seen := "cache " + left(s.Resolver) + ", answered by "
	if s, err = p.look(ctx, p.all); err != nil {
		return "", err
	}
	if observe.SaysAll(s.New) != "B at "+hostB {
		return "", insteadf("%s%s %s", seen, s.New[0].Says(), s.New[0].Detail)
	}
	return seen + observe.SaysAll(s.New) + " on a new connection", nil
}
