package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"sidestep/pkg/clock"
)

// The rhythm of messages. What happens is collected until nothing more did for calm,
// or for mostWait at most, and said at once; with more than perWindow messages in
// capWindow the next one waits, and collects on.
const (
	calm      = 10 * time.Second
	mostWait  = time.Minute
	perWindow = 12
	capWindow = 10 * time.Minute
)

// The bounds of what waits to be delivered, for each receiver.
const (
	mostQueued = 32               // messages; then the oldest is dropped
	mostAge    = time.Hour        // of a message; then it is dropped
	tryWithin  = 10 * time.Second // one try
	firstPause = time.Second      // before the second try; each pause is twice the last
	mostPause  = time.Minute
)

// Sender is where messages go. Receiver is one.
type Sender interface {
	// Send delivers a message, or says why not, as *Error where another try may
	// help. It ends with ctx.
	Send(ctx context.Context, m Message) (answer string, err error)
	ID() string          // the same for the same place, and no secret
	Pace() time.Duration // from one message to the next
	String() string
}

// Entry is one who is told, and what about; no topics are all of them.
type Entry struct {
	To Sender
	On []Topic
}

// Options are what a Notifier works with. Node and Clock are needed.
type Options struct {
	Node    string
	Clock   clock.Clock
	Logger  *slog.Logger // nil logs nothing
	Changed func()       // called from Run when the State is another; nil for nobody
}

// Notifier collects events, makes messages of them, and delivers each to everybody
// who wants it. Its methods return at once and may be called from many goroutines:
// nothing they do waits for a receiver.
type Notifier struct {
	options Options
	log     *slog.Logger
	wake    chan struct{}

	mu     sync.Mutex
	lines  []*line
	book   book
	opened time.Duration // boot time of the first news of the open window; 0 while there is none
	last   time.Duration // of the last
	said   []time.Duration
	swept  time.Duration
	number int
	saved  json.RawMessage // State, until something changes
	news   bool            // State changed since Changed was called
}

// line is what waits for one receiver.
type line struct {
	Entry
	queue   []queued // oldest first
	busy    bool
	next    time.Duration // boot time before which nothing is sent
	fails   int           // tries in a row
	dropped int           // messages that were, and that nobody was told of yet
	lost    int           // messages that were, ever
	arrived int           // messages that did, ever
	failed  int           // tries that did, ever
}

// Stat is how it goes with one receiver, since the process began.
type Stat struct {
	To        string // as a Sender prints
	Delivered int    // messages
	Failed    int    // tries
	Dropped   int    // messages that were given up
	Waiting   int
	Oldest    time.Duration // that the oldest of these waits; 0 for none
}

// Stats tells of every receiver, in the order in which they were set.
func (n *Notifier) Stats() []Stat {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]Stat, 0, len(n.lines))
	for _, l := range n.lines {
		s := Stat{To: l.To.String(), Delivered: l.arrived, Failed: l.failed, Dropped: l.lost, Waiting: len(l.queue)}
		if s.Waiting > 0 {
			s.Oldest = max(n.options.Clock.Wall().Sub(l.queue[0].message.At), 0)
		}
		list = append(list, s)
	}
	return list
}

type queued struct {
	message Message
	number  int
}

// New makes a Notifier that tells nobody yet.
func New(o Options) *Notifier {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Notifier{options: o, log: o.Logger, wake: make(chan struct{}, 1)}
}

// Set says who is told from now on. What waits for somebody who is still among them
// goes on waiting; what waits for others is dropped.
func (n *Notifier) Set(entries []Entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var lines []*line
	for _, entry := range entries {
		l := &line{}
		if i := slices.IndexFunc(n.lines, func(old *line) bool { return old.To.ID() == entry.To.ID() }); i >= 0 {
			l = n.lines[i]
		}
		l.Entry = entry
		lines = append(lines, l)
	}
	n.lines = lines
	n.changed()
}

// Tell takes an event. With nobody to be told it does nothing.
func (n *Notifier) Tell(e Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.lines) == 0 {
		return
	}
	n.note(n.book.take(e))
}

// note is called when the book was written to, and whether that is news.
func (n *Notifier) note(news bool) {
	n.changed()
	if !news {
		return
	}
	n.last = n.options.Clock.Boot()
	if n.opened == 0 {
		n.opened = n.last
	}
}

