package notify

import (
	"cmp"
	"slices"
	"time"
)

// Event is something that happened and that people may want to know.
type Event struct {
	Topic Topic
	At    time.Time
	About string   // a target; of Write a record set or a zone; what a guard or an override is about; empty for this node
	Cause string   // of Down, "connect/refused"; of Guard, which; of Write, Written or nothing for a trouble
	Text  string   // more in words
	Sets  []string // of Down, the record sets that rest on it
	Left  bool     // another node tells of it: it is remembered and not said
}

// Written is the Cause of a Write that arrived.
const Written = "written"

// said is what became of a piece of news.
type said string

const (
	notYet said = ""
	done   said = "said"
	left   said = "left" // to another node
)

// fallen is a target that went down.
type fallen struct {
	At    time.Time `json:"at"`
	Cause string    `json:"cause,omitempty"`
	Text  string    `json:"text,omitempty"`
	Down  said      `json:"down,omitempty"`
	Back  time.Time `json:"back,omitzero"` // when it came up again
	Up    said      `json:"up,omitempty"`
}

// outage is what went down within one window, and what came of it. It lasts until
// all of it is up again and that was said.
type outage struct {
	Began   time.Time          `json:"began"`
	Fallen  map[string]*fallen `json:"fallen"` // by target; who came back leaves when that was said
	All     int                `json:"all"`
	Sets    map[string]bool    `json:"sets,omitempty"`
	Writes  []string           `json:"writes,omitempty"` // the first few
	Written int                `json:"written,omitempty"`

	open bool // its window is: more targets may join it
}

// mostListed is how many of a kind a message names; the rest is counted.
const mostListed = 10

// mostEvents bounds what one window holds beside targets: two changes each of 20,000
// record sets, and more than anybody reads.
const mostEvents = 40_000

// leftFor is for how long news that was left to another node is kept: who takes over
// from that node may have to say it.
const leftFor = 5 * time.Minute

// find gives the outage that a target is in; nil for none.
func (b *book) find(target string) *outage {
	for _, o := range b.Outages {
		if o.Fallen[target] != nil {
			return o
		}
	}
	return nil
}

// book is what is known of outages and waits, and the news of the open window. It is a value
// with methods, without a clock or a lock.
type book struct {
	Outages []*outage           `json:"outages,omitempty"`
	Waits   map[string]*awaited `json:"waits,omitempty"` // by what waits
	events  []Event             // neither down nor up
}

// take notes an event, and reports whether there is something to say.
func (b *book) take(e Event) (news bool) {
	e.About, e.Cause, e.Text = Clean(e.About), Clean(e.Cause), Clean(e.Text)
	switch e.Topic {
	case Down:
		return b.takeDown(e)
	case Up:
		return b.takeUp(e)
	case Write:
		if e.Cause == Written {
			b.noteWrite(e)
		}
	}
	if e.Left || len(b.events) >= mostEvents {
		return false
	}
	b.events = append(b.events, e)
	return true
}

func (b *book) takeDown(e Event) (news bool) {
	if o := b.find(e.About); o != nil {
		f := o.Fallen[e.About]
		if f.Back.IsZero() {
			return false
		}
		if f.Up == notYet { // up for less than a window
			f.Back = time.Time{}
			return false
		}
		o.forget(e.About) // that it came back was left to another node
	}
	o := b.current(e.At)
	f := &fallen{At: e.At, Cause: e.Cause, Text: e.Text}
	if e.Left {
		f.Down = left
	}
	o.Fallen[e.About] = f
	o.All++
	for _, set := range e.Sets {
		o.Sets[Clean(set)] = true
	}
	return !e.Left
}

// current is the outage that targets join now.
func (b *book) current(at time.Time) *outage {
	for _, o := range b.Outages {
		if o.open && at.Sub(o.Began) < mostWait { // where nothing is said no window ends
			return o
		}
	}
	o := &outage{Began: at, Fallen: map[string]*fallen{}, Sets: map[string]bool{}, open: true}
	b.Outages = append(b.Outages, o)
	return o
}

