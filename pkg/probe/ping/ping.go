package ping

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
	"time"
)

// Ask is one probe by echo requests.
type Ask struct {
	Peer   netip.Addr // who is asked
	Source netip.Addr // our address, of the same family; zero lets the kernel choose
	Count  int        // requests, at least 1
	Need   int        // replies that are enough, 1 to Count
}

// Answer is what came of an Ask.
type Answer struct {
	Sent    int        // requests that left
	Came    int        // of them, how many were replied to; no request counts twice
	Refused int        // of them, how many an ICMP error came for
	Report  string     // the last of those errors in words
	Local   netip.Addr // our address at which replies arrived; zero when none did
	Unsent  error      // why the last request that could not leave did not; nil when all did
}

// Enough tells whether the needed replies came.
func (a Answer) Enough(need int) bool { return a.Came >= need }

// retryAfter is the pause after a request that found the send buffer full.
const retryAfter = 20 * time.Millisecond

// Ping asks, and returns as soon as the outcome is certain: enough replies
// came, or ICMP errors came for so many requests that enough no longer can, or
// the deadline of ctx passed. It needs a ctx with a deadline. An error is a
// fault of this machine: *Error, ErrNotPermitted, or that ctx was cancelled.
func (p *Pinger) Ping(ctx context.Context, ask Ask) (Answer, error) {
	l, err := p.join(ask)
	if err != nil {
		return Answer{}, err
	}
	f := p.flight(ask)
	err = p.fly(ctx, l, f)
	answer := p.leave(l, f)
	p.free(f)
	return answer, err
}

// fly sends the requests and waits for what comes.
func (p *Pinger) fly(ctx context.Context, l *line, f *flight) error {
	start := time.Now()
	spacing := time.Second
	if deadline, ok := ctx.Deadline(); ok {
		spacing = max(deadline.Sub(start), 0) / time.Duration(f.ask.Count)
	}
	for now := start; ctx.Err() == nil; now = time.Now() {
		seen, broken := p.look(l, f)
		switch {
		case seen.Enough(f.ask.Need), seen.Refused > f.ask.Count-f.ask.Need:
			return nil
		case broken != nil:
			return broken
		}
		wait := f.untilDue(seen, start, now, spacing)
		if wait <= 0 {
			if err := p.send(l, f, seen.Came); err != nil {
				return err
			}
			continue
		}
		f.timer.Reset(wait)
		select {
		case <-f.news:
		case <-f.timer.C:
		case <-ctx.Done():
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	// On a machine that is too busy a reply may be there and the reader not have
	// had its turn: that is no loss.
	l.wire.flush(func(m message) { p.take(l, m) })
	return nil
}

// never is a wait that news or the deadline end.
const never = time.Hour

// untilDue is how long to wait with the next request: until a reply came to an
// earlier one, or until its own time in the row that fills the timeout evenly.
func (f *flight) untilDue(seen Answer, start, now time.Time, spacing time.Duration) time.Duration {
	switch {
	case seen.Sent == f.ask.Count:
		return never
	case f.notBefore.After(now):
		return f.notBefore.Sub(now)
	case seen.Came > f.cameBefore:
		return 0
	}
	return start.Add(time.Duration(seen.Sent) * spacing).Sub(now)
}

// send lets one request out. A full buffer is no error yet: it is tried again
// until the deadline.
func (p *Pinger) send(l *line, f *flight, came int) error {
	seq, token := p.register(l, f)
	f.packet = appendRequest(f.packet[:0], l.place.v6, l.wire.id(), seq, token)
	err := l.wire.send(f.packet, f.ask.Peer)
	switch {
	case err == nil:
		f.cameBefore = came
		return nil
	case isFull(err):
		p.unregister(l, f, seq, err)
		f.notBefore = time.Now().Add(retryAfter)
		return nil
	}
	p.unregister(l, f, seq, err)
	return &Error{"send", err}
}

// isFull tells whether an error means that there is no room for one more packet
// at the moment.
func isFull(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}