// changed wakes Run, and belongs under the lock.
func (n *Notifier) changed() {
	n.saved, n.news = nil, true
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// TakeOver is called when this node begins to lead: what it left to the node before
// within the last minutes it says itself, lest nobody does.
func (n *Notifier) TakeOver() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note(n.book.takeOver(n.options.Clock.Wall()))
}

// Compare asks of every target that counts as down whether it is still probed and
// whether it is up, and forgets, or tells of, what is not so any more. leave says
// that another node tells of it.
func (n *Notifier) Compare(ask func(target string) (known, up bool), leave bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note(n.book.compare(n.options.Clock.Wall(), ask, leave))
}

// Down counts the targets that are, as far as events tell.
func (n *Notifier) Down() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.book.down()
}

// Run delivers until ctx ends. What is not delivered then is part of the State.
func (n *Notifier) Run(ctx context.Context) error {
	var tries sync.WaitGroup
	defer n.close()
	defer tries.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, changed := n.turn(ctx, &tries)
		if changed && n.options.Changed != nil {
			n.options.Changed()
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-n.wake:
		}
	}
}

// idle is how long Run sleeps at most: its timer stands still while the machine is
// suspended.
const idle = time.Minute

// turn does what is due, and says how long nothing else will be.
func (n *Notifier) turn(ctx context.Context, tries *sync.WaitGroup) (wait time.Duration, changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.options.Clock.Boot()
	wait = idle
	if now-n.swept >= idle {
		n.swept = now
		n.book.sweep(n.options.Clock.Wall())
	}
	if n.opened > 0 {
		if due := n.due(); due > now {
			wait = min(wait, due-now)
		} else {
			n.closeWindow(now)
		}
	}
	for _, l := range n.lines {
		n.dropOld(l)
		switch {
		case l.busy || len(l.queue) == 0:
		case l.next > now:
			wait = min(wait, l.next-now)
		default:
			l.busy = true
			first := l.queue[0]
			first.message.Dropped = l.dropped
			tries.Go(func() { n.try(ctx, l, first) })
		}
	}
	changed, n.news = n.news, false
	return wait, changed
}

// due is the boot time at which the open window ends.
func (n *Notifier) due() time.Duration {
	due := min(n.last+calm, n.opened+mostWait)
	if len(n.said) >= perWindow {
		due = max(due, n.said[len(n.said)-perWindow]+capWindow)
	}
	return due
}

// closeWindow makes a message of it, and gives everybody what he wants of that.
func (n *Notifier) closeWindow(now time.Duration) {
	n.opened = 0
	m := Message{Node: Clean(n.options.Node), At: n.options.Clock.Wall(), Sections: n.book.sections(n.options.Clock.Wall())}
	n.saved, n.news = nil, true
	if len(m.Sections) == 0 {
		return
	}
	n.said = append(n.said, now)
	n.said = n.said[max(0, len(n.said)-perWindow):]
	for _, l := range n.lines {
		if part, some := m.For(l.On); some {
			n.enqueue(l, part)
		}
	}
}

func (n *Notifier) enqueue(l *line, m Message) {
	n.number++
	l.queue = append(l.queue, queued{m, n.number})
	if len(l.queue) > mostQueued {
		l.queue = l.queue[1:]
		n.drop(l, fmt.Errorf("more than %d wait", mostQueued))
	}
}

func (n *Notifier) dropOld(l *line) {
	for len(l.queue) > 0 && n.options.Clock.Wall().Sub(l.queue[0].message.At) > mostAge {
		l.queue = l.queue[1:]
		n.drop(l, fmt.Errorf("it is older than %s", mostAge))
		n.saved, n.news = nil, true
	}
}

// drop counts a message that will not arrive. The log has the first of them, and
// then their number each time that it doubled.
func (n *Notifier) drop(l *line, why error) {
	l.dropped++
	l.lost++
	if l.lost&(l.lost-1) == 0 {
		n.log.Error("message dropped", "to", l.To.String(), "reason", why, "dropped", l.lost)
	}
}

