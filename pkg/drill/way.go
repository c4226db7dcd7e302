package drill

import (
	"slices"
	"time"

	"sidestep/pkg/observe"
)

// Direction is one of the two ways of a rehearsal.
type Direction string

// The ways.
const (
	Out  Direction = "out"  // from the drain until all have moved
	Back Direction = "back" // from its end until all are back
)

// Written is the clock before all others: what sidestep has written to the zone.
const Written observe.Clock = "written"

// mostFailures is how many failures of a way are kept with their words.
const mostFailures = 20

// Way is one way: from some answers to others.
type Way struct {
	Direction Direction
	From, To  []string
	Began     time.Time // when the drain was set, or taken back
	Took      time.Duration
	Clocks    []*Clock // in the order in which a change passes them
	Samples   int
	Requests  int
	Failed    int
	Failures  []Failure // the first of them
	Waited    []Wait    // the parts of it in which nothing could be written, in their order

	gone, come []string // the values that go, and those that come
	waiting    bool     // for the last of Waited
	unheard    bool     // the daemon did not answer when it was asked last
}

// Clock is one of the things that move at their own time.
type Clock struct {
	Clock  observe.Clock
	Who    string        // of the authoritative ones, the server
	Moved  bool          // and stayed so
	Stood  bool          // on the way back: it never left, so that nothing can be said of its way
	After  time.Duration // since the way began; of a clock that fell back, since the last time
	Back   int           // how often it had moved and fell back
	Seen   string        // last
	Stays  bool          // of the kept connection: where it is it may stay on this way
	Stayed time.Duration // of the kept connection: since new ones had moved, until it was retired
	Let    time.Duration // of the kept connection: since the way began, until it was retired; 0 when it was not
	Ended  string        // of the kept connection: how it ended on this way; empty when it did not
}

// Failure is a request that failed.
type Failure struct {
	At    time.Duration // since the way began
	Clock observe.Clock // kept or new
	Why   string
}

// newBack is the way back from out: what had not moved has no way to come back.
func newBack(out *Way, p *Plan, first observe.Sample) *Way {
	y := newWay(Back, p, first)
	for i, c := range y.Clocks {
		c.Stood = !out.Clocks[i].Moved
	}
	return y
}

func newWay(direction Direction, p *Plan, first observe.Sample) *Way {
	y := &Way{Direction: direction, From: p.Before, To: p.During, Began: time.Now()}
	if direction == Back {
		y.From, y.To = p.During, p.Before
	}
	y.gone, y.come = without(y.From, y.To), without(y.To, y.From)
	y.Clocks = append(y.Clocks, &Clock{Clock: Written})
	for _, v := range first.Servers {
		y.Clocks = append(y.Clocks, &Clock{Clock: observe.Authoritative, Who: v.Server.String()})
	}
	y.Clocks = append(y.Clocks, &Clock{Clock: observe.Resolver, Who: first.Resolver.Server.String()})
	if first.Kept != nil {
		y.Clocks = append(y.Clocks, &Clock{Clock: observe.New}, &Clock{Clock: observe.Kept})
	}
	return y
}

func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(v string) bool { return slices.Contains(others, v) })
}

// moved reports whether every clock has moved, but for some.
func (y *Way) moved(but ...observe.Clock) bool {
	return !slices.ContainsFunc(y.Clocks, func(c *Clock) bool { return !c.Moved && !slices.Contains(but, c.Clock) })
}

// held reports whether a way came to its end, with no request lost.
func (y *Way) held() bool { return y != nil && y.moved() && y.Failed == 0 }

// clock is the first clock of a kind.
func (y *Way) clock(kind observe.Clock) *Clock {
	for _, c := range y.Clocks {
		if c.Clock == kind {
			return c
		}
	}
	return nil
}

// note notes whether a clock shows the new state, at a moment.
func (y *Way) note(c *Clock, moved bool, at time.Time, seen string) {
	switch {
	case moved && !c.Moved:
		c.After = at.Sub(y.Began)
	case !moved && c.Moved:
		c.Back++
	}
	c.Moved, c.Seen, c.Stood = moved, seen, c.Stood && moved
}

// take notes what a sample shows. Whether a reply came from where it should is
// asked of arrived, and whether all came that should of complete.
func (y *Way) take(s observe.Sample, arrived func(observe.Reply) bool, complete func([]observe.Reply) bool) {
	y.Samples++
	views := append(slices.Clone(s.Servers), s.Resolver)
	i := 0
	for _, c := range y.Clocks {
		if c.Clock == observe.Authoritative || c.Clock == observe.Resolver {
			v := views[i]
			y.note(c, shows(v, y.come, y.gone), s.At.Add(v.Took), v.Said())
			i++
		}
	}
	if s.Kept == nil {
		return
	}
	last := s.At
	moved := len(s.New) > 0 && complete(s.New)
	for _, reply := range s.New {
		y.count(observe.New, reply)
		moved = moved && arrived(reply)
		if end := reply.At.Add(reply.Took); end.After(last) {
			last = end
		}
	}
	y.note(y.clock(observe.New), moved, last, observe.SaysAll(s.New))
	y.count(observe.Kept, *s.Kept)
	kept := y.clock(observe.Kept)
	if s.Kept.Ended != nil && kept.Ended == "" {
		kept.Ended = s.Kept.Ended.String()
	}
	if y.Samples == 1 {
		kept.Stays = arrived(*s.Kept)
	}
	y.note(kept, arrived(*s.Kept), s.Kept.At.Add(s.Kept.Took), s.Kept.Says())
}

func (y *Way) count(clock observe.Clock, reply observe.Reply) {
	y.Requests++
	why := failure(reply)
	if why == "" {
		return
	}
	y.Failed++
	if len(y.Failures) < mostFailures {
		y.Failures = append(y.Failures, Failure{At: reply.At.Sub(y.Began), Clock: clock, Why: why})
	}
}
