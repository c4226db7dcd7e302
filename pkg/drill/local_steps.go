package drill

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// play plays the rows until one does not hold.
func (w *localWorld) play(ctx context.Context, t *Timeline, progress func(Event)) error {
	p := &localPlay{localWorld: w}
	if err := p.begin(ctx); err != nil {
		return err
	}
	defer func() { p.kept.retire() }()
	start := time.Now()
	if err := w.answer(hostB); err != nil {
		return err
	}
	lost := false
	for _, step := range w.steps() {
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

// begin opens the connection that is kept, by a cache that has just been told.
func (p *localPlay) begin(ctx context.Context) (err error) {
	if p.kept, err = p.open(ctx); err != nil {
		return err
	}
	v, err := p.kept.ask(ctx)
	switch {
	case err != nil:
		return err
	case v.identity != "A" || v.peer != hostA || v.proto != p.protocol():
		return fmt.Errorf("the first request met %s over %s, expected A at %s over %s", v, v.proto, hostA, p.protocol())
	}
	p.kept.local = v.local
	p.cache.Forget()
	p.primed = time.Now()
	_, err = p.askCache(ctx)
	return err
}

// overdue reports whether what the cache was to keep may be over: then that it is
// gone says nothing.
func (p *localPlay) overdue() bool { return time.Since(p.primed) >= time.Duration(p.ttl)*time.Second }

func (p *localPlay) authorityNew(ctx context.Context) (string, error) {
	host, err := p.askAuthority(ctx)
	if err == nil && host != hostB {
		err = insteadf("authority %s", host)
	}
	return "authority " + host, err
}

func (p *localPlay) cacheOld(ctx context.Context) (string, error) {
	cache, err := p.askCache(ctx)
	switch {
	case err != nil:
		return "", err
	case cache.host == hostB && p.ttl > 0 && p.overdue():
		return "", errStoodStill
	case cache.host != hostA:
		return "", insteadf("cache %s at once", cache)
	}
	return "authority " + hostB + ", cache " + cache.String(), nil
}

func (p *localPlay) cacheNew(ctx context.Context) (string, error) {
	cache, err := p.awaitCache(ctx, hostB)
	return "cache " + cache.String(), err
}

// awaitCache asks the cache until it says a host, or for none that there is no such
// name.
func (p *localPlay) awaitCache(ctx context.Context, host string) (told, error) {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for end := time.Now().Add(rowWithin); ; {
		p.primed = time.Now()
		cache, err := p.askCache(ctx)
		switch {
		case err != nil:
			return told{}, err
		case cache.host == host:
			return cache, nil
		case time.Now().After(end):
			return told{}, insteadf("cache %s, %s later", cache, rowWithin)
		}
		select {
		case <-ctx.Done():
			return told{}, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

func (p *localPlay) keptOld(ctx context.Context) (string, error) {
	v, err := p.kept.ask(ctx)
	switch {
	case err != nil:
		return "", insteadf("the kept connection failed: %v", err)
	case !v.reused || v.local != p.kept.local || v.peer != hostA || v.identity != "A":
		return "", insteadf("answered by %s", v)
	}
	return "cache " + hostB + ", answered by " + v.String(), nil
}

// refused lets a new connection meet a wrong certificate, and mends that.
func (p *localPlay) refused(ctx context.Context) (string, error) {
	next, err := p.open(ctx)
	if err != nil {
		return "", err
	}
	defer next.retire()
	v, err := next.ask(ctx)
	if wrong, is := errors.AsType[x509.HostnameError](err); is {
		p.b.Show(p.right)
		return fmt.Sprintf("%s: its certificate is for %v; no request was sent", next.host, wrong.Certificate.DNSNames), nil
	} else if err != nil {
		return "", insteadf("another failure: %v", err)
	}
	return "", insteadf("answered by %s", v)
}

func (p *localPlay) newAtB(ctx context.Context) (string, error) { return p.visitB(ctx, "") }

// visitB retires the connection, which is idle, and opens the next one, which has to
// lead to B.
func (p *localPlay) visitB(ctx context.Context, before string) (string, error) {
	p.kept.retire()
	next, err := p.open(ctx)
	if err != nil {
		return "", err
	}
	p.kept = next
	v, err := next.ask(ctx)
	switch {
	case err != nil:
		return "", insteadf("%sthe new connection failed: %v", before, err)
	case v.reused || v.peer != hostB || v.identity != "B":
		return "", insteadf("%sanswered by %s", before, v)
	}
	return before + "answered by " + v.String(), nil
}

func (p *localPlay) negativeCached(ctx context.Context) (string, error) {
	if err := p.answer(""); err != nil {
		return "", err
	}
	cache, err := p.awaitCache(ctx, "")
	return "cache " + cache.String(), err
}

func (p *localPlay) negativeOld(ctx context.Context) (string, error) {
	if err := p.answer(hostB); err != nil {
		return "", err
	}
	host, err := p.askAuthority(ctx)
	if err != nil {
		return "", err
	}
	cache, err := p.askCache(ctx)
	switch {
	case err != nil:
		return "", err
	case host != hostB:
		return "", insteadf("authority %s", host)
	case cache.host != "" && p.ttl > 0 && p.overdue():
		return "", errStoodStill
	case cache.host != "":
		return "", insteadf("cache %s at once", cache)
	}
	return "authority " + host + ", cache " + cache.String(), nil
}

func (p *localPlay) recovered(ctx context.Context) (string, error) {
	cache, err := p.awaitCache(ctx, hostB)
	if err != nil {
		return "", err
	}
	return p.visitB(ctx, "cache "+cache.String()+", ")
}
