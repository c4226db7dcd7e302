package reconcile

import (
	"context"
	"time"

	"sidestep/pkg/record"
)

// How a name server is asked on that had not come round when its round ended: for
// so long, after pauses of a tenth of the time that it has taken so far, so that
// its delay is known to about a tenth.
const (
	lateFor   = 10 * time.Minute
	lateLeast = time.Second
	lateMost  = 30 * time.Second
	latePass  = 3 * time.Second // for one asking of all that lag, so that the stamp is not renewed too late
)

// Late is what came of name servers that had not answered as wanted when their
// round ended.
type Late struct {
	Zone     record.Name
	Verified bool    // all answer as wanted now
	Heard    []Heard // of all servers that were asked after the write, the punctual ones too
	Detail   string  // why not; empty when Verified
}

// late is an inquiry that goes on between rounds.
type late struct {
	*inquiry
	began, next, until time.Duration // boot times
}

func newLate(q *inquiry, now time.Duration) *late {
	began := now
	for _, key := range q.keys {
		began = min(began, q.since[key])
	}
	l := &late{inquiry: q, began: began, until: began + lateFor}
	l.rest(now)
	return l
}

// rest sets the time of the next asking.
func (l *late) rest(now time.Duration) {
	l.next = now + min(max((now-l.began)/10, lateLeast), lateMost)
}

// lateDue fires when name servers that lag are to be asked again; nil for never.
func (w *worker) lateDue() <-chan time.Time {
	if w.late == nil {
		return nil
	}
	return time.After(w.late.next - w.options.Clock.Boot())
}

// chase asks the name servers that lag once more, by what the zone was seen to have
// last, and tells of them when they have come round, or have had their time. It
// gives way to work, and costs that no more than the end of a question.
func (w *worker) chase(ctx context.Context) {
	l := w.late
	l.wanted = func(key record.Key) []string { return record.FindSet(w.seen.Sets, key).Live() }
	asking, cancel := context.WithTimeout(ctx, latePass)
	err := w.askEach(asking, l.inquiry, func(ctx context.Context, h *hearing) { w.askOnce(ctx, l.inquiry, h) })
	cancel()
	now := w.options.Clock.Boot()
	l.rest(now)
	if err != nil || ctx.Err() != nil || l.lags() && now < l.until {
		return
	}
	w.late = nil
	if w.options.Late == nil {
		return
	}
	told := Late{Zone: w.zone.Name, Heard: l.heard()}
	if err := verdict(told.Heard); err != nil {
		told.Detail = err.Error()
	}
	told.Verified = told.Detail == ""
	w.options.Late(told)
}

// renewLate lets a new write take the place of an inquiry that goes on: what was
// still open there is asked with what is written now.
func (w *worker) renewLate() {
	if w.late == nil {
		return
	}
	for _, h := range w.late.servers {
		for _, key := range h.open {
			if _, again := w.unverified[key]; !again {
				w.unverified[key] = w.late.since[key]
			}
		}
	}
	w.late = nil
}