// forget takes a target out as if it had never been in.
func (o *outage) forget(target string) {
	delete(o.Fallen, target)
	o.All--
}

func (b *book) takeUp(e Event) (news bool) {
	o := b.find(e.About)
	if o == nil || !o.Fallen[e.About].Back.IsZero() {
		return false
	}
	f := o.Fallen[e.About]
	f.Back = e.At
	if e.Left {
		f.Up = left
	}
	return !e.Left
}

// noteWrite ties a write to the outages whose record sets it is about.
func (b *book) noteWrite(e Event) {
	for _, o := range b.Outages {
		if !o.Sets[e.About] {
			continue
		}
		if o.Written++; len(o.Writes) < mostListed {
			o.Writes = append(o.Writes, e.About+": "+e.Text)
		}
	}
}

// takeOver has this node say what it left to another a short while ago: that may
// have ended before it came to it. It reports whether there is anything.
func (b *book) takeOver(now time.Time) (news bool) {
	for _, o := range b.Outages {
		for _, f := range o.Fallen {
			if f.Down == left && now.Sub(f.At) < leftFor {
				f.Down, news = notYet, true
			}
			if f.Up == left && now.Sub(f.Back) < leftFor {
				f.Up, news = notYet, true
			}
		}
	}
	return b.takeOverWaits(now) || news
}

// compare is told of every target that is in the book whether it is still probed and
// whether it is up, and sets right what is not so.
func (b *book) compare(now time.Time, ask func(target string) (known, up bool), leave bool) (news bool) {
	for _, o := range b.Outages {
		for target, f := range o.Fallen {
			switch known, up := ask(target); {
			case !known:
				o.forget(target)
			case up && f.Back.IsZero():
				news = b.takeUp(Event{Topic: Up, About: target, At: now, Left: leave}) || news
			}
		}
	}
	b.sweep(now)
	return news
}

// unsaid reports whether an outage has news that nobody was told.
func (b *book) unsaid() bool {
	for _, o := range b.Outages {
		for _, f := range o.Fallen {
			if f.Down == notYet || !f.Back.IsZero() && f.Up == notYet {
				return true
			}
		}
	}
	return b.unsaidWaits()
}

// down counts the targets that are.
func (b *book) down() int {
	n := 0
	for _, o := range b.Outages {
		for _, f := range o.Fallen {
			if f.Back.IsZero() {
				n++
			}
		}
	}
	return n
}

// sections closes the window and says what is new.
func (b *book) sections(now time.Time) []Section {
	var list []Section
	for _, s := range []Section{b.downSection(), b.upSection(), b.writeSection(), b.guardSection(), b.leaderSection(), b.overrideSection()} {
		if s.Title != "" {
			list = append(list, s)
		}
	}
	for _, o := range b.Outages {
		o.open = false
		for target, f := range o.Fallen {
			if f.Down == notYet {
				f.Down = done
			}
			if !f.Back.IsZero() && f.Up == notYet {
				delete(o.Fallen, target)
			}
		}
	}
	b.events = nil
	b.sweep(now)
	return list
}

// sweep forgets what is over.
func (b *book) sweep(now time.Time) {
	for _, o := range b.Outages {
		for target, f := range o.Fallen {
			if f.Up == left && now.Sub(f.Back) >= leftFor {
				delete(o.Fallen, target)
			}
		}
	}
	b.Outages = slices.DeleteFunc(b.Outages, func(o *outage) bool { return len(o.Fallen) == 0 })
	b.sweepWaits(now)
}

// of are the events of a topic, in the order in which they came.
func (b *book) of(topic Topic) []Event {
	var list []Event
	for _, e := range b.events {
		if e.Topic == topic {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(x, y Event) int { return cmp.Compare(x.At.UnixNano(), y.At.UnixNano()) })
	return list
}