// try sends one message once.
func (n *Notifier) try(ctx context.Context, l *line, q queued) {
	within, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	_, err := send(within, l.To, q.message)
	stopped := ctx.Err() != nil
	n.mu.Lock()
	defer n.mu.Unlock()
	l.busy = false
	defer n.changed()
	now := n.options.Clock.Boot()
	refusal, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		if l.fails > 0 {
			n.log.Info("can notify again", "to", l.To.String(), "failures", l.fails)
		}
		if !l.remove(q.number) {
			l.dropped-- // it was taken for lost meanwhile
		}
		l.arrived++
		l.dropped = max(0, l.dropped-q.message.Dropped)
		l.fails, l.next = 0, now+l.To.Pace()
	case stopped:
	case ok && refusal.Again:
		n.logFailure(l, err)
		l.next = now + max(pauseAfter(l.fails), refusal.After)
	default:
		n.logFailure(l, err)
		l.next = now + pauseAfter(l.fails)
		if l.remove(q.number) {
			n.drop(l, err)
		}
	}
}

// send turns a panic of a sender into an error: nothing about a message may end the
// daemon.
func send(ctx context.Context, to Sender, m Message) (answer string, err error) {
	defer func() {
		if what := recover(); what != nil {
			err = fmt.Errorf("%s: panicked: %s", to, Clean(fmt.Sprint(what)))
		}
	}()
	return to.Send(ctx, m)
}

// logFailure logs the first try that failed, and then their number each time that it
// doubled.
func (n *Notifier) logFailure(l *line, err error) {
	l.fails++
	l.failed++
	if l.fails&(l.fails-1) == 0 {
		n.log.Warn("cannot notify", "error", err, "failures", l.fails, "waiting", len(l.queue))
	}
}

// pauseAfter is how long to wait after so many tries that failed in a row.
func pauseAfter(fails int) time.Duration {
	return min(firstPause<<min(max(fails-1, 0), 10), mostPause)
}

// remove takes a message out of the queue; false when it is not there any more.
func (l *line) remove(number int) bool {
	before := len(l.queue)
	l.queue = slices.DeleteFunc(l.queue, func(q queued) bool { return q.number == number })
	return len(l.queue) < before
}

// close makes a message of what is new, so that the State has it.
func (n *Notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.opened > 0 {
		n.closeWindow(n.options.Clock.Boot())
	}
}

// state is what a restart must not lose.
type state struct {
	Book    book                 `json:"book"`
	Waiting map[string][]Message `json:"waiting,omitempty"` // by ID of the receiver
	Dropped map[string]int       `json:"dropped,omitempty"`
}

// State is what a restart must not lose, as JSON: outages and waits with what was said of them,
// and messages that were not delivered. It holds no secret. nil is nothing.
func (n *Notifier) State() json.RawMessage {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.saved != nil || len(n.lines) == 0 {
		return n.saved
	}
	s := state{Book: n.book, Waiting: map[string][]Message{}, Dropped: map[string]int{}}
	for _, l := range n.lines {
		for _, q := range l.queue {
			s.Waiting[l.To.ID()] = append(s.Waiting[l.To.ID()], q.message)
		}
		if l.dropped > 0 {
			s.Dropped[l.To.ID()] = l.dropped
		}
	}
	data, err := json.Marshal(s)
	if err != nil {
		n.log.Error("cannot keep what is to be said", "error", err)
		return nil
	}
	n.saved = data
	return data
}

// Restore takes up a State, beside what is known already. Call it after Set. One that
// cannot be read is no state.
func (n *Notifier) Restore(data json.RawMessage) {
	var s state
	if len(data) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := json.Unmarshal(data, &s); err != nil {
		n.log.Warn("what was to be said cannot be read", "error", err)
		return
	}
	for _, o := range s.Book.Outages {
		n.book.adopt(o)
	}
	n.book.adoptWaits(s.Book.Waits)
	for _, l := range n.lines {
		for _, m := range s.Waiting[l.To.ID()] {
			n.enqueue(l, m)
		}
		l.dropped += s.Dropped[l.To.ID()]
	}
	n.note(n.book.unsaid())
}

// adopt takes an outage in that another process, or this one before, knew of.
func (b *book) adopt(o *outage) {
	if o == nil {
		return
	}
	for target, f := range o.Fallen {
		if f == nil {
			delete(o.Fallen, target)
			continue
		}
		if known := b.find(target); known != nil {
			known.forget(target) // what was said of it is known there
		}
	}
	if o.Sets == nil {
		o.Sets = map[string]bool{}
	}
	if len(o.Fallen) > 0 {
		b.Outages = append(b.Outages, o)
	}
}
