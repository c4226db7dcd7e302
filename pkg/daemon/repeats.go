package daemon

import (
	"log/slog"
	"sync"
)

// repeats logs an error once and counts it while it comes again, so that what
// fails every few seconds does not bury its own cause.
type repeats struct {
	log  *slog.Logger
	mu   sync.Mutex
	last map[string]*repeated
}

type repeated struct {
	text  string
	times int
}

func newRepeats(log *slog.Logger) *repeats {
	return &repeats{log: log, last: map[string]*repeated{}}
}

// note takes the outcome of something that is done again and again. Its first
// success after errors is logged with their number.
func (r *repeats) note(what string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.last[what]
	switch {
	case err == nil && old != nil:
		r.log.Info(what+": works again", "failures", old.times)
		delete(r.last, what)
	case err == nil:
	case old == nil || old.text != err.Error():
		r.log.Error(what+" failed", "error", err)
		times := 1
		if old != nil {
			times += old.times
		}
		r.last[what] = &repeated{text: err.Error(), times: times}
	default:
		old.times++
		if powerOfTwo(old.times) {
			r.log.Error(what+" still fails", "failures", old.times, "error", err)
		}
	}
}

func powerOfTwo(n int) bool { return n&(n-1) == 0 }
