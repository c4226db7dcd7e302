package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// Why a take-away waits, for people.
const (
	startWords = "paused answers come in at once, and nothing is taken away until what an earlier process may have sent is beyond doubt"
	swapWords  = "an older call may still take effect, and would write over what is swapped in"
)

// callWords is why what rests on some values waits for open calls of this process.
func callWords(values []string) string {
	return "a call whose outcome is not known may still change " + strings.Join(values, ", ") + ", and nothing is taken away that needs it live"
}

// doubtWords says why too few of the values that have to stay are certain.
func (f footing) doubtWords(s plan.Set) string {
	if f.now < f.doubt.allOpen() {
		return startWords
	}
	var doubtful []string
	for _, value := range s.Wanted.Live {
		if f.doubt.doubtful(s.Key(), value, f.now) {
			doubtful = append(doubtful, value)
		}
	}
	if len(doubtful) == 0 {
		return fmt.Sprintf("%d of the answers that stay have to be live in the list first, and %d are", needs(s), len(f.survivors(s)))
	}
	return callWords(doubtful)
}

// needs is how many of the wanted values have to stay live through a take-away.
func needs(s plan.Set) int { return min(max(1, s.Wanted.Spec.MinLive), len(s.Wanted.Live)) }

// Waiting is the boot time until which a zone's worker waits with what it would
// write, or would with the next take-away, and why; 0 for not at all. Where the
// provider compares and swaps only a round that waits now does.
func (r *Reconciler) Waiting(zone record.Name) (until time.Duration, why string) {
	w, found := r.workers[zone]
	if !found {
		return 0, ""
	}
	now := r.options.Clock.Boot()
	if until, why = w.pausing(); until > now {
		return until, why
	}
	if w.adapter().Promises().Fenced {
		return 0, ""
	}
	return w.doubt.waits(now)
}

// Delays is the boot time until which what a plan takes away from a record set has
// to wait for what earlier calls may still do, once its adds are live, and why; 0 for
// not at all.
func (r *Reconciler) Delays(s plan.Set) (until time.Duration, why string) {
	w, found := r.workers[s.Key().Zone]
	if !found || w.adapter().Promises().Fenced {
		return 0, ""
	}
	f := footing{doubt: w.doubt, now: r.options.Clock.Boot()}
	_, away := split(s.Open())
	certain := 0
	for _, value := range s.Wanted.Live {
		if !w.doubt.doubtful(s.Key(), value, f.now) {
			certain++
		}
	}
	switch until = w.doubt.until(s.Key()); {
	case until <= f.now:
	case swaps(away):
		return until, swapWords
	case pauses(away) && certain < needs(s):
		return until, f.doubtWords(s)
	}
	return 0, ""
}

// setPause tells of a wait of the worker's round; 0 ends it.
func (w *worker) setPause(until time.Duration, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until, w.why = until, why
}

// pausing is until when the worker's round waits, and why.
func (w *worker) pausing() (until time.Duration, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.until, w.why
}

// waits is the boot time at which the last doubt ends, and what it is about; 0 when
// there is none.
func (d *doubts) waits(now time.Duration) (until time.Duration, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now < d.all {
		return d.all, startWords
	}
	var values []string
	for v, at := range d.calls {
		if at <= now {
			continue
		}
		until = max(until, at)
		if text := v.value + " of " + v.key.Shown(); !slices.Contains(values, text) {
			values = append(values, text)
		}
	}
	if until == 0 {
		return 0, ""
	}
	slices.Sort(values)
	return until, callWords(values)
}
