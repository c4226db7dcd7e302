package observe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/check"
)

// Clock is one of the things that move at their own time when a name is steered.
type Clock string

// The clocks, in the order in which a change passes them.
const (
	Authoritative Clock = "authoritative" // what a name server of the zone answers
	Resolver      Clock = "resolver"      // what a cache answers
	Kept          Clock = "kept"          // where the connection leads that was opened before
	New           Clock = "new"           // where a connection leads that is opened now
)

// Event is a change between one sample and the next.
type Event struct {
	At       time.Time // when it was seen: of an answer when that came
	Clock    Clock
	Who      string // of Authoritative the server; else empty
	From, To string // as Said and Says word it; both empty for the end of a connection
	Detail   string // how it ended; empty for all else
}

func (e Event) String() string {
	who := map[Clock]string{Authoritative: "authoritative " + e.Who, Resolver: "resolver", Kept: "kept connection", New: "new connection"}[e.Clock]
	switch {
	case e.From == "" && e.To == "":
		return who + " " + e.Detail
	case e.Clock == New:
		return fmt.Sprintf("%s reached %s, before %s", who, e.To, e.From)
	}
	return fmt.Sprintf("%s changed: %s -> %s", who, e.From, e.To)
}

// Timeline is samples in their order, and what changed between them. The zero
// value is empty; it is not safe for concurrent use.
type Timeline struct {
	Samples []Sample
	Events  []Event
}

// Add appends a sample and gives the events that it brought, sorted by time.
func (t *Timeline) Add(s Sample) []Event {
	var events []Event
	if n := len(t.Samples); n > 0 {
		events = changes(t.Samples[n-1], s)
	}
	t.Samples = append(t.Samples, s)
	t.Events = append(t.Events, events...)
	return events
}

// changes compares two samples.
func changes(was, is Sample) []Event {
	var events []Event
	for i, v := range is.Servers {
		if i < len(was.Servers) && !v.same(was.Servers[i]) {
			events = append(events, Event{At: is.came(v), Clock: Authoritative, Who: v.Server.String(), From: was.Servers[i].Said(), To: v.Said()})
		}
	}
	if v := is.Resolver; !v.same(was.Resolver) {
		events = append(events, Event{At: is.came(v), Clock: Resolver, From: was.Resolver.Said(), To: v.Said()})
	}
	events = append(events, keptChanges(was.Kept, is.Kept)...)
	if from, to := SaysAll(was.New), SaysAll(is.New); from != to && len(is.New) > 0 {
		events = append(events, Event{At: is.allCame(is.New), Clock: New, From: from, To: to})
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	return events
}

// came is when an answer came, or was given up: by its own time, however long the
// slowest of the sample took.
func (s Sample) came(v View) time.Time { return s.asked(v).Add(v.Took) }

// asked is when a server was asked what it answered.
func (s Sample) asked(v View) time.Time {
	if v.At.IsZero() {
		return s.At
	}
	return v.At
}

// allCame is when the last of some replies came.
func (s Sample) allCame(replies []Reply) time.Time {
	last := s.At
	for _, r := range replies {
		if end := r.At.Add(r.Took); end.After(last) {
			last = end
		}
	}
	return last
}

// Slowest names what took longest of a sample, and for how long: the next one
// begins when that has ended.
func (s Sample) Slowest() (what string, took time.Duration) {
	note := func(name string, d time.Duration) {
		if d > took {
			what, took = name, d
		}
	}
	for _, v := range s.Servers {
		note("authoritative "+v.Server.String(), v.Took)
	}
	note("resolver "+s.Resolver.Server.String(), s.Resolver.Took)
	for _, r := range s.New {
		note("new connection to "+r.Address.Addr().String(), r.Took)
	}
	if s.Kept != nil {
		note("kept connection", s.Kept.Took)
	}
	return what, took
}

func keptChanges(was, is *Reply) []Event {
	if was == nil || is == nil {
		return nil
	}
	var events []Event
	if is.Ended != nil {
		events = append(events, Event{At: is.Ended.At, Clock: Kept, Detail: is.Ended.String()})
	}
	if from, to := was.Says(), is.Says(); from != to {
		events = append(events, Event{At: is.At.Add(is.Took), Clock: Kept, From: from, To: to})
	}
	return events
}

func (e End) String() string { return "ended by " + string(e.By) + ": " + e.How }

// Said is what a view comes to, in a word or a few: the values, NXDOMAIN,
// NODATA, or why there is no answer.
func (v View) Said() string {
	switch {
	case v.Outcome.Negative():
		return strings.ToUpper(string(v.Outcome))
	case v.Outcome != Answered:
		return string(v.Outcome)
	case len(v.Values) > 0:
		return clean(strings.Join(v.Values, ","))
	}
	return clean("alias of " + string(v.Aliases[len(v.Aliases)-1]))
}

// Says is what a request reached, in a few words: the backend and its address,
// with the status when that is not of success, or the phase and cause of its
// failure.
func (r Reply) Says() string {
	where := ""
	if r.Address.IsValid() {
		where = r.Address.Addr().String()
	}
	switch {
	case r.Phase == check.PhaseResolve:
		return "no address"
	case !r.Reached():
		return strings.TrimSpace(where + " " + string(r.Phase) + "/" + string(r.Cause))
	case r.Identity != "":
		where = r.Identity + " at " + where
	}
	if r.Status/100 != 2 {
		where += " status " + strconv.Itoa(r.Status)
	}
	return where
}

// SaysAll is what requests reached that were made side by side.
func SaysAll(replies []Reply) string {
	words := make([]string, len(replies))
	for i, r := range replies {
		words[i] = r.Says()
	}
	return strings.Join(words, ", ")
}

// Gaps says which clocks a sample could not read, and why: a line each, none
// when every one was read. A zone of which one server answers is read.
func (s Sample) Gaps() []string {
	var gaps []string
	told := slices.ContainsFunc(s.Servers, func(v View) bool { return v.Outcome.Told() })
	for _, v := range s.Servers {
		if !told {
			gaps = append(gaps, fmt.Sprintf("authoritative %s: %s", v.Server, v.saidNo()))
		}
	}
	if v := s.Resolver; !v.Outcome.Told() {
		gaps = append(gaps, fmt.Sprintf("resolver %s: %s", v.Server, v.saidNo()))
	}
	if len(s.New) > 0 && s.New[0].Phase == check.PhaseResolve {
		if s.Resolver.Outcome.Told() || !strings.HasPrefix(s.New[0].Detail, noAddress) { // else it is said above
			gaps = append(gaps, "connections: "+s.New[0].Detail)
		}
	}
	if s.Kept != nil {
		gaps = append(gaps, s.Kept.gap("kept connection")...)
	}
	for _, r := range s.New {
		gaps = append(gaps, r.gap("new connection")...)
	}
	return gaps
}

func (r Reply) gap(what string) []string {
	if r.Address.IsValid() {
		what += " to " + r.Address.Addr().String()
	}
	switch {
	case r.Phase == check.PhaseResolve: // one reason for all connections
		return nil
	case !r.Reached():
		return []string{fmt.Sprintf("%s: %s/%s %s", what, r.Phase, r.Cause, r.Detail)}
	case r.Missing != "":
		return []string{fmt.Sprintf("%s: no identity: %s", what, r.Missing)}
	}
	return nil
}
