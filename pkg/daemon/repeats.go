package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// repeats logs an error once and counts it while it comes again, so that what
// fails every few seconds does not bury its own cause.
type repeats struct {
	log  *slog.Logger
	mu   sync.Mutex
	last map[string]*repeated
}

type repeated struct {
	gists map[string]bool // every error since the last success
	times int
}

// mostGists is how many different errors of one thing are news: what fails in
// more ways than that between two successes is no news any more.
const mostGists = 16

func newRepeats(log *slog.Logger) *repeats {
	return &repeats{log: log, last: map[string]*repeated{}}
}

// note takes the outcome of something that is done again and again, "save the
// state", to what is said in about, as attributes of the log. It reports whether
// it is news: an error that did not come since the last success. The first success
// after errors is logged with their number.
func (r *repeats) note(what string, err error, about ...any) (news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := fmt.Sprint(append([]any{what}, about...)...)
	old := r.last[key]
	switch {
	case err == nil && old == nil:
		return false
	case err == nil:
		r.say(slog.LevelInfo, "can "+what+" again", append(about, "failures", old.times))
		delete(r.last, key)
		return false
	case old == nil:
		old = &repeated{gists: map[string]bool{}}
		r.last[key] = old
	}
	old.times++
	gist := gistOf(err.Error())
	if news = !old.gists[gist] && len(old.gists) < mostGists; news {
		old.gists[gist] = true
	}
	switch {
	case news:
		r.say(slog.LevelError, "cannot "+what, append(about, "error", err))
	case powerOfTwo(old.times):
		r.say(slog.LevelError, "still cannot "+what, append(about, "failures", old.times, "error", err))
	}
	return news
}

func (r *repeats) say(level slog.Level, message string, attrs []any) {
	r.log.Log(context.Background(), level, message, attrs...) //nolint:sloglint // what is done is a constant of each caller
}

// longestNumber is how long a word with a digit in it may be and still tell one
// error from another: a status, a code, a short address part, but no port of an
// address, time or request id, which differ each time.
const longestNumber = 4

// gistOf is an error's text without what differs each time.
func gistOf(text string) string {
	var gist []string
	for word := range strings.FieldsSeq(text) {
		if len(word) > longestNumber && strings.ContainsAny(word, "0123456789") || isDuration(word) {
			word = "#"
		}
		gist = append(gist, word)
	}
	return strings.Join(gist, " ")
}

// isDuration reports whether a word is a time that something took, such as 9ms.
func isDuration(word string) bool {
	word = strings.Trim(word, "(),;:")
	_, err := time.ParseDuration(word)
	return err == nil && word != "0"
}

func powerOfTwo(n int) bool { return n&(n-1) == 0 }
