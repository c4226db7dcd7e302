package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
)

// tallyWays is in how many ways of not passing a target's results are told
// apart.
const tallyWays = 6

// tally counts the results of one target since it was configured, and keeps
// what people ask of the last one. It is 64 bytes, because there may be very
// many targets: the ways are indexes into a table of the engine, and one way
// more than there is room for takes the place of the rarest.
type tally struct {
	since    time.Duration // boot time at which counting began
	last     time.Duration // boot time at which the last result was known
	latency  uint32        // of the last result, in microseconds
	passes   uint32
	fails    uint32
	unknowns uint32
	times    [tallyWays]uint32
	ways     [tallyWays]uint8 // 1 and up; 0 is an empty place
	source   uint8            // of the last result, 1 and up
	outcome  uint8            // of the last result: a position in outcomes
}

// outcomes are those of a tally; the first stands for no result yet.
var outcomes = [...]check.Outcome{"", check.Pass, check.Fail, check.Unknown}

// Tally is what a target's results were since Since.
type Tally struct {
	Since                   time.Time
	Passes, Fails, Unknowns int
	Ways                    []Way // in which it did not pass, the most frequent first; not all of them when there are many
	Last                    Last
}

// Way is one way of not passing. Detail is set for our own faults only, which
// have a remedy; the target's address is not in it, and it is empty for those of
// which there were too many to be kept apart.
type Way struct {
	Outcome check.Outcome
	Phase   check.Phase
	Cause   check.Cause
	Detail  string
	Times   int
}

// Last is the last result of a target. Outcome is empty when there was none.
type Last struct {
	Outcome check.Outcome
	At      time.Time
	Latency time.Duration
	Source  string
}

// same reports whether two ways are one, however often they came.
func (w Way) same(o Way) bool {
	w.Times, o.Times = 0, 0
	return w == o
}

// mostWays is how many ways there may be in the table before own faults of a
// new kind are no longer kept apart: the rest is left to failures, whose phases
// and causes are few.
const mostWays = 128

// wayOf is how a result did not pass, as a place in the table of ways.
func (e *Engine) wayOf(r check.Result) uint8 {
	w := Way{Outcome: r.Outcome, Phase: r.Phase, Cause: r.Cause}
	if r.Outcome == check.Unknown {
		w.Detail = strings.ReplaceAll(r.Detail, r.Target.Address, "the target")
		if len(e.ways) >= mostWays && !slices.ContainsFunc(e.ways, w.same) {
			w.Detail = ""
		}
	}
	return indexOf(&e.ways, w, Way.same)
}

// count takes one result into the tally of its target.
func (e *Engine) count(t *target, r check.Result) {
	y := &t.tally
	y.last, y.latency = r.End, uint32(min(r.Latency().Microseconds(), 1<<32-1))
	y.source = indexOf(&e.sources, r.Source, func(a, b string) bool { return a == b })
	switch r.Outcome {
	case check.Pass:
		y.passes++
		y.outcome = 1
		return
	case check.Fail:
		y.fails++
		y.outcome = 2
	default:
		y.unknowns++
		y.outcome = 3
	}
	y.add(e.wayOf(r))
}

// add counts one more of a way. One without an index is not told apart.
func (y *tally) add(way uint8) {
	if way == 0 {
		return
	}
	rarest := 0
	for i := range y.ways {
		if y.ways[i] == way {
			y.times[i]++
			return
		}
		if y.times[i] < y.times[rarest] {
			rarest = i
		}
	}
	y.ways[rarest], y.times[rarest] = way, 1
}

// indexOf finds a value in a table, or puts it there, and gives its position
// from 1 on; 0 when the table is full.
func indexOf[T any](table *[]T, value T, same func(a, b T) bool) uint8 {
	i := slices.IndexFunc(*table, func(other T) bool { return same(other, value) })
	switch {
	case i >= 0:
		return uint8(i + 1)
	case len(*table) == 1<<8-1:
		return 0
	}
	*table = append(*table, value)
	return uint8(len(*table))
}

// tallyOf is a tally for people.
func (e *Engine) tallyOf(y tally) Tally {
	out := Tally{
		Since: e.wall(y.since), Passes: int(y.passes), Fails: int(y.fails), Unknowns: int(y.unknowns),
		Last: Last{Outcome: outcomes[y.outcome]},
	}
	if y.outcome > 0 {
		out.Last.At, out.Last.Latency = e.wall(y.last), time.Duration(y.latency)*time.Microsecond
	}
	if y.source > 0 {
		out.Last.Source = e.sources[y.source-1]
	}
	for i, way := range y.ways {
		if way > 0 {
			w := e.ways[way-1]
			w.Times = int(y.times[i])
			out.Ways = append(out.Ways, w)
		}
	}
	slices.SortStableFunc(out.Ways, func(a, b Way) int { return cmp.Compare(b.Times, a.Times) })
	return out
}
