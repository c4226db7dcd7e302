package daemon

import (
	"maps"
	"time"
)

// How many lines of one kind about one thing are logged before the rest is left
// out, and for how long they are counted together.
const (
	floodLines  = 6
	floodWindow = 10 * time.Minute
)

// flood keeps what alternates from filling the log: a target that goes up and
// down each second would say so each time. The journal has all of it. The zero
// value is good. It belongs to the loop.
type flood struct {
	told  map[floodKind]map[string]floodState // by kind of line and what it is about
	swept time.Duration                       // boot time
}

type floodKind struct{ kind, guard string }

type floodState struct {
	since time.Duration // boot time of the first line
	lines int
}

// pass reports whether a line is logged at a boot time, and what to say with it:
// that it is the last for a while, or how many were left out before it.
func (f *flood) pass(kind floodKind, about string, now time.Duration) (bool, []any) {
	state, found := f.told[kind][about]
	if found && now-state.since < floodWindow {
		state.lines++
		f.told[kind][about] = state
		switch {
		case state.lines > floodLines:
			return false, nil
		case state.lines == floodLines:
			return true, []any{"more", "left out for some minutes, as it comes too often; the journal has all"}
		}
		return true, nil
	}
	var left []any
	if found && state.lines > floodLines {
		left = []any{"left_out", state.lines - floodLines}
	}
	f.sweep(now)
	if f.told[kind] == nil {
		f.told[kind] = map[string]floodState{}
	}
	f.told[kind][about] = floodState{since: now, lines: 1}
	return true, left
}

// sweep forgets what is over, once in a while.
func (f *flood) sweep(now time.Duration) {
	if f.told != nil && now-f.swept < floodWindow {
		return
	}
	f.swept = now
	if f.told == nil {
		f.told = map[floodKind]map[string]floodState{}
	}
	for kind, about := range f.told {
		maps.DeleteFunc(about, func(_ string, s floodState) bool { return now-s.since >= floodWindow })
		if len(about) == 0 {
			delete(f.told, kind)
		}
	}
}
