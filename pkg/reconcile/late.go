package reconcile

import (
	"context"
	"errors"
	"strings"
	"time"

	"sidestep/pkg/record"
)

// AskedFor is for how long after a write a name server that lags is asked on.
const AskedFor = 10 * time.Minute

// How a name server is asked that lags: those that have the write at once are told
// of at once, and one that has not after lateFirst is named. It is asked on for
// lateFor after pauses of a tenth of the time that it has taken so far, so that its
// delay is known to about a tenth.
const (
	lateFirst = time.Second
	lateFor   = AskedFor
	lateLeast = 500 * time.Millisecond
	lateMost  = 30 * time.Second
	latePass  = 3 * time.Second // for one asking of all that lag, so that the stamp is not renewed too late
)

// Verification is what the name servers said of what was written, once they have
// all answered as wanted, or once those that have not are named.
type Verification struct {
	Zone     record.Name
	Verified bool    // all answer as wanted
	Heard    []Heard // of all servers that were asked after the write, the punctual ones too
	Detail   string  // why not; else what was verified by the list alone, or nothing

	AskedUntil time.Duration // boot time until which those that lag are asked on; 0 when none is
}

// late is an inquiry that is made between rounds, so that the round can be told of
// before the name servers have answered.
type late struct {
	*inquiry

	left               []string      // what is verified by the list alone, and why
	began, next, until time.Duration // boot times
	told               bool          // that some lag: they are asked on
}

// newLate is an inquiry that begins with the next chase.
func newLate(q *inquiry, left []string, now time.Duration) *late {
	began := now
	for _, key := range q.keys {
		began = min(began, q.since[key])
	}
	return &late{inquiry: q, left: left, began: began, next: now, until: began + lateFor}
}

// rest sets the time of the next asking.
func (l *late) rest(now time.Duration) {
	l.next = now + min(max((now-l.began)/10, lateLeast), lateMost)
}

// lateDue fires when name servers are to be asked between two rounds; nil for never.
func (w *worker) lateDue() <-chan time.Time {
	if w.late == nil {
		return nil
	}
	return time.After(w.late.next - w.options.Clock.Boot())
}

// chase asks the name servers of what was written last, by what the zone was seen to
// have since: at first until they agree or lateFirst is over, later once each time.
// It tells of them when all have come round, when some lag, and when these have had
// their time. It gives way to work, and costs that no more than the end of a question.
func (w *worker) chase(ctx context.Context) {
	l := w.late
	l.wanted = func(key record.Key) []string { return record.FindSet(w.seen.Sets, key).Live() }
	var err error
	if !l.told {
		err = w.inquire(ctx, l.inquiry, lateFirst)
	} else {
		asking, cancel := context.WithTimeout(ctx, latePass)
		if err = w.askEach(asking, l.inquiry, func(ctx context.Context, h *hearing) { w.askOnce(ctx, l.inquiry, h) }); err == nil {
			err = verdict(l.heard())
		}
		cancel()
	}
	now := w.options.Clock.Boot()
	l.rest(now)
	if errors.Is(err, ErrGaveWay) || ctx.Err() != nil {
		return
	}
	over := !l.lags() || now >= l.until
	if l.told && !over {
		return
	}
	l.told = true
	w.keepBehind(l.inquiry)
	if over {
		w.late = nil
	}
	w.tellVerified(l, err)
}

func (w *worker) tellVerified(l *late, err error) {
	if w.options.Verified == nil {
		return
	}
	v := Verification{Zone: w.zone.Name, Verified: err == nil, Heard: l.heard(), Detail: strings.Join(l.left, "; ")}
	if err != nil {
		v.Detail = err.Error()
	}
	if w.late == l {
		v.AskedUntil = l.until
	}
	w.options.Verified(v)
}

// renewLate lets a new write take the place of an inquiry that is not over: what is
// still open there is asked with what is written now.
func (w *worker) renewLate() {
	if w.late == nil {
		return
	}
	w.keepBehind(w.late.inquiry)
	for _, key := range w.late.open() {
		if _, again := w.unverified[key]; !again {
			w.unverified[key] = w.late.since[key]
		}
	}
	w.late = nil
}
